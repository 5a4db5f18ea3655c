"""Brings the URL of a git remote into one form, so that two clones of one repository have the same."""

import re
from collections.abc import Callable
from urllib.parse import unquote, urlsplit

_SCP_FORM = re.compile(r"(?:[^@/\s]*@)?(?P<host>\[[^\]]+\]|[^:/\s@]+):(?!//)(?P<path>.*)", re.DOTALL)
_HELPER = re.compile(r"[A-Za-z][\w+.-]*::")
"""The prefix of a URL for which git has a program of its own."""
_USER = re.compile(r"[^/@\s]*@")
_OTHER_NAMES = {
    "ssh.github.com": "github.com", "www.github.com": "github.com", "altssh.gitlab.com": "gitlab.com",
    "altssh.bitbucket.org": "bitbucket.org", "ssh.dev.azure.com": "dev.azure.com",
}  # fmt: skip
"""Hosts that serve the repositories of another one."""


def normalized(url: str, host_of: Callable[[str], str] = str) -> str:
    """Return the host and path of a remote, such as `github.com/ada/shop`, without protocol, user, port, `.git` and
    case. For a repository on this machine, return its absolute path; empty for a relative one. `host_of`: the host that
    a name means in the configuration of ssh."""
    url = url.strip()
    if url.startswith(("/", "file:")):
        path = unquote(urlsplit(url).path) if url.startswith("file:") else url
        return "/" + _without_end(path).lstrip("/")
    if _HELPER.match(url):
        return _USER.sub("", url, count=1).lower()
    if "://" in url:
        host, _, path = url.partition("://")[2].partition("/")
        host = re.sub(r":\d*\Z", "", host.rpartition("@")[2])
        path = re.split(r"[?#]", path)[0]
    elif found := _SCP_FORM.fullmatch(url):
        host, path = found["host"], found["path"]
    else:
        return ""  # a relative path
    host = host_of(host.strip("[]")).lower().rstrip(".")
    host = _OTHER_NAMES.get(host, host)
    path = _without_end(unquote(path)).strip("/")
    if host == "dev.azure.com":
        path = path.removeprefix("v3/").replace("/_git/", "/")
    elif host not in _OTHER_NAMES.values():
        path = path.removeprefix("scm/")  # of Bitbucket's own servers, over HTTP only
    return f"{host}/{path}".lower() if host and path else ""


def is_local(origin: str) -> bool:
    """Return whether the origin is a folder of this machine."""
    return origin.startswith("/")


def owner_of(origin: str) -> str:
    """Return the user or group that has the repository; empty if there isn't one."""
    parts = origin.split("/")
    return parts[-2] if len(parts) > 2 and not is_local(origin) else ""


def _without_end(path: str) -> str:
    return path.rstrip("/").removesuffix(".git").rstrip("/")
