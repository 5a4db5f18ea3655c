"""Puts the parts of an engine together, and starts and closes them."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import datetime
from functools import cached_property, partial
from typing import Any

import anyio
from anyio.abc import TaskGroup

from mcp_memory.capture.service import CaptureService
from mcp_memory.capture.worker import CaptureWorker
from mcp_memory.compaction.auto_compactor import AutoCompactor
from mcp_memory.compaction.compactor import Compactor
from mcp_memory.compaction.job_builder import JobBuilder
from mcp_memory.compaction.journal import RunJournal
from mcp_memory.curation.claims.answers import ClaimAnswers
from mcp_memory.curation.claims.claim_base import ClaimBase
from mcp_memory.curation.decay.archive import Archivist
from mcp_memory.curation.dreams.dream_files import DreamFiles
from mcp_memory.curation.dreams.dreamer import Dreamer
from mcp_memory.embedders.base import Progress
from mcp_memory.engine.admin import Admin
from mcp_memory.engine.background_jobs import list_jobs, take_captured
from mcp_memory.engine.config import EngineConfig
from mcp_memory.engine.project_finder import ProjectFinder
from mcp_memory.engine.verbs.forgetting import forget_as, forget_note
from mcp_memory.engine.verbs.storing import append_for_source
from mcp_memory.errors import McpMemoryError
from mcp_memory.extraction.candidate_ingest import CandidateIngest
from mcp_memory.extraction.candidate_log import CandidateLog, Digest
from mcp_memory.extraction.conflict_review import ConflictReview
from mcp_memory.extraction.neighbours import Neighbours
from mcp_memory.extraction.review import Review
from mcp_memory.grounding.grounder import Grounder
from mcp_memory.index.base import Index
from mcp_memory.indexing.conflict_scan import ConflictScan
from mcp_memory.indexing.embedding_backlog import EmbeddingBacklog
from mcp_memory.indexing.freshness import Freshness
from mcp_memory.indexing.mass_deletion_guard import MassDeletionGuard
from mcp_memory.indexing.rebuild import GenerationBuilder
from mcp_memory.indexing.reconciler import Reconciler
from mcp_memory.indexing.watcher import SweepResult, Watcher
from mcp_memory.indexing.writer import IndexWriter
from mcp_memory.jobs.scheduler import Scheduler
from mcp_memory.links.linter import Linter
from mcp_memory.models import Filters, NotePath, NoteRecord
from mcp_memory.projects.projects import Projects
from mcp_memory.recall.answer import RecallAnswerer
from mcp_memory.recall.briefing import Briefer
from mcp_memory.recall.briefing_log import MOST_BYTES as BRIEFING_BYTES
from mcp_memory.recall.briefing_log import BriefingLog
from mcp_memory.recall.cross_session_updates import CrossSessionUpdates
from mcp_memory.recall.current_values import CurrentValues
from mcp_memory.recall.moments.action_advice import ActionAdvisor
from mcp_memory.recall.moments.off_record_sessions import OffRecordSessions
from mcp_memory.recall.moments.withdrawals import MOST_BYTES as TOLD_BYTES
from mcp_memory.recall.moments.withdrawals import Withdrawals
from mcp_memory.recall.seen_passages import SeenPassages
from mcp_memory.runtime.health import Health
from mcp_memory.runtime.idle_detector import IdleDetector
from mcp_memory.runtime.json_lines import JsonLines
from mcp_memory.runtime.threads import in_thread
from mcp_memory.search.embedder_lifecycle import EmbedderLifecycle
from mcp_memory.search.filters import filters_from
from mcp_memory.search.near_duplicates import NearDuplicates
from mcp_memory.search.note_lookup import NoteLookup
from mcp_memory.search.searcher import Searcher
from mcp_memory.summaries.session_job import SessionSummaries
from mcp_memory.summarizers.base import Summarizer
from mcp_memory.summarizers.open_summarizer import open_summarizer
from mcp_memory.transfer.porting import Transfer
from mcp_memory.transfer.share.folder import SharedFolders
from mcp_memory.transfer.share.place_list import PlaceList
from mcp_memory.usage.knowledge_gaps import KnowledgeGaps
from mcp_memory.usage.use_counter import UseCounter
from mcp_memory.vault.config import TRANSCRIPTS
from mcp_memory.vault.journals.change_journal import DREAM
from mcp_memory.vault.journals.tombstones import Caller
from mcp_memory.vault.marker import Marker
from mcp_memory.vault.vault import Vault


class EngineParts:
    """The services of an `Engine`. Only `engine/` and tests use them."""

    def __init__(
        self, config: EngineConfig, marker: Marker, vault: Vault, index: Index, clock: Callable[[], datetime]
    ) -> None:
        self.config = config
        self.clock = clock
        self.index = index
        self.marker = marker
        self.vault = vault
        self.health = Health()
        self.run_journal = RunJournal(config.state / "compaction")
        loss = MassDeletionGuard(config.state / "unaccepted-loss")
        self.writer = IndexWriter(vault, index, config.chunking)
        self.indexer = Reconciler(vault, index, self.writer, loss, self.health)
        backlog = EmbeddingBacklog(index, self.health)
        self.builder = GenerationBuilder(vault, index, self.writer, backlog, loss, self.health)
        self.model = EmbedderLifecycle(config.embedder, config.models, self.builder, self.health)
        self.conflicts = ConflictScan(index, self.writer, vault.chains, clock)
        self.swept = anyio.Event()
        self.watcher = Watcher(self._sweep, config.watch)
        self.freshness = Freshness(vault, self.writer, config.chunking, self.indexer, self.watcher, self.health)
        self.searcher = Searcher(index, self.model, config.search, clock, self.freshness)
        self.answerer = RecallAnswerer(
            vault, index, self.searcher, config.recall, clock,
            CurrentValues(index, self.conflicts, self.grounder.remark), self.claims,
        )  # fmt: skip
        seen, candidates = SeenPassages(config.state / "given"), CandidateLog(config.state / "candidates.jsonl")
        self.digest = Digest(index, candidates, clock)
        self.updates = CrossSessionUpdates()
        self.uses = UseCounter(config.state / "usage.db", clock, self.searcher.meaning, vault.changes, self._gaps)
        lines = JsonLines(config.state / "briefings.jsonl", synced=False, most_bytes=BRIEFING_BYTES)
        self.briefing_log = BriefingLog(lines, config.recall.matched_words, self.uses)
        lines = JsonLines(config.state / "told.jsonl", synced=False, most_bytes=TOLD_BYTES)
        self.withdrawals = Withdrawals(index, vault.changes, config.recall.private_marks, lines, clock)
        self.briefer = Briefer(
            self.answerer, index, self.model, seen, self.updates, config.recall, self.filters, self.freshness,
            self.digest, self.briefing_log, self.withdrawals, OffRecordSessions(config.state),
        )  # fmt: skip
        self.advisor = ActionAdvisor(self.briefer, self.conflicts)
        vault.chains.paths_of = lambda note_id: [note.path for note in index.note_by_id(note_id)]
        self.note_lookup = NoteLookup(index, vault.ledger)
        self.near_duplicates = NearDuplicates(index, self.conflicts)
        self.shares, self.taught = SharedFolders(config.state), PlaceList(config.state / "taught.jsonl", "file")
        self._summarizer = open_summarizer(config.summarizer, config.state / "summarizer.json")
        self.compactor = Compactor(
            vault, index, self.writer, self.indexer, JobBuilder(vault, index, self._summarizer, clock),
            self.run_journal, config.topics, config.recall.private_marks, self.health, clock,
            config.summarizer.summary_s,
        )  # fmt: skip
        self.neighbours = Neighbours(index, lambda: self.model.at_hand, clock)
        self.candidate_ingest = CandidateIngest(
            vault, index, partial(append_for_source, self), self.neighbours, self.conflicts, candidates,
            self._reviewer, config.extraction, clock, partial(forget_note, self, entry=None, done=True), self._erase,
            prompt_tokens=config.summarizer.prompt_tokens,
            ask_s=config.summarizer.timeout_s,
        )  # fmt: skip

        def forget(path: NotePath, reason: str) -> Awaitable[NoteRecord]:
            return forget_note(self, path, None, reason=reason)

        self.review = Review(vault, index, self.writer, forget, self.note_lookup, candidates, clock)
        self.conflict_review = ConflictReview(vault, index, self.writer, self.conflicts)
        self.idle_detector = IdleDetector()
        self.scheduler = Scheduler(config.jobs, config.state, self.idle_detector, clock, self._summarizer.asked_in_s)
        self.auto_compactor = AutoCompactor(self.compactor, self.model, self.health, config.topics)
        self.writer.listeners.append(self.scheduler.note_changes)
        on_captured = partial(take_captured, self)
        capture = CaptureService(
            config.state, config.capture, vault.layout.tz, clock, self.watcher.hint, on_captured, self.projects.label_of
        )
        self.capture_worker = CaptureWorker(config.capture, capture, self.idle_detector, self.health, self.scheduler)
        self.admin = Admin(self)
        self.transfer = Transfer(vault, index, self.writer, self.admin.reconcile)
        self.scheduler.register(*list_jobs(self))

    async def _erase(self, path: NotePath) -> None:
        """Deletes for good a note that was made of what the person took back."""
        from mcp_memory.engine.erase import Eraser  # which is made of these parts

        await Eraser(self).erase(path, None)

    @cached_property
    def _reviewer(self) -> Summarizer:
        """The language model for what waits for review."""
        if not (model := self.config.extraction.model):
            return self._summarizer
        return open_summarizer(replace(self.config.summarizer, model=model), self.config.state / "reviewer.json")

    @cached_property
    def _gaps(self) -> KnowledgeGaps:
        return KnowledgeGaps(
            self.config.usage, self.clock, self.searcher.meaning,
            lambda: model.fingerprint if (model := self.model.at_hand) else None,
        )  # fmt: skip

    @cached_property
    def claims(self) -> ClaimAnswers:
        may_be_told = Filters(private=self.config.recall.private_marks, foreign=False)
        return ClaimAnswers(ClaimBase(self.index, may_be_told, self.clock))

    @cached_property
    def session_summaries(self) -> SessionSummaries:
        capture, state = self.capture_worker.service, self.config.state / "summarized.json"
        idle_minutes = self.config.capture.idle_minutes
        return SessionSummaries(
            self.vault, self.index, self.writer, capture, self._summarizer, idle_minutes, self.clock, state
        )

    @cached_property
    def dreamer(self) -> Dreamer:
        config, by = self.config, Caller(DREAM, is_person=True)
        files = DreamFiles(self.vault, self.writer, config.state / "dreams")
        return Dreamer(
            self.vault, self.index, files, self.uses, partial(append_for_source, self),
            partial(forget_as, self, by), lambda: self.model.at_hand, config.recall.private_marks, config.dreams,
            self.clock, config.recall.memory_lines,
        )  # fmt: skip

    @cached_property
    def projects(self) -> Projects:
        return Projects(self.vault.roots()[""], self.index.projects)

    @cached_property
    def project_finder(self) -> ProjectFinder:
        return ProjectFinder(self.projects, self.grounder.note_folder)

    @cached_property
    def grounder(self) -> Grounder:
        return Grounder(self.index, self.config.state / "grounding.json", self.projects, self.clock)

    @cached_property
    def archivist(self) -> Archivist:
        return Archivist(
            self.vault, self.index, self.uses, self.compactor, partial(append_for_source, self),
            partial(forget_note, self), self.config.decay, self.clock,
        )  # fmt: skip

    @cached_property
    def linter(self) -> Linter:
        return Linter(self.vault, self.index, self.compactor)

    def filters(self, **wanted: Any) -> Filters:
        """Raises InvalidInput for a filter that cannot be used."""
        found = filters_from(**wanted, now=self.clock(), tz=self.vault.layout.tz)
        label, aliases = self.projects.names_of(found.project) if found.project else (None, frozenset[str]())
        return replace(found, project=label, aliases=aliases)

    async def start(self, tasks: TaskGroup, *, watch: bool, progress: Progress | None) -> None:
        """Sweep, load the model, embed: each in a task of this group."""
        await in_thread(self.writer.open, deadline_s=60, what="opening the index")
        await in_thread(self.grounder.load, deadline_s=60, what="reading what notes name of code")
        tasks.start_soon(self.watcher.run if watch else self._sweep)
        tasks.start_soon(self.model.run, self.swept, progress)
        tasks.start_soon(self.model.unload_when_idle)
        self.scheduler.is_on = watch and self.config.jobs.enabled
        tasks.start_soon(self._run_jobs)
        tasks.start_soon(self.uses.run)
        if watch:
            tasks.start_soon(self.capture_worker.run)
            tasks.start_soon(self.searcher.warm, self.swept)
            tasks.start_soon(self._check_index)

    async def _check_index(self) -> None:
        """Look once for damage that no search would meet: the notes that it hides are then read again."""
        await self.swept.wait()
        try:
            await in_thread(self.index.check, what="checking the index")
        except McpMemoryError:  # it was replaced, or the sweep reports the fault
            self.watcher.hurry()

    async def _run_jobs(self) -> None:
        await self.swept.wait()  # the first sweep was tried
        with self.health.watching("compaction"):
            await self.compactor.finish_jobs()
        if self.scheduler.is_on:
            await self.model.settled.wait()
            self.auto_compactor.look_at_all()
            await self.scheduler.run()

    async def close(self) -> None:
        """Idempotent. The index is closed also where the model hangs."""
        self._summarizer.close()
        self._reviewer.close()
        try:
            try:  # while the model knows the latest questions
                await in_thread(self.uses.flush, deadline_s=5, what="counting what was used")
            finally:
                await self.model.close()
        finally:
            await in_thread(self.index.close, deadline_s=5, what="closing the index")

    async def _sweep(self) -> SweepResult | None:
        """None when the sweep failed, and `problems` says why."""
        try:
            with self.health.watching("sweep"):
                swept = await self.indexer.reconcile()
                with self.idle_detector.behind():
                    await self.conflicts.scan()
                await self.admin.tidy()
                self.model.wake()
                with self.health.watching("topics"):
                    await self.compactor.mark_stale_pages()
                # Only we write captured sessions, so that they need no watching.
                folders = {
                    self.vault.absolute(folder): signature
                    for folder, signature in swept.folders.items()
                    if not folder.startswith(f"@{TRANSCRIPTS}")
                }
                return SweepResult(folders, swept.changed + swept.gone)
        finally:
            self.swept.set()
        return None
