"""Takes a note or log entry out of every answer, or brings it back, along with other files that hold the same bytes."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING

import anyio

from mcp_memory.errors import IndexUnavailable, McpMemoryError, NotFound, Refused
from mcp_memory.models import Filters, NotePath, NoteRecord, NoteState
from mcp_memory.runtime.threads import in_thread
from mcp_memory.text.secrets.finder import find_secret
from mcp_memory.vault.draft import one_line
from mcp_memory.vault.journals.tombstones import UNKNOWN, Caller, Tombstone
from mcp_memory.vault.note_file import NoteFile

if TYPE_CHECKING:
    from mcp_memory.engine.parts import EngineParts

MOST_FORGOTTEN = 1_000_000


async def forget_note(
    parts: EngineParts,
    path: NotePath,
    entry: str | None,
    *,
    restore: bool = False,
    reason: str | None = None,
    by: Caller = UNKNOWN,
) -> NoteRecord:
    """Forget or restore, with one deadline for the file and one for the index. Raises what the vault raises, Refused
    for a secret in the reason, and IndexUnavailable if the file was changed but answers were not yet."""
    vault, writer, config = parts.vault, parts.writer, parts.config.vault
    why = one_line("reason", reason, 500) if reason else None
    if why and config.secrets != "allow" and (found := find_secret(why)):
        raise Refused(f"the reason seems to hold a secret ({found})", hint="leave it out")
    try:
        file = await in_thread(
            lambda: vault.restore(path, entry, by) if restore else vault.forget(path, entry, why, by),
            deadline_s=config.write_deadline_s,
            what="changing the note",
        )
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
        for copy in _identical_files(parts, file):
            writer.reindex_later(copy)
        parts.watcher.hint()
        done = "restored" if restore else "marked as deleted"
        raise IndexUnavailable(
            f"{path} is {done} on disk, but the index is not up to date yet", hint="the next sweep updates it"
        ) from error
    parts.model.wake()
    return file.record


async def list_forgotten(
    parts: EngineParts, *, client: str | None = None, session: str | None = None, since: datetime | None = None
) -> list[Tombstone]:
    """What could be restored, the latest first: forgotten by this client, in this session, from then on."""

    def read() -> list[Tombstone]:
        notes = parts.index.notes(Filters(states=frozenset({NoteState.DELETED})), limit=MOST_FORGOTTEN)
        return [
            stone
            for stone in parts.vault.tombstones([note.path for note in notes if not note.path.startswith("@")])
            if client in (None, stone.client)
            and session in (None, stone.session)
            and (since is None or (stone.at is not None and stone.at >= since))
        ]

    found = await in_thread(read, what="reading what is forgotten")
    return sorted(found, key=lambda stone: (-(stone.at.timestamp() if stone.at else 0), stone.target))


def _identical_files(parts: EngineParts, file: NoteFile) -> list[NotePath]:
    """Other files with the bytes of a note that was just forgotten or restored: they are so too."""
    etags, own = {parts.vault.original_etag(file), file.record.etag}, file.record.path
    return [path for path, etag in parts.writer.indexed_etags.items() if etag in etags and path != own]
