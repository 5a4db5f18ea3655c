"""Run the keyword, section and vector searches side by side, each within its deadline."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import anyio
import numpy as np

from mcp_memory.embedders.base import Embedder
from mcp_memory.errors import EmbedderUnavailable, McpMemoryError, StillReading
from mcp_memory.index.base import Index, Part, ScoredRows, Watermark
from mcp_memory.models import WRITTEN, Filters, NoteState
from mcp_memory.runtime.lru_cache import LruCache
from mcp_memory.runtime.threads import ThreadPool
from mcp_memory.search.index_warmup import IndexWarmup
from mcp_memory.search.phrases import MOST_PHRASES, with_phrases
from mcp_memory.text.conversation.speaker_prefix import possible_names, without
from mcp_memory.text.language.identifiers import parts_of
from mcp_memory.text.language.terms import content_words, is_aside

if TYPE_CHECKING:
    from mcp_memory.models import Vectors

T = TypeVar("T")

ROWS_KEPT = 128
"""The cached results: two for each question, some 15 KB each."""
ENDPOINT_S = 1.0
"""The seconds that a search waits for an endpoint, which takes some 0.1 s. After that, keywords answer alone."""
MOST_SECTION_ROWS = 1000
"""The most rows by section; every chunk of a section is one."""
MOST_RARE = 64
"""The most words of a question that are looked up: the rarest."""
MOST_COUNTED = 512
"""The most words of a question whose frequencies are counted: the first."""
FEW_PENDING = 64
"""The most passages without a vector that are not reported: they were just written and get one in a second."""

Mode = Literal["hybrid", "semantic", "keyword"]


@dataclass(frozen=True)
class RetrieverConfig:
    """The rows that each retriever returns, and the time that it may take."""

    candidates: int = 400
    """The most rows by chunk and by vector: 100 cost 1 point of evidence within 2,000 tokens, 1,000 gain nothing."""
    drop_names: bool = True
    """Whether the vector search also uses the question without the names that entries begin with."""
    deadline_s: float = 5.0
    respelled_terms: int = 3
    """The most words that occur nowhere and are also looked up with corrected spelling, identifiers by their parts. A
    question with a typo in its rarest word regains 16 of the 22 points that it loses on documentation, and 8 of 11 on
    logs. Without typos nothing changes."""


@dataclass(frozen=True)
class KeywordRows:
    """The rows by chunk and by section, the number of all `chunks` in which each word of the question occurs, and
    corrected spellings (`meant`) of words that occur nowhere."""

    lexical: ScoredRows = field(default_factory=ScoredRows)
    section: ScoredRows = field(default_factory=ScoredRows)
    frequencies: dict[str, int] = field(default_factory=dict[str, int])
    meant: dict[str, str] = field(default_factory=dict[str, str])
    chunks: int = 0


@dataclass
class RetrievedRows:
    """The rows of each retriever; None for a retriever that was not asked or failed."""

    keywords: KeywordRows | None = None
    dense: ScoredRows | None = None
    names: list[str] = field(default_factory=list[str])
    """The names in the question that some chunk begins with."""
    faults: list[str] = field(default_factory=list[str])
    """The parts that the answer lacks, with the reasons, for the reader."""
    without_words: StillReading | None = None
    """The reason why sections and names are unknown, too."""
    errors: list[McpMemoryError] = field(default_factory=list[McpMemoryError])
    """The reasons why retrievers failed."""
    is_repeat: bool = False
    """Whether the retrievers were asked again, because rows had been replaced before they were read."""

    @property
    def answered(self) -> bool:
        return self.keywords is not None or self.dense is not None

    @property
    def is_unread(self) -> bool:
        """Return whether the answer is missing because the index is still being read."""
        return bool(self.errors) and not self.answered and all(isinstance(error, StillReading) for error in self.errors)


class Retrievers:
    """The retrievers of an index. Caches the latest questions' vectors, and rows until the index changes."""

    def __init__(self, index: Index, config: RetrieverConfig) -> None:
        self._index = index
        self._config = config
        self._loader = IndexWarmup(index)
        self._vectors = QueryVectors()
        self._latest: LruCache[tuple[Hashable, ...], Any] = LruCache(ROWS_KEPT)
        self._words = ThreadPool()
        # A local model keeps all processors busy by itself: with two questions at a time, each of eight clients would
        # wait half as long again. A remote model only makes its callers wait.
        self._meaning, self._meaning_elsewhere = ThreadPool(1), ThreadPool()

    async def gather(
        self,
        text: str,
        words: Sequence[str],
        filters: Filters,
        mode: Mode,
        *,
        embedder: Embedder | None,
        without_model: str,
        is_repeat: bool,
    ) -> RetrievedRows:
        """Return rows for a question from every retriever of `mode`; also keywords if vectors were wanted but failed. A
        repeat needn't wait in line again.

        Raises the failure of a retriever if none answered."""

        async def ask() -> RetrievedRows:
            found = RetrievedRows(is_repeat=is_repeat)
            async with anyio.create_task_group() as tasks:
                if mode != "keyword":
                    tasks.start_soon(self._dense, found, text, filters, embedder, without_model)
                if mode != "semantic":
                    tasks.start_soon(self._keywords, found, text, words, filters, with_names)
            if mode == "semantic" and found.dense is None:
                await self._keywords(found, text, words, filters, with_names)
            elif mode == "semantic" and found.without_words:
                found.faults.append(f"the order may change: {found.without_words.message}")
            return found

        with_names = embedder is None or mode == "keyword"
        found = await ask()
        if found.is_unread:
            await self.run(self._loader.wait, "reading the index into memory")
            found = await ask()
        if found.is_unread:
            messages = dict.fromkeys(error.message for error in found.errors)
            raise StillReading("; ".join(messages), hint=found.errors[0].hint)
        if found.errors and not found.answered:
            raise found.errors[-1]
        return found

    def read(self, part: Part, within_s: float) -> None:
        """Read the part into memory, in a worker thread. Raises StillReading after that time."""
        self._loader.read(part, within_s)

    def vector_of(self, embedder: Embedder, text: str) -> Vectors | None:
        """Return the vector of a question that was just looked up, or None."""
        return self._vectors.cached(embedder, text)

    async def run(self, work: Callable[[], T], what: str, *, is_repeat: bool = False) -> T:
        """Run `work()` in one of the threads that read the index. Raises DeadlineExceeded."""
        return await self._words.run(work, deadline_s=self._config.deadline_s, what=what, is_repeat=is_repeat)

    def _respelled(self, frequencies: dict[str, int], parts: dict[str, list[str]]) -> tuple[dict[str, str], list[str]]:
        """Return corrected spellings of words that occur nowhere, and the words to look up instead: these, or the parts
        of an identifier."""
        unknown = [word for word, count in frequencies.items() if not count][: self._config.respelled_terms]
        split = [part for word in unknown for part in parts.get(word, ())]
        meant = {word: best for word in unknown if word not in parts and (best := self._index.correct_spelling(word))}
        return meant, [word for word in dict.fromkeys([*split, *meant.values()]) if word not in frequencies]

    def _remembered(self, question: tuple[Hashable, ...], ask: Callable[[Watermark], T]) -> T:
        """Cache the result of `ask` until the index changes. If it changes meanwhile, the result is newer than its key,
        which is never looked up again. The caller drops notes that have expired since."""
        mark = self._index.watermark()
        key = (mark.token, *question)
        known = self._latest.get(key)
        return self._latest.store(key, ask(mark)) if known is None else known

    async def _dense(
        self, found: RetrievedRows, text: str, filters: Filters, embedder: Embedder | None, without_model: str
    ) -> None:
        if embedder is None:
            found.faults.append(f"keywords only: {without_model}")
            return

        def retrieve() -> tuple[list[str], ScoredRows, int]:
            try:
                self._loader.require("words", "vectors")
            except StillReading as error:
                found.without_words = error
            key = (embedder.fingerprint, text, not found.without_words, replace(filters, now=None))
            return self._remembered(key, ask)

        def ask(mark: Watermark) -> tuple[list[str], ScoredRows, int]:
            if not found.without_words:
                found.names = self._index.known_speakers(possible_names(text))  # known also where vectors fail
            self._loader.require("vectors")
            require_vectors_of(self._index, embedder)
            vector = self._vectors.embed(embedder, text, found.names if self._config.drop_names else ())
            near = self._index.near_phrases(vector, MOST_PHRASES, filters)
            rows = with_phrases(self._index.dense(vector, self._config.candidates, filters), near, text)
            return found.names, rows, mark.vectors_pending

        try:
            # A pool of its own, since a model that hangs must not block the keyword search.
            pool, deadline_s = self._meaning, self._config.deadline_s
            if not embedder.resident:
                pool, deadline_s = self._meaning_elsewhere, min(deadline_s, ENDPOINT_S)
            looking = pool.run(retrieve, deadline_s=deadline_s, what="the vector search", is_repeat=found.is_repeat)
            found.names, found.dense, pending = await looking
        except McpMemoryError as error:
            found.errors.append(error)
            found.faults.append(f"keywords only: {error.message}")
            return
        if pending > FEW_PENDING:
            found.faults.append(f"{pending} passages have no vector yet")

    async def _keywords(
        self, found: RetrievedRows, text: str, words: Sequence[str], filters: Filters, with_names: bool
    ) -> None:
        if not words:
            return

        def retrieve() -> KeywordRows:
            self._loader.require("words")
            if with_names:
                found.names = self._index.known_speakers(possible_names(text))
            parts = parts_of(text)
            return self._remembered((*words, *parts, replace(filters, now=None)), partial(ask, parts))

        def ask(parts: dict[str, list[str]], _: Watermark) -> KeywordRows:
            # How rare a word is among the person's own notes depends neither on imported notes nor on our pages.
            pages = filters.states & {NoteState.SUMMARY}  # a search for pages also counts words that only pages have
            of_class = Filters(WRITTEN | pages, foreign=filters.foreign)
            counted = self._index.frequencies(words[:MOST_COUNTED], of_class)
            chunks = self._index.count_chunks(of_class)
            known = {word: count for word, count in counted.items() if count or not is_aside(word, counted)}
            frequencies = rarest(known, MOST_RARE)
            meant, instead = self._respelled(frequencies, parts)
            chosen = [*frequencies, *instead]
            lexical = self._index.lexical(chosen, self._config.candidates, filters)
            section = self._index.lexical(chosen, MOST_SECTION_ROWS, filters, by="section")
            return KeywordRows(lexical, section, frequencies, meant, chunks)

        try:
            found.keywords = await self.run(retrieve, "the keyword search", is_repeat=found.is_repeat)
        except McpMemoryError as error:
            found.errors.append(error)
            found.faults.append(f"without the keyword search: {error.message}")


