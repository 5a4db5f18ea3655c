"""A searcher over an index of the test's own."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from mcp_memory.embedders.base import Embedder
from mcp_memory.index.sqlite.sqlite_index import SqliteIndex
from mcp_memory.models import Filters
from mcp_memory.search.retrievers import RetrieverConfig
from mcp_memory.search.searcher import SearchConfig, Searcher
from tests.support.toy import FixedModel

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
ALL = Filters(now=NOW)


def searcher(index: SqliteIndex, embedder: Embedder | None, **retrievers: Any) -> Searcher:
    return Searcher(index, FixedModel(embedder), SearchConfig(retrievers=RetrieverConfig(**retrievers)), lambda: NOW)
