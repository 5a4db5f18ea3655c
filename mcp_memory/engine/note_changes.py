"""Stores, forgets and restores notes: the file first, then the index.

Forgetting takes a note or log entry out of every answer, along with other files that hold the same bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from time import monotonic
from typing import TYPE_CHECKING

import anyio

from mcp_memory.conflicts.detector import NoteText
from mcp_memory.errors import DeadlineExceeded, IndexUnavailable, McpMemoryError, NotFound, Refused
from mcp_memory.models import (
    Contradicted,
    Etag,
    Filters,
    NoteId,
    NotePath,
    NoteRecord,
    NoteState,
    Outcome,
    Passage,
    Problem,
    Receipt,
    SimilarNote,
    is_channel,
)
from mcp_memory.runtime.threads import in_thread
from mcp_memory.search.note_lookup import Place
from mcp_memory.text.secrets.finder import find_secret
from mcp_memory.text.tokens import truncate
from mcp_memory.vault.config import LOG
from mcp_memory.vault.draft import Draft, WriteResult, one_line
from mcp_memory.vault.journals.change_journal import acting
from mcp_memory.vault.journals.tombstones import UNKNOWN, Caller, Tombstone
from mcp_memory.vault.note_file import MEMORY, NoteFile

if TYPE_CHECKING:
    from mcp_memory.capture.session_reader import CapturedMessages
    from mcp_memory.engine.parts import EngineParts

MOST_SIMILAR = 5
SIMILAR_TOKENS = 40
MOST_FORGOTTEN = 1_000_000
LINK_TOKENS = 75

_UNKNOWN = Receipt(NoteId(""), NotePath(""), Etag(""), Outcome.UNKNOWN, "pending")


async def append_note(parts: EngineParts, draft: Draft, supersedes: Place | None = None) -> Receipt:
    """Store a draft within one deadline for writing and indexing, in place of a note or entry. Raises what the vault
    raises; past the deadline the outcome is `UNKNOWN`, and the same call resolves it."""
    if supersedes and supersedes[0] == MEMORY and supersedes[1]:
        draft, supersedes = replace(draft, path=MEMORY, replaces=supersedes[1]), None
    private = parts.config.recall.private_marks  # of which no answer speaks unasked
    near: list[Passage] = []
    contrary: list[Contradicted] = []

    async def find_near() -> None:
        filters = Filters(now=parts.clock(), project=draft.project, private=private)
        near.extend(await parts.near_duplicates.find(draft.content, filters))

    async def find_contrary() -> None:
        contrary.extend(await parts.near_duplicates.contradicted_by(_text_of(draft), draft.created, private))

    failed: McpMemoryError | None = None
    receipt = _UNKNOWN
    async with anyio.create_task_group() as tasks:
        if draft.kind.name != LOG:
            tasks.start_soon(find_near)  # while the disk is at work
        if supersedes is None and not draft.replaces and not is_channel(draft.project):
            tasks.start_soon(find_contrary)
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
    chain = (receipt.id, (receipt.superseded or {}).get("id"), f"path:{receipt.path}")
    contradicts = tuple(one for one in contrary if one.id not in chain)[:MOST_SIMILAR]
    if contradicts:
        parts.watcher.hint()  # so that answers mark them soon
    similar: dict[str | None, SimilarNote | None] = dict.fromkeys((*chain, *(one.id for one in contradicts)))
    for passage in near:
        text = truncate(" ".join(passage.chunk.text.split()), SIMILAR_TOKENS)
        similar.setdefault(passage.shown_id, SimilarNote(passage.shown_id, text))
    return replace(receipt, similar=tuple(filter(None, similar.values()))[:MOST_SIMILAR], contradicts=contradicts)


async def append_for_source(parts: EngineParts, draft: Draft, supersedes: Place | None = None) -> Receipt:
    """Store a draft as a change of its source's, for work that no request asked for. As `append_note`."""
    with acting(Caller(draft.source, draft.session)):
        return await append_note(parts, draft, supersedes)


def _text_of(draft: Draft) -> NoteText:
    return NoteText(draft.content.strip(), draft.title or "", draft.kind.name, draft.project)


