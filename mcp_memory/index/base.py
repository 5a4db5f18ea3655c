"""Defines what an index engine must do; `tests/support/index_contract.py` checks one against it.

Terms. GENERATION: a complete index under one fingerprint (model, chunker, tokenizer); one is active and answers,
another may be built aside and then swapped in. TOKEN: grows with every change; a search after `apply` returned sees
it. LEG: one way of ranking chunks (`lexical`, `section`, `dense`); legs are fused outside, on their own scales.
CHUNK ID: the ids of a note's chunks follow each other in its order; those of two notes never do, and none is used
twice.

An engine is synchronous and thread-safe: any number of readers, one writer at a time. Reads see the last committed
state and never wait for a writer. Every method raises `IndexUnavailable` where its store fails.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, overload

import numpy as np

from mcp_memory.models import (
    Chunk,
    Filters,
    NoteId,
    NotePath,
    NoteRecord,
    NoteState,
    Passage,
    Problem,
    Scored,
    TextHash,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from mcp_memory.models import Vectors


@dataclass(frozen=True, slots=True)
class Generation:
    """`number` identifies it; `fingerprint` says what it was built with; `embedding` is the embedder's share of it
    (the key of the embedding cache, so that another chunker reuses vectors); empty = keywords only."""

    number: int
    fingerprint: str
    embedding: str
    dimension: int
    active: bool


@dataclass(frozen=True, slots=True)
class IndexedChunk:
    """A chunk with what the legs need besides its text."""

    chunk: Chunk
    embedded_text: str
    text_hash: TextHash
    """sha256 of `embedded_text`."""


@dataclass(frozen=True, slots=True)
class Upsert:
    """Replace all rows of one note (by path)."""

    note: NoteRecord
    chunks: Sequence[IndexedChunk] = ()
    places: Mapping[int, str] = field(default_factory=dict[int, str])
    """Section number → what stands above it (title, tags, headings): keywords find each of its chunks by that too."""


@dataclass(frozen=True, slots=True)
class Delete:
    """Forget all rows of a path: the file is gone."""

    path: NotePath


Change = Upsert | Delete


@dataclass(frozen=True, slots=True, eq=False)
class ScoredRows(Sequence[Scored]):
    """The rows of one leg, best first: `ids` and `scores` (n,)."""

    ids: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    scores: NDArray[np.float32] = field(default_factory=lambda: np.empty(0, dtype=np.float32))

    @classmethod
    def from_scored(cls, *rows: Scored) -> ScoredRows:
        ids = np.array([row.chunk_id for row in rows], dtype=np.int64)
        return cls(ids, np.array([row.score for row in rows], dtype=np.float32))

    def __len__(self) -> int:
        return len(self.ids)

    @overload
    def __getitem__(self, at: int) -> Scored: ...
    @overload
    def __getitem__(self, at: slice) -> ScoredRows: ...
    def __getitem__(self, at: int | slice) -> Scored | ScoredRows:
        if isinstance(at, slice):
            return ScoredRows(self.ids[at], self.scores[at])
        return Scored(int(self.ids[at]), float(self.scores[at]))


@dataclass(frozen=True, slots=True)
class Watermark:
    """How far the active generation is."""

    token: int
    notes: int
    chunks: int
    vectors_pending: int


NoteKey = Literal["path", "id", "content_hash"]

Part = Literal["words", "vectors"]
"""What a search looks through, of which an engine may have to read much before the first one."""


@dataclass(frozen=True, slots=True)
class UnreadFiles:
    """Of how many `passages` the next search would have to wait for the words, or for the vectors: how much of the
    reading is done, 0 to 1; None where they are in memory, or will be in no time."""

    passages: int = 0
    words: float | None = None
    vectors: float | None = None


class Index(ABC):
    """One engine over one folder of derived state."""

    @property
    def problems(self) -> Sequence[Problem]:
        """Faults of the store that were overcome, say a corrupt file that was moved aside."""
        return ()

    # -- generations -------------------------------------------------------------------------------------------
    @abstractmethod
    def generations(self) -> list[Generation]:
        """All of them, oldest first."""

    @abstractmethod
    def begin(self, fingerprint: str, embedding: str, dimension: int) -> Generation:
        """The generation with this fingerprint; made empty where none exists yet (so an interrupted build goes on)."""

    @abstractmethod
    def activate(self, generation: int, expected: int | None) -> None:
        """Compare-and-swap the active generation. Raises PreconditionFailed if another one is active."""

    @abstractmethod
    def drop(self, generation: int) -> None:
        """Remove a generation that is not active, and cached embeddings that none uses any more."""

    # -- writing -----------------------------------------------------------------------------------------------
    @abstractmethod
    def apply(self, generation: int, changes: Sequence[Change]) -> int:
        """All changes and all legs in one transaction; returns its token. Chunks whose text hash is in the embedding
        cache are complete at once, the others answer to keywords until `put_vectors`."""

    @abstractmethod
    def missing_vectors(self, generation: int, limit: int) -> list[tuple[TextHash, str]]:
        """Up to `limit` distinct texts that still need a vector, in a stable order."""

    @abstractmethod
    def put_vectors(self, generation: int, hashes: Sequence[TextHash], vectors: Vectors) -> int:
        """Store vectors (shape (len(hashes), dimension), unit length); returns the token."""

    @abstractmethod
    def purge(self) -> bool:
        """Leave nothing on disk of what was deleted: no cached vector that no chunk has, no log, no free page. False
        where another process still reads the state before; then `cut_log` does the rest."""

    def cut_log(self) -> bool:
        """What a purge had to leave because somebody was reading goes now; False where it still cannot. Cheap where
        there is nothing to do. For engines whose `purge` never leaves anything there is nothing to override."""
        return True

    # -- reading (of the active generation, unless said otherwise) ---------------------------------------------
    @abstractmethod
    def lexical(self, terms: Sequence[str], k: int, filters: Filters) -> ScoredRows:
        """Best chunks by BM25 with any of the terms; higher is better. A chunk's own words count twice, those of two
        neighbours on each side and of its place once. Terms are plain words: whatever they contain is text, not
        syntax. A compound (`read_file`) is looked for as a whole."""

    @abstractmethod
    def section(self, terms: Sequence[str], k: int, filters: Filters) -> ScoredRows:
        """As `lexical`, by BM25 of the section that the chunk stands in: all of its chunks, and its place. They share
        its score."""

    @abstractmethod
    def dense(self, vector: Vectors, k: int, filters: Filters) -> ScoredRows:
        """Best chunks by cosine with `vector` (shape (dimension,)), −1 to 1. Chunks without a vector are absent."""

    @abstractmethod
    def rank_by_shared_terms(self, terms: Sequence[str], k: int, filters: Filters) -> ScoredRows:
        """Chunks that have the most of the terms in themselves, by how many: what says nearly the same. Terms as in
        `lexical`."""

    @abstractmethod
    def get(self, chunk_ids: Iterable[int]) -> dict[int, Passage]:
        """Passages by chunk id; unknown ids are absent."""

    @abstractmethod
    def find_notes(self, key: NoteKey, value: str) -> list[NoteRecord]:
        """All notes, in any state, with exactly this path, id or content hash, by path. Cheap in any index."""

    def note(self, path: NotePath) -> NoteRecord | None:
        return next(iter(self.find_notes("path", path)), None)

    def note_by_id(self, note_id: NoteId) -> list[NoteRecord]:
        """All notes that carry this id (two files may, after a copy), by path."""
        return self.find_notes("id", note_id)

    def find_content(self, content_hash: str, kind: str, project: str | None) -> list[NoteRecord]:
        """Active notes with exactly this body, kind and project, by path."""
        wanted = (NoteState.ACTIVE, kind, project)
        found = self.find_notes("content_hash", content_hash)
        return [note for note in found if (note.state, note.kind, note.project) == wanted]

    @abstractmethod
    def passages(self, path: NotePath) -> list[Passage]:
        """All chunks of a note in order."""

    @abstractmethod
    def mean_vectors(self, paths: Sequence[NotePath]) -> NDArray[np.float32]:
        """(n, dimension): of each note the mean of its passages' vectors, at length 1; 0 for a note that is not there
        or has none yet."""

    @abstractmethod
    def notes(self, filters: Filters, limit: int = 1000) -> list[NoteRecord]:
        """Notes that match, newest date first, then by path."""

    @abstractmethod
    def scan(self, generation: int, after: NotePath | None = None, limit: int = 10_000) -> list[NoteRecord]:
        """Notes of a generation in order of path, from after `after`: what the reconciler compares with the disk."""

    @abstractmethod
    def frequencies(self, terms: Sequence[str]) -> dict[str, int]:
        """In how many chunks each term occurs, word forms folded as in `lexical`."""

    @abstractmethod
    def correct_spelling(self, term: str) -> str | None:
        """Of the words that are one letter away from a mistyped one, that which is in most chunks; None where none
        occurs, and for what is no word of English letters or a short one."""

    @abstractmethod
    def known_speakers(self, names: Sequence[str]) -> list[str]:
        """Those of the names that some chunk begins with (`- Ada: …`)."""

    @abstractmethod
    def section_numbers(self, chunk_ids: NDArray[np.int64]) -> NDArray[np.int64]:
        """(n,): a number for each chunk that chunks of one section share; −1 for an unknown id."""

    @abstractmethod
    def watermark(self) -> Watermark: ...

    def unread(self) -> UnreadFiles:
        """What the next search of the active generation would wait for; does not wait itself. Nothing, for an engine
        that reads no files into this process."""
        return UnreadFiles()

    def read(self, part: Part) -> None:  # noqa: B027 - nothing to read is a full answer
        """Read it into memory, once for all callers. For a million passages this takes some seconds."""

    @abstractmethod
    def close(self) -> None:
        """Idempotent."""
