"""A place a test may do with as it likes, with keywords only: these tests are about life and death, not vectors."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.daemon.place import Place, end

KEYWORDS_ONLY = {"MCP_MEMORY_EMBEDDER_PROVIDER": "none"}


@pytest.fixture
def place(tmp_path: Path):
    made = Place(tmp_path, tmp_path / "models", KEYWORDS_ONLY).make()
    yield made
    end(made)