async def _write(parts: EngineParts, draft: Draft, supersedes: Place | None) -> Receipt:
    deadline_s = parts.config.vault.write_deadline_s
    old, entry = supersedes or (None, None)
    until = monotonic() + deadline_s
    try:
        stored = await in_thread(
            lambda: parts.vault.append(
                draft, supersedes=old, entry=entry, same=_same_content(parts, draft), fits=parts.answerer.shows_all
            ),
            deadline_s=deadline_s,
            what="writing the note",
        )
    except DeadlineExceeded:
        return _UNKNOWN
    indexed, record = await _index(parts, stored, until), stored.file.record
    note_id = NoteId(f"{record.path}#{stored.entry}") if stored.entry else record.id
    before = stored.replaced
    later = before and before.record.path != old
    why = f"{old} had been replaced by this one already" if later else ""
    return Receipt(
        note_id, record.path, record.etag, stored.outcome, indexed,
        superseded=link_of(parts, before, why), superseded_by=link_of(parts, stored.holding),
    )  # fmt: skip


def link_of(parts: EngineParts, file: NoteFile | None, why: str = "") -> Mapping[str, str] | None:
    """Describe another note of a chain for an answer, without the text of a private note. `why`: a remark about it."""
    if file is None:
        return None
    is_private = parts.config.recall.private_marks.cover(file.record)
    text = "" if is_private else truncate(" ".join(file.body.split()), LINK_TOKENS)
    return {"id": file.record.id, "path": file.record.path, "text": text} | ({"why": why} if why else {})


async def _index(parts: EngineParts, stored: WriteResult, until: float) -> str:
    """Index what was just written, until `until` (monotonic seconds); otherwise the next sweep does. Vectors are made
    after the answer: until then, keyword search finds the note."""
    path = stored.file.record.path
    try:
        with anyio.fail_after(max(0.1, until - monotonic())):
            complete = await parts.writer.index_note(stored.file)
            if stored.replaced:
                old = stored.replaced.record.path
                file = await in_thread(lambda: parts.vault.read(old), deadline_s=10, what="reading")
                await parts.writer.index_note(file)
    except (McpMemoryError, TimeoutError) as error:
        _put_off(parts, path, error)
        return "pending"
    if complete:
        return "full"
    parts.model.wake()
    return "keywords"


async def index_written(parts: EngineParts, file: NoteFile) -> None:
    """Index a note that a person's change has written; what fails is left to the next sweep: the change is made."""
    try:
        await parts.writer.index_note(file)
    except McpMemoryError as error:
        _put_off(parts, file.record.path, error)


async def holding_note(parts: EngineParts, record: NoteRecord) -> Mapping[str, str] | None:
    """Return the other note of this one's chain that counts now."""

    def look() -> Mapping[str, str] | None:
        with suppress(McpMemoryError):  # what was just changed is answered in any case
            head = None if record.is_log else parts.vault.chains.holding(parts.vault.read(record.path))
            return link_of(parts, head)

    return await in_thread(look, deadline_s=10, what="looking for the note that holds")


def why_behind(parts: EngineParts, path: NotePath) -> str | None:
    """Why the index doesn't know yet what was just written to a file; None if it does."""
    problem, known = parts.writer.problems.get(path), parts.writer.indexed_files.get(path)
    return problem.reason if problem and not (known and known.signature) else None


def _put_off(parts: EngineParts, path: NotePath, error: Exception) -> None:
    """Leave a file that is written to the next sweep, which is due now."""
    why = error.message if isinstance(error, McpMemoryError) else "not indexed in time"
    parts.writer.reindex_later(path)
    parts.writer.problems[path] = Problem(path, why)
    parts.watcher.hint()


def _same_content(parts: EngineParts, draft: Draft) -> list[NotePath]:
    """Where the index knows this content from; the ledger knows too, but not after a move."""
    kind, project = draft.kind.name, draft.project
    written = parts.vault.ledger.written(draft.content_hash, kind, project)
    try:
        contents = [draft.content_hash, *sorted({entry.now for entry in written if entry.now})]
        found = [note for content in contents for note in parts.index.find_content(content, kind, project)]
    except IndexUnavailable:
        return []  # a note is stored even while the index is broken
    return [record.path for record in found if not record.path.startswith("@")]


