"""The embedded engine keeps the contract that every engine keeps."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from mcp_memory.index import INDEXES
from mcp_memory.index.base import Index
from tests.support.index_contract import IndexContract


class TestSqliteIndex(IndexContract):
    @pytest.fixture
    def index(self, tmp_path: Path) -> Iterator[Index]:
        engine = INDEXES.get("sqlite")(tmp_path / "index")
        yield engine
        engine.close()


def test_the_embedded_engine_is_known_by_name() -> None:
    assert INDEXES.names() == ["sqlite"]
