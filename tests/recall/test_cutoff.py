"""Answers end where the scores of their passages drop."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from mcp_memory.models import Chunk, Etag, NoteId, NotePath, NoteRecord, NoteState, Passage
from mcp_memory.recall import cutoff
from mcp_memory.recall.config import PhaseConfig
from mcp_memory.search.confidence import ConfidenceFeatures
from mcp_memory.search.ranking import RankedChunk, RankedList

NOTE = NoteRecord(NotePath("a.md"), NoteId("a"), Etag(""), "", "a", "note", NoteState.ACTIVE)


def ranked(*scores: float, chars: int = 400, relevance: tuple[float, ...] = ()) -> list[RankedChunk]:
    return [
        RankedChunk(Passage(at, at, Chunk("x" * chars, 0, chars, 1, 1), NOTE), score, None, relevant)
        for at, (score, relevant) in enumerate(zip(scores, relevance or scores, strict=True))
    ]


def ids(found: list[RankedChunk]) -> list[int]:
    return [chunk.passage.chunk_id for chunk in found]


def test_a_question_is_answered_by_what_is_in_reach_of_the_best() -> None:
    found = ranked(0.8, 0.5, 0.39, chars=cutoff.FEWEST_TOKENS * 4)
    assert ids(cutoff.for_question(found, PhaseConfig(least_share=0.5))) == [0, 1]
    assert ids(cutoff.for_question(found, PhaseConfig(least_share=0.0))) == [0, 1, 2]


def test_a_question_gets_a_few_passages_that_are_not_far_behind_the_best() -> None:
    found = ranked(0.8, *[0.33] * 9, chars=cutoff.FEWEST_TOKENS)
    assert ids(cutoff.for_question(found, PhaseConfig())) == [0, 1, 2, 3]
    assert ids(cutoff.for_question(ranked(0.8, *[0.31] * 9, chars=cutoff.FEWEST_TOKENS), PhaseConfig())) == [0]


def test_a_question_that_nothing_answers_gets_little() -> None:
    found = ranked(*[0.1] * 9)
    assert len(cutoff.for_question(found, PhaseConfig())) == 9
    assert ids(cutoff.for_question(found, PhaseConfig(), is_weak=True)) == list(range(cutoff.MOST_WEAK))


def test_a_prompt_gets_what_probably_helps_however_well_it_ranks() -> None:
    found = ranked(0.9, 0.8, 0.7, relevance=(0.05, 0.9, 0.1))
    assert ids(cutoff.for_prompt(found, PhaseConfig(least_relevance=0.04, least_share=0.1))) == [1, 2]
    assert ids(cutoff.for_prompt(found, PhaseConfig(least_relevance=0.2, least_share=0.1))) == [1]
    assert cutoff.for_prompt([], PhaseConfig()) == cutoff.for_question([], PhaseConfig()) == []


def test_a_line_points_to_what_is_unsure_only_if_something_is_likely_enough() -> None:
    def split(*relevance: float, known: int | None = None) -> tuple[list[int], list[int]]:
        notes = [replace(NOTE, id=NoteId(str(at))) for at in range(len(relevance))]
        chunks = ranked(*relevance)
        fit = [replace(one, passage=replace(one.passage, note=note)) for one, note in zip(chunks, notes, strict=True)]
        signs = RankedList((), 0.5, ConfidenceFeatures(wanting=0.0))
        likely, unsure = cutoff.likely_and_unsure(signs, fit, lambda passage: passage.chunk_id == known)
        return ids(likely), ids(unsure)

    assert split(0.14, 0.1) == ([], [])
    assert split(0.16, 0.1) == ([], [0, 1])
    assert split(0.16, 0.1, known=0) == ([], [])
    assert split(0.4, 0.21, 0.19) == ([0], [1])
    assert split(0.4, 0.21, known=1) == ([0], [])


def test_a_statement_that_another_note_has_whole_is_told_once() -> None:
    def kept(*texts: str) -> list[str]:
        notes = [replace(NOTE, id=NoteId(str(at))) for at in range(len(texts))]
        passages = [Passage(at, 0, Chunk(text, 0, len(text), 1, 1), notes[at]) for at, text in enumerate(texts)]
        told = cutoff.told_once([RankedChunk(passage, 1.0, None, 1.0) for passage in passages])
        return [chunk.passage.chunk.text for chunk in told]

    short, whole = "We use uv, never pip.", "This repository uses uv, never pip, for Python."
    assert kept(short, whole) == kept(whole, short) == [whole]
    assert kept(short, "Use uv, never pip!") == [short]
    for other in ("We use pip, and uv.", "We use uv, never npm.", "We use pip, never uv."):
        assert kept(short, other) == [short, other]
    for one, other in (
        ("The api listens on port 8087.", "The api listens on port 8090 now."),
        ("The port is 8087.", "The port is 8090; 8087 was taken."),
    ):
        assert kept(one, other) == [one, other]


@given(st.lists(st.floats(0, 1), max_size=20), st.floats(0, 1), st.floats(0, 1))
def test_a_lower_bar_only_adds_passages(scores: list[float], share: float, other: float) -> None:
    low, high = sorted((share, other))
    found = ranked(*sorted(scores, reverse=True))
    for cut in (cutoff.for_question, cutoff.for_prompt):
        assert set(ids(cut(found, PhaseConfig(least_share=high)))) <= set(ids(cut(found, PhaseConfig(least_share=low))))
