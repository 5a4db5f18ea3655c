"""Forgets, archives and restores notes, along with other files that have the same bytes."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

import anyio

from mcp_memory.core.core import Core
from mcp_memory.core.requests import ForgetRequest, RestoreRequest
from mcp_memory.core.verbs.recalling import check_visible
from mcp_memory.core.verbs.storing import link_of, put_off
from mcp_memory.errors import McpMemoryError, NotFound, Refused
from mcp_memory.models import (
    Filters,
    NoteId,
    NotePath,
    NoteRecord,
    NoteState,
)
from mcp_memory.runs.journal import MoveStep
from mcp_memory.runtime.threads import in_thread
from mcp_memory.search.note_lookup import Place
from mcp_memory.text.secrets.finder import find_secret
from mcp_memory.vault.draft import one_line
from mcp_memory.vault.journals.change_journal import current_caller
from mcp_memory.vault.journals.tombstones import UNKNOWN, Caller, Tombstone
from mcp_memory.vault.new_note import require_agents_place
from mcp_memory.vault.note_file import NoteFile
from mcp_memory.vault.ownership import may_retire

MOST_FORGOTTEN = 1_000_000


async def forget(core: Core, request: ForgetRequest) -> NoteRecord:
    """Take a note or entry out of every answer, mark it as archived, or bring it back; its file stays.

    Raises InvalidInput, NotFound, Refused, StorageFailed."""
    if request.restore:
        return await restore(core, RestoreRequest(request.target))
    core.indexing.watcher.touch()
    await check_visible(core, None, [request.target])

    async def change(places: Sequence[Place]) -> NoteRecord:
        return await forget_note(
            core,
            *places[0],
            archive=request.archive,
            done=request.done,
            reason=request.reason,
            by=current_caller(),
        )

    return await core.search.lookup.reach([request.target], change)


async def restore(core: Core, request: RestoreRequest) -> NoteRecord:
    """Bring a note or entry back. A forgotten note comes back as it was. Otherwise, a note in `_archive/` returns to
    its old place, and a mark as archived is removed. Raises NotFound, Refused, Busy, StorageFailed."""
    core.indexing.watcher.touch()
    await check_visible(core, None, [request.target])

    async def change(places: Sequence[Place]) -> NoteRecord:
        path, entry = places[0]
        by = current_caller()
        note = None if entry else (await in_thread(core.vault.read, path, what="reading the note")).record
        target = core.vault.layout.before_archive(path)
        if note is None or target is None or note.state is NoteState.DELETED:
            return await forget_note(core, path, entry, restore=True, by=by)
        moved = await _move_from_archive(core, note, target, by)
        is_marked = moved.state is NoteState.ARCHIVED and not moved.superseded_at
        return await forget_note(core, target, None, restore=True, by=by) if is_marked else moved

    return await core.search.lookup.reach([request.target], change, deleted=True)


async def _move_from_archive(core: Core, note: NoteRecord, target: NotePath, by: Caller) -> NoteRecord:
    """Move a note out of `_archive/`, update links, and tell the features. Raises Refused, Busy, StorageFailed."""
    provenance = core.vault.provenance
    is_order = provenance.is_standing_order(note) or provenance.is_standing_order(replace(note, path=target))
    tier = core.vault.tier(note.path, note.id)
    may_retire(target, tier, layout=core.vault.layout, by_person=by.is_person, is_order=is_order)
    if not by.is_person:
        require_agents_place(target, core.vault.layout)  # a forged `_archive/_inbox/…` must not become a candidate
    report = await core.runs.relocate([[MoveStep(note.id, note.path, target)]], "moved out of _archive/")
    if report.left:
        raise Refused(report.left[0], hint="it stays in _archive/")
    file = await in_thread(core.vault.read, target, what="reading the note")
    for feature in core.features:
        if feature.left_archive:
            await feature.left_archive(file)
    return file.record


async def forget_note(
    core: Core,
    path: NotePath,
    entry: str | None,
    *,
    restore: bool = False,
    archive: bool = False,
    done: bool = False,
    reason: str | None = None,
    by: Caller = UNKNOWN,
) -> NoteRecord:
    """Forget, archive or restore, with a deadline for the file and a deadline for the index. The index may stay out of
    date until the next sweep (`why_behind`). Raises the errors of the vault, and Refused for a secret in the reason."""
    vault, writer, config = core.vault, core.indexing.writer, core.config.vault
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
            if file.record.path != path:
                await writer.remove_deleted(path)
            for copy in _identical_files(core, file):
                with suppress(NotFound):  # it was filed elsewhere, and is this very note
                    await writer.index_note(await in_thread(vault.read, copy, what="reading"))
    except (McpMemoryError, TimeoutError) as error:
        for written in (file.record.path, *_identical_files(core, file)):
            put_off(core, written, error)
    core.search.model.wake()
    return replace(file.record, id=NoteId(f"{path}#{entry}")) if entry else file.record


async def list_forgotten(core: Core, among: Filters, client: str | None = None) -> list[Tombstone]:
    """List the notes and entries that can be restored, the latest first. They were forgotten by this client and are
    admitted by `among`, whose dates and session apply to the forgetting. An entry is judged by its log."""

    def is_wanted(stone: Tombstone) -> bool:
        note = core.index.note(stone.path)
        return client in (None, stone.client) and (
            not note or among.admits(replace(note, created=stone.at, updated=None, session=stone.session))
        )

    def read() -> list[Tombstone]:
        notes = core.index.notes(Filters(states=frozenset({NoteState.DELETED})), limit=MOST_FORGOTTEN)
        stones = core.vault.list_tombstones([note.path for note in notes if not note.path.startswith("@")])
        return [*filter(is_wanted, stones)]

    found = await in_thread(read, what="reading what is forgotten")
    return sorted(found, key=lambda stone: (-(stone.at.timestamp() if stone.at else 0), stone.target))


async def holding_note(core: Core, record: NoteRecord) -> Mapping[str, str] | None:
    """Return the other note of this note's chain that is active now."""

    def look() -> Mapping[str, str] | None:
        with suppress(McpMemoryError):  # what was just changed is answered in any case
            head = None if record.is_log else core.vault.chains.holding(core.vault.read(record.path))
            return link_of(core, head)

    return await in_thread(look, deadline_s=10, what="looking for the note that holds")


def _identical_files(core: Core, file: NoteFile) -> list[NotePath]:
    """The other files with the bytes of a note that was just forgotten or restored, and so are forgotten or restored,
    too."""
    etags, own = {core.vault.tombstones.original(file.record.etag), file.record.etag}, file.record.path
    return [path for path, etag in core.indexing.writer.indexed_etags.items() if etag in etags and path != own]
