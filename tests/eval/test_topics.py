"""Topics of labelled vaults: groups, names and pages are what a person would accept."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from mcp_memory.topics.config import TopicsConfig
from tests.eval.topics.labelled import read_vault
from tests.eval.topics.measure import file_vault

LEAST_NAMED, LEAST_V, LEAST_ANSWERED, MOST_LENGTH = 0.8, 0.85, 0.65, 0.8


@pytest.mark.parametrize("name", ["household", "researcher"])
def test_topics_are_those_of_their_author(name: str, tmp_path: Path, model_cache: Path) -> None:
    """A bound is the figure less what a note of another processor's arithmetic is worth: 29 or 30 of 39 are filed."""
    config = TopicsConfig(automatic=False)
    figures = anyio.run(lambda: file_vault(read_vault(name), tmp_path, config, model_cache, pages=False))
    print(figures)
    assert figures.named_share >= LEAST_NAMED and figures.v >= LEAST_V and 10 * figures.filed >= 7 * figures.notes
    # Most of these notes are one sentence, which a page quotes if it is a rule or a fact.
    assert figures.answered_share >= LEAST_ANSWERED and figures.length_share <= MOST_LENGTH


def test_what_agents_sorted_has_their_names_and_what_nothing_names_waits(tmp_path: Path, model_cache: Path) -> None:
    config = TopicsConfig(automatic=False)
    sorted_, unnamed = (
        anyio.run(lambda: file_vault(read_vault(name), tmp_path / name[:6], config, model_cache, pages=False))  # noqa: B023 -- called at once
        for name in ("agents/author_1b", "unnamed/p1b")
    )
    print(sorted_, unnamed)
    assert sorted_.named_share >= 0.6 and len(sorted_.mixed) <= 1 and 10 * sorted_.filed >= 7 * sorted_.notes
    # The bound is for any processor's arithmetic: 22 of 60 are filed on one.
    assert 5 * unnamed.filed <= 2 * unnamed.notes
