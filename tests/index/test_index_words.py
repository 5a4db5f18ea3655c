"""Keywords: what becomes of a term, and how much work a query may make."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_memory.index.keywords import posting_codec
from mcp_memory.index.keywords.bm25 import TermCorpus, TermPart
from mcp_memory.index.keywords.posting_codec import encode, segment
from mcp_memory.index.keywords.segment import merged
from mcp_memory.index.keywords.tokenizer import any_of, count
from mcp_memory.index.sqlite.damage import DamagedRow
from mcp_memory.index.sqlite.schema import ORDINAL_BITS
from mcp_memory.index.sqlite.sqlite_index import SqliteIndex
from mcp_memory.models import Filters, NotePath, NoteState
from tests.support.index_contract import make_upsert, start, texts_of

ANY_TEXT = st.text(st.characters(), max_size=30) | st.text(
    st.sampled_from('ab "*()-:^{}+\0\ud800記憶管가é🙂_'), max_size=12
)


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory):
    engine = SqliteIndex(tmp_path_factory.mktemp("index"))
    start(engine, [make_upsert("a.md", ["alpha beta", "記憶管理"])])
    yield engine
    engine.close()


@given(ANY_TEXT)
@settings(max_examples=200, deadline=None)
def test_whatever_is_written_is_found_by_its_own_words(index: SqliteIndex, text: str) -> None:
    words = [word for word in text.split() if word.isascii() and word.isalnum()]
    index.apply(index.generations()[0].number, [make_upsert("own.md", [text, "filler"])])
    assert index.passages(NotePath("own.md"))[0].chunk.text == text
    for word in words:
        assert texts_of(index, index.lexical([word], 1, Filters(path_prefix="own.md"))) == [text]
        assert index.frequencies([word])[word] >= 1


@given(st.text(st.sampled_from("記憶管理方法を学ぶが"), min_size=1, max_size=12), st.data())
def test_every_part_of_a_run_is_found_in_it(run: str, data: st.DataObject) -> None:
    first = data.draw(st.integers(0, len(run) - 1))
    part = run[first : data.draw(st.integers(first + 1, len(run)))]
    assert any_of(part) and set(any_of(part)) <= set(count(run)[0])


@given(ANY_TEXT, ANY_TEXT)
def test_counting_knows_no_order_of_white_space(one: str, other: str) -> None:
    (first, one_length), (second, other_length) = count(one), count(other)
    assert count(f"{one}\n{other}") == (first + second, one_length + other_length)


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("retryBookingSync", ["retry", "booking", "sync"]), ("HTTPServer", ["http", "server"]),
        ("getURL", ["get", "url"]), ("parseJSONs", ["parse", "jsons"]), ("src/sync/ATable.tsx", ["table", "sync"]),
    ],
)  # fmt: skip
def test_a_name_in_humps_is_found_whole_and_by_its_parts(name: str, parts: list[str]) -> None:
    keys, length = count(f"call {name} now")
    for term in (name, name.lower(), *parts):
        assert set(any_of(term)) <= keys.keys(), term
    assert length == count(f"call {name.lower()} now")[1]


def test_a_hash_is_found_by_what_it_is_abbreviated_to_and_the_other_way_round() -> None:
    whole = "9fceb02d0ae598e95dc970b74767f19372d61af8"
    for asked, written in [(whole[:7], whole), (whole[:12], whole), (whole[:9], whole[:12]), (whole, whole[:7])]:
        assert set(any_of(asked)) & count(f"fixed in {written}")[0].keys(), (asked, written)
    assert not set(any_of("9fceb03")) & count(whole)[0].keys()
    assert count(whole)[1] == 1


def test_notes_rank_the_same_in_one_segment_and_in_many() -> None:
    rng = np.random.default_rng(3)
    notes = [
        (number, encode([(at // 3, " ".join(rng.choice(list("abcdefgh"), 5))) for at in range(7)], {0: "a title"}))
        for number in range(1, 60)
    ]
    dead = {number for number, _ in notes if number % 5 == 0}

    def part(chosen: list[tuple[int, bytes]]) -> TermPart:
        made = segment(chosen)
        return TermPart(
            made, np.array([chunk >> ORDINAL_BITS not in dead for chunk in made.chunks.tolist()], dtype=bool)
        )

    whole = TermCorpus([part([note for note in notes if note[0] not in dead])])
    parts = [part(notes[:40]), part(notes[40:57]), part(notes[57:])]
    joined = merged([(each.segment, each.alive) for each in parts])
    for corpus in (TermCorpus(parts), TermCorpus([TermPart(joined, np.ones(joined.rows, dtype=bool))])):
        for word in ("a", "b", "title", "none"):
            keys = any_of(word)
            assert corpus.frequency(keys) == whole.frequency(keys)
            assert scores_of(corpus, corpus.score_chunks(keys), dead) == scores_of(
                whole, whole.score_chunks(keys), dead
            )
            assert scores_of(corpus, by_row(corpus, corpus.score_sections(keys)), dead) == scores_of(
                whole, by_row(whole, whole.score_sections(keys)), dead
            )


def by_row(corpus: TermCorpus, scores: np.ndarray) -> np.ndarray:
    """Of each section, for each of its rows."""
    return np.repeat(scores, np.diff(corpus.section_starts))


def scores_of(corpus: TermCorpus, scores: np.ndarray, dead: set[int]) -> dict[int, float]:
    together = zip(corpus.chunks.tolist(), scores.tolist(), strict=True)
    return {chunk: score for chunk, score in together if chunk >> ORDINAL_BITS not in dead}


def test_a_rare_word_scores_like_a_common_one() -> None:
    """Few rows are gathered, many are added up over all: the same numbers."""
    texts = [(at // 4, f"common w{at}" + (" rare" if at in {7, 8, 3999} else "")) for at in range(4000)]
    made = segment([(1, encode(texts, {1: "rare", 999: "rare title"}))])
    some, times = made.around(any_of("rare")[0])
    assert not isinstance(some, slice)
    expected = dict.fromkeys(range(4000), 0.0)
    for at in (7, 8, 3999):
        for far, weight in ((0, 2), (1, 1), (2, 1), (-1, 1), (-2, 1)):
            if 0 <= at + far < 4000:
                expected[at + far] += weight
    for at in [*range(4, 8), *range(3996, 4000)]:
        expected[at] += 1
    assert dict(zip(some.tolist(), times.tolist(), strict=True)) == {at: n for at, n in expected.items() if n}
    every, times = made.around(any_of("common")[0])
    assert every == slice(None) and times[:3].tolist() == [4, 5, 6] and times[200] == 6


def test_pages_that_repeat_the_notes_change_no_score(tmp_path: Path) -> None:
    index = SqliteIndex(tmp_path)
    notes = [make_upsert(f"{at}.md", [f"heron number {at}", "mill"], per_section=1) for at in range(20)]
    generation = start(index, [*notes, make_upsert("rare.md", ["kiln heron"], per_section=1)])

    def scores() -> list[list[float]]:
        ways = (index.lexical(["kiln", "heron"], 50, Filters(), by=by) for by in ("chunk", "section"))
        return [[float(row.score) for row in rows] for rows in ways]

    before = scores()
    pages = [make_upsert(f"p{at}.md", ["kiln " * 9], state=NoteState.SUMMARY) for at in range(30)]
    index.apply(generation.number, pages)
    assert scores() == before
    assert len(index.lexical(["kiln"], 50, Filters(states=frozenset({NoteState.SUMMARY})))) == 30
    index.apply(generation.number, [make_upsert(f"more/{at}.md", ["kiln " * 9]) for at in range(30)])
    assert scores() != before
    index.close()


@pytest.mark.parametrize("at", range(0, 20, 4))
def test_a_damaged_head_is_noticed(at: int) -> None:
    data = bytearray(posting_codec.encode([(0, "alpha beta"), (1, "gamma")], {0: "top"}))
    whole = bytes(data)
    data[at] ^= 1
    posting_codec.segment([(1, whole)])
    for damaged in (bytes(data), whole[:at], whole[:-1], whole + b"0"):
        with pytest.raises(DamagedRow):
            posting_codec.segment([(1, whole), (2, damaged)])
