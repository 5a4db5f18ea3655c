"""The line in an imported note that tells which version of its source it is of, and whether anybody edited it since.

`import_check: v1-<of the source>-<of the note>`: 16 hexadecimal digits of the sha256 of the source's bytes, and of the
note's own with these digits as zeros. So an edit is noticed on every device, and without any state.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

KEY = "import_check"
OPEN = "0" * 16
"""Stands for the note's own digits while they are computed."""

BASE32 = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
NO_TIME = "0" * 10
"""The part of a ULID that tells when it was made: an import makes the same id each time."""

_FORM = re.compile(rb"^[ \t]*import_check: v1-([0-9a-f]{16})-([0-9a-f]{16})[ \t]*\r?$", re.MULTILINE)
_HEAD_BYTES = 80 * 1024
"""More than any frontmatter that is read."""


@dataclass(frozen=True, slots=True)
class ImportSeal:
    """`source` is the digest of the version that was imported."""

    source: str
    unbroken: bool

    @staticmethod
    def read(data: bytes) -> ImportSeal | None:
        """None for a note that was not imported, or whose seal is gone."""
        found = _FORM.search(data[:_HEAD_BYTES])
        if found is None:
            return None
        start, end = found.span(2)
        opened = data[:start] + OPEN.encode() + data[end:]
        return ImportSeal(found[1].decode(), hashlib.sha256(opened).hexdigest()[:16].encode() == found[2])


def mark_in(note_id: str) -> str | None:
    """The mark of the source that a note with this id was imported from, if it was."""
    is_ours = len(note_id) == 26 and note_id.startswith(NO_TIME) and set(note_id) <= set(BASE32)
    return note_id[10:16] if is_ours else None
