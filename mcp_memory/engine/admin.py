"""Upkeep: what a person asks of a vault rather than an agent; how it is, and what to do about it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from time import monotonic
from typing import Any

from mcp_memory.compaction.auto_compactor import AutoCompactor
from mcp_memory.errors import IndexUnavailable, McpMemoryError, NotFound
from mcp_memory.index.base import Index, Watermark
from mcp_memory.indexing.reconciler import Reconciler
from mcp_memory.indexing.watcher import Watcher
from mcp_memory.indexing.writer import IndexWriter
from mcp_memory.models import Filters, NoteId, NotePath, NoteRecord, Problem
from mcp_memory.runtime.health import Health
from mcp_memory.runtime.threads import in_thread
from mcp_memory.search.embedder_lifecycle import EmbedderLifecycle
from mcp_memory.vault.lost_entries import SERIOUS, LostEntry
from mcp_memory.vault.marker import Marker
from mcp_memory.vault.vault import Vault


class Admin:
    """Works on the parts of one engine; holds no state of its own."""

    def __init__(
        self,
        root: Path,
        marker: Marker,
        vault: Vault,
        index: Index,
        health: Health,
        writer: IndexWriter,
        indexer: Reconciler,
        model: EmbedderLifecycle,
        watcher: Watcher,
        gardener: AutoCompactor,
        clock: Callable[[], datetime],
    ) -> None:
        self._root = root
        self._marker = marker
        self._vault = vault
        self._index = index
        self._health = health
        self._writer = writer
        self._indexer = indexer
        self._model = model
        self._watcher = watcher
        self._gardener = gardener
        self._clock = clock

    async def tidy(self) -> None:
        """What is due after a sweep: look again at displaced files and at shared ones, drop what no restore needs."""

        def tidy() -> None:
            self._vault.ledger.put_back()
            self._vault.settle()
            self._vault.shared.compare()
            if not self._indexer.pruning_paused:
                standing = self._writer.indexed_etags
                self._vault.prune_tombstones(set(standing.values()), standing.keys())
            with suppress(IndexUnavailable):  # the next sweep tries again, and tells who asks the index
                self._index.cut_log()

        await in_thread(tidy, deadline_s=60, what="looking after the vault")

    async def lost_entries(self) -> list[LostEntry]:
        """Entries that we added to a shared file and that it no longer holds."""
        return await in_thread(self._vault.shared.compare, deadline_s=60, what="comparing shared files")

    async def recover(self, wanted: Sequence[str], *, dismiss: bool = False) -> list[LostEntry]:
        """Add lost entries again, or leave them be from now on: those with these ids or paths, oldest first.

        Raises NotFound for a name that no lost entry has, and what an append raises.
        """
        lost = [each for each in await self.lost_entries() if not {each.id, each.added.path}.isdisjoint(wanted)]
        for name in wanted:
            if not any(name in {each.id, each.added.path} for each in lost):
                raise NotFound(f"no lost entry {name}", hint="mcp-memory recover lists them")
        shared = self._vault.shared
        for each in lost:
            if dismiss:
                await in_thread(lambda each=each: shared.dismiss(each), deadline_s=30, what="writing the journal")
                continue
            stored = await in_thread(lambda each=each: shared.put_back(each), deadline_s=30, what="writing the log")
            await self._writer.index_note(stored.file)
        self._model.wake()
        return lost

    async def adopt(self, path: str | None = None, *, dry_run: bool = False) -> list[NotePath]:
        """Vouch for notes in home that this installation did not write: one, a folder's, or with None all of them.

        Of several, those that cannot be read are left out; `problems` names them.
        """
        wanted = await self._in_home(path)
        if path is not None and not wanted:
            raise self._not_in_home(path)

        def adopt() -> list[NotePath]:
            adopted: list[NotePath] = []
            for each in wanted:
                try:
                    if self._vault.provenance.adopt(self._vault.read(each), dry_run=dry_run):
                        adopted.append(each)
                except McpMemoryError:
                    if each == path:
                        raise
            return adopted

        return await in_thread(adopt, deadline_s=600, what="adopting notes")

    async def give_back(self, path: str | None = None, *, dry_run: bool = False) -> list[NotePath]:
        """Revoke what `adopt` vouched for: one note, a folder's, or with None all of them, also where a file is not
        there now. What this installation wrote stays the agents'. Raises NotFound, StorageFailed."""
        wanted = await self._in_home(path)
        vault = self._vault

        def give_back() -> list[NotePath]:
            given: list[NotePath] = []
            places: list[tuple[NotePath, NoteId]] = []
            for each in wanted:
                try:
                    found = vault.provenance.adopted_places(vault.read(each))
                except McpMemoryError:
                    continue  # by its place, below
                if found:
                    given.append(each)
                    places += found
            absent = [each for each in vault.ledger.adopted() if path in {None, each[0]} and each not in places]
            if path is not None and not wanted and not absent:
                raise self._not_in_home(path)
            if not dry_run:
                vault.provenance.revoke([*places, *absent])
            return list(dict.fromkeys([*given, *(place for place, _ in absent)]))

        return await in_thread(give_back, deadline_s=600, what="giving notes back")

    async def _in_home(self, path: str | None) -> list[NotePath]:
        """The notes there: one, a folder's, or with None all of them."""
        everything = list((await in_thread(self._vault.list, deadline_s=60, what="listing the vault")).files)
        inside = [p for p in everything if self._vault.layout.below_home(p) is not None]
        return [p for p in inside if path is None or p == path or p.startswith(path.rstrip("/") + "/")]

    def _not_in_home(self, path: str) -> NotFound:
        return NotFound(f"no note at {path} in home", hint=f"home is {self._marker.home or 'the whole vault'}")

    async def accept_loss(self) -> int:
        """What has vanished is really gone, and a folder that has lost its marker is the vault all the same; returns
        how many notes were taken out of the index."""
        await in_thread(self._vault.accept, deadline_s=30, what="writing the marker")
        return await self._indexer.accept_loss()

    async def reindex(self) -> dict[str, Any]:
        """Read every file again, now, and index those whose bytes are not what the index was made from; only texts
        without a cached vector are embedded."""
        self._writer.distrust()
        swept = await self._indexer.reconcile()
        embedded = await self._model.embed()
        return {
            "notes": swept.files,
            "reindexed": swept.changed,
            "embedded": embedded,
            "seconds": round(swept.took_s, 3),
        }

    async def reconcile(self) -> dict[str, Any]:
        """One sweep, now, and what is due after it."""
        swept = await self._indexer.reconcile()
        await self.tidy()
        self._model.wake()
        return {"notes": swept.files, "changed": swept.changed, "gone": swept.gone, "seconds": round(swept.took_s, 3)}

    def tree(self) -> list[NoteRecord]:
        """All active notes, by path. Reads the index: call it in a thread."""
        return sorted(self._index.notes(Filters(now=self._clock()), limit=100_000), key=lambda r: r.path)

    def ids(self, paths: Sequence[NotePath]) -> list[NoteId]:
        """Of those notes that the index knows. Reads the index: call it in a thread."""
        return [note.id for path in paths if (note := self._index.note(path))]

    def status(self) -> dict[str, Any]:
        """Facts for `status`, `doctor` and `memory://status`. Reads the index: call it in a thread."""
        try:
            mark = self._index.watermark()
        except IndexUnavailable as error:
            mark = Watermark(0, 0, 0, 0)
            self._health.faults["index"] = Problem("index", error.message)
        last, progress, problems = self._indexer.last, self._health.progress, self.problems()
        embedder = self._model.embedder
        commits = self._health.commits
        return {
            "vault": str(self._root),
            "home": self._marker.home,
            "read_only": self._vault.read_only,
            "ready": self._model.settled.is_set(),
            "notes": mark.notes,
            "chunks": mark.chunks,
            "pending": mark.vectors_pending,
            "model": embedder.fingerprint if embedder else None,
            "model_state": self._model.state,
            "generation": self._writer.generation.number,
            "phase": progress.phase,
            "progress": [progress.done, progress.total],
            "last_progress_s": round(monotonic() - progress.at, 1),
            "last_sweep_s": round(monotonic() - last.at, 1) if last else None,
            "sweep_took_s": round(last.took_s, 3) if last else None,
            "compaction": self._gardener.status(),
            "watching": self._watcher.state,
            "ignored": self._indexer.ignored,
            "pruning_paused": self._indexer.pruning_paused,
            "git": asdict(commits()) if commits else None,
            "problems": len(problems),
            "errors": [f"{p.path}: {p.reason}" for p in problems[:20]],
        }

    def state_fault(self, reason: str | None) -> None:
        """Why the state folder cannot be used as it should, for `status`; None when all is well again."""
        if reason:
            self._health.faults["state"] = Problem("state folder", reason)
        else:
            self._health.faults.pop("state", None)
            self._watcher.hurry()  # what was lost with it is derived anew

    def problems(self) -> list[Problem]:
        """Files that could not be used as they are, shared ones that have lost entries, and faults of the index."""
        lost = dict.fromkeys(each.added.path for each in self._vault.shared.last() if each.why in SERIOUS)
        gone = [Problem(path, "entries that were added to it are gone") for path in lost]
        return [*self._writer.problems.values(), *gone, *self._health.faults.values(), *self.index_problems]

    @property
    def index_problems(self) -> Sequence[Problem]:
        """Faults of the index that were overcome, each once."""
        return list(dict.fromkeys(self._index.problems))
