"""Looks after a whole vault: what people ask for rather than agents."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from shutil import disk_usage
from time import monotonic
from typing import TYPE_CHECKING, Any

from mcp_memory.compaction.auto_compactor import TOPICS_JOB
from mcp_memory.errors import IndexUnavailable, McpMemoryError, NotFound
from mcp_memory.index.base import Watermark
from mcp_memory.models import Filters, NoteId, NotePath, NoteRecord, Problem, is_below, unicode_forms
from mcp_memory.recall.session_start import memory_over_budget
from mcp_memory.runtime.threads import in_thread
from mcp_memory.vault.shared.lost_entries import SERIOUS, LostEntry

if TYPE_CHECKING:
    from mcp_memory.engine.parts import EngineParts


LEAST_FREE_BYTES = 1_000_000
"""With less the disk is full: a note and what belongs to it take some 10 kB, so nothing would be stored soon."""


class Admin:
    """Works on the parts of one engine; holds no state of its own."""

    def __init__(self, parts: EngineParts) -> None:
        self._parts = parts
        self._vault = parts.vault

    async def tidy(self) -> None:
        """Check displaced and shared files again after a sweep, and drop the bytes that no restore needs."""

        def tidy() -> None:
            self._vault.ledger.put_back()
            self._vault.settle()
            self._vault.shared.compare()
            if not self._parts.indexer.pruning_paused:
                etags = self._parts.writer.indexed_etags
                self._vault.prune_tombstones(set(etags.values()), etags.keys())
            with suppress(IndexUnavailable):  # the next sweep tries again
                self._parts.index.cut_log()

        await in_thread(tidy, deadline_s=60, what="looking after the vault")

    async def lost_entries(self) -> list[LostEntry]:
        """Entries that we added to a shared file and that it no longer holds."""
        return await in_thread(self._vault.shared.compare, deadline_s=60, what="comparing shared files")

    async def recover(self, wanted: Sequence[str], *, dismiss: bool = False) -> list[LostEntry]:
        """Add the lost entries with these ids or paths again, oldest first, or ignore them from now on.

        Raises NotFound for a name that no lost entry has, and what an append raises."""
        lost = [entry for entry in await self.lost_entries() if not {entry.id, entry.added.path}.isdisjoint(wanted)]
        known = {name for entry in lost for name in (entry.id, entry.added.path)}
        if unknown := [name for name in wanted if name not in known]:
            raise NotFound(f"no lost entry {unknown[0]}", hint="mcp-memory recover lists them")
        act = self._vault.shared.dismiss if dismiss else self._vault.shared.put_back
        for entry in lost:
            stored = await in_thread(lambda entry=entry: act(entry), deadline_s=30, what="writing the log")
            if stored:
                await self._parts.writer.index_note(stored.file)
        self._parts.model.wake()
        return lost

    async def adopt(self, path: str | None = None, *, dry_run: bool = False) -> list[NotePath]:
        """Let agents change notes in the managed folder that this installation didn't write: one note, the notes of a
        folder, or all notes. Unreadable notes among several are skipped; `problems` names them."""
        wanted = await self._managed_notes(path)
        if path is not None and not wanted:
            raise self._not_managed(path)

        def adopt() -> list[NotePath]:
            adopted: list[NotePath] = []
            for note in wanted:
                try:
                    if self._vault.provenance.adopt(self._vault.read(note), dry_run=dry_run):
                        adopted.append(note)
                except McpMemoryError:
                    if note == path:
                        raise
            return adopted

        return await in_thread(adopt, deadline_s=600, what="adopting notes")

    async def give_back(self, path: str | None = None, *, dry_run: bool = False) -> list[NotePath]:
        """Undo `adopt` for one note, for the notes of a folder, or for all notes, even if a file no longer exists.
        Agents may still change the notes that this installation wrote. Raises NotFound, StorageFailed."""
        wanted = await self._managed_notes(path)

        def give_back() -> list[NotePath]:
            returned: list[NotePath] = []
            places: list[tuple[NotePath, NoteId]] = []
            for note in wanted:
                try:
                    found = self._vault.provenance.adopted_places(self._vault.read(note))
                except McpMemoryError:
                    continue  # by its place, below
                if found:
                    returned.append(note)
                    places += found
            adopted = self._vault.ledger.adopted()
            absent = [place for place in adopted if path in {None, place[0]} and place not in places]
            if path is not None and not wanted and not absent:
                raise self._not_managed(path)
            if not dry_run:
                self._vault.provenance.revoke([*places, *absent])
            return list(dict.fromkeys([*returned, *(place for place, _ in absent)]))

        return await in_thread(give_back, deadline_s=600, what="giving notes back")

    async def _managed_notes(self, path: str | None) -> list[NotePath]:
        """Return the notes of the managed folder: one note, the notes of a subfolder, or all."""
        files = (await in_thread(self._vault.list, deadline_s=60, what="listing the vault")).files
        inside = [file for file in files if self._vault.layout.below_home(file) is not None]
        wanted = unicode_forms(path) if path else ()
        return [file for file in inside if path is None or any(is_below(file, form) for form in wanted)]

    def _not_managed(self, path: str) -> NotFound:
        folder = self._parts.marker.home or "the whole vault"
        return NotFound(f"no note at {path} in the managed folder", hint=f"the managed folder is {folder}")

    async def accept_loss(self) -> int:
        """Take what vanished out of the index, and mark a folder again that lost its marker; how many notes went."""
        await in_thread(self._vault.accept, deadline_s=30, what="writing the marker")
        return await self._parts.indexer.accept_loss()

    async def reindex(self) -> dict[str, Any]:
        """Read every file again and index those that differ from what the index was made from; only texts without a
        cached vector are embedded."""
        self._parts.writer.reread_all_later()
        swept = await self._parts.indexer.reconcile()
        embedded = await self._parts.model.embed()
        counts = {"notes": swept.files, "reindexed": swept.changed, "embedded": embedded}
        return {**counts, "seconds": round(swept.took_s, 3)}

    async def reconcile(self) -> dict[str, Any]:
        """One sweep now, and what is due after it."""
        swept = await self._parts.indexer.reconcile()
        await self._parts.conflicts.scan()
        await self.tidy()
        self._parts.model.wake()
        return {"notes": swept.files, "changed": swept.changed, "gone": swept.gone, "seconds": round(swept.took_s, 3)}

    def tree(self) -> list[NoteRecord]:
        """All active notes, by path. Reads the index: call it in a thread."""
        notes = self._parts.index.notes(Filters(now=self._parts.clock()), limit=100_000)
        return sorted(notes, key=lambda note: note.path)

    def status(self) -> dict[str, Any]:
        """Facts for `status`, `doctor` and `memory://status`. Reads the index: call it in a thread."""
        parts = self._parts
        try:
            mark = parts.index.watermark()
        except IndexUnavailable as error:
            mark = Watermark(0, 0, 0, 0)
            parts.health.faults["index"] = Problem("index", error.message)
        last, progress, problems = parts.indexer.last, parts.health.progress, self.problems()
        embedder, commits = parts.model.embedder, parts.health.commits
        return {
            "vault": str(parts.config.root),
            "home": parts.marker.home,
            "read_only": self._vault.read_only,
            "full": self.is_full(),
            "ready": parts.model.settled.is_set(),
            "notes": mark.notes,
            "chunks": mark.chunks,
            "pending": mark.vectors_pending,
            "model": embedder.fingerprint if embedder else None,
            "model_state": parts.model.state,
            "generation": parts.writer.generation.number,
            "phase": progress.phase,
            "progress": [progress.done, progress.total],
            "last_progress_s": round(monotonic() - progress.at, 1),
            "last_sweep_s": round(monotonic() - last.at, 1) if last else None,
            "sweep_took_s": round(last.took_s, 3) if last else None,
            "compaction": parts.auto_compactor.status(parts.scheduler.facts(TOPICS_JOB)),
            "next_job": parts.scheduler.next_job(),
            "memory": memory_over_budget(parts.vault, parts.config.recall.memory_lines),
            "watching": parts.watcher.state,
            "ignored": parts.indexer.ignored,
            "pruning_paused": parts.indexer.pruning_paused,
            "git": asdict(commits()) if commits else None,
            "problems": len(problems),
            "errors": [f"{problem.path}: {problem.reason}" for problem in problems[:20]],
        }

    def is_full(self) -> bool:
        """Return whether the vault's disk has no room for notes."""
        with suppress(OSError):
            return disk_usage(self._parts.config.root).free < LEAST_FREE_BYTES
        return False

    def problems(self) -> list[Problem]:
        """Files that couldn't be used as they are, shared ones that lost entries, and faults of the index."""
        lost = dict.fromkeys(entry.added.path for entry in self._vault.shared.last() if entry.why in SERIOUS)
        gone = [Problem(path, "entries that were added to it are gone") for path in lost]
        faults = self._parts.health.faults.values()
        return [*self._parts.writer.problems.values(), *gone, *faults, *self.index_problems]

    @property
    def index_problems(self) -> Sequence[Problem]:
        """Faults of the index that were overcome, each once."""
        return list(dict.fromkeys(self._parts.index.problems))
