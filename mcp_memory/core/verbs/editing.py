"""Replaces the text of notes for a person."""

from __future__ import annotations

from time import monotonic

from mcp_memory.core.core import Core
from mcp_memory.core.requests import UpdateRequest
from mcp_memory.core.verbs.written_notes import index_change
from mcp_memory.models import (
    NoteId,
    Receipt,
)
from mcp_memory.runtime.threads import in_thread
from mcp_memory.search.note_lookup import Place
from mcp_memory.vault.draft import WriteResult


async def update(core: Core, request: UpdateRequest) -> Receipt:
    """Replace the text of a note or entry, for a person, and index it; the same text again changes nothing.

    Raises PreconditionFailed, InvalidInput, NotFound, Refused, StorageFailed."""
    core.indexing.watcher.touch()
    return await core.search.lookup.reach(
        [request.target], lambda places: edit_note(core, places[0], request.text or "", request.expected)
    )


async def edit_note(core: Core, place: Place, text: str, expected: str | None) -> Receipt:
    """Replace the text of a note or entry and index it. Raises the errors of the vault, and DeadlineExceeded, after
    which the same call returns the outcome."""
    deadline_s = core.config.vault.write_deadline_s
    until = monotonic() + deadline_s
    vault = core.vault

    def change() -> WriteResult:
        edited = vault.editing.edit(*place, text, expected)
        if edited.file.record.always_load:  # you have just seen its head, and want it so
            vault.provenance.adopt(edited.file)
        return edited

    edited = await in_thread(change, deadline_s=deadline_s, what="changing the note")
    record = edited.file.record
    note_id = NoteId(f"{record.path}#{edited.entry}") if edited.entry else record.id
    return Receipt(note_id, record.path, record.etag, edited.outcome, await index_change(core, edited, until))
