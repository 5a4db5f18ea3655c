"""Defines the core, and what a feature adds to it. A feature is a folder whose module `feature` has `build(core) ->
Feature`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Coroutine, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from mcp_memory.capture.worker import CaptureWorker
from mcp_memory.client.credentials import Credentials
from mcp_memory.core.config import Sections
from mcp_memory.core.line_reader import LineReader
from mcp_memory.core.requests import SearchRequest
from mcp_memory.core.serializers import Payload, Reviewer
from mcp_memory.core.sweeper import Sweeper
from mcp_memory.index.base import Index
from mcp_memory.indexing.conflict_scan import ConflictScan
from mcp_memory.indexing.freshness import Freshness
from mcp_memory.indexing.reconciler import Reconciler
from mcp_memory.indexing.watcher import Watcher
from mcp_memory.indexing.writer import IndexWriter
from mcp_memory.jobs.job import Job
from mcp_memory.jobs.scheduler import Scheduler
from mcp_memory.models import Clock, Filters, NoteId, NotePath, SearchResult
from mcp_memory.projects.projects import Projects
from mcp_memory.recall.answer import RecallAnswerer
from mcp_memory.recall.briefing import Briefer
from mcp_memory.recall.briefing_log import BriefingLog
from mcp_memory.recall.moments.action_advice import ActionAdvisor
from mcp_memory.recall.moments.withdrawals import Withdrawals
from mcp_memory.runs.journaled_runs import JournaledRuns
from mcp_memory.runtime.health import Finding, Health, IdleDetector
from mcp_memory.search.embedder_lifecycle import EmbedderLifecycle
from mcp_memory.search.note_lookup import NearNotes, NoteLookup
from mcp_memory.search.searcher import SearchConfig, Searcher
from mcp_memory.summarizers.base import Summarizer
from mcp_memory.text.chunking.config import ChunkingConfig
from mcp_memory.usage.use_counter import UseCounter
from mcp_memory.vault.note_file import NoteFile, find_entry
from mcp_memory.vault.vault import Vault

if TYPE_CHECKING:
    from starlette.types import ASGIApp


@dataclass(frozen=True)
class Operation:
    """A request, and the function that answers it, of a feature or, with the core as its first argument, of the core.
    `is_foreground`: somebody waits, so background work pauses. `to_payload` turns the answer into JSON values, if it
    isn't made of them."""

    request: type[Any]
    answer: Callable[..., Awaitable[Any]]
    is_foreground: bool = False
    to_payload: Callable[[Any], Payload] | None = None


@dataclass(frozen=True)
class ErasedText:
    """A whole note, or an entry of a log, that is erased. The text is empty if the file is gone."""

    path: NotePath
    entry: str | None
    ids: Collection[NoteId]
    text: str

    @classmethod
    def of(cls, path: NotePath, entry: str | None, ids: Collection[NoteId], file: NoteFile | None) -> ErasedText:
        if file is None or entry is None:
            return cls(path, entry, ids, file.body if file else "")
        found = find_entry(path, file.text, entry)
        return cls(path, entry, ids, file.text[found.start : found.end] if found else "")


class NoteCopies:
    """The texts that a feature has made from notes. A feature overrides the methods that apply to it. Synchronous, for
    worker threads."""

    def describe(self, erased: ErasedText) -> Iterator[str]:  # noqa: ARG002 -- for those who override it
        """Yield a line for each place that `erase` cleans. Raises StorageFailed."""
        yield from ()

    def beyond(self, erased: ErasedText) -> Iterator[str]:  # noqa: ARG002 -- for those who override it
        """Yield a line for each copy that stays."""
        yield from ()

    def waiting(self, erased: ErasedText) -> Sequence[NotePath]:  # noqa: ARG002 -- for those who override it
        """Return candidates that were made of the text and that nobody has accepted; they are erased, too."""
        return ()

    def erase(self, erased: ErasedText) -> Sequence[NotePath]:  # noqa: ARG002 -- for those who override it
        """Return the files of the vault that were changed. Raises StorageFailed, Refused or PreconditionFailed."""
        return ()


