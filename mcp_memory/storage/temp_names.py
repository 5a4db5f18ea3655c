"""Names that we make up: hidden ones for files in transit, visible ones for conflict copies. Pure functions.

A hidden name says what its bytes should be, so that after a crash a file with known bytes can be swept, and one with
unknown bytes (it may hold an editor's save) is kept and reported:

    .<random>.<new>.<old>.mcpm                 `new`, `old`: first 16 hex digits of an etag; `old` may be `none`
    .<random>.<new>.<old>.was.<name>.mcpm      the old file, put aside while `<name>` is free for a moment
"""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass
from datetime import datetime
from pathlib import PurePosixPath

from mcp_memory.models import Etag
from mcp_memory.storage.paths import MAX_COMPONENT_BYTES

SUFFIX = ".mcpm"
_DIGITS = 16
_FORM = re.compile(
    rf"\.[0-9a-f]{{8}}\.(?P<new>[0-9a-f]{{{_DIGITS}}})\.(?P<old>[0-9a-f]{{{_DIGITS}}}|none)(?:\.was\.(?P<was>.+))?\.mcpm",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class TempName:
    """What a hidden file should hold: the bytes of a write (`new`) or those it replaced (`old`)."""

    new: str
    old: str | None
    was: str | None = None
    """The name that the file had, if it must get it back where that name is free."""

    @classmethod
    def for_etags(cls, new: Etag, old: Etag | None, was: str | None = None) -> TempName:
        return cls(new[:_DIGITS], old[:_DIGITS] if old else None, was)

    @classmethod
    def parse(cls, name: str) -> TempName | None:
        """None for a name that is not ours."""
        found = _FORM.fullmatch(name)
        if found is None:
            return None
        old = found["old"]
        return cls(found["new"], None if old == "none" else old, found["was"])

    def names_bytes(self, etag: Etag) -> bool:
        """Whether bytes with this etag are the new or the old ones: then nothing is lost with the file."""
        return etag[:_DIGITS] in {self.new, self.old}

    def fresh(self) -> str:
        """A new file name of this form; may exceed 255 bytes if `was` does nearly."""
        was = f".was.{self.was}" if self.was else ""
        return f".{secrets.token_hex(4)}.{self.new}.{self.old or 'none'}{was}{SUFFIX}"


def conflict_name(name: str, moment: datetime, number: int = 1) -> str:
    """`plan.md` → `plan (conflict 2026-11-21 14.03.55).md`; `number` tells apart those of one second.

    Without colons, so that it can be synced to Windows; the stem is shortened where 255 bytes would be exceeded.
    """
    path = PurePosixPath(name)
    count = f" {number}" if number > 1 else ""
    tail = f" (conflict {moment:%Y-%m-%d %H.%M.%S}{count}){path.suffix}"
    room = MAX_COMPONENT_BYTES - len(tail.encode())
    stem = path.stem.encode("utf-8", "surrogateescape")[:room].decode("utf-8", "ignore").rstrip()
    return stem + tail
