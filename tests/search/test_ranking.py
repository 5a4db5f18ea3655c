"""Ranking: few passages are read, and the order is that of reading all."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from mcp_memory.models import Chunk, Etag, NoteId, NotePath, NoteRecord, NoteState, Passage
from mcp_memory.search.boosts import BoostWeights, read_question
from mcp_memory.search.ranking import FIRST_READ, WeightedRow, best_of, weigh, without_repeats

MOST = 0.5


def passage(chunk: int, text: str) -> Passage:
    path = NotePath(f"{chunk:03}.md")
    record = NoteRecord(path, NoteId(path), Etag(""), "", path, "note", NoteState.ACTIVE)
    return Passage(chunk, 0, Chunk(text, 0, len(text), 1, 1), record)


def ordered(
    scores: Mapping[int, float], gained: Mapping[int, float], found: Mapping[int, Passage]
) -> list[WeightedRow]:
    weighed = [WeightedRow(each, scores[c] + gained.get(c, 0.0), scores[c], {}) for c, each in found.items()]
    return sorted(weighed, key=lambda each: (-each.score, each.passage.chunk_id))


@given(
    st.dictionaries(st.integers(0, 60), st.floats(0, 2, width=32), max_size=60),
    st.dictionaries(st.integers(0, 60), st.floats(-0.125, MOST, width=32)),
    st.integers(1, 12),
    st.integers(1, 40),
)
def test_the_best_are_those_of_reading_all(
    scores: dict[int, float], gained: dict[int, float], limit: int, texts: int
) -> None:
    everything = {chunk: passage(chunk, f"text {chunk % texts}") for chunk in scores}
    reads: list[Collection[int]] = []

    def read(wanted: Collection[int]) -> dict[int, Passage]:
        reads.append(wanted)
        return {chunk: everything[chunk] for chunk in wanted}

    def weighed(found: Mapping[int, Passage]) -> list[WeightedRow]:
        return ordered(scores, gained, found)

    best, whole = best_of(scores, limit, read=read, weighed=weighed, most=MOST, passages_of=lambda _: [])
    assert whole
    assert best == without_repeats(weighed(everything), limit)
    asked = [chunk for wanted in reads for chunk in wanted]
    assert len(asked) == len(set(asked))


def test_only_what_may_still_come_among_the_best_is_read() -> None:
    scores = {chunk: 2 - chunk / 100 for chunk in range(200)}
    everything = {chunk: passage(chunk, f"text {chunk}") for chunk in scores}
    read: set[int] = set()

    def reading(wanted: Collection[int]) -> dict[int, Passage]:
        read.update(wanted)
        return {chunk: everything[chunk] for chunk in wanted}

    best, _ = best_of(
        scores, 6, read=reading, weighed=lambda found: ordered(scores, {}, found), most=0.2, passages_of=lambda _: []
    )
    assert [each.passage.chunk_id for each in best] == [0, 1, 2, 3, 4, 5]
    assert len(read) in range(FIRST_READ * 6, 28)


def test_of_equals_the_newer_comes_first_unless_its_date_is_in_the_future() -> None:
    now = datetime(2026, 11, 21, 12, tzinfo=UTC)
    equals = {chunk: passage(chunk, "The bakery opens at six.") for chunk in range(3)}
    for chunk, days in enumerate((-9, 400, -2)):
        note = replace(equals[chunk].note, updated=now + timedelta(days=days))
        equals[chunk] = replace(equals[chunk], note=note)
    question = read_question("when does the bakery open", now)
    rows = weigh(dict.fromkeys(equals, 1.0), equals, question, BoostWeights())
    assert [row.passage.chunk_id for row in rows] == [2, 0, 1]
