"""Forgetting: a note or log entry leaves every answer, or comes back, and so do the files that hold its very bytes."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime

import anyio

from mcp_memory.errors import IndexUnavailable, McpMemoryError, NotFound, Refused
from mcp_memory.index.base import Index
from mcp_memory.indexing.watcher import Watcher
from mcp_memory.indexing.writer import IndexWriter
from mcp_memory.models import Filters, NotePath, NoteRecord, NoteState
from mcp_memory.runtime.threads import in_thread
from mcp_memory.search.embedder_lifecycle import EmbedderLifecycle
from mcp_memory.text.secrets.finder import find_secret
from mcp_memory.vault.config import VaultConfig
from mcp_memory.vault.draft import one_line
from mcp_memory.vault.journals.tombstones import UNKNOWN, Caller, Tombstone
from mcp_memory.vault.note_file import NoteFile
from mcp_memory.vault.vault import Vault

LIST_S = 120.0
MOST_FORGOTTEN = 1_000_000


class Forgetter:
    """Any number at once; each has one deadline for the file and one for the index."""

    def __init__(
        self,
        vault: Vault,
        index: Index,
        writer: IndexWriter,
        model: EmbedderLifecycle,
        watcher: Watcher,
        config: VaultConfig,
    ) -> None:
        self._vault = vault
        self._index = index
        self._writer = writer
        self._model = model
        self._watcher = watcher
        self._config = config

    async def forget(
        self, path: NotePath, entry: str | None, *, restore: bool, reason: str | None = None, by: Caller = UNKNOWN
    ) -> NoteRecord:
        """Raises what the vault raises, Refused for a secret as the reason, and IndexUnavailable where the file is
        changed and answers are not yet."""
        why = one_line("reason", reason, 500) if reason else None
        if why and self._config.secrets != "allow" and (found := find_secret(why)):
            raise Refused(f"the reason seems to hold a secret ({found})", hint="say it without")
        try:
            file = await in_thread(
                lambda: self._vault.restore(path, entry, by) if restore else self._vault.forget(path, entry, why, by),
                deadline_s=self._config.write_deadline_s,
                what="changing the note",
            )
        except McpMemoryError:
            self._writer.doubt(path)  # a sweep may have seen it half done
            raise
        try:
            with anyio.fail_after(self._config.write_deadline_s):
                await self._writer.index_note(file)
                for twin in self._twins(file):
                    with suppress(NotFound):  # it was filed elsewhere, and is this very note
                        read = await in_thread(lambda twin=twin: self._vault.read(twin), what="reading")
                        await self._writer.index_note(read)
        except (McpMemoryError, TimeoutError) as error:
            for twin in self._twins(file):
                self._writer.doubt(twin)
            self._watcher.hint()
            done = "restored" if restore else "marked as deleted"
            raise IndexUnavailable(
                f"{path} is {done} on disk, but the index could not be told yet", hint="it follows at the next sweep"
            ) from error
        self._model.wake()
        return file.record

    async def forgotten(
        self, *, client: str | None = None, session: str | None = None, since: datetime | None = None
    ) -> list[Tombstone]:
        """What is forgotten and could be restored, the latest first: by this client, in this session, from then on."""

        def look() -> list[Tombstone]:
            notes = self._index.notes(Filters(states=frozenset({NoteState.DELETED})), limit=MOST_FORGOTTEN)
            stones = self._vault.tombstones([note.path for note in notes if not note.path.startswith("@")])
            return [
                each
                for each in stones
                if (client is None or each.client == client)
                and (session is None or each.session == session)
                and (since is None or (each.at is not None and each.at >= since))
            ]

        found = await in_thread(look, deadline_s=LIST_S, what="reading what is forgotten")
        return sorted(found, key=lambda each: (-(each.at.timestamp() if each.at else 0), each.target))

    def _twins(self, file: NoteFile) -> list[NotePath]:
        """Other files with the very bytes of a note that was just forgotten or restored: they are so too."""
        bytes_of = {self._vault.original_etag(file), file.record.etag}
        return [
            path for path, etag in self._writer.indexed_etags.items() if etag in bytes_of and path != file.record.path
        ]
