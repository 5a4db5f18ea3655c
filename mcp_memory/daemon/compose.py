"""From settings to the engine's own configuration: the composition root."""

from __future__ import annotations

from mcp_memory.engine.config import EngineConfig
from mcp_memory.search.searcher import SearchConfig
from mcp_memory.settings.settings import Settings


def engine_config(settings: Settings) -> EngineConfig:
    return EngineConfig(
        root=settings.vault_path,
        state=settings.state.root,
        models=settings.state.models,
        vault=settings.vault,
        index=settings.index,
        kinds=settings.kinds,
        embedder=settings.embedder,
        chunking=settings.chunking,
        search=SearchConfig(confidence=settings.confidence),
        recall=settings.recall,
        watch=settings.watch,
        topics=settings.topics,
        summarizer=settings.summarizer,
        extraction=settings.extraction,
        git=settings.git,
        capture=settings.capture,
    )
