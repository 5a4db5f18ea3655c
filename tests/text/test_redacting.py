"""What is known as a secret by its shape is replaced by what it was, wherever it stands."""

from __future__ import annotations

from mcp_memory.text.redacting import redacted
from mcp_memory.text.secrets import find_secret

TOKEN = "ghp_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"


def test_secrets_are_named_and_gone():
    text = f"a {TOKEN} b postgres://app:Tr0ub4dor@db/x c {TOKEN[:-1]}Z"
    assert redacted(text) == "a [GitHub token] b postgres://app:[password in a URL]@db/x c [GitHub token]"
    assert find_secret(redacted(text)) is None
    assert redacted("nothing of that kind") == "nothing of that kind"


def test_a_private_key_goes_whole():
    body = "\n".join("MIIEowIBAAKCAQEA0Z3VS5JJcds3xfn/ygWyF8PbnGy0AHB7MaU3Zq2f7k1Xw" for _ in range(4))
    key = f"-----BEGIN RSA PRIVATE KEY-----\n{body}\n-----END RSA PRIVATE KEY-----"
    assert redacted(f"before\n{key}\nafter") == "before\n[private key]\nafter"
