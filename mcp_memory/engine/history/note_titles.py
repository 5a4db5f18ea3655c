"""Finds the title that a note or entry has now, which is in no journal, and how much it is used."""

from contextlib import suppress
from typing import Any, NamedTuple

from mcp_memory.core.core import Core
from mcp_memory.errors import McpMemoryError, NotFound
from mcp_memory.models import NoteId, NotePath, NoteRecord
from mcp_memory.recall.note_list import date_of
from mcp_memory.search.note_lookup import named_by
from mcp_memory.text.markdown import logs
from mcp_memory.usage.note_use import NoteUse, heat
from mcp_memory.vault.note_file import derive_title, entries_of


class TitledNote(NamedTuple):
    """`record` is None if the index has no such note; a title may be empty."""

    record: NoteRecord | None
    title: str


def find_titled(core: Core, target: str, read: dict[NotePath, dict[str, str]]) -> TitledNote:
    """Return the note with this id, forgotten or not, or the note with this entry. Reads a file only if it isn't in
    `read`, since a long day takes a tenth of a second. Call it in a thread."""
    named = named_by(target)
    if not isinstance(named, tuple):
        found = core.index.note_by_id(named)
        return TitledNote(found[0], found[0].title) if found else TitledNote(None, "")
    path, hash_ = named
    note = core.index.note(path)
    if hash_ is None:
        return TitledNote(note, note.title if note else "")
    if path not in read:
        read[path] = {}
        with suppress(McpMemoryError):
            text = core.vault.read(path).text
            read[path] = {entry.hash: _title(text[entry.start : entry.end]) for entry in entries_of(path, text)}
    return TitledNote(note, read[path].get(hash_, ""))


def describe_use(core: Core, path: NotePath, entry: str | None) -> dict[str, Any]:
    """A note's or entry's use, by day and in all, and how hot that makes it. Raises NotFound; call it in a thread."""
    note = core.index.note(path)
    if note is None:
        raise NotFound(f"no note at {path}", hint="memory_search finds ids")
    note_id = NoteId(f"{path}#{entry}") if entry else note.id
    use = core.recall.uses.read([note_id]).get(note_id, NoteUse())
    _, title = find_titled(core, note_id, {})
    return {
        "id": note_id, "path": path, "title": title,
        "heat": heat(use, core.clock().date(), date_of(note).date()).value,
        "last_used": use.used_days[-1].isoformat() if use.used_days else None,
        **use.total._asdict(), "questions": use.questions, "sessions": use.sessions, "clients": list(use.clients),
        "days": {day.isoformat(): counts._asdict() for day, counts in sorted(use.days.items())},
    }  # fmt: skip


def _title(entry: str) -> str:
    whole = logs.without_author(entry)
    heading, _, body = whole.removeprefix("## ").partition("\n")
    return derive_title(logs.title_and_labels([heading])[0] or body or whole)
