"""Ways to use the topic tree in recall: what is compared with plain search, and was not taken."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property

import numpy as np

from mcp_memory.models import Filters, NotePath
from mcp_memory.recall.context_budget import TextFrame, pack
from mcp_memory.runtime.threads import in_thread
from mcp_memory.search.ranking import RankedChunk
from mcp_memory.text.language.sentences import sentences
from mcp_memory.text.language.terms import content_words, folded
from mcp_memory.topics.page import summary_text
from mcp_memory.topics.topic_tree import Topic
from tests.support.keyword_engine import KeywordEngine

BEAM, PRIOR = 4, 0.05
RANKED = 100


@dataclass(frozen=True)
class Asked:
    ranked: Sequence[RankedChunk]
    meaning: np.ndarray
    words: frozenset[str]

    @classmethod
    async def of(cls, engine: KeywordEngine, question: str) -> Asked:
        ranking = await engine.parts.searcher.rank(question, filters=Filters(), limit=RANKED)
        meaning = engine.parts.searcher.meaning(question)
        assert meaning is not None
        return cls(ranking.passages, meaning, content_words(question))


@dataclass(frozen=True)
class Grown:
    topics: Sequence[Topic]
    fresh: Sequence[NotePath]
    texts: Mapping[str, str]
    """Of notes and pages, by path."""
    ids: Mapping[str, NotePath]
    vectors: Mapping[str, np.ndarray]

    def titled(self) -> Iterator[tuple[str, list[str]]]:
        """What each topic is called first, and its notes' ids."""
        for top in self.topics:
            for topic in top.walk():
                yield topic.title.partition(",")[0], [note.id for each in topic.walk() for note in each.leaves]

    def told(self, answer: str, ids: Sequence[str]) -> float:
        """The share of the notes of which the answer has a sentence."""
        plain = " ".join(answer.split())
        return sum(any(said in plain for said in self.sentences[each]) for each in ids) / len(ids)

    @cached_property
    def sentences(self) -> dict[str, list[str]]:
        return {
            each: [" ".join(said.text.split()) for said in sentences(self.texts[path]) if len(said.text.split()) > 3]
            for each, path in self.ids.items()
        }

    def walked(self, meaning: np.ndarray) -> tuple[list[Topic], list[NotePath]]:
        """The lowest topics and the notes that a walk comes by, the nearest first; fresh notes always."""
        lowest: list[Topic] = []
        notes, level = list(self.fresh), list(self.topics)
        while level:
            nearest = sorted(level, key=lambda topic: -float(self.vectors[topic.page_path] @ meaning))[:BEAM]
            lowest += [topic for topic in nearest if topic.leaves]
            notes += [note.path for topic in nearest for note in topic.leaves]
            level = [below for topic in nearest for below in topic.topics]
        return lowest, sorted(notes, key=lambda path: -float(self.vectors[path] @ meaning))


async def look_at(engine: KeywordEngine) -> Grown:
    def look() -> Grown:
        topics, fresh = engine.parts.compactor.planner_view.read_tree()
        notes = [*fresh, *(note for top in topics for each in top.walk() for note in each.leaves)]
        paths = [note.path for note in notes] + [each.page_path for top in topics for each in top.walk()]
        vectors = dict(zip(paths, engine.parts.index.mean_vectors(paths), strict=True))
        texts = {path: engine.parts.vault.read(path).body for path in paths}
        return Grown(topics, [note.path for note in fresh], texts, {note.id: note.path for note in notes}, vectors)

    return await in_thread(look, deadline_s=60, what="looking at the tree")


def _room(budget: int) -> int:
    return TextFrame("Relevant memories", datetime.now(UTC).isoformat(timespec="minutes")).room(budget)


def _packed(ranked: Sequence[RankedChunk], room: int) -> list[str]:
    return [excerpt.text for excerpt in pack([each.passage for each in ranked], room)]


def walk_alone(grown: Grown, asked: Asked, budget: int) -> list[str]:
    left, told = _room(budget), list[str]()
    for path in grown.walked(asked.meaning)[1]:
        if len(grown.texts[path]) + len(path) < left:
            told.append(grown.texts[path])
            left -= len(grown.texts[path]) + len(path)
    return told


def search_where_walked(grown: Grown, asked: Asked, budget: int) -> list[str]:
    notes = set(grown.walked(asked.meaning)[1])
    return _packed([each for each in asked.ranked if each.passage.note.path in notes], _room(budget))


def near_topics_first(grown: Grown, asked: Asked, budget: int) -> list[str]:
    topics = [topic for top in grown.topics for topic in top.walk()]
    near = {topic.folder: float(grown.vectors[topic.page_path] @ asked.meaning) for topic in topics}
    nearest, best = max([*near.values(), 1e-9]), max([*(each.score for each in asked.ranked), 1e-9])

    def gained(each: RankedChunk) -> float:
        return each.score / best + PRIOR * near.get(NotePath(each.passage.note.path.rpartition("/")[0]), 0.0) / nearest

    return _packed(sorted(asked.ranked, key=gained, reverse=True), _room(budget))


def pages_alone(grown: Grown, asked: Asked, budget: int) -> list[str]:
    left, told = _room(budget), list[str]()
    for topic in grown.walked(asked.meaning)[0]:
        for line in summary_text(grown.texts[topic.page_path]).split("\n"):
            if len(line) < left:
                told.append(line)
                left -= len(line) + 1
    return told


def nearest_page(grown: Grown, asked: Asked, budget: int) -> list[str]:
    """In place of its notes, where it fits into half of the room."""
    return _with_page(grown, asked, budget, lambda _: True)


def nearest_page_unless_lost(grown: Grown, asked: Asked, budget: int) -> list[str]:
    """The same, but for a page that has lost a word of the question which its notes have."""

    def keeps(topic: Topic) -> bool:
        stated = folded(" ".join(grown.texts[note.path] for note in topic.leaves))
        return not (asked.words & stated) - folded(f"{topic.title} {summary_text(grown.texts[topic.page_path])}")

    return _with_page(grown, asked, budget, keeps)


def _with_page(grown: Grown, asked: Asked, budget: int, stops: Callable[[Topic], bool]) -> list[str]:
    for topic in grown.walked(asked.meaning)[0][:1]:
        said = summary_text(grown.texts[topic.page_path])
        if len(said) <= _room(budget) // 2 and stops(topic):
            others = [each for each in asked.ranked if not each.passage.note.path.startswith(f"{topic.folder}/")]
            return [said, *_packed(others, _room(budget) - len(said))]
    return _packed(asked.ranked, _room(budget))


OTHER_WAYS: Mapping[str, Callable[[Grown, Asked, int], list[str]]] = {
    "a walk alone": walk_alone,
    "search where a walk came by": search_where_walked,
    "near topics first": near_topics_first,
    "pages alone": pages_alone,
    "the nearest page": nearest_page,
    "the nearest page, unless it lost a word": nearest_page_unless_lost,
}
"""Measured, and not taken."""
