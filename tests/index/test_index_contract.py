"""The SQLite engine keeps the contract of all engines, corrects spelling and knows speakers."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from mcp_memory.index import INDEXES
from mcp_memory.index.base import Delete, Index
from mcp_memory.models import Filters, NotePath
from tests.support.index_contract import IndexContract, make_upsert, start, texts_of


class TestSqliteIndex(IndexContract):
    @pytest.fixture
    def index(self, tmp_path: Path) -> Iterator[Index]:
        engine = INDEXES.get("sqlite")(tmp_path / "index")
        yield engine
        engine.close()

    def test_a_lead_is_the_name_that_a_chunk_begins_with(self, index: Index) -> None:
        start(index, [make_upsert("a.md", ["- Ada: hello Bob", "* **Grace Hopper**: Fix: it", "Ada said: no"])])
        names = ["Ada", "ada", "Bob", "Grace Hopper", "Grace", "Fix", "Ada said", "\ud800", ""]
        assert index.known_speakers(names) == ["Ada", "ada", "Grace Hopper", "Ada said"]
        index.apply(1, [make_upsert("a.md", ["- Bob: hello"])])
        assert index.known_speakers(names) == ["Bob"]

    @pytest.mark.parametrize(
        ("typed", "found"),
        [
            ("postgers", "postgres"), ("postgre", "postgres"), ("poostgres", "postgres"), ("pastgres", "postgres"),
            ("bookng", "the bookings"), ("toaster", None), ("Postgers", None), ("v1234", None), ("caat", None),
            ("", None),
        ],
    )  # fmt: skip
    def test_a_word_with_one_letter_wrong(self, index: Index, typed: str, found: str | None) -> None:
        start(index, [make_upsert("a.md", ["postgres", "cat"]), make_upsert("b.md", ["the bookings"])])
        meant = index.correct_spelling(typed)
        assert (meant is None) == (found is None)
        if meant:
            assert texts_of(index, index.lexical([meant], 1, Filters())) == [found]

    def test_of_words_nearby_the_commonest_that_is_still_there(self, index: Index) -> None:
        start(index, [make_upsert("a.md", ["house", "house"]), make_upsert("b.md", ["mouse"])])
        assert index.correct_spelling("gouse") == "house"
        index.apply(1, [make_upsert("a.md", ["gone"])])
        assert index.correct_spelling("gouse") == "mouse"
        index.apply(1, [Delete(NotePath("b.md"))])
        assert index.correct_spelling("gouse") is None


def test_the_embedded_engine_is_known_by_name() -> None:
    assert INDEXES.names() == ["sqlite"]
