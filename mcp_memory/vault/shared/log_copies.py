"""Merge the conflict copies that sync programs leave beside daily logs, and put them into the archive."""

from contextlib import suppress
from dataclasses import dataclass
from typing import cast

from mcp_memory.errors import AlreadyExists, Refused
from mcp_memory.models import NotePath
from mcp_memory.text.markdown import frontmatter, logs
from mcp_memory.text.markdown.frontmatter import Value
from mcp_memory.text.markdown.logs import LogEntry, is_log_path
from mcp_memory.vault.marks.set_aside import original_of
from mcp_memory.vault.note_file import ARCHIVE, NoteFile, editable_text
from mcp_memory.vault.note_store import NoteStore


def log_of_copy(path: NotePath) -> NotePath | None:
    """Return the log of which this file is a conflict copy; None for any other file, and in a source."""
    original = None if path.startswith("@") else original_of(path)
    return NotePath(original) if original and is_log_path(original) else None


@dataclass(frozen=True)
class LogCopies:
    """The conflict copies of daily logs."""

    notes: NoteStore

    def merge(self, copy: NotePath) -> tuple[NoteFile, NoteFile]:
        """Add the entries of a conflict copy to its log, and move the copy to `_archive/`; return the log and the
        archived copy.

        Raises Refused if the copy has more than entries, isn't text, or its log is gone or would be too large, and
        StorageFailed."""
        path = NotePath(log_of_copy(copy) or "")
        self._merge_into(path, copy)
        archived = self._archive(copy)
        return self._merge_into(path, archived.record.path), archived  # the sync program may have written until now

    def _merge_into(self, path: NotePath, copy: NotePath) -> NoteFile:
        text = editable_text(copy, self.notes.read_bytes(copy).data)

        def merged(file: NoteFile | None, before: str) -> str:
            after = merge_logs(before, text) if file else None
            if after is None:
                raise Refused(f"{copy} has more than entries, or its log is gone")
            return after

        return self.notes.change(path, merged)

    def _archive(self, copy: NotePath) -> NoteFile:
        place = self.notes.layout.in_home(f"{ARCHIVE}/{copy.removesuffix('.md')}")
        for number in range(1, 100):
            tail = f"-{number}" if number > 1 else ""
            with suppress(AlreadyExists):
                return self.notes.move(copy, NotePath(f"{place}{tail}.md"))
        raise AlreadyExists(f"every name for {copy} in {ARCHIVE}/ is taken")


def merge_logs(text: str, other: str) -> str | None:
    """Return `text` with the entries and marks that only `other` has, each entry at its time; None if `other` has more
    that would be lost, such as a note above its entries. Raises InvalidInput for a head that can't be changed."""
    document = frontmatter.parse(other)
    others = logs.entries(other, document.body_start)
    above = other[document.body_start : others[0].start if others else len(other)]
    if document.problem or any(line.strip() not in text for line in above.splitlines()):
        return None
    merged = text
    for entry in others:
        written = other[entry.start : entry.end].strip().replace("\r\n", "\n")
        found = logs.entries(merged, frontmatter.parse(merged).body_start)
        lines = f"\n{merged}\n".replace("\r\n", "\n")
        if f"\n{written}\n" not in lines and all(entry.hash != known.hash for known in found):
            merged = _inserted(merged, found, entry.time, f"{written}\n")
    return _with_marks(merged, document)


def _inserted(text: str, entries: list[LogEntry], time: str, entry: str) -> str:
    """Insert an entry before the first later one, so that two devices that merge the same versions get the same
    bytes."""
    at = next((later.start for later in entries if later.time > time), None)
    if at is None:
        return logs.append_entry(text, entry)
    newline = frontmatter.newline_of(text)
    return text[:at] + f"{entry}\n".replace("\n", newline) + text[at:]


def _with_marks(text: str, other: frontmatter.Document) -> str | None:
    """Add the marks of entries in the other log's head, such as `forgotten`; None for a value that differs."""
    own = frontmatter.parse(text).meta
    changes: dict[str, Value | None] = {}
    for key, value in other.meta.items():
        known = own.get(key)
        if isinstance(value, list) and isinstance(known, list | None):
            items = [*cast("list[object]", known or []), *cast("list[object]", value)]
            changes[key] = list(dict.fromkeys(map(str, items)))
        elif known is None:
            changes[key] = value
        elif known != value:
            return None
    return frontmatter.patch(text, changes)
