"""Read and write the marks in a log's head that record which note superseded which entry, and when."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, time

from mcp_memory.models import Filters, NoteId, NoteRecord, NoteState, Passage, PrivateMarks
from mcp_memory.text.dates import as_datetime
from mcp_memory.text.markdown import logs
from mcp_memory.text.markdown.tags import text_tags
from mcp_memory.vault.note_file import NoteFile, content_hash, derive_title, muted_projects

_OF_ENTRIES = frozenset(("superseded", "muted", "private_entries"))
"""Marks of single entries in a log's head or text."""


def entry_note(log: NoteFile, entry: str) -> NoteFile | None:
    """Return a log's entry as a note of its own, even a forgotten one; None if the log doesn't have it."""
    found = next((known for known in logs.entries(log.text, log.body_start) if known.hash == entry), None)
    if found is None or log.record.created is None:
        return None
    text = log.text[found.start : found.end].rstrip()
    note = _with_tags_of(entry_record(log.record, entry), text)
    own, when = logs.labels([f"{found.time} {found.title}"]), time.fromisoformat(found.time)
    record = replace(
        note, title=found.title or derive_title(text.partition("\n")[2]), content_hash=content_hash(text), is_log=False,
        created=log.record.created.replace(hour=when.hour, minute=when.minute), updated=None,
        project=own.project or note.project, tags=own.tags, source=own.source, session=own.session,
        state=NoteState.DELETED if entry in log.forgotten_entries else note.state,
    )  # fmt: skip
    return NoteFile(record, text, 0, log.settled)


def admits(filters: Filters, passage: Passage) -> bool:
    """Return whether a passage as it is now passes the filters."""
    is_kept = filters.private is not None and is_private(passage, filters.private)
    note = note_of(passage)
    return not is_kept and filters.admits(note) and filters.admits_author(note)


def is_private(passage: Passage, private: PrivateMarks) -> bool:
    """Return whether a passage's note, log entry or lines of `MEMORY.md` are private."""
    note = note_of(passage)
    return private.cover(note) or (passage.chunk.entry is not None and private.name_any(note.all_tags))


def private_entries(log: NoteFile, private: PrivateMarks) -> frozenset[str]:
    """Return the hashes of a log's private entries; all of them if the log is private."""
    if private.cover(log.record):
        return frozenset(entry.hash for entry in logs.entries(log.text, log.body_start))
    named = list[str]()
    for entry in logs.entries(log.text, log.body_start) if private.tags else ():
        labels = logs.labels([f"{entry.time} {entry.title}"])
        if private.name_any((*labels.tags, *text_tags(log.text[entry.start : entry.end]))):
            named.append(entry.hash)
    return frozenset((*log.record.meta.get("private_entries", ()), *named))


def note_of(passage: Passage) -> NoteRecord:
    """Return the note as filters see it: private if the passage is. A log entry has its own project, tags and mutes."""
    note, chunk = passage.note, passage.chunk
    if not chunk.entry:
        return as_private(note) if has_private_lines(note, chunk.start_line, chunk.end_line) else note
    labels = logs.labels(chunk.headings)
    note = entry_record(note, chunk.entry) if _OF_ENTRIES & note.meta.keys() else note
    note = _with_tags_of(note, chunk.text)
    own = {name: value for name in ("project", "source", "session") if (value := getattr(labels, name))}
    return replace(note, tags=labels.tags, **own)


def has_private_lines(note: NoteRecord, first: int, last: int) -> bool:
    """Return whether one of these lines of `MEMORY.md` is private."""
    return any(start <= last and first <= end for start, end in note.meta.get("private_lines", ()))


def _with_tags_of(note: NoteRecord, entry: str) -> NoteRecord:
    return replace(note, meta={**note.meta, "text_tags": text_tags(entry)}) if "text_tags" in note.meta else note


def as_private(note: NoteRecord) -> NoteRecord:
    return replace(note, meta={**note.meta, "private": True})


def superseded(file: NoteFile, entry: str | None = None) -> list[NoteFile]:
    """Return the note, if it was ever superseded; for a log, the superseded entries, or only the given entry."""
    marked = (known for known in successors_of_entries(file.record) if entry in (None, known))
    notes = [file, *(entry_note(file, known) for known in marked if known not in file.forgotten_entries)]
    return [note for note in notes if note and (note.record.superseded_by or note.record.superseded_at)]


def entry_record(log: NoteRecord, entry: str) -> NoteRecord:
    """Return the log's record with the id, mutes, privacy and state of one entry: superseded, unless the log is retired
    or the entry is active again."""
    record = replace(log, id=NoteId(f"{log.path}#{entry}"))
    if entry in log.meta.get("private_entries", ()):
        record = as_private(record)
    if marks := log.meta.get("muted"):
        record = replace(record, meta={**record.meta, "muted": muted_projects(marks, entry)})
    mark = next((rest for known, rest in _marks(log) if known == entry), None)
    if mark is None:
        return record
    by, _, at = mark.rpartition(" ")
    record = replace(record, superseded_by=(NoteId(by),))
    if entry in log.meta.get("counts_again", ()):
        return record
    state = NoteState.ARCHIVED if log.state is NoteState.ACTIVE else log.state
    return replace(record, state=state, superseded_at=as_datetime(at, UTC) or log.updated)


def successors_of_entries(log: NoteRecord) -> Mapping[str, NoteId]:
    """Return the hash of each superseded entry, and the id of its replacement."""
    return {entry: NoteId(rest.rpartition(" ")[0]) for entry, rest in _marks(log)}


def entry_mark(log: NoteFile, entry: str, by: NoteId, at: datetime) -> str:
    """Return an entry's mark. It contains the place of the entry, which identifies it even if someone edits it in an
    editor."""
    places = logs.places(logs.entries(log.text, log.body_start)).items()
    return " ".join([entry, by, at.isoformat(), *(place for place, known in places if known == entry)][:4])


def _marks(log: NoteRecord) -> list[tuple[str, str]]:
    pairs = (logs.PLACE.sub("", str(mark)).partition(" ") for mark in log.meta.get("superseded", ()))
    return [(entry, rest) for entry, _, rest in pairs]
