"""Opens a vault: its marker, storage, journals and index, and the services that every user needs."""

import os
from collections.abc import Generator
from contextlib import contextmanager
from datetime import datetime, tzinfo
from functools import partial
from pathlib import Path

from mcp_memory.capture.service import CaptureService
from mcp_memory.capture.transcript_paths import TranscriptPaths
from mcp_memory.capture.worker import CaptureWorker
from mcp_memory.core.core import (
    BackgroundPorts,
    Core,
    EngineConfig,
    IndexingPorts,
    RecallPorts,
    SearchPorts,
)
from mcp_memory.core.line_reader import LineReader
from mcp_memory.core.sweeper import Sweeper
from mcp_memory.errors import ConfigInvalid, StorageFailed
from mcp_memory.index import INDEXES
from mcp_memory.index.base import Index
from mcp_memory.indexing.conflict_scan import ConflictScan
from mcp_memory.indexing.freshness import Freshness
from mcp_memory.indexing.rebuild import EmbeddingBacklog, GenerationBuilder
from mcp_memory.indexing.reconciler import MassDeletionGuard, Reconciler
from mcp_memory.indexing.watcher import Watcher
from mcp_memory.indexing.writer import IndexWriter
from mcp_memory.jobs.scheduler import Scheduler
from mcp_memory.models import Clock
from mcp_memory.projects.projects import Projects
from mcp_memory.projects.session_grants import SessionGrants
from mcp_memory.recall.answer import RecallAnswerer
from mcp_memory.recall.briefing import Briefer
from mcp_memory.recall.briefing_log import MOST_BYTES as BRIEFING_BYTES
from mcp_memory.recall.briefing_log import BriefingLog
from mcp_memory.recall.current_values import CurrentValues
from mcp_memory.recall.moments.action_advice import ActionAdvisor
from mcp_memory.recall.moments.off_record_sessions import OffRecordSessions
from mcp_memory.recall.moments.own_words import OwnWords
from mcp_memory.recall.moments.shown_notes import ShownNotes
from mcp_memory.recall.moments.withdrawals import MOST_BYTES as TOLD_BYTES
from mcp_memory.recall.moments.withdrawals import Withdrawals
from mcp_memory.recall.seen_passages import SeenPassages
from mcp_memory.runs.journal import RunJournal
from mcp_memory.runs.journaled_runs import JournaledRuns
from mcp_memory.runtime.health import Health, IdleDetector
from mcp_memory.runtime.json_lines import JsonLines
from mcp_memory.runtime.local_timezone import LocalTimezone
from mcp_memory.runtime.private_files import failed, make_private, sync_folder
from mcp_memory.runtime.threads import in_thread
from mcp_memory.search.embedder_lifecycle import EmbedderLifecycle
from mcp_memory.search.filters import filters_for
from mcp_memory.search.note_lookup import NearNotes, NoteLookup
from mcp_memory.search.searcher import Searcher
from mcp_memory.storage import STORAGE, open_storage
from mcp_memory.storage.base import Prepared, StorageBackend
from mcp_memory.summarizers.base import open_summarizer
from mcp_memory.usage.unanswered import UnansweredQuestions
from mcp_memory.usage.use_counter import UseCounter
from mcp_memory.vault.config import TRANSCRIPTS, NoteKinds
from mcp_memory.vault.journals.ledger import NoteJournals
from mcp_memory.vault.marker import MARKER, Marker, MarkerGuard, open_marker
from mcp_memory.vault.note_file import MEMORY, SOUL, Layout
from mcp_memory.vault.note_store import NoteStore
from mcp_memory.vault.vault import Vault


