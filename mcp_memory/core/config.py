"""Defines the configuration of a whole engine, by part."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar, cast

from mcp_memory.capture.config import CaptureConfig
from mcp_memory.embedders.base import EmbedderConfig
from mcp_memory.index import IndexConfig
from mcp_memory.indexing.config import WatchConfig
from mcp_memory.jobs.due import JobsConfig
from mcp_memory.recall.config import RecallConfig
from mcp_memory.search.searcher import SearchConfig
from mcp_memory.summarizers.config import SummarizerConfig
from mcp_memory.text.chunking.chunker import ChunkingConfig
from mcp_memory.vault.config import KindConfig, VaultConfig

C = TypeVar("C")


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
    summarizer: SummarizerConfig = field(default_factory=SummarizerConfig)
    jobs: JobsConfig = field(default_factory=JobsConfig)
    capture: CaptureConfig = field(default_factory=CaptureConfig)
    features: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Section → the configuration of a feature."""

    def section(self, name: str, kind: type[C]) -> C:
        """Return a feature's configuration; its defaults where none is given."""
        return cast("C", self.features[name]) if name in self.features else kind()
