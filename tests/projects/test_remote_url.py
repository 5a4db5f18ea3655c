"""One form for all URLs of a repository, and none that keeps a secret."""

import pytest

from mcp_memory.projects.git_config import normalized

SHOP = "github.com/ada/shop"


@pytest.mark.parametrize(
    ("url", "form"),
    {
        "https://github.com/ada/shop.git": SHOP, "https://github.com/ada/shop/": SHOP,
        "http://ada:s3cret@GitHub.com:443/Ada/Shop.git": SHOP, "git@github.com:ada/shop": SHOP,
        "ssh://git@github.com:22/ada/shop.git": SHOP, "ssh://git@ssh.github.com:443/ada/shop": SHOP,
        "git://github.com/ada/shop": SHOP, "github.com:ada/shop.git": SHOP, "git+ssh://git@github.com/ada/shop": SHOP,
        "https://www.github.com/ada/shop": SHOP, "https://github.com/ada/shop?token=s3cret": SHOP,
        "https://u:p@ss@github.com/ada/sh%6Fp": SHOP, "org-1@github.com:ada/shop.git/": SHOP,
        "git@git.example.org:2222/ada/shop": "git.example.org/2222/ada/shop",
        "https://git.example.org/scm/ada/shop.git": "git.example.org/ada/shop",
        "ssh://git@git.example.org:7999/ada/shop.git": "git.example.org/ada/shop",
        "git@ssh.dev.azure.com:v3/umbra/web/shop": "dev.azure.com/umbra/web/shop",
        "https://umbra@dev.azure.com/umbra/web/_git/shop": "dev.azure.com/umbra/web/shop",
        "ssh://ada@[::1]:2222/srv/shop.git": "::1/srv/shop", "[::1]:srv/shop.git": "::1/srv/shop",
        "host:~/shop.git": "host/~/shop", "gcrypt::https://u:s3cret@h/shop": "gcrypt::https://h/shop",
        "codecommit::eu-west-1://ada@shop": "codecommit::eu-west-1://shop",
        "/srv/git/shop.git": "/srv/git/shop", "file:///srv/git/shop.git/": "/srv/git/shop",
        "/home/ada/shop/.git": "/home/ada/shop", "shop": "", "": "", "https://": "", "https://u:s3cret@": "",
    }.items(),
)  # fmt: skip
def test_each_way_to_write_a_url(url: str, form: str) -> None:
    assert normalized(url) == form
    assert "s3cret" not in normalized(url)