def rarest(frequencies: dict[str, int], limit: int) -> dict[str, int]:
    """Return the `limit` rarest words, in the question's order; words that occur nowhere are treated as rare."""
    if len(frequencies) <= limit:
        return frequencies
    kept = set(sorted(frequencies, key=lambda word: (frequencies[word] or 1, word))[:limit])
    return {word: count for word, count in frequencies.items() if word in kept}


def require_vectors_of(index: Index, embedder: Embedder) -> None:
    """Raise EmbedderUnavailable unless the active generation has this embedder's vectors."""
    active = next((generation for generation in index.generations() if generation.active), None)
    if active is None or active.embedding != embedder.fingerprint:
        raise EmbedderUnavailable("the vectors of this model are still being made")


class QueryVectors:
    """A cache of the vectors of the latest questions, by model and text. Thread-safe."""

    def __init__(self) -> None:
        self._latest: LruCache[tuple[str, bytes], Vectors] = LruCache(256)

    def embed(self, embedder: Embedder, text: str, names: Sequence[str]) -> Vectors:
        """Return the question's vector, shape (dimension,). With `names` of speakers, it is the mean of the vectors
        with and without them, since a name draws the vector to all notes that mention it. That gains 1 point on logs of
        dialogues, 3 if several entries are needed. Raises EmbedderUnavailable."""
        whole = self.get(embedder, text)
        rest = without(text, names) if names else ""
        if not content_words(rest):
            return whole
        mean = whole + self.get(embedder, rest)
        return mean / max(float(np.linalg.norm(mean)), 1e-9)

    def get(self, embedder: Embedder, text: str) -> Vectors:
        """Return the vector, shape (dimension,). Raises EmbedderUnavailable."""
        known = self.cached(embedder, text)
        return self._latest.store(_key(embedder, text), embedder.embed_query(text)) if known is None else known

    def cached(self, embedder: Embedder, text: str) -> Vectors | None:
        """Return the vector, if it is cached."""
        return self._latest.get(_key(embedder, text))


def _key(embedder: Embedder, text: str) -> tuple[str, bytes]:
    return embedder.fingerprint, hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