class Perform(Protocol):
    """Answers an operation by its name for a person, as `Engine.perform` does."""

    async def __call__(self, operation: str, arguments: Mapping[str, Any], /) -> Payload: ...


@dataclass(frozen=True)
class Feature:
    """The additions of a feature. `prepare` runs in a thread before the first sweep, each of `tasks` beside the engine,
    and `close` at its end. `left_archive` is called with a note that was restored from `_archive/`. `sites`: a path of
    the HTTP server → builds the app for browsers there, which checks by itself who asks."""

    operations: Mapping[str, Operation] = field(default_factory=dict[str, Operation])
    jobs: Sequence[Job] = ()
    prepare: Callable[[], None] | None = None
    tasks: Sequence[Callable[[], Coroutine[Any, Any, None]]] = ()
    status: Callable[[], Mapping[str, Any]] = dict[str, Any]
    findings: Callable[[], Sequence[Finding]] = tuple[Finding, ...]
    copies: NoteCopies | None = None
    reviewers: Sequence[Reviewer] = ()
    left_archive: Callable[[NoteFile], Awaitable[None]] | None = None
    sites: Mapping[str, Callable[[Perform, Credentials], ASGIApp]] = field(default_factory=dict[str, Any])
    close: Callable[[], None] | None = None


@dataclass(frozen=True)
class EngineConfig(Sections):
    """`root` is the vault, `state` its private folder, `models` the folder of compiled models. Nobody sets `search`
    and `chunking`; they are measured with others."""

    root: Path
    state: Path
    models: Path
    search: SearchConfig = field(default_factory=SearchConfig)
    chunking: ChunkingConfig = field(default_factory=ChunkingConfig)


@dataclass(frozen=True)
class IndexingPorts:
    """The ports that keep the index up to date with the files."""

    writer: IndexWriter
    reconciler: Reconciler
    conflicts: ConflictScan
    sweeper: Sweeper
    watcher: Watcher
    freshness: Freshness


@dataclass(frozen=True)
class SearchPorts:
    """The ports that find notes."""

    model: EmbedderLifecycle
    searcher: Searcher
    lookup: NoteLookup
    near_notes: NearNotes
    answers_at: dict[str, Callable[[SearchRequest], Awaitable[SearchResult]]] = field(
        default_factory=dict[str, Callable[[SearchRequest], Awaitable[SearchResult]]]
    )
    """The first part of a search's path → the feature that answers there."""


@dataclass(frozen=True)
class RecallPorts:
    """The ports that answer agents, and count the notes that they were shown."""

    answerer: RecallAnswerer
    briefer: Briefer
    advisor: ActionAdvisor
    withdrawals: Withdrawals
    log: BriefingLog
    uses: UseCounter


@dataclass(frozen=True)
class BackgroundPorts:
    """The ports for work in the background."""

    scheduler: Scheduler
    idle_detector: IdleDetector
    health: Health
    summarizer: Summarizer
    reader: LineReader
    capture: CaptureWorker


@dataclass(frozen=True)
class Core:
    """The ports of one open vault. `runs` moves notes so that it can be undone; `features` are the features built on
    it."""

    config: EngineConfig
    vault: Vault
    index: Index
    projects: Projects
    indexing: IndexingPorts
    search: SearchPorts
    recall: RecallPorts
    runs: JournaledRuns
    background: BackgroundPorts
    features: list[Feature] = field(default_factory=list[Feature])

    @property
    def clock(self) -> Clock:
        """The clock of the vault."""
        return self.vault.clock

    def filters(self, **wanted: Any) -> Filters:
        """Raises InvalidInput for a filter that cannot be used."""
        return self.recall.briefer.filters(**wanted)
