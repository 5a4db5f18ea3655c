"""Plans the changes to a configuration file: its bytes now and afterwards. Pure; `config_files` applies them."""

import difflib
import re
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from mcp_memory.errors import Refused
from mcp_memory.integrations.config_entries import ConfigEntry
from mcp_memory.integrations.text_file import decode

_STRING = r'"""[\s\S]*?"""|"(?:[^"\\\n]|\\.)*"|' + r"'[^'\n]*'"
_SECRET = re.compile(
    rf"""
    (?P<key>(?:authorization|token|key|secret|passw|credential|cookie)[\w.-]{{0,60}}(?:["']?\s*[:=]|["']\s*,)\s*)
    (?P<value>{_STRING}|\[[^\]]{{0,5000}}\]|[^\s"'\[{{,}}\]][^"'\n,}}\]]*)
    |(?P<scheme>\b(?:Bearer|Basic)\s+)(?!\$\{{)[^\s"']+
    """,
    re.IGNORECASE | re.VERBOSE,
)
_REFERENCE = re.compile(r"[\"']?(?:Bearer )?\$\{\w+\}[\"']?")
"""A value that only refers to a variable, as our own values do."""


@dataclass(frozen=True)
class ConfigTarget:
    """A file and its entries. `lock`: the folder that its program uses as a lock. `within`: the repository that no link
    may lead out of."""

    file: Path
    entries: tuple[ConfigEntry, ...]
    lock: Path | None = None
    within: Path | None = None

    def has(self, *kinds: type[object]) -> bool:
        """Return whether an entry of one of these kinds may be in the file."""
        return any(isinstance(entry, kinds) for entry in self.entries)


class ConfigChange(NamedTuple):
    """A change of the file's bytes from `old` to `new`; None means no file. `what`: the entries added or removed.
    `spent`: backups with no content that the new bytes lack. `keeps_old`: whether a backup is made."""

    target: ConfigTarget
    old: bytes | None
    new: bytes | None
    what: tuple[str, ...] = ()
    spent: tuple[Path, ...] = ()
    keeps_old: bool = False

    @property
    def file(self) -> Path:
        return self.target.file

    @property
    def is_nothing(self) -> bool:
        return self.old == self.new


def plan_install(target: ConfigTarget, old: bytes | None) -> ConfigChange:
    """Plan to add all entries. Raises Refused, with the file's name, if it is broken or another entry has the place."""
    new, what = _insert(target, target.entries, old)
    return ConfigChange(target, old, new, what, keeps_old=old is not None)


def plan_uninstall(target: ConfigTarget, old: bytes | None, backups: Sequence[tuple[Path, bytes]]) -> ConfigChange:
    """Plan to remove the entries. `backups`: the file's states before our changes, oldest first.

    If nothing else has changed since, the file comes back byte for byte. A file that we made is removed. Raises
    Refused, with the file's name, if it is broken."""
    if old is None:
        return ConfigChange(target, None, None)
    present = _present(target, old)
    if not present:
        return ConfigChange(target, old, old)
    before = next((content for _, content in backups), None)
    if before is not None and _is_ours_alone(target, before):
        before = None  # we made the file, and changed it later
    untouched = _leads_to(target, present, before, old)
    if untouched:
        new = before
    else:
        bare = _without(target, present, old, before)
        new = None if before is None and not _says_anything(bare) else bare
    bares = [(place, _without(target, target.entries, content, before)) for place, content in backups]
    spent = tuple(place for place, bare in bares if bare == new or (new is None and not _says_anything(bare)))
    what = tuple(entry.what for entry in present)
    # A file with only our entries needs no backup.
    keeps_old = not untouched and not spent and new is not None
    return ConfigChange(target, old, new, what, spent, keeps_old=keeps_old)


def diff(change: ConfigChange, shown: str) -> str:
    """Return a unified diff that calls the file `shown`. It hides values whose key suggests a secret."""
    old, new = _shown(change.old), _shown(change.new)
    names = ("/dev/null" if change.old is None else shown, "/dev/null" if change.new is None else shown)
    lines = difflib.unified_diff(old, new, *names)
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def _insert(target: ConfigTarget, entries: Sequence[ConfigEntry], old: bytes | None) -> tuple[bytes, tuple[str, ...]]:
    with _naming(target.file):
        text = start = decode(old)
        what: list[str] = []
        for entry in entries:
            before, text = text, entry.insert(text)
            what += [entry.what] if text != before else []
    return (old if old is not None and text == start else text.encode()), tuple(what)


def _without(target: ConfigTarget, entries: Sequence[ConfigEntry], content: bytes, before: bytes | None) -> bytes:
    with _naming(target.file):
        text = decode(content)
        for entry in reversed(entries):
            text = entry.remove(text, None if before is None else decode(before))
        return text.encode()


def _leads_to(target: ConfigTarget, entries: Sequence[ConfigEntry], before: bytes | None, now: bytes) -> bool:
    """Return whether inserting the entries into `before` yields the bytes `now`."""
    try:
        return _insert(target, entries, before)[0] == now
    except Refused:
        return False


def _is_ours_alone(target: ConfigTarget, content: bytes) -> bool:
    """Return whether inserting some of the entries into an empty file yields exactly these bytes."""
    present = _present(target, content)
    return bool(present) and _leads_to(target, present, None, content)


def _present(target: ConfigTarget, content: bytes) -> list[ConfigEntry]:
    with _naming(target.file):
        return [entry for entry in target.entries if entry.is_in(decode(content))]


def _says_anything(content: bytes) -> bool:
    return content.strip() not in {b"", b"{}"}


@contextmanager
def _naming(file: Path) -> Generator[None]:
    """Add the file's name to a refusal that the block raises."""
    try:
        yield
    except Refused as refused:
        hint = refused.hint or "nothing was changed; correct the file, then try again"
        raise Refused(f"{file}: {refused.message}", hint=hint) from None


def _shown(content: bytes | None) -> list[str]:
    text = _SECRET.sub(_masked, (content or b"").decode(errors="replace"))
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def _masked(found: re.Match[str]) -> str:
    """Return the line with its value masked. The key and the quotes stay, so that the line is still recognizable."""
    if found["scheme"]:
        return f"{found['scheme']}…"
    value = found["value"]
    if _REFERENCE.fullmatch(value):
        return found[0]
    quote = value[0] if value[0] in "\"'" else ""
    return f"{found['key']}{quote}…{quote}"
