"""Answer a question with ranked passages and hits.

The retrievers run in parallel, each with its own deadline; their rows are fused, boosted and freed of repeats. If a
retriever fails or is late, the answer is poorer and `degraded` explains it; an error is raised only if no retriever
answers. The passages to be shown are compared with their files.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio
import numpy as np

from mcp_memory.errors import DeadlineExceeded, McpMemoryError
from mcp_memory.index.base import Index, Part, ScoredRows
from mcp_memory.index.keywords.bm25 import ceiling
from mcp_memory.indexing.freshness import Freshness, FreshPassages
from mcp_memory.models import Clock, FilteredOut, Filters, SearchResult
from mcp_memory.runtime.threads import ThreadPool, in_thread
from mcp_memory.search.boosts import BoostWeights, ParsedQuestion, most_boost, read_question
from mcp_memory.search.confidence import TOGETHER, answer_features, confidence, fitted_weights
from mcp_memory.search.embedder_lifecycle import EmbedderLifecycle
from mcp_memory.search.filters import explain_no_hits, is_empty, passages_left_out, without_filters
from mcp_memory.search.fusion import FusionWeights, RetrieverRows, fuse
from mcp_memory.search.ranking import RankedChunk, RankedList, WeightedRow, best_of, explained, hit_of, scored, weigh
from mcp_memory.search.reasons import ASKS_WHY, with_reasons
from mcp_memory.search.relevance import relevances
from mcp_memory.search.retrievers import KeywordRows, Mode, RetrievedRows, RetrieverConfig, Retrievers
from mcp_memory.search.thresholds import UNSURE
from mcp_memory.text.language.terms import terms
from mcp_memory.vault.succession.entry_marks import admits

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from mcp_memory.models import Vectors

log = logging.getLogger(__name__)

TRIES = 20
"""The most repeats of a search because a note was written meanwhile; eight sessions with one log need more than 5."""

LOOK_S = 1.0
"""The seconds for ranking and comparing the best passages with their files; if the disk is slower, answers go out
uncompared."""

MOST_ROUNDS = 4
"""The most rounds in which passages whose files are gone are replaced by the next best."""

WARM_S = 120.0
"""The seconds for reading all words and vectors; a million passages take 4 s the first time."""
WEAK = "weak: probably nothing that is stored answers this"

SHORT_CHARS = 1000
"""The most characters of a question that is split into words faster than a worker thread starts."""
QUESTION_CHARS = 10_000
"""The most characters of a question whose words are looked up."""
EMBEDDED_CHARS = 32_000
"""The most characters that are embedded: more than any current model reads at once."""


@dataclass(frozen=True)
class SearchConfig:
    """The limits of the retrievers, the weights of the ranking, and the length of a hit."""

    retrievers: RetrieverConfig = field(default_factory=RetrieverConfig)
    fusion: FusionWeights = field(default_factory=FusionWeights)
    boosts: BoostWeights = field(default_factory=BoostWeights)
    snippet_chars: int = 1600
    """The most characters of a snippet: the longest chunk by default, so that evidence is never clipped."""


class Searcher:
    """The search; runs any number of searches at once."""

    def __init__(
        self,
        index: Index,
        model: EmbedderLifecycle,
        config: SearchConfig,
        clock: Clock,
        freshness: Freshness | None = None,
    ) -> None:
        """Open the search. If `freshness` is None, passages are shown as they were indexed."""
        self._index = index
        self._model = model
        self._config = config
        self._clock = clock
        self._retrievers = Retrievers(index, config.retrievers)
        self._freshness = freshness
        self._fitted = fitted_weights()
        self._rankers = ThreadPool()

    async def search(
        self,
        query: str,
        *,
        limit: int,
        filters: Filters,
        mode: Mode = "hybrid",
        explain: bool = False,
        is_prompt: bool = False,
        reasons: Filters | None = None,
    ) -> SearchResult:
        """Return at most `limit` hits; for a question why, also linked reasons that the filters `reasons` admit. Raises
        IndexUnavailable or DeadlineExceeded if no retriever answers."""
        ranking = await self.rank(query, filters=filters, limit=limit, mode=mode, explain=explain, is_prompt=is_prompt)
        found: Sequence[RankedChunk] = ranking.passages
        if reasons and ASKS_WHY.search(query):
            found = await self._retrievers.run(partial(with_reasons, self._index, found, reasons), "following links")
        hits = tuple(hit_of(ranked, self._config.snippet_chars, self._clock()) for ranked in found[:limit])
        note = await self.remark(ranking, filters)
        degraded = "; ".join([*([ranking.degraded] if ranking.degraded else []), *ranking.stale]) or None
        others: tuple[FilteredOut, ...] = ()
        if explain:
            wide = await self.rank(query, filters=without_filters(filters), limit=limit, mode=mode)
            others = passages_left_out((ranked.passage for ranked in wide.passages), filters)
        sure = round(ranking.confidence, 3)
        return SearchResult(hits, sure, self._clock(), degraded, note, ranking.signs.as_dict, others)

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
        """Return the whole passages behind the hits, with their notes. `is_prompt`: the query is a prompt to an agent,
        which may need no memory; each passage gets its relevance. Raises as `search`."""
        text = _plain(query[:EMBEDDED_CHARS])
        asked = text[:QUESTION_CHARS]
        split = partial(terms, asked)
        words = split() if len(asked) <= SHORT_CHARS else await self._retrievers.run(split, "reading words")
        attempt = 0
        while True:
            found = await self._retrievers.gather(
                text, words, filters, mode, is_repeat=attempt > 0, embedder=self._model.at_hand,
                without_model=self._model.reason,
            )  # fmt: skip
            rows = self._rows_of(found)
            best, whole, checked = await self._best(asked, rows, max(limit, TOGETHER), filters, found)
            attempt += 1
            if whole or attempt == TRIES:  # otherwise rows that were found have been replaced meanwhile
                break
        if checked.is_stale and self._freshness:
            self._freshness.request_sweep()
        keywords = found.keywords or KeywordRows()
        passages = [row.passage for row in best]
        wanting = partial(self._wanting, text) if is_prompt else None
        signs = answer_features(
            asked, passages, keywords, rows.dense, has_words=bool(words), is_fitted=self._is_fitted, wanting=wanting
        )
        best, sure = best[:limit], confidence(signs, self._fitted)
        reasons: Sequence[Mapping[str, Any] | None] = [None] * len(best)
        if explain:
            reasons = explained(best, rows, self._config.fusion, keywords.frequencies, keywords.meant)
        relevant: Sequence[float] = [1.0] * len(best)
        if is_prompt:
            relevant = relevances(best, rows, keywords, prompt=asked, confidence=sure, knows_cosines=self._is_fitted)
        ranked = map(RankedChunk, (row.passage for row in best), scored(best, sure), reasons, relevant)
        degraded = "; ".join(dict.fromkeys(found.faults)) or None
        return RankedList(tuple(ranked), sure, signs, degraded, tuple(checked.remarks))

    def _rows_of(self, found: RetrievedRows) -> RetrieverRows:
        keywords, dense = found.keywords or KeywordRows(), found.dense or ScoredRows()
        dense_is_full = len(dense) >= self._config.retrievers.candidates
        highest = ceiling(keywords.frequencies.values(), keywords.chunks)
        return RetrieverRows(keywords.lexical, keywords.section, dense, dense_is_full, highest)

    async def remark(self, ranking: RankedList, filters: Filters) -> str | None:
        """Remark that an answer is weak, or which filter excluded everything."""
        if ranking.passages:
            return WEAK if self.is_weak(ranking) else None
        if ranking.stale:
            return None
        return await self._retrievers.run(lambda: explain_no_hits(self._index, filters, self.has_nothing()), "filters")

    def has_nothing(self) -> bool:
        """Return whether surely nothing is stored: an index that lags behind the files proves nothing. Synchronous."""
        is_behind = self._freshness is not None and self._freshness.describe_lag() is not None
        return not is_behind and is_empty(self._index)

    def is_weak(self, ranking: RankedList) -> bool:
        """Return whether probably none of the passages answers."""
        return ranking.confidence < UNSURE

    async def warm(self, swept: anyio.Event) -> None:
        """After the first sweep, read words and vectors into memory, so that no question has to wait for it."""
        await swept.wait()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._read, "words")
            tasks.start_soon(self._read, "vectors")

    async def _read(self, part: Part) -> None:
        try:
            await in_thread(self._retrievers.read, part, WARM_S, deadline_s=WARM_S, what="reading the index")
        except McpMemoryError as error:
            log.warning("the index is not in memory yet: %s", error.code)

    def meaning(self, query: str) -> Vectors | None:
        """Return the vector, shape (dimension,), of a question that was just ranked, or None."""
        embedder = self._model.at_hand
        return self._retrievers.vector_of(embedder, _plain(query[:EMBEDDED_CHARS])) if embedder else None

    @property
    def _is_fitted(self) -> bool:
        """Return whether the weights are for the model in use."""
        model = self._model.at_hand
        return model is not None and self._fitted.fit(model)

    def _wanting(self, prompt: str) -> float | None:
        """Return the log-odds that a prompt needs memory: by its wording and, with the bundled model, its meaning."""
        vector = self.meaning(prompt)
        if vector is None:
            return None
        return self._fitted.memory_intent.log_odds(prompt, vector if self._is_fitted else None)

    async def _best(
        self, asked: str, rows: RetrieverRows, limit: int, filters: Filters, found: RetrievedRows
    ) -> tuple[list[WeightedRow], bool, FreshPassages]:
        """Return the best passages as in their files, whether all rows still exist, and the report about changed
        files."""
        question = partial(read_question, asked, self._clock(), found.names)
        sections = _apart if found.without_words else self._index.section_numbers
        fused = partial(fuse, rows, self._config.fusion, sections)
        try:
            return await self._rankers.run(
                lambda: self._compared(fused, question, limit, filters),
                deadline_s=LOOK_S,
                what="looking at the files",
                is_repeat=found.is_repeat,
            )
        except DeadlineExceeded:
            found.faults.append("the files answer too slowly to be compared with the index")
        best, whole = await self._retrievers.run(
            lambda: self._ranked(_scores(fused()), question(), limit), "ranking passages"
        )
        return [row for row in best if admits(filters, row.passage)], whole, FreshPassages()

    def _compared(
        self, fused: Callable[[], ScoredRows], question: Callable[[], ParsedQuestion], limit: int, filters: Filters
    ) -> tuple[list[WeightedRow], bool, FreshPassages]:
        """Do the work of `_best`: parse, rank and compare in one turn of a worker thread, which takes a third of a ms
        each."""
        scores, parsed, report, most = _scores(fused()), question(), FreshPassages(), limit
        rounds_left = MOST_ROUNDS
        while True:
            rounds_left -= 1
            best, whole = self._ranked(scores, parsed, most)
            passages = [row.passage for row in best]
            checked = self._freshness.check(passages, filters) if self._freshness else FreshPassages([*passages])
            report.newer |= checked.newer
            report.dropped |= checked.dropped
            report.copies |= checked.copies | {row.copy: None for row in best if row.copy}
            # Cached rows may be older than a note's expiry.
            now = [passage if passage and admits(filters, passage) else None for passage in checked.passages]
            pairs = list(zip(best, now, strict=True))
            fresh = [replace(row, passage=passage) for row, passage in pairs if passage]
            gone = [row.passage.chunk_id for row, passage in pairs if not passage]
            if not gone or len(fresh) >= limit or not rounds_left:
                return fresh[:limit], whole, report
            for chunk in gone:  # the next best move up
                del scores[chunk]
            most += len(gone)

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
            passages_of=self._index.passages,
        )


def _scores(fused: ScoredRows) -> dict[int, float]:
    return dict(zip(fused.ids.tolist(), fused.scores.tolist(), strict=True))


def _apart(chunk_ids: NDArray[np.int64]) -> NDArray[np.int64]:
    """Number the sections while they are unknown, in place of `Index.section_numbers`: no two passages share a
    section."""
    return np.arange(len(chunk_ids))


def _plain(query: str) -> str:
    """Return the query without NUL and lone surrogates, which tokenizers and databases reject."""
    return query.encode("utf-8", "replace").decode("utf-8").replace("\0", " ")
