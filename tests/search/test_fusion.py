"""Fusion, boosts and confidence: pure functions, so no disk and no model."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_memory.index.base import ScoredRows
from mcp_memory.models import Passage, Scored
from mcp_memory.search.boosts import (
    BoostWeights,
    boosts,
    most_boost,
    named_lead,
    read_question,
)
from mcp_memory.search.confidence import ConfidenceFeatures, confidence, coverage, fitted_weights, known_words
from mcp_memory.search.fusion import FusionWeights, RetrieverRows, candidates, fuse
from mcp_memory.text.conversation.speaker_prefix import possible_names
from mcp_memory.text.language.terms import is_symbol, terms
from tests.support.passages import passage

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
WEIGHTS = FusionWeights()
BOOSTS = BoostWeights()

scored = st.builds(Scored, st.integers(0, 30), st.floats(-1, 50, width=32))


def scored_rows(*rows: Scored) -> ScoredRows:
    ids = np.array([row.chunk_id for row in rows], dtype=np.int64)
    return ScoredRows(ids, np.array([row.score for row in rows], dtype=np.float32))


rows = st.lists(scored, max_size=20, unique_by=lambda row: row.chunk_id).map(lambda found: scored_rows(*found))
retrievers = st.builds(RetrieverRows, rows, rows, rows, st.booleans(), st.floats(0, 100))


def fused_of(found: RetrieverRows, *, section_rows: int = 1000) -> dict[int, float]:
    """Chunk → score, where so many chunks make a section."""
    return {row.chunk_id: row.score for row in fuse(found, WEIGHTS, lambda ids: ids // section_rows)}


def boosted(question: str, found: Passage) -> dict[str, float]:
    return boosts(read_question(question, NOW), found, BOOSTS)


class TestFuse:
    def test_the_section_retriever_lists_nothing_unless_the_others_are_empty(self) -> None:
        around = scored_rows(Scored(5, 2.0))
        assert candidates(RetrieverRows(scored_rows(Scored(1, 1.0)), around)).tolist() == [1]
        assert candidates(RetrieverRows(section=around)).tolist() == [5]

    @given(retrievers)
    def test_every_candidate_is_scored_and_never_below_zero(self, found: RetrieverRows) -> None:
        fused = fused_of(found)
        assert list(fused) == candidates(found).tolist()
        most = (WEIGHTS.lexical + WEIGHTS.dense + WEIGHTS.section) * (1 + 2 * WEIGHTS.neighbour)
        assert all(0 <= score <= most + 1e-6 for score in fused.values())


class TestBoosts:
    @pytest.mark.parametrize(
        ("question", "text", "lead"),
        [
            ("What did Ada Lovelace paint?", "- Ada Lovelace: a lake", "Ada Lovelace"),
            ("what does ada like", "Ada: tea", "Ada"),
            ("Is Ada's bike red?", "* **Ada**: it is red", "Ada"),
            ("How was pytest made faster?", "- `pytest`: run in parallel", "pytest"),
            ("What did Ada say?", "- Bob: Ada said no", None),
            ("What did Ada say?", "- Ada Lovelace: no", None),
            ("When do we meet?", "10:30: stand-up", None),
            ("see https", "https://example.org is down", None),
        ],
    )
    def test_an_entry_led_by_a_name_in_the_question(self, question: str, text: str, lead: str | None) -> None:
        asked = read_question(question, NOW, possible_names(question))
        assert named_lead(asked, text) == lead
        assert boosts(asked, passage(text), BOOSTS).get(f"lead {lead}") == (BOOSTS.lead if lead else None)

    @pytest.mark.parametrize(
        ("question", "day", "fits"),
        [
            ("What happened on 7 May 2023?", "2023-05-08", True),
            ("What happened on 7 May 2023?", "2023-05-21", True),
            ("What happened on 7 May 2023?", "2023-05-22", False),
            ("What happened on 7 May 2023?", "2023-05-03", False),
            ("What was built in June 2023?", "2023-07-10", True),
            ("What was built in June 2023?", "2023-07-11", False),
            ("What was built in June 2023?", "2023-05-31", False),
            ("What was built?", "2023-05-08", False),
        ],
    )
    def test_a_log_of_the_days_that_the_question_names(self, question: str, day: str, fits: bool) -> None:
        assert ("date" in boosted(question, passage("a line", f"memory/{day}.md"))) is fits

    @pytest.mark.parametrize(
        ("headings", "fits"),
        [
            (("Trip", "2023-05-08"), True), (("2023-05-08", "Trip"), False), (("2023-06-08",), False),
            (("8 May",), False), (("2023-05-99",), False), ((), False),
        ],
    )  # fmt: skip
    def test_elsewhere_the_heading_names_the_day(self, headings: tuple[str, ...], fits: bool) -> None:
        found = passage("a line", "notes/2023-05-08.md", headings=headings)
        assert ("date" in boosted("What happened on 7 May 2023?", found)) is fits

    @given(st.text(max_size=300), st.text(max_size=300))
    def test_any_text_is_a_question_and_a_passage(self, question: str, text: str) -> None:
        asked = read_question(question, NOW, possible_names(question))
        gained = sum(boosts(asked, passage(text), BOOSTS).values())
        assert BOOSTS.question - 1e-9 <= gained <= most_boost(asked, BOOSTS) + 1e-9


class TestConfidence:
    def test_rare_words_count_more(self) -> None:
        common, rare = passage("the project plan"), passage("a zeppelin")
        frequencies = {"project": 500, "zeppelin": 1}
        assert 0 < coverage(frequencies, 1000, known_words([common])) < 0.2
        assert 0.8 < coverage(frequencies, 1000, known_words([rare])) < 1
        assert coverage(frequencies, 1000, known_words([common, rare])) == 1.0

    def test_title_and_headings_count_except_in_logs(self) -> None:
        note = passage("Monday.", "notes/trip.md", title="Japan trip", headings=("Flights",))
        log = passage("Monday.", headings=("2023-05-08", "10:00 Flights"))
        assert coverage({"japan": 1, "flights": 1}, 9, known_words([note])) == 1.0
        assert coverage({"flights": 1}, 9, known_words([log])) == 0.0
        assert coverage({"flights": 1}, 9, known_words([log], with_log_headings=True)) == 1.0

    @given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1), st.floats(-1, 1), st.floats(-1, 1))
    def test_more_evidence_never_means_less_confidence(
        self, less: float, more: float, all_of_it: float, far: float, near: float
    ) -> None:
        less, more = sorted((less, more))
        far, near = sorted((far, near))
        low, high = ConfidenceFeatures(less, all_of_it, far), ConfidenceFeatures(more, all_of_it, near)
        assert 0 <= confidence(low, fitted_weights()) <= confidence(high, fitted_weights()) <= 1


class TestTerms:
    def test_stop_words_are_left_out_unless_nothing_else_is_there(self) -> None:
        assert terms("What did the cat do?") == ["cat"]
        assert terms("To be or not to be") == ["to", "be", "or", "not"]

    def test_acronyms_are_no_stop_words_unless_everything_is_in_capitals(self) -> None:
        assert terms("who runs IT for the US") == ["runs", "it", "us"]
        assert terms("WHO RUNS THE LAB") == ["runs", "lab"]

    @given(st.text(max_size=200))
    def test_any_text(self, text: str) -> None:
        assert len(set(terms(text))) == len(terms(text))
        assert all(any(character.isalnum() for character in term) or is_symbol(term) for term in terms(text))
