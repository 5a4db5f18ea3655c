"""Stores a checked draft as a note that a search finds; the receipt says how far that went."""

from __future__ import annotations

from dataclasses import replace
from time import monotonic
from typing import TYPE_CHECKING

import anyio

from mcp_memory.errors import DeadlineExceeded, IndexUnavailable, McpMemoryError
from mcp_memory.models import Etag, Filters, NoteId, NotePath, Outcome, Passage, Problem, Receipt
from mcp_memory.runtime.threads import in_thread
from mcp_memory.vault.config import LOG
from mcp_memory.vault.draft import Draft, WriteResult

if TYPE_CHECKING:
    from mcp_memory.engine.parts import EngineParts

MOST_SIMILAR = 5

_UNKNOWN = Receipt(NoteId(""), NotePath(""), Etag(""), Outcome.UNKNOWN, "pending")


async def append_note(parts: EngineParts, draft: Draft, supersedes: NotePath | None = None) -> Receipt:
    """Store a draft within one deadline for writing and indexing. Raises what the vault raises; past the deadline the
    outcome is `UNKNOWN`, and the same call resolves it."""
    near: list[Passage] = []

    async def find_near() -> None:
        filters = Filters(now=parts.clock(), project=draft.project)
        near.extend(await parts.near_duplicates.find(draft.content, filters))

    failed: McpMemoryError | None = None
    receipt = _UNKNOWN
    async with anyio.create_task_group() as tasks:
        if draft.kind.name != LOG:
            tasks.start_soon(find_near)  # while the disk is at work
        try:
            receipt = await _write(parts, draft, supersedes)
        except McpMemoryError as error:
            failed = error
            tasks.cancel_scope.cancel()
    if failed:
        raise failed
    if receipt.outcome in (Outcome.DUPLICATE, Outcome.UNKNOWN):
        return receipt
    parts.updates.add(receipt.id, draft.source, draft.session)
    others = [passage.shown_id for passage in near if passage.note.path not in (receipt.path, supersedes)]
    return replace(receipt, similar=tuple(dict.fromkeys(others))[:MOST_SIMILAR])


async def _write(parts: EngineParts, draft: Draft, supersedes: NotePath | None) -> Receipt:
    deadline_s = parts.config.vault.write_deadline_s
    until = monotonic() + deadline_s
    try:
        stored = await in_thread(
            lambda: parts.vault.append(draft, supersedes=supersedes, same=_same_content(parts, draft)),
            deadline_s=deadline_s,
            what="writing the note",
        )
    except DeadlineExceeded:
        return _UNKNOWN
    indexed, record = await _index(parts, stored, supersedes, until), stored.file.record
    note_id = NoteId(f"{record.path}#{stored.entry}") if stored.entry else record.id
    return Receipt(note_id, record.path, record.etag, stored.outcome, indexed)


async def _index(parts: EngineParts, stored: WriteResult, old: NotePath | None, until: float) -> str:
    """Index what was just written, until `until` (monotonic seconds); otherwise the next sweep does. Vectors are made
    after the answer: until then, keyword search finds the note."""
    path = stored.file.record.path
    try:
        with anyio.fail_after(max(0.1, until - monotonic())):
            complete = await parts.writer.index_note(stored.file)
            if old:
                file = await in_thread(lambda: parts.vault.read(old), deadline_s=10, what="reading")
                await parts.writer.index_note(file)
    except (McpMemoryError, TimeoutError) as error:
        why = error.message if isinstance(error, McpMemoryError) else "not indexed in time"
        parts.writer.problems[path] = Problem(path, why)
        parts.watcher.hint()
        return "pending"
    if complete:
        return "full"
    parts.model.wake()
    return "keywords"


def _same_content(parts: EngineParts, draft: Draft) -> list[NotePath]:
    """Where the index knows this content from; the ledger knows too, but not after a move."""
    kind, project = draft.kind.name, draft.project
    written = parts.vault.ledger.written(draft.content_hash, kind, project)
    try:
        contents = [draft.content_hash, *sorted({entry.now for entry in written if entry.now})]
        found = [note for content in contents for note in parts.index.find_content(content, kind, project)]
    except IndexUnavailable:
        return []  # a broken index is no reason to refuse a note
    return [record.path for record in found if not record.path.startswith("@")]