async def open_core(config: EngineConfig, clock: Clock | None = None) -> Core:
    """Open a vault; the caller holds the instance lock, and closes the core.

    Raises ConfigInvalid, StorageFailed or IndexUnavailable if the vault can't be opened."""
    now = clock or (lambda: datetime.now().astimezone())
    zone = clock().tzinfo if clock else LocalTimezone()
    assert zone is not None
    STORAGE.get(config.vault.storage)  # an unknown name leaves no trace in vault or state folder
    open_index = INDEXES.get(config.index.engine)
    with _naming_the_file(config.state):
        await in_thread(make_state_private, config.state, deadline_s=30, what="opening the state folder")
        marker = await in_thread(
            open_marker, config.root, config.state / "vault.toml", deadline_s=30, what="opening the vault"
        )
        vault = await in_thread(open_vault, config, marker, now, zone, deadline_s=60, what="opening the vault")
        index = await in_thread(open_index, config.state / "index", deadline_s=60, what="opening the index")
    return make_core(config, vault, index, now)


def make_core(config: EngineConfig, vault: Vault, index: Index, clock: Clock) -> Core:
    """Make the services of an open vault and its index."""
    health, idle_detector = Health(), IdleDetector()
    summarizer = open_summarizer(config.summarizer, config.state / "summarizer.json")
    reader = LineReader(config.summarizer, config.state / "read-lines.jsonl")
    loss = MassDeletionGuard(config.state / "unaccepted-loss")
    writer = IndexWriter(vault, index, config.chunking)
    reconciler = Reconciler(vault, index, writer, loss, health)
    builder = GenerationBuilder(vault, index, writer, EmbeddingBacklog(index, health), loss, health)
    model = EmbedderLifecycle(config.embedder, config.models, builder, health)
    conflicts = ConflictScan(index, writer, vault.chains, clock)
    sweeper = Sweeper(vault, index, writer, reconciler, conflicts, model, health, idle_detector)
    watcher = Watcher(sweeper.sweep, config.watch)
    freshness = Freshness(vault, writer, config.chunking, reconciler, watcher, health)
    indexing = IndexingPorts(writer, reconciler, conflicts, sweeper, watcher, freshness)
    searcher = Searcher(index, model, config.search, clock, freshness)
    near_notes = NearNotes(index, conflicts, model, clock)
    search = SearchPorts(model, searcher, NoteLookup(index, vault.ledger, vault.layout), near_notes)
    projects = Projects(vault.roots()[""], index.projects)
    projects.grants = SessionGrants(vault, index) if config.recall.sessions_apart else None
    scheduler = Scheduler(config.jobs, config.state, idle_detector, clock, summarizer.asked_in_s)
    capture = CaptureService(config.state, config.capture, vault.layout.tz, clock, watcher.hint, projects.label_of)
    worker = CaptureWorker(config.capture, capture, idle_detector, health, scheduler)
    runs = JournaledRuns(vault, index, writer, reconciler, RunJournal(config.state / "compaction"), health, clock)
    recall = _recall_ports(config, vault, index, clock, projects, indexing, search, capture.paths)
    vault.chains.paths_of = lambda note_id: [note.path for note in index.note_by_id(note_id)]
    writer.listeners.append(scheduler.note_changes)
    background = BackgroundPorts(scheduler, idle_detector, health, summarizer, reader, worker)
    return Core(config, vault, index, projects, indexing, search, recall, runs, background)


