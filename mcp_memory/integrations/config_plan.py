"""The plan: for each file its bytes now and its bytes then. Pure; `files` carries it out."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from mcp_memory.errors import Refused
from mcp_memory.integrations.config_entries import ConfigEntry

T = TypeVar("T")

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
"""A value that only names a variable, as ours does."""


@dataclass(frozen=True, slots=True)
class ConfigTarget:
    """A file and what belongs into it. `private`: it holds a secret, and must be nobody else's to read.

    `only_existing`: its program makes it, and makes more the first time, which it would not if it found ours.
    `lock`: the folder by which its program keeps two writers apart. `within`: the repository that no link of it may
    lead out of.
    """

    file: Path
    entries: tuple[ConfigEntry, ...]
    private: bool = False
    only_existing: bool = False
    lock: Path | None = None
    within: Path | None = None


@dataclass(frozen=True, slots=True)
class ConfigChange:
    """`old` and `new` are the file's bytes, None where there is no file; `what` is put in or taken out.

    `spent`: backups that hold nothing which the new bytes lack. `keeps_old`: the old bytes deserve a backup.
    `brings_secret`: one that nobody else may read.
    """

    target: ConfigTarget
    old: bytes | None
    new: bytes | None
    what: tuple[str, ...] = ()
    spent: tuple[Path, ...] = ()
    keeps_old: bool = False
    brings_secret: bool = False

    @property
    def file(self) -> Path:
        return self.target.file

    @property
    def is_nothing(self) -> bool:
        return self.old == self.new


def plan_install(target: ConfigTarget, old: bytes | None) -> ConfigChange:
    """What puts all pieces in. Raises Refused, with the file's name, where it is broken or a place is taken."""
    if old is None and target.only_existing:
        return ConfigChange(target, None, None)
    with_all, what = _put(target, target.entries, old)
    return ConfigChange(target, old, with_all, what, keeps_old=old is not None, brings_secret=target.private)


def plan_uninstall(target: ConfigTarget, old: bytes | None, backups: Sequence[tuple[Path, bytes]]) -> ConfigChange:
    """What takes out the pieces that are in. `backups`: the file before we changed it, oldest first.

    Where nothing else has changed since, the file comes back as it was, byte by byte; one that we made goes. Raises
    Refused, with the file's name, where it is broken.
    """
    if old is None:
        return ConfigChange(target, None, None)
    present = _named(target.file, lambda: [piece for piece in target.entries if piece.is_in(_text(old))])
    if not present:
        return ConfigChange(target, old, old)
    before = next((content for _, content in backups), None)
    if before is not None and _is_ours_alone(target, before):
        before = None  # we had made the file, and changed it later
    untouched = _leads_to(target, present, before, old)
    if untouched:
        new = before
    else:
        bare = _without(target, present, old, before)
        new = None if before is None and not _says_anything(bare) else bare
    bares = [(place, _without(target, target.entries, content, before)) for place, content in backups]
    spent = tuple(place for place, bare in bares if bare == new or (new is None and not _says_anything(bare)))
    what = tuple(piece.what for piece in present)
    # Of a file that was all ours nothing is worth keeping, and a token that is taken out must be gone.
    keeps_old = not untouched and not spent and new is not None and not target.private
    return ConfigChange(target, old, new, what, spent, keeps_old=keeps_old)


def diff(change: ConfigChange, shown: str) -> str:
    """A unified diff for people, the file called `shown`. No secret of others is seen: of a private file no value, else
    none whose key sounds like one."""
    old, new = (_shown(content, hides=change.target.private) for content in (change.old, change.new))
    names = ("/dev/null" if change.old is None else shown, "/dev/null" if change.new is None else shown)
    lines = difflib.unified_diff(old, new, *names)
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def _put(target: ConfigTarget, pieces: Sequence[ConfigEntry], old: bytes | None) -> tuple[bytes, tuple[str, ...]]:
    text = start = _named(target.file, lambda: _text(old))
    what: list[str] = []
    for piece in pieces:
        before = text
        text = _named(target.file, lambda piece=piece, before=before: piece.insert(before))
        if text != before:
            what.append(piece.what)
    return (old if old is not None and text == start else text.encode()), tuple(what)


def _without(target: ConfigTarget, pieces: Sequence[ConfigEntry], content: bytes, before: bytes | None) -> bytes:
    def removed() -> str:
        text = _text(content)
        for piece in reversed(pieces):
            text = piece.remove(text, None if before is None else _text(before))
        return text

    return _named(target.file, removed).encode()


def _leads_to(target: ConfigTarget, pieces: Sequence[ConfigEntry], before: bytes | None, now: bytes) -> bool:
    """Whether putting the pieces into `before` makes just what is there now."""
    try:
        return _put(target, pieces, before)[0] == now
    except Refused:
        return False


def _is_ours_alone(target: ConfigTarget, content: bytes) -> bool:
    """Whether these are just the bytes that some of the pieces make of no file."""
    present = _named(target.file, lambda: [piece for piece in target.entries if piece.is_in(_text(content))])
    return bool(present) and _leads_to(target, present, None, content)


def _says_anything(content: bytes) -> bool:
    return content.strip() not in {b"", b"{}"}


def _named(file: Path, work: Callable[[], T]) -> T:
    try:
        return work()
    except Refused as refused:
        hint = refused.hint or "nothing was changed; mend the file, then try again"
        raise Refused(f"{file}: {refused.message}", hint=hint) from None


def _text(content: bytes | None) -> str:
    try:
        return (content or b"").decode()
    except UnicodeDecodeError as error:
        raise Refused(f"byte {error.start} is no UTF-8") from None


def _shown(content: bytes | None, *, hides: bool) -> list[str]:
    text = (content or b"").decode(errors="replace")
    if hides:
        text = re.sub(r"^([ \t]*(?:export[ \t]+)?\w+[ \t]*=)?.*\S.*", r"\1…", text, flags=re.MULTILINE)
    else:
        text = _SECRET.sub(_masked, text)
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def _masked(found: re.Match[str]) -> str:
    """The key alone; the quotes stay, so that the line still reads as what it is."""
    if found["scheme"]:
        return f"{found['scheme']}…"
    value = found["value"]
    if _REFERENCE.fullmatch(value):
        return found[0]
    quote = value[0] if value[0] in "\"'" else ""
    return f"{found['key']}{quote}…{quote}"
