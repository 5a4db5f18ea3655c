"""Answers a question with ranked passages and hits.

Words and meaning are looked up in parallel, each leg with a deadline of its own; what comes back is fused, boosted
and freed of repeats. A leg that fails or is late makes the answer poorer and is named in `degraded`; only when no
leg answers is there an error. What is about to be shown is compared with its file.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Protocol

import anyio
import numpy as np

from mcp_memory.embedders.base import Embedder
from mcp_memory.errors import DeadlineExceeded, McpMemoryError
from mcp_memory.index.base import Index, Part, ScoredRows
from mcp_memory.index.keywords.bm25 import ceiling
from mcp_memory.indexing.freshness import Freshness, FreshPassages
from mcp_memory.models import FilteredOut, Filters, SearchResult
from mcp_memory.runtime.threads import ThreadPool, in_thread
from mcp_memory.search.boosts import BoostWeights, ParsedQuestion, most_boost, read_question
from mcp_memory.search.classifier_training import TrainedClassifier
from mcp_memory.search.confidence import TOGETHER, ConfidenceFeatures, confidence, coverage, is_named, nearness
from mcp_memory.search.confidence_config import ConfidenceConfig
from mcp_memory.search.filters import admits, explain_no_hits, passages_left_out, without_filters
from mcp_memory.search.fusion import FusionWeights, RetrieverRows, fuse
from mcp_memory.search.ranking import RankedChunk, RankedList, WeightedRow, best_of, explained, hit_of, scored, weigh
from mcp_memory.search.retrievers import Mode, RetrievedRows, RetrieverConfig, Retrievers
from mcp_memory.text.language.terms import terms

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from mcp_memory.models import Vectors

log = logging.getLogger(__name__)

TRIES = 20
"""How often a question is looked up again because a note was being written meanwhile; a log that eight sessions write
to at once takes more than five."""

LOOK_S = 1.0
"""For ranking, and comparing the files of the best passages with the index; on a slow disk answers go out without."""

MOST_ROUNDS = 4
"""How often passages of files that are gone are replaced by the next best; each time more are looked at."""

WARM_S = 120.0
"""A million passages whose words were never read before take 4 s."""

WEAK = "weak: probably nothing that is stored answers this"

SHORT_CHARS = 1000
"""Of a question: so much is read in less time than a worker thread takes to begin."""


@dataclass(frozen=True, slots=True)
class SearchConfig:
    """How questions are read, looked up and ranked, and how much a hit shows."""

    legs: RetrieverConfig = field(default_factory=RetrieverConfig)
    fusion: FusionWeights = field(default_factory=FusionWeights)
    boosts: BoostWeights = field(default_factory=BoostWeights)
    question_chars: int = 10_000
    """Words behind this are not looked for."""
    embedded_chars: int = 32_000
    """More than any model of today reads at once."""
    confidence: ConfidenceConfig = field(default_factory=ConfidenceConfig)
    snippet_chars: int = 1600
    """The longest chunk there is by default: evidence is never clipped."""


class QuestionModel(Protocol):
    """What a search needs of the `EmbedderLifecycle`."""

    @property
    def at_hand(self) -> Embedder | None:
        """The embedder, if it can be used without waiting."""
        ...

    @property
    def reason(self) -> str:
        """Why there is none at hand."""
        ...

    def trained_classifier(self) -> TrainedClassifier | None:
        """What the embedder has learned; None until it has."""
        ...


class Searcher:
    """Any number of searches at once; remembers nothing but the vectors of the latest questions."""

    def __init__(
        self,
        index: Index,
        model: QuestionModel,
        config: SearchConfig,
        clock: Callable[[], datetime],
        freshness: Freshness | None = None,
    ) -> None:
        """Without `freshness`, passages are shown as they were indexed."""
        self._index = index
        self._model = model
        self._config = config
        self._clock = clock
        self._legs = Retrievers(index, config.legs)
        self._freshness = freshness
        self._lookers = ThreadPool()

    async def search(
        self,
        query: str,
        *,
        limit: int,
        filters: Filters,
        mode: Mode = "hybrid",
        explain: bool = False,
        is_prompt: bool = False,
    ) -> SearchResult:
        """At most `limit` hits. Raises IndexUnavailable or DeadlineExceeded when no leg answers."""
        ranking = await self.rank(query, filters=filters, limit=limit, mode=mode, explain=explain, is_prompt=is_prompt)
        hits = tuple(hit_of(ranked, self._config.snippet_chars) for ranked in ranking.passages)
        note = await self.remark(ranking, filters)
        degraded = "; ".join([*([ranking.degraded] if ranking.degraded else []), *ranking.stale]) or None
        others = await self._left_out(query, filters, limit, mode) if explain else ()
        sure, signs = round(ranking.confidence, 3), ranking.signs.as_dict
        return SearchResult(hits, sure, self._clock(), degraded, note, signs, others)

    async def rank(
        self,
        query: str,
        *,
        filters: Filters,
        limit: int = 100,
        mode: Mode = "hybrid",
        explain: bool = False,
        is_prompt: bool = False,
    ) -> RankedList:
        """The passages behind the hits, whole, with their notes; `is_prompt`: the query is what a person told an agent,
        and may want nothing that is stored. Raises as `search`."""
        text = _plain(query[: self._config.embedded_chars])
        asked = text[: self._config.question_chars]
        words = (
            terms(asked) if len(asked) <= SHORT_CHARS else await self._legs.run(lambda: terms(asked), "reading words")
        )
        tries_left = TRIES
        while True:
            tries_left -= 1
            found = await self._legs.gather(
                text, words, filters, mode, embedder=self._model.at_hand, without_model=self._model.reason
            )
            legs, question = self._legs_of(found), partial(read_question, asked, self._clock(), found.names)
            fused = partial(
                fuse, legs, self._config.fusion, _apart if found.without_words else self._index.section_numbers
            )
            best, whole, checked = await self._best(fused, question, max(limit, TOGETHER), filters, found.faults)
            if whole or not tries_left:
                break
        if checked.is_stale and self._freshness:
            self._freshness.request_sweep()
        named = bool(found.frequencies) and is_named(asked, [each.passage for each in best[:TOGETHER]])
        signs, best = _signs(found, best, has_words=bool(words), has_meaning=not named), best[:limit]
        signs, weights = self._with_intent(signs, text, is_prompt=is_prompt and not named)
        sure = confidence(signs, weights)
        degraded = "; ".join(dict.fromkeys(found.faults)) or None
        reasons = (
            explained(best, legs, self._config.fusion, found.frequencies, found.meant)
            if explain
            else [None] * len(best)
        )
        ranked = (
            RankedChunk(each.passage, score, reason)
            for each, score, reason in zip(best, scored(best, sure), reasons, strict=True)
        )
        return RankedList(tuple(ranked), sure, signs, degraded, tuple(checked.remarks))

    async def remark(self, ranking: RankedList, filters: Filters) -> str | None:
        """That an answer is weak, or which filter left nothing."""
        if ranking.passages:
            return WEAK if ranking.confidence < self._config.confidence.weak_below else None
        if ranking.stale:
            return None
        return await self._legs.run(lambda: explain_no_hits(self._index, filters), "looking for the filter")

    async def warm(self, swept: anyio.Event) -> None:
        """Once there was a sweep, read words and vectors into memory, before the first question has to wait for it."""
        await swept.wait()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._read, "words")
            tasks.start_soon(self._read, "vectors")

    async def _read(self, part: Part) -> None:
        try:
            await in_thread(
                lambda: self._legs.read(part, WARM_S), deadline_s=WARM_S, what="reading the index into memory"
            )
        except McpMemoryError as error:  # a question will say so, too
            log.warning("the index is not in memory yet: %s", error.code)

    def meaning(self, query: str) -> Vectors | None:
        """The vector, shape (dimension,), of a question that was just ranked; None where it was not to be had."""
        embedder = self._model.at_hand
        return self._legs.vector_of(embedder, _plain(query[: self._config.embedded_chars])) if embedder else None

    def _with_intent(
        self, signs: ConfidenceFeatures, asked: str, *, is_prompt: bool
    ) -> tuple[ConfidenceFeatures, ConfidenceConfig]:
        """The signs with what the prompt says by itself, and their weights with the model that is in use."""
        embedder, usual = self._model.at_hand, self._config.confidence
        if embedder is None or (not is_prompt and usual.fits(embedder.fingerprint)):
            return signs, usual
        if not (taught := self._model.trained_classifier()):
            return signs, usual
        vector = self.meaning(asked) if is_prompt else None
        if vector is not None:
            signs = replace(signs, wanting=taught.memory_intent.log_odds(asked, vector))
        return signs, taught.confidence

    async def _best(
        self,
        fused: Callable[[], ScoredRows],
        question: Callable[[], ParsedQuestion],
        limit: int,
        filters: Filters,
        faults: list[str],
    ) -> tuple[list[WeightedRow], bool, FreshPassages]:
        """The best passages, as their files say now; whether all that the legs named were still there, since a note
        that is written between the look-up and the reading gets new rows; and what is to be said of changed files."""
        try:
            return await self._lookers.run(
                lambda: self._compared(fused, question, limit, filters), deadline_s=LOOK_S, what="looking at the files"
            )
        except DeadlineExceeded:
            faults.append("the files answer too slowly to be compared with the index")
        best, whole = await self._legs.run(
            lambda: self._ranked(_scores(fused()), question(), limit), "ranking passages"
        )
        return [each for each in best if admits(filters, each.passage)], whole, FreshPassages()

    def _compared(
        self, fused: Callable[[], ScoredRows], question: Callable[[], ParsedQuestion], limit: int, filters: Filters
    ) -> tuple[list[WeightedRow], bool, FreshPassages]:
        """In a worker thread: reading the question, ranking and looking in one turn, since each turn costs a third of a
        millisecond."""
        scores, asked, told, looked_at = _scores(fused()), question(), FreshPassages(), limit
        rounds_left = MOST_ROUNDS
        while True:
            rounds_left -= 1
            best, whole = self._ranked(scores, asked, looked_at)
            passages = [each.passage for each in best]
            checked = self._freshness.check(passages, filters) if self._freshness else FreshPassages([*passages])
            told.newer |= checked.newer
            told.dropped |= checked.dropped
            told.copies |= checked.copies | {each.copy: None for each in best if each.copy}
            # Rows may be remembered from before a note expired.
            now = [passage if passage and admits(filters, passage) else None for passage in checked.passages]
            pairs = list(zip(best, now, strict=True))
            fresh = [replace(each, passage=passage) for each, passage in pairs if passage]
            gone = [each.passage.chunk_id for each, passage in pairs if not passage]
            if not gone or len(fresh) >= limit or not rounds_left:
                return fresh[:limit], whole, told
            for chunk in gone:  # the next best move up
                del scores[chunk]
            looked_at += len(gone)

    def _ranked(
        self, scores: Mapping[int, float], question: ParsedQuestion, limit: int
    ) -> tuple[list[WeightedRow], bool]:
        weights = self._config.boosts
        return best_of(
            scores,
            limit,
            read=self._index.get,
            weighed=lambda passages: weigh(scores, passages, question, weights),
            most=most_boost(question, weights),
        )

    async def _left_out(self, query: str, filters: Filters, limit: int, mode: Mode) -> tuple[FilteredOut, ...]:
        """What would be among the first `limit` without filters. Raises as `search`."""
        wide = await self.rank(query, filters=without_filters(filters), limit=limit, mode=mode)
        return passages_left_out((ranked.passage for ranked in wide.passages), filters)

    def _legs_of(self, found: RetrievedRows) -> RetrieverRows:
        dense = found.dense or ScoredRows()
        full = len(dense) >= self._config.legs.candidates
        most = ceiling(found.frequencies.values(), found.chunks)
        return RetrieverRows(
            found.lexical or ScoredRows(), found.section or ScoredRows(), dense, dense_is_full=full, ceiling=most
        )


def _scores(fused: ScoredRows) -> dict[int, float]:
    return dict(zip(fused.ids.tolist(), fused.scores.tolist(), strict=True))


def _apart(chunk_ids: NDArray[np.int64]) -> NDArray[np.int64]:
    """As `Index.section_numbers` while nothing is known of sections: no two passages stand in the same."""
    return np.arange(len(chunk_ids))


def _plain(query: str) -> str:
    """Without NUL and lone surrogates, which no tokenizer and no database takes."""
    return query.encode("utf-8", "replace").decode("utf-8").replace("\0", " ")


def _signs(found: RetrievedRows, best: list[WeightedRow], *, has_words: bool, has_meaning: bool) -> ConfidenceFeatures:
    if not best:
        return ConfidenceFeatures()
    cosine = nearness(float(found.dense.scores[0]), found.chunks) if found.dense and has_meaning else None
    if not has_words:
        return ConfidenceFeatures(
            0.0, 0.0, cosine
        )  # an emoji alone is close to anything that the model cannot read either
    if not found.frequencies:
        return ConfidenceFeatures(cosine=cosine)
    first = [each.passage for each in best[:TOGETHER]]
    cover = partial(coverage, found.frequencies, found.chunks, meant=found.meant)
    return ConfidenceFeatures(cover(first[:1]), cover(first, with_log_headings=True), cosine)