def _recall_ports(
    config: EngineConfig,
    vault: Vault,
    index: Index,
    clock: Clock,
    projects: Projects,
    indexing: IndexingPorts,
    search: SearchPorts,
    transcripts: TranscriptPaths,
) -> RecallPorts:
    filters = partial(filters_for, projects, clock, vault.layout, config.recall.apart)
    off_record, meaning, keep_words = OffRecordSessions(config.state), search.searcher.meaning, config.recall.keep_words
    unanswered = UnansweredQuestions(clock, meaning, off_record.silences, keep_words=keep_words)
    uses = UseCounter(config.state / "usage.db", clock, meaning, vault.changes, unanswered)
    current = CurrentValues(index, indexing.conflicts, clock)
    answerer = RecallAnswerer(vault, index, search.searcher, config.recall, clock, current, uses)
    lines = JsonLines(config.state / "briefings.jsonl", synced=False, most_bytes=BRIEFING_BYTES)
    log = BriefingLog(lines, keep_words, uses)
    lines = JsonLines(config.state / "told.jsonl", synced=False, most_bytes=TOLD_BYTES)
    withdrawals = Withdrawals(index, vault.changes, config.recall.private_marks, lines, clock)
    briefer = Briefer(
        answerer, index, search.model, SeenPassages(config.state / "given"), config.recall, filters, indexing.freshness,
        log, withdrawals, off_record, OwnWords(transcripts, clock), ShownNotes(uses),
    )  # fmt: skip
    advisor = ActionAdvisor(briefer, indexing.conflicts)
    return RecallPorts(answerer, briefer, advisor, withdrawals, log, uses)


@contextmanager
def _naming_the_file(state: Path) -> Generator[None]:
    """Turn an OSError that no room below has translated into StorageFailed, with the file's name and a remedy."""
    try:
        yield
    except OSError as error:
        raise failed(error, str(error.filename or state)) from error


def open_vault(config: EngineConfig, marker: Marker, clock: Clock, zone: tzinfo) -> Vault:
    root = config.root.resolve()
    backend = open_storage(root, name=config.vault.storage, locks=config.state / "locks")
    guard = MarkerGuard(config.root, marker, config.state / "vault.toml", on_marked=lambda: backend.expect(MARKER))
    folders = {name: _source(name, folder) for name, folder in config.vault.sources.items()} | _transcripts(config)
    prepared = _prepare(backend) if marker.present and marker.writable else Prepared()
    journals = NoteJournals(config.state, config.vault)
    notes = NoteStore(
        backend,
        {name: open_storage(folder, read_only=True) for name, folder in folders.items()},
        layout=Layout(marker.home, zone, at_root=_keeps_at_root(config.root, marker.home)),
        kinds=NoteKinds(config.kinds),
        max_note_bytes=config.vault.max_note_bytes,
        clock=clock,
        journals=journals,
        guard=guard,
    )
    roots = {"": root, **{f"@{name}/": folder for name, folder in folders.items()}}
    return Vault(notes, journals, config.vault, roots, prepared)


def _keeps_at_root(root: Path, home: str) -> bool:
    """Return whether agents write `MEMORY.md` and the daily logs at the root: it is an OpenClaw workspace, whose agent
    reads them there, and the managed folder has none."""
    in_home = any(os.path.exists(root / home / name) for name in (MEMORY, "memory"))  # noqa: PTH110 -- False on error
    return not in_home and (root / SOUL).is_file()


def _source(name: str, folder: str) -> Path:
    """Return the folder of a source. Raises ConfigInvalid for a path that can never be a folder; the listing reports a
    missing folder."""
    try:
        # Path.expanduser raises for an unknown user; this expanduser returns a folder that is missing.
        return Path(os.path.expanduser(folder)).resolve()  # noqa: PTH111 -- raises nothing
    except (OSError, RuntimeError, ValueError) as error:
        raise ConfigInvalid(f"the source {name} has no usable path: {error}", hint="see [vault.sources]") from error


def _transcripts(config: EngineConfig) -> dict[str, Path]:
    """Return the folder of captured sessions, even if capturing has been turned off."""
    folder = config.state / TRANSCRIPTS
    if config.capture.enabled:
        folder.mkdir(mode=0o700, exist_ok=True)
    return {TRANSCRIPTS: folder.resolve()} if folder.is_dir() else {}


def make_state_private(state: Path) -> None:
    with _naming_the_file(state):
        for folder in (state, state / "undo", state / "recovery"):
            make_private(folder)
        sync_folder(state)


def _prepare(backend: StorageBackend) -> Prepared:
    try:
        return backend.prepare()
    except StorageFailed as error:
        return Prepared([error.message])