async def edit_note(parts: EngineParts, place: Place, text: str, expected: str | None) -> Receipt:
    """Replace the text of a note or entry and index it. Raises what the vault raises, and DeadlineExceeded: then
    the same call returns the outcome."""
    deadline_s = parts.config.vault.write_deadline_s
    until = monotonic() + deadline_s
    vault = parts.vault

    def change() -> WriteResult:
        edited = vault.editing.edit(*place, text, expected)
        if edited.file.record.always_load:  # you have just seen its head, and want it so
            vault.provenance.adopt(edited.file)
        return edited

    edited = await in_thread(change, deadline_s=deadline_s, what="changing the note")
    record = edited.file.record
    note_id = NoteId(f"{record.path}#{edited.entry}") if edited.entry else record.id
    return Receipt(note_id, record.path, record.etag, edited.outcome, await _index(parts, edited, until))


async def forget_note(
    parts: EngineParts,
    path: NotePath,
    entry: str | None,
    *,
    restore: bool = False,
    archive: bool = False,
    done: bool = False,
    reason: str | None = None,
    by: Caller = UNKNOWN,
) -> NoteRecord:
    """Forget, archive or restore, with one deadline for the file and one for the index, which may stay behind
    (`why_behind`): the next sweep brings it up to date. Raises what the vault raises, and Refused for a secret in the
    reason."""
    vault, writer, config = parts.vault, parts.writer, parts.config.vault
    why = one_line("reason", reason, 500) if reason else None
    if why and config.secrets != "allow" and (found := find_secret(why)):
        raise Refused(f"the reason seems to hold a secret ({found})", hint="leave it out")

    def change() -> NoteFile:
        if archive or done:
            return vault.archive(path, entry, by, done=done)
        return vault.restore(path, entry, by) if restore else vault.forget(path, entry, why, by)

    try:
        file = await in_thread(change, deadline_s=config.write_deadline_s, what="changing the note")
    except McpMemoryError:
        writer.reindex_later(path)  # a sweep may have seen it half done
        raise
    try:
        with anyio.fail_after(config.write_deadline_s):
            await writer.index_note(file)
            for copy in _identical_files(parts, file):
                with suppress(NotFound):  # it was filed elsewhere, and is this very note
                    await writer.index_note(await in_thread(lambda copy=copy: vault.read(copy), what="reading"))
    except (McpMemoryError, TimeoutError) as error:
        for written in (path, *_identical_files(parts, file)):
            _put_off(parts, written, error)
    parts.model.wake()
    return replace(file.record, id=NoteId(f"{path}#{entry}")) if entry else file.record


async def forget_as(
    parts: EngineParts,
    by: Caller,
    path: NotePath,
    entry: str | None,
    *,
    restore: bool = False,
    reason: str | None = None,
) -> NoteRecord:
    """Forget or restore as a change of this caller's, for work that no request asked for. As `forget_note`."""
    with acting(by):
        return await forget_note(parts, path, entry, restore=restore, reason=reason, by=by)


async def list_forgotten(parts: EngineParts, among: Filters, client: str | None = None) -> list[Tombstone]:
    """List what could be restored, the latest first: forgotten by this client, and admitted by `among`, whose dates and
    session apply to the forgetting. An entry is judged by its log."""

    def is_wanted(stone: Tombstone) -> bool:
        note = parts.index.note(stone.path)
        return client in (None, stone.client) and (
            not note or among.admits(replace(note, created=stone.at, updated=None, session=stone.session))
        )

    def read() -> list[Tombstone]:
        notes = parts.index.notes(Filters(states=frozenset({NoteState.DELETED})), limit=MOST_FORGOTTEN)
        stones = parts.vault.tombstones([note.path for note in notes if not note.path.startswith("@")])
        return [*filter(is_wanted, stones)]

    found = await in_thread(read, what="reading what is forgotten")
    return sorted(found, key=lambda stone: (-(stone.at.timestamp() if stone.at else 0), stone.target))


def _identical_files(parts: EngineParts, file: NoteFile) -> list[NotePath]:
    """Other files with the bytes of a note that was just forgotten or restored: they are so too."""
    etags, own = {parts.vault.original_etag(file), file.record.etag}, file.record.path
    return [path for path, etag in parts.writer.indexed_etags.items() if etag in etags and path != own]


async def take_captured(parts: EngineParts, captured: CapturedMessages) -> None:
    """Store what is worth remembering of new messages. What was taken back leaves no bytes in the index either."""
    if parts.config.extraction.automatic:
        await parts.candidate_ingest.ingest(captured)
    if captured.taken_back is not None:
        await parts.indexer.reconcile()
        await in_thread(parts.index.purge, what="cleaning the index")
