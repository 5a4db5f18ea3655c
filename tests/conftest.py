"""What every test may use."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mcp_memory import telemetry
from mcp_memory.embedders.base import EmbedderConfig
from mcp_memory.embedders.choose import open_embedder

telemetry.switch_off()


@pytest.fixture(scope="session")
def model_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache folder in which the bundled model is compiled already: pass it to `open_embedder` or a daemon.

    Compiling takes some ten seconds; `MCP_MEMORY_TEST_MODEL_CACHE` names a folder that later runs use again.
    """
    kept = os.environ.get("MCP_MEMORY_TEST_MODEL_CACHE")
    cache = Path(kept) if kept else tmp_path_factory.mktemp("model-cache")
    open_embedder(EmbedderConfig(), cache).close()
    return cache
