"""Reads the remotes of a repository from its configuration file, which is faster than asking git. Their URLs are
brought into the same form for all clones."""

import os
import re
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple
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
        return "/" + without_end(path).lstrip("/")
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
    path = without_end(unquote(path)).strip("/")
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


def without_end(path: str) -> str:
    """Return the path of a repository without `.git` and slashes at its end."""
    return path.rstrip("/").removesuffix(".git").rstrip("/")


MOST_BYTES = 1_000_000

_SECTION = re.compile(r'\[\s*([\w.\-]+)\s*(?:"((?:[^"\\]|\\.)*)")?\s*\]\s*')
_COMMENT = re.compile(r"(?:^|\s)[#;][^\"]*$")


class ConfigValue(NamedTuple):
    """A value, with its section and name in lower case; `part` is the name in quotes beside the section."""

    section: str
    part: str
    name: str
    value: str


def read_bytes(file: str) -> bytes:
    """Return the content of a regular file; empty for a file that can't be read, would block, or is larger than any
    configuration."""
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    except (OSError, ValueError):
        return b""
    try:
        is_plain = stat.S_ISREG(os.fstat(descriptor).st_mode)
        data = os.read(descriptor, MOST_BYTES + 1) if is_plain else b""
        return data if len(data) <= MOST_BYTES else b""
    except OSError:
        return b""
    finally:
        os.close(descriptor)


def read_values(file: str) -> Sequence[ConfigValue]:
    return list(_values(os.fsdecode(read_bytes(file))))


def remotes(values: Sequence[ConfigValue]) -> dict[str, str]:
    """Return each remote's first URL, as `url.….insteadOf` rewrites it, `origin` first."""
    found = dict[str, str]()
    for one in values:
        if (one.section, one.name) == ("remote", "url") and one.part and one.value:
            found.setdefault(one.part, one.value)
    rewritten = {one.value: one.part for one in values if (one.section, one.name) == ("url", "insteadof")}
    return {name: _rewritten(found[name], rewritten) for name in sorted(found, key=lambda name: name != "origin")}


def _rewritten(url: str, rewritten: Mapping[str, str]) -> str:
    begin = max((one for one in rewritten if one and url.startswith(one)), key=len, default="")
    return rewritten[begin] + url.removeprefix(begin) if begin else url


def _values(text: str) -> Iterator[ConfigValue]:
    section, part = "", ""
    text = re.sub(r"\\\r?\n", "", text)  # a line goes on
    for line in text.splitlines():
        rest = line.strip().removeprefix("\ufeff")
        if found := _SECTION.match(rest):
            section, _, below = found[1].lower().partition(".")
            part = re.sub(r"\\(.)", r"\1", found[2]) if found[2] is not None else below
            rest = rest[found.end() :]
        name, _, value = _COMMENT.sub("", rest).partition("=")
        yield ConfigValue(section, part, name.strip().lower(), value.strip().strip('"'))
