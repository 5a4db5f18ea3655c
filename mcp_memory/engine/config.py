"""Holds the configuration of a whole engine: what each part gets."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from mcp_memory.capture.config import CaptureConfig
from mcp_memory.curation.decay.config import DecayConfig
from mcp_memory.curation.dreams.config import DreamsConfig
from mcp_memory.embedders.base import EmbedderConfig
from mcp_memory.extraction.config import ExtractionConfig
from mcp_memory.git.config import GitConfig
from mcp_memory.index.config import IndexConfig
from mcp_memory.indexing.config import WatchConfig
from mcp_memory.jobs.config import JobsConfig
from mcp_memory.recall.config import RecallConfig
from mcp_memory.search.searcher import SearchConfig
from mcp_memory.summarizers.config import SummarizerConfig
from mcp_memory.text.chunking.chunker import ChunkingConfig
from mcp_memory.topics.config import TopicsConfig
from mcp_memory.usage.config import UsageConfig
from mcp_memory.vault.config import KindConfig, VaultConfig


@dataclass(frozen=True, slots=True)
class EngineConfig:
    """`root` is the vault, `state` its private folder, `models` the folder of compiled models."""

    root: Path
    state: Path
    models: Path
    vault: VaultConfig = field(default_factory=VaultConfig)
    index: IndexConfig = field(default_factory=IndexConfig)
    kinds: Mapping[str, KindConfig] = field(default_factory=dict[str, KindConfig])
    embedder: EmbedderConfig = field(default_factory=EmbedderConfig)
    chunking: ChunkingConfig = field(default_factory=ChunkingConfig)
    search: SearchConfig = field(default_factory=SearchConfig)
    recall: RecallConfig = field(default_factory=RecallConfig)
    watch: WatchConfig = field(default_factory=WatchConfig)
    topics: TopicsConfig = field(default_factory=TopicsConfig)
    summarizer: SummarizerConfig = field(default_factory=SummarizerConfig)
    extraction: ExtractionConfig = field(default_factory=ExtractionConfig)
    jobs: JobsConfig = field(default_factory=JobsConfig)
    usage: UsageConfig = field(default_factory=UsageConfig)
    decay: DecayConfig = field(default_factory=DecayConfig)
    dreams: DreamsConfig = field(default_factory=DreamsConfig)
    git: GitConfig = field(default_factory=GitConfig)
    capture: CaptureConfig = field(default_factory=CaptureConfig)
