"""Keywords: what becomes of a term, and how much work a query may make."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_memory.index.contract import DIMENSION, make_upsert, start, texts_of
from mcp_memory.index.postings import MAX_PHRASES, Cost, Plan, Reach, phrases_of, plan
from mcp_memory.index.sqlite import SqliteIndex
from mcp_memory.index.words import any_of, exactly, searchable
from mcp_memory.models import Filters, NotePath

ANY_TEXT = st.text(st.characters(), max_size=30) | st.text(
    st.sampled_from('ab "*()-:^{}+\0\ud800記憶管가é🙂_'), max_size=12
)


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory):
    engine = SqliteIndex(tmp_path_factory.mktemp("index"))
    start(engine, [make_upsert("a.md", ["alpha beta", "記憶管理"])])
    yield engine
    engine.close()


@given(st.lists(ANY_TEXT, max_size=4))
@settings(max_examples=300, deadline=None)
def test_no_term_raises_or_hides_another(index: SqliteIndex, terms: list[str]) -> None:
    found = texts_of(index, index.lexical([*terms, "alpha"], 10, Filters()))
    assert "alpha beta" in found
    index.section([*terms, "alpha"], 10, Filters())
    assert set(index.frequencies(terms)) == set(terms)


@given(ANY_TEXT)
@settings(max_examples=200, deadline=None)
def test_whatever_is_written_is_found_by_its_own_words(index: SqliteIndex, text: str) -> None:
    words = [word for word in text.split() if word.isascii() and word.isalnum()]
    index.apply(index.generations()[0].number, [make_upsert("own.md", [text, "filler"])])
    assert index.passages(NotePath("own.md"))[0].chunk.text == text
    for word in words:
        assert texts_of(index, index.lexical([word], 1, Filters(path_prefix="own.md"))) == [text]
        assert index.frequencies([word])[word] >= 1


@given(st.text(st.sampled_from("記憶管理方法を学ぶ"), min_size=1, max_size=12), st.data())
def test_every_part_of_a_run_is_a_phrase_of_its_index_form(run: str, data: st.DataObject) -> None:
    first = data.draw(st.integers(0, len(run) - 1))
    part = run[first : data.draw(st.integers(first + 1, len(run)))]
    tokens = searchable(run).split()
    phrase = exactly(part)
    wanted = phrase.removesuffix(" *").strip('"').split()
    starts = [tokens[at : at + len(wanted)] for at in range(len(tokens))]
    if phrase.endswith("*"):
        assert any(window and window[0].startswith(wanted[0]) for window in starts)
    else:
        assert wanted in starts
    assert any_of(part)


COSTS = st.tuples(st.integers(0, 50), st.integers(0, 50)).map(lambda pair: Cost(pair[0], sum(pair)))


@given(st.dictionaries(st.text(max_size=3), COSTS), st.integers(0, 150))
def test_a_plan_keeps_the_rarest_within_the_budget(costs: dict[str, Cost], budget: int) -> None:
    chosen = plan(costs, budget)
    occurring = {phrase: cost for phrase, cost in costs.items() if cost.total}
    dropped = [cost.own for phrase, cost in occurring.items() if phrase not in chosen.phrases and cost.own]
    assert set(chosen.phrases) <= set(occurring)
    assert bool(chosen.phrases) == bool(occurring)
    match chosen.reach:
        case Reach.ANY_COLUMN:
            assert set(chosen.phrases) == set(occurring)
            assert chosen.postings == sum(cost.total for cost in occurring.values()) <= budget
        case Reach.OWN_TEXT:
            assert chosen.postings == sum(costs[phrase].own for phrase in chosen.phrases) <= budget
            assert sum(cost.total for cost in occurring.values()) > budget
            if dropped:
                assert min(dropped) >= max(costs[phrase].own for phrase in chosen.phrases)
                assert chosen.postings + min(dropped) > budget
        case Reach.NEWEST:
            assert len(chosen.phrases) == 1
            assert all(own > budget for own in dropped)


def test_a_plan_of_nothing_is_empty() -> None:
    assert plan({}, 10) == plan({"a": Cost(0, 0)}, 10) == Plan((), 0)
    assert len(phrases_of(f"word{at}" for at in range(9999))) == MAX_PHRASES


def test_beyond_the_budget_only_rows_with_a_word_of_their_own_are_ranked(tmp_path: Path) -> None:
    notes = [make_upsert(f"{at}.md", [f"alpha {at}", f"beta {at}", "gamma", "delta"]) for at in range(20)]
    found = []
    for budget in (1000, 50):
        index = SqliteIndex(tmp_path / str(budget), posting_budget=budget)
        start(index, notes)
        rows = index.lexical(["alpha", "beta"], 100, Filters())
        found.append(set(texts_of(index, rows)))
        index.close()
    everything, own = found
    assert len(own) == 40 and "gamma" not in own
    assert {"gamma", "delta"} <= everything
    assert own <= everything


def test_common_words_are_dropped_where_others_remain(tmp_path: Path) -> None:
    index = SqliteIndex(tmp_path, posting_budget=50)
    notes = [make_upsert(f"{at:03}.md", ["common" + (" seldom" if at % 20 == 0 else "")]) for at in range(200)]
    start(index, [*notes, make_upsert("x.md", ["common common seldom single"])])
    assert index.frequencies(["common", "seldom", "single"]) == {"common": 201, "seldom": 11, "single": 1}
    assert index.plan_terms(["common", "seldom", "absent", "single"]) == ["seldom", "single"]
    assert len(index.lexical(["common", "seldom", "single"], 500, Filters())) == 11
    index.close()


def test_a_common_word_alone_is_answered_newest_first(tmp_path: Path) -> None:
    index = SqliteIndex(tmp_path, posting_budget=50)
    start(
        index,
        [make_upsert(f"{at:03}.md", ["common", f"other {at}"], tags=("even",) * (at % 2 == 0)) for at in range(200)],
    )
    assert index.plan_terms(["common"]) == ["common"]
    rows = index.lexical(["common"], 30, Filters())
    assert [passage.note.path for passage in index.get([row.chunk_id for row in rows]).values()] != []
    passages = index.get([row.chunk_id for row in rows])
    assert [passages[row.chunk_id].note.path for row in rows] == [f"{at:03}.md" for at in range(199, 169, -1)]
    assert len(index.lexical(["common"], 1000, Filters())) == 400, "every match comes back where as many are asked for"
    assert len(index.lexical(["common"], 150, Filters(tags=frozenset({"even"})))) == 150
    assert len(index.section(["common"], 1000, Filters())) == 400
    index.close()


def test_frequencies_keep_up_with_changes(tmp_path: Path) -> None:
    index = SqliteIndex(tmp_path)
    generation = start(index, [make_upsert(f"{at}.md", ["alpha"]) for at in range(300)])
    assert index.frequencies(["alpha"]) == {"alpha": 300}
    index.apply(generation.number, [make_upsert("one.md", ["alpha"])])
    assert index.frequencies(["alpha"])["alpha"] == pytest.approx(301, rel=0.01), "a common word may lag by 1 %"
    index.apply(generation.number, [make_upsert(f"more/{at}.md", ["alpha"]) for at in range(30)])
    assert index.frequencies(["alpha"]) == {"alpha": 331}
    assert generation.dimension == DIMENSION
    index.close()
