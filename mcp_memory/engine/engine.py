"""The engine: one façade over vault, index, search and recall."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any, Literal

import anyio
from anyio.abc import TaskGroup

from mcp_memory.capture.service import CaptureService
from mcp_memory.capture.worker import CaptureWorker
from mcp_memory.compaction.auto_compactor import AutoCompactor
from mcp_memory.compaction.compactor import Compactor
from mcp_memory.compaction.job_builder import JobBuilder
from mcp_memory.compaction.journal import RunJournal
from mcp_memory.embedders.base import Progress
from mcp_memory.engine.admin import Admin
from mcp_memory.engine.append import Appender
from mcp_memory.engine.config import EngineConfig
from mcp_memory.engine.erase import Eraser, Erasure
from mcp_memory.engine.forget import Forgetter
from mcp_memory.extraction.candidate_ingest import CandidateIngest
from mcp_memory.extraction.candidate_log import CandidateLog
from mcp_memory.extraction.digest import Digest
from mcp_memory.extraction.neighbours import Neighbours
from mcp_memory.extraction.review import Review
from mcp_memory.git.note_history import NoteHistory
from mcp_memory.index.base import Index
from mcp_memory.indexing.embedding_backlog import EmbeddingBacklog
from mcp_memory.indexing.freshness import Freshness
from mcp_memory.indexing.index_lag import IndexLag
from mcp_memory.indexing.mass_deletion_guard import MassDeletionGuard
from mcp_memory.indexing.rebuild import GenerationBuilder
from mcp_memory.indexing.reconciler import Reconciler
from mcp_memory.indexing.watcher import SweepResult, Watcher
from mcp_memory.indexing.writer import IndexWriter
from mcp_memory.models import TRANSCRIPTS, Filters, NotePath, NoteRecord, Receipt, SearchResult
from mcp_memory.recall.answer import RecallAnswerer
from mcp_memory.recall.briefing import Briefer
from mcp_memory.recall.cross_session_updates import CrossSessionUpdates
from mcp_memory.recall.request import recall_request
from mcp_memory.recall.seen_passages import SeenPassages
from mcp_memory.runtime.health import Health
from mcp_memory.runtime.idle_detector import IdleDetector, served
from mcp_memory.runtime.threads import in_thread
from mcp_memory.search.embedder_lifecycle import EmbedderLifecycle
from mcp_memory.search.filters import checked_limit, checked_query, filters_from, moment_of
from mcp_memory.search.note_lookup import NoteLookup
from mcp_memory.search.searcher import Searcher
from mcp_memory.summarizers.choose import open_summarizer
from mcp_memory.transfer.porting import Transfer
from mcp_memory.transfer.share.shared_folders import SharedFolders
from mcp_memory.vault.draft import Draft, creation, expiry
from mcp_memory.vault.marker import Marker
from mcp_memory.vault.marks import UNKNOWN, Caller, Tombstone
from mcp_memory.vault.note_file import NoteFile
from mcp_memory.vault.vault import Vault

Mode = Literal["hybrid", "semantic", "keyword"]


class Engine:
    """Made by `open_engine`. Every method checks its arguments and raises errors of the one tree."""

    def __init__(
        self, config: EngineConfig, marker: Marker, vault: Vault, index: Index, clock: Callable[[], datetime]
    ) -> None:
        self._config = config
        self._clock = clock
        self._index = index
        self.marker = marker
        self.vault = vault
        self.health = Health()
        self.runs = RunJournal(config.state / "compaction")
        loss = MassDeletionGuard(config.state / "unaccepted-loss")
        self.writer = IndexWriter(vault, index, config.chunking)
        self.indexer = Reconciler(vault, index, self.writer, loss, self.health)
        builder = GenerationBuilder(vault, index, self.writer, EmbeddingBacklog(index, self.health), loss, self.health)
        self.model = EmbedderLifecycle(config.embedder, config.search.confidence, config.models, builder, self.health)
        self._swept = anyio.Event()
        self.watcher = Watcher(self._sweep, config.watch)
        self._staleness = IndexLag(vault, self.indexer, self.writer, self.watcher, self.health)
        fresh = Freshness(vault, self.writer, config.chunking, self._staleness.is_lost)
        self.searcher = Searcher(
            index, lambda: self.model.at_hand, config.search, clock, lambda: self.model.reason, fresh.check,
            self.watcher.hint, self.model.taught,
        )  # fmt: skip
        self.recaller = RecallAnswerer(vault, index, self.searcher, config.recall, clock)
        given = SeenPassages(config.state / "given")
        register = CandidateLog(config.state / "candidates.jsonl")
        self.digest = Digest(index, register, clock)
        news = CrossSessionUpdates()
        self.briefer = Briefer(
            self.recaller, index, self.model, given, news, config.recall, self._filters, self._staleness.describe,
            self.digest,
        )  # fmt: skip
        self._targets = NoteLookup(index, vault.ledger)
        self._appending = Appender(
            vault, index, self.writer, self.model, self.watcher, news, clock, config.vault.write_deadline_s
        )
        self._forgetting = Forgetter(vault, index, self.writer, self.model, self.watcher, config.vault)
        shares = SharedFolders(config.state)
        self.erasing = Eraser(vault, index, self.writer, config.state / "index", shares, self.runs)
        self._summarizer = open_summarizer(config.summarizer, config.state / "summarizer.json")
        self.compactor = Compactor(
            vault, index, self.writer, self.indexer, JobBuilder(vault, index, self._summarizer, clock),
            self.runs, config.topics, self.health, clock, config.summarizer.summary_s,
        )  # fmt: skip
        self.neighbours = Neighbours(index, lambda: self.model.at_hand, clock)
        self.intake = CandidateIngest(
            vault, index, partial(self._appending.append, supersedes=None), self.neighbours, register,
            self._summarizer, config.extraction, clock, prompt_tokens=config.summarizer.prompt_tokens,
            ask_s=config.summarizer.timeout_s,
        )  # fmt: skip
        self.review = Review(vault, index, self.writer, self._forget_for, self._targets, register, clock)
        self.past = NoteHistory(vault, index)
        self.traffic = IdleDetector()
        self.gardener = AutoCompactor(self.compactor, self.model, self.traffic, self.health, config.topics)
        self.writer.listeners.append(self.gardener.changed)
        hear = self.intake.ingest_captured if config.extraction.automatic else None
        taker = CaptureService(config.state, config.capture, vault.layout.tz, clock, self.watcher.hint, hear)
        self.capturer = CaptureWorker(config.capture, taker, self.traffic, self.health)
        self.upkeep = Admin(
            config.root, marker, vault, index, self.health, self.writer, self.indexer, self.model, self.watcher,
            self.gardener, clock,
        )  # fmt: skip
        self.porting = Transfer(vault, index, self.writer, self.upkeep.reconcile)

    @property
    def phases(self) -> list[str]:
        """The names that `recall` takes as `phase`."""
        return list(self._config.recall.phases)

    @property
    def many_candidates(self) -> int:
        """From so many on that wait, a person is told."""
        return self._config.extraction.review_reminder

    @property
    def embeds(self) -> bool:
        """Whether the configuration wants vectors."""
        return self._config.embedder.provider != "none"

    # -- the four tools ----------------------------------------------------------------------------------------

    @served
    async def search(
        self,
        query: str,
        *,
        limit: int = 6,
        kinds: Sequence[str] | None = None,
        tags: Sequence[str] | None = None,
        project: str | None = None,
        since: str | None = None,
        until: str | None = None,
        path: str | None = None,
        include_archived: bool = False,
        mode: Mode = "hybrid",
        explain: bool = False,
        is_prompt: bool = False,
    ) -> SearchResult:
        """The best passages for a question; with keywords alone while the model is not ready, and says so.
        `is_prompt`: it is what a person told an agent, and `confidence` that it wants what is stored."""
        self.watcher.touch()
        filters = self._filters(
            kinds=kinds, tags=tags, project=project, since=since, until=until, path=path,
            include_archived=include_archived,
        )  # fmt: skip
        if mode != "keyword":
            await self.model.returned()
        stale = self._staleness.describe()  # it may be over when the answer, which knows nothing of that, is ready
        result = await self.searcher.search(
            checked_query(query), limit=checked_limit(limit), filters=filters, mode=mode, explain=explain,
            is_prompt=is_prompt,
        )  # fmt: skip
        return replace(result, degraded=_joined(result.degraded, self._staleness.describe() or stale))

    @served
    async def recall(
        self,
        query: str | None = None,
        *,
        ids: Sequence[str] | None = None,
        path: str | None = None,
        lines: str | None = None,
        phase: str | None = None,
        kinds: Sequence[str] | None = None,
        project: str | None = None,
        budget_tokens: int | None = None,
    ) -> str:
        """Text within the budget: notes by id or path, what fits a question, or what a session starts with."""
        self.watcher.touch()
        self.model.call()
        asked = recall_request(
            self._config.recall, query=query, ids=ids, path=path, lines=lines, phase=phase, kinds=kinds,
            budget_tokens=budget_tokens,
        )  # fmt: skip
        if asked.targets:
            return await self._targets.reach(
                asked.targets, lambda wanted: self.recaller.notes(wanted, asked.lines, asked.budget_tokens)
            )
        filters = self._filters(kinds=asked.kinds, project=project)
        if asked.question is None:
            return (await self.recaller.start(filters.project, asked.budget_tokens, filters.kinds)).text
        stale = self._staleness.describe()
        await self.model.returned()
        recalled = await self.recaller.question(
            asked.question, filters, asked.budget_tokens, [stale] if stale else [], asked.least_confidence
        )
        return recalled.text

    @served
    async def append(
        self,
        content: str,
        *,
        kind: str = "note",
        title: str | None = None,
        tags: Sequence[str] | None = None,
        project: str | None = None,
        supersedes: str | None = None,
        session: str | None = None,
        expires: str | None = None,
        path: str | None = None,
        source: str | None = None,
        created: str | None = None,
        once: bool = False,
    ) -> Receipt:
        """Store a note durably and index it; the same content again returns the first note, with `once` also where that
        has been forgotten or replaced, unless `created`, when it was said, is after that."""
        self.watcher.touch()
        draft = Draft(
            content=content,
            kind=self.vault.kinds.get(kind),
            title=title.strip() if title else None,
            tags=tuple(tag.strip() for tag in tags or ()),
            project=project.strip() if project and project != "*" else None,
            session=session,
            source=source,
            expires_at=expiry(expires, self.vault.layout.tz),
            path=path.removeprefix("./") if path else None,
            created=creation(created, self.vault.layout.tz, self._clock()),
            once=once,
        )
        if not supersedes:
            return await self._appending.append(draft, supersedes=None)
        return await self._targets.reach(
            [supersedes], lambda places: self._appending.append(draft, supersedes=places[0][0])
        )

    @served
    async def forget(
        self, target: str, *, restore: bool = False, reason: str | None = None, by: Caller = UNKNOWN
    ) -> NoteRecord:
        """Take a note or log entry out of every answer, or bring it back; its file stays. `target`: id or path."""
        self.watcher.touch()
        return await self._targets.reach(
            [target],
            lambda places: self._forgetting.forget(*places[0], restore=restore, reason=reason, by=by),
            deleted=restore,
        )

    async def forgotten(
        self, *, client: str | None = None, session: str | None = None, since: str | None = None
    ) -> list[Tombstone]:
        """What is forgotten and could be restored, the latest first. Only for a person."""
        return await self._forgetting.forgotten(
            client=client, session=session, since=moment_of("since", since, self.vault.layout.tz)
        )

    async def erase(self, target: str, *, sure: bool) -> Erasure:
        """Take a note or log entry away for good, or (not `sure`) say what that would mean. Only for a person."""
        if not sure:
            return await self._targets.reach([target], lambda places: self.erasing.plan(*places[0]))
        async with self.compactor.paused():  # it may hold words of the note
            return await self._targets.reach([target], lambda places: self.erasing.erase(*places[0]))

    @served
    async def note(self, note_id: str) -> str:
        """One note's text by id or path."""
        return await self._targets.reach([note_id], lambda places: self.recaller.notes(places, None, 100_000))

    @served
    async def verbatim(self, target: str) -> tuple[NoteFile, str]:
        """A note by id or path, and its text as on disk; of a log entry, the entry's."""
        return await self._targets.reach([target], lambda places: self.recaller.verbatim(*places[0]))

    async def settled(self) -> None:
        """Returns once the first sweep is done and its backlog embedded, or the model known to be unavailable."""
        await self.model.settled.wait()

    # -- life --------------------------------------------------------------------------------------------------

    async def start(self, tasks: TaskGroup, *, watch: bool, progress: Progress | None) -> None:
        """Sweep, load the model, embed: each in a task of this group."""
        await in_thread(self.writer.open, deadline_s=60, what="opening the index")
        tasks.start_soon(self.watcher.run if watch else self._sweep)
        tasks.start_soon(self.model.run, self._swept, progress)
        tasks.start_soon(self.model.keep)
        tasks.start_soon(partial(self.gardener.run, self._swept, tends=watch))
        if watch:
            tasks.start_soon(self.capturer.run)
            tasks.start_soon(self.searcher.warm, self._swept)

    async def close(self) -> None:
        """Idempotent. The index is closed also where the model hangs."""
        self._summarizer.close()
        try:
            await self.model.close()
        finally:
            await in_thread(self._index.close, deadline_s=5, what="closing the index")

    async def _sweep(self) -> SweepResult | None:
        """None when the sweep failed, and `problems` says why."""
        try:
            with self.health.watching("sweep"):
                swept = await self.indexer.reconcile()
                await self.upkeep.tidy()
                self.model.wake()
                with self.health.watching("topics"):
                    await self.compactor.mark()
                # Nobody but us writes captured sessions, and says so.
                watched = {
                    place: each for place, each in swept.folders.items() if not place.startswith(f"@{TRANSCRIPTS}")
                }
                folders = {self.vault.absolute(folder): each for folder, each in watched.items()}
                return SweepResult(folders, swept.changed + swept.gone)
        finally:
            self._swept.set()
        return None

    async def _forget_for(self, path: NotePath, reason: str) -> NoteRecord:
        return await self._forgetting.forget(path, None, restore=False, reason=reason)

    # -- below -------------------------------------------------------------------------------------------------

    def _filters(self, **wanted: Any) -> Filters:
        return filters_from(**wanted, now=self._clock(), tz=self.vault.layout.tz)


def _joined(*parts: str | None) -> str | None:
    return "; ".join(part for part in parts if part) or None
