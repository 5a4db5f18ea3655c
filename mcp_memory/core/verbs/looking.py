"""Describes one note or entry as a person looks at it, forgotten or not: its facts, its exact text, and its origin."""

from collections.abc import Sequence
from contextlib import suppress

from mcp_memory.core.core import Core
from mcp_memory.core.requests import TargetRequest
from mcp_memory.core.serializers import Payload, listed_payload
from mcp_memory.errors import McpMemoryError, NotFound
from mcp_memory.models import NotePath, NoteState
from mcp_memory.recall.note_reader import TranscriptPlace
from mcp_memory.runtime.threads import LOOK_DEADLINE_S, in_thread
from mcp_memory.search.note_lookup import Place
from mcp_memory.text.escape_invisible import visible_in
from mcp_memory.vault.note_file import NoteFile, find_entry, muted_projects
from mcp_memory.vault.succession.entry_marks import note_of

AROUND = 3
"""The lines of a transcript before and after the one from which a note was made."""


async def look(core: Core, request: TargetRequest) -> Payload:
    """Describe a note or entry. `text` is exact, with `etag` to change it; `locked`: why it can't be changed. Raises
    NotFound."""

    async def describe(places: Sequence[Place]) -> Payload:
        return await in_thread(_describe, core, *places[0], deadline_s=LOOK_DEADLINE_S, what="reading the note")

    return await core.search.lookup.reach([request.target], describe, deleted=True)


def _describe(core: Core, path: NotePath, entry: str | None) -> Payload:
    file = core.vault.read(path)
    passages = core.index.passages(path) if entry else []
    note = next((note_of(one) for one in passages if one.chunk.entry == entry), file.record)
    facts = listed_payload(note, core.clock())
    if entry:
        found = find_entry(path, file.text, entry)
        if found is None:
            raise NotFound(f"no entry {entry} in {path}", hint="memory_search finds ids")
        text, etag = file.text[found.start : found.end], entry
        facts |= {"id": f"{path}#{entry}", "title": ""}
    else:
        text, etag = file.text, file.record.etag
    is_forgotten = note.state is NoteState.DELETED or entry in file.forgotten_entries
    locked = "it belongs to a read-only source" if path.startswith("@") else None
    if not locked:
        try:
            text, etag = core.vault.editing.read(path, entry)
        except McpMemoryError as error:
            locked = error.message
    dates = {name: getattr(note, name) for name in ("created", "updated", "expires_at")}
    return {
        **visible_in(facts),
        **{name: value.isoformat(timespec="seconds") if value else None for name, value in dates.items()},
        "source": note.source, "session": note.session, "due": note.meta.get("due"), "problem": note.problem,
        "private": core.config.recall.private_marks.cover(note), "is_marked_private": note.is_private,
        "muted": muted_projects(file.record.meta.get("muted", ()), entry), "owner": core.vault.tier(path, note.id),
        "status": "forgotten" if is_forgotten else facts["status"], "entry": entry, "state": note.state.value,
        "body_start": 0 if entry else file.body_start, "text": text, "etag": etag, "locked": locked,
        "origin": _origin(core, file) if note.session and not is_forgotten else None,
    }  # fmt: skip


def _origin(core: Core, file: NoteFile) -> Payload | None:
    """Return the lines of the transcript from which a note was made, while they are kept."""
    place: TranscriptPlace | None = core.recall.answerer.reader.said_at(file)
    if place is None:
        return None
    with suppress(McpMemoryError):
        lines = core.vault.read(place.path).text.splitlines()
        first = max(0, place.line - 1 - AROUND)
        around = [
            {"number": number, "text": text, "is_said": number == place.line}
            for number, text in enumerate(lines[first : place.line + AROUND], first + 1)
        ]
        return visible_in({**place._asdict(), "lines": around})
    return None
