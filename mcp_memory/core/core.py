"""Defines the ports that features are built on."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from mcp_memory.capture.worker import CaptureWorker
from mcp_memory.core.config import Sections
from mcp_memory.core.feature import Feature
from mcp_memory.core.requests import SearchRequest
from mcp_memory.core.sweeper import Sweeper
from mcp_memory.index.base import Index
from mcp_memory.indexing.conflict_scan import ConflictScan
from mcp_memory.indexing.freshness import Freshness
from mcp_memory.indexing.reconciler import Reconciler
from mcp_memory.indexing.watcher import Watcher
from mcp_memory.indexing.writer import IndexWriter
from mcp_memory.jobs.scheduler import Scheduler
from mcp_memory.models import Filters, SearchResult
from mcp_memory.projects.projects import Projects
from mcp_memory.recall.answer import RecallAnswerer
from mcp_memory.recall.briefing import Briefer
from mcp_memory.recall.briefing_log import BriefingLog
from mcp_memory.recall.moments.action_advice import ActionAdvisor
from mcp_memory.recall.moments.withdrawals import Withdrawals
from mcp_memory.runs.journaled_runs import JournaledRuns
from mcp_memory.runtime.health import Health
from mcp_memory.runtime.idle_detector import IdleDetector
from mcp_memory.search.embedder_lifecycle import EmbedderLifecycle
from mcp_memory.search.filters import filters_for
from mcp_memory.search.near_notes import NearNotes
from mcp_memory.search.note_lookup import NoteLookup
from mcp_memory.search.searcher import SearchConfig, Searcher
from mcp_memory.summarizers.base import Summarizer
from mcp_memory.usage.use_counter import UseCounter
from mcp_memory.vault.vault import Vault

Clock = Callable[[], datetime]


@dataclass(frozen=True, slots=True)
class EngineConfig(Sections):
    """`root` is the vault, `state` its private folder, `models` the folder of compiled models. Nobody sets `search`; it
    is measured without single parts."""

    root: Path
    state: Path
    models: Path
    search: SearchConfig = field(default_factory=SearchConfig)


@dataclass(frozen=True, slots=True)
class IndexingPorts:
    """The ports that keep the index up to date with the files."""

    writer: IndexWriter
    reconciler: Reconciler
    conflicts: ConflictScan
    sweeper: Sweeper
    watcher: Watcher
    freshness: Freshness


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
class RecallPorts:
    """The ports that answer agents, and count the notes that they were shown."""

    answerer: RecallAnswerer
    briefer: Briefer
    advisor: ActionAdvisor
    withdrawals: Withdrawals
    log: BriefingLog
    uses: UseCounter


@dataclass(frozen=True, slots=True)
class BackgroundPorts:
    """The ports for work in the background."""

    scheduler: Scheduler
    idle_detector: IdleDetector
    health: Health
    summarizer: Summarizer
    capture: CaptureWorker


@dataclass(frozen=True, slots=True)
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
        return filters_for(self.projects, self.clock, self.vault.layout.tz, **wanted)
