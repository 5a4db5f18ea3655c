"""Defines the sections of the configuration that an engine reads. `settings` imports this where milliseconds count."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

from mcp_memory.capture.config import CaptureConfig
from mcp_memory.embedders.base import EmbedderConfig
from mcp_memory.index import IndexConfig
from mcp_memory.indexing.config import WatchConfig
from mcp_memory.jobs.job import JobsConfig
from mcp_memory.recall.config import RecallConfig
from mcp_memory.summarizers.config import SummarizerConfig
from mcp_memory.vault.config import KindConfig, VaultConfig

C = TypeVar("C")


@dataclass(frozen=True, kw_only=True)
class Sections:
    """The sections, each read once and passed on as it is. `features`: section → the configuration of a feature."""

    vault: VaultConfig = field(default_factory=VaultConfig)
    index: IndexConfig = field(default_factory=IndexConfig)
    embedder: EmbedderConfig = field(default_factory=EmbedderConfig)
    summarizer: SummarizerConfig = field(default_factory=SummarizerConfig)
    jobs: JobsConfig = field(default_factory=JobsConfig)
    recall: RecallConfig = field(default_factory=RecallConfig)
    watch: WatchConfig = field(default_factory=WatchConfig)
    capture: CaptureConfig = field(default_factory=CaptureConfig)
    kinds: Mapping[str, KindConfig] = field(default_factory=dict[str, KindConfig])
    features: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def section(self, name: str, kind: type[C]) -> C:
        """Return a feature's configuration; its defaults where none is given."""
        return cast("C", self.features[name]) if name in self.features else kind()
