"""Answers requests that store, change, forget or restore a note."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from mcp_memory.engine.known_kinds import kind_to_store
from mcp_memory.engine.note_changes import append_note, edit_note, forget_note
from mcp_memory.engine.recalling import check_visible
from mcp_memory.engine.requests import AppendRequest, ForgetRequest, RestoreRequest, UpdateRequest
from mcp_memory.errors import InvalidInput, Refused
from mcp_memory.models import NoteRecord, Receipt, is_channel
from mcp_memory.runtime.threads import in_thread
from mcp_memory.search.note_lookup import Place
from mcp_memory.text.due_dates import find_due
from mcp_memory.vault.config import COMMITMENT, LOG
from mcp_memory.vault.draft import MAX_TITLE, Draft, creation, due_day, expiry, one_line
from mcp_memory.vault.journals.change_journal import current_caller
from mcp_memory.vault.note_file import MEMORY

if TYPE_CHECKING:
    from mcp_memory.engine.parts import EngineParts


async def append(parts: EngineParts, request: AppendRequest) -> Receipt:
    """Store a note durably and index it; the same content again returns the first note.

    Raises InvalidInput, Refused, AlreadyExists (for `path`), NotFound (for `supersedes`), StorageFailed."""
    parts.watcher.touch()
    if request.section and request.path != MEMORY:
        raise InvalidInput("only MEMORY.md has sections", hint="pass path='MEMORY.md' too, or leave section out")
    if is_channel(request.project) and (request.path or request.kind == LOG):
        raise Refused("other conversations read that", hint="in a conversation with others: no path, and no log")
    draft = await _draft(parts, request)
    if not request.supersedes:
        return await append_note(parts, draft)
    await check_visible(parts, request.project, [request.supersedes])

    async def replace_note(places: Sequence[Place]) -> Receipt:
        path, entry = places[0]
        if entry or request.project:
            return await append_note(parts, draft, places[0])
        find = partial(parts.index.note, path)
        old = await in_thread(find, deadline_s=10, what="looking up the note")
        return await append_note(parts, replace(draft, project=old.project) if old else draft, places[0])

    return await parts.note_lookup.reach([request.supersedes], replace_note)


async def _draft(parts: EngineParts, request: AppendRequest) -> Draft:
    zone = parts.vault.layout.tz
    kind, created = await kind_to_store(parts, request.kind), creation(request.created, zone, parts.clock())
    is_commitment = kind.name == COMMITMENT
    due = due_day(request.due or (request.expires if is_commitment else None), zone)
    if is_commitment and due is None:
        said = (created or parts.clock()).astimezone(zone)
        read_due = partial(find_due, f"{request.title or ''}\n{request.content}", said)
        due = await in_thread(read_due, deadline_s=10, what="reading a date")
    return Draft(
        content=request.content,
        kind=kind,
        title=request.title.strip() if request.title else None,
        tags=tuple(tag.strip() for tag in request.tags or ()),
        project=parts.projects.label_named(request.project),
        session=request.session,
        source=request.source,
        expires_at=expiry(request.expires, zone) if request.due or not is_commitment else None,
        due=due,
        path=request.path.removeprefix("./") if request.path else None,
        created=created,
        section=request.section,
        once=request.once,
        more={"refs": [one_line("ref", ref, MAX_TITLE) for ref in request.refs]} if request.refs else {},
    )


async def update(parts: EngineParts, request: UpdateRequest) -> Receipt:
    """Replace the text of a note or entry, for a person, and index it; the same text again changes nothing.

    Raises PreconditionFailed, InvalidInput, NotFound, Refused, StorageFailed."""
    parts.watcher.touch()
    return await parts.note_lookup.reach(
        [request.target], lambda places: edit_note(parts, places[0], request.text or "", request.expected)
    )


async def forget(parts: EngineParts, request: ForgetRequest) -> NoteRecord:
    """Take a note or entry out of every answer, archive it, or bring it back; its file stays.

    Raises Ambiguous, NotFound, Refused, StorageFailed."""
    parts.watcher.touch()

    async def change(places: Sequence[Place]) -> NoteRecord:
        return await forget_note(
            parts,
            *places[0],
            restore=request.restore,
            archive=request.archive,
            done=request.done,
            reason=request.reason,
            by=current_caller(),
        )

    return await parts.note_lookup.reach([request.target], change, deleted=request.restore)


async def restore(parts: EngineParts, request: RestoreRequest) -> NoteRecord:
    """Bring a forgotten or archived note or entry back. Raises NotFound, Refused, StorageFailed."""
    return await forget(parts, ForgetRequest(request.target, restore=True, session=request.session))
