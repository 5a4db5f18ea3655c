"""Define what an index engine must do; `tests/support/index_contract.py` checks one against it.

Terms. GENERATION: a complete index under one fingerprint (model, chunker, tokenizer); one is active and answers, others
may be built aside. TOKEN: grows with every change; a search after `apply` has returned sees the change. CHUNK ID: the
chunks of a note have consecutive ids in their order; the ids of two notes are never consecutive, and no id is used
twice. An engine is synchronous and thread-safe. Reads see the last committed state and never wait for the one writer.
Every method raises `IndexUnavailable` if its store fails. Over 300 lines because an engine needs all of these methods.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from mcp_memory.models import (
    PAGES,
    Chunk,
    Conflict,
    Etag,
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
from mcp_memory.text.markdown.note_links import NoteLink, ResolvedLink

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from mcp_memory.models import Vectors


@dataclass(frozen=True)
class Generation:
    """A complete index under one `fingerprint`, which identifies all that it was built with. `embedding` is the
    embedder's part of the fingerprint (the key of the embedding cache, so that another chunker reuses vectors); empty =
    keywords only."""

    number: int
    fingerprint: str
    embedding: str
    dimension: int
    active: bool


@dataclass(frozen=True, slots=True)
class IndexedChunk:
    """A chunk with the text that is embedded for it, and that text's SHA-256."""

    chunk: Chunk
    embedded_text: str
    text_hash: TextHash


@dataclass(frozen=True, slots=True)
class Upsert:
    """Replace all rows of one note (by path)."""

    note: NoteRecord
    chunks: Sequence[IndexedChunk] = ()
    places: Mapping[int, str] = field(default_factory=dict[int, str])
    """Section number → title, tags and headings above it; keywords find each of its chunks by these too."""
    links: Sequence[NoteLink] = ()


class Delete(NamedTuple):
    """Remove all rows of a path."""

    path: NotePath


Change = Upsert | Delete


@dataclass(frozen=True, eq=False)
class ScoredRows:
    """The chunks that one retriever found, best first: `ids` and `scores` (n,)."""

    ids: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    scores: NDArray[np.float32] = field(default_factory=lambda: np.empty(0, dtype=np.float32))

    def __len__(self) -> int:
        return len(self.ids)

    def __iter__(self) -> Iterator[Scored]:
        return map(Scored, self.ids.tolist(), self.scores.tolist())


class NearPhrase(NamedTuple):
    """A phrase under `when`, the first chunk of its note, and its cosine with a question."""

    text: str
    chunk_id: int
    cosine: float


class Watermark(NamedTuple):
    """The progress of the active generation."""

    token: int
    notes: int
    chunks: int
    vectors_pending: int


NoteKey = Literal["path", "id", "content_hash"]

LexicalRanking = Literal["chunk", "section", "overlap"]

Part = Literal["words", "vectors"]
"""A part of the engine's files that may have to be read into memory before the first search."""


class UnreadFiles(NamedTuple):
    """The share of the words and vectors of `passages` chunks that has been read into memory, 0 to 1; None if the next
    search doesn't have to wait for them."""

    passages: int = 0
    words: float | None = None
    vectors: float | None = None


class Index(ABC):
    """An engine over a folder of derived state."""

    @property
    def problems(self) -> Sequence[Problem]:
        """Faults of the store that were overcome, such as a corrupt file that was moved aside; oldest first."""
        return ()

    # -- generations -------------------------------------------------------------------------------------------
    @abstractmethod
    def generations(self) -> list[Generation]:
        """Return all generations, oldest first."""

    @abstractmethod
    def begin(self, fingerprint: str, embedding: str, dimension: int) -> Generation:
        """Return the generation with this fingerprint, to continue its build, or else a new, empty one."""

    @abstractmethod
    def activate(self, generation: int, expected: int | None) -> None:
        """Compare-and-swap the active generation. Raises PreconditionFailed if another one is active."""

    @abstractmethod
    def drop(self, generation: int) -> None:
        """Remove a generation that is not active. An engine may keep its embeddings of texts that other generations
        have."""

    # -- writing -----------------------------------------------------------------------------------------------
    @abstractmethod
    def apply(self, generation: int, changes: Sequence[Change]) -> int:
        """Make all changes in one transaction, for keywords and vectors; return its token. Chunks whose text hash is in
        the embedding cache are complete at once; the others are found only by keywords until `put_vectors`."""

    @abstractmethod
    def missing_vectors(self, generation: int, limit: int) -> list[tuple[TextHash, str]]:
        """Return up to `limit` distinct texts that still need a vector, in a stable order."""

    @abstractmethod
    def put_vectors(self, generation: int, hashes: Sequence[TextHash], vectors: Vectors) -> int:
        """Store vectors (shape (len(hashes), dimension), unit length); return the token."""

    @abstractmethod
    def purge(self) -> bool:
        """Leave nothing of deleted notes on disk: no cached vector without a chunk, no log, no free page. False if
        another process still reads the previous state; then `cut_log` does the rest."""

    def cut_log(self) -> bool:
        """Remove the remains that a purge had to leave because of a reader; False if that is still impossible. Cheap
        when there is nothing to do. Override it if `purge` can return False."""
        return True

    def check(self) -> None:  # noqa: B027 - a store may be sound by itself
        """Read all that is stored. Raises IndexReplaced if it was damaged."""

    # -- reading (of the active generation, unless noted otherwise) --------------------------------------------
    @abstractmethod
    def lexical(self, terms: Sequence[str], k: int, filters: Filters, *, by: LexicalRanking = "chunk") -> ScoredRows:
        """Return the best chunks that any of the terms finds; higher is better. Terms are plain words without syntax.
        A compound (`read_file`) is looked up as a whole.

        `chunk`: BM25; a chunk's own words have twice the weight of the words of two neighbors on each side and of the
        words above its section. `section`: BM25 of all chunks of the section and the text above it; they share its
        score. `overlap`: the number of terms that the chunk itself has."""

    @abstractmethod
    def dense(self, vector: Vectors, k: int, filters: Filters) -> ScoredRows:
        """Return the best chunks by cosine with `vector` (dimension,), −1 to 1, among chunks with a vector."""

    def near_phrases(self, vector: Vectors, k: int, filters: Filters) -> list[NearPhrase]:  # noqa: ARG002 - optional
        """Return the best phrases under `when` by cosine with `vector` (dimension,); empty if the engine has none."""
        return []

    @abstractmethod
    def get(self, chunk_ids: Iterable[int]) -> dict[int, Passage]:
        """Return passages by chunk id; unknown ids are absent."""

    @abstractmethod
    def find_notes(self, key: NoteKey, value: str) -> list[NoteRecord]:
        """Return all notes, in any state, with exactly this path, id or content hash, by path. Fast at any size."""

    def note(self, path: NotePath) -> NoteRecord | None:
        return next(iter(self.find_notes("path", path)), None)

    def note_by_id(self, note_id: NoteId) -> list[NoteRecord]:
        """Return all notes with this id (two files may have it, after a copy), by path."""
        return self.find_notes("id", note_id)

    @abstractmethod
    def find_ids(self, ending: str) -> list[NoteId]:
        """Return the distinct ids, sorted, of notes and log entries in any state that end with these ASCII letters,
        digits and hyphens, whatever their case."""

    def find_content(self, content_hash: str, kind: str | None, project: str | None) -> list[NoteRecord]:
        """Return active notes with exactly this body and project, of this kind or any, by path."""
        wanted = (NoteState.ACTIVE, project)
        found = self.find_notes("content_hash", content_hash)
        return [note for note in found if (note.state, note.project) == wanted and kind in (None, note.kind)]

    @abstractmethod
    def projects(self) -> list[str]:
        """Return the projects of all notes, whatever their state, sorted."""

    @abstractmethod
    def passages(self, path: NotePath) -> list[Passage]:
        """Return all chunks of a note in order."""

    @abstractmethod
    def mean_vectors(self, paths: Sequence[NotePath]) -> NDArray[np.float32]:
        """Return (n, dimension): the mean of each note's passage vectors, of length 1; 0 without vectors."""

    @abstractmethod
    def notes(self, filters: Filters, limit: int = 1000) -> list[NoteRecord]:
        """Return notes that match, newest date first; in the same second, the one stored last (by id) first."""

    @abstractmethod
    def short_notes(self, filters: Filters, most_bytes: int, limit: int = 1000) -> list[NoteRecord]:
        """Return notes that match and have at most this much text, in UTF-8, in the order of `notes`; perhaps also
        longer ones whose text repeats itself."""

    def pages(self, folder: str | None = None) -> list[NoteRecord]:
        """Return our pages in a folder, or all."""
        return self.notes(Filters(PAGES, path_prefix=folder), 1_000_000)

    def sources(self, pages: Iterable[NoteRecord]) -> list[NoteRecord]:
        """Return the notes and pages that these pages were made from, in any state."""
        ids = dict.fromkeys(str(source) for page in pages for source in page.meta.get("derived_from", ()))
        return [note for source in ids for note in self.note_by_id(NoteId(source))]

    @abstractmethod
    def scan(self, generation: int, after: NotePath | None = None, limit: int = 10_000) -> list[NoteRecord]:
        """Yield notes of a generation in order of path, starting behind `after`."""

    @abstractmethod
    def frequencies(self, terms: Sequence[str], filters: Filters | None = None) -> dict[str, int]:
        """Count in how many chunks each term occurs, word forms folded as in `lexical`."""

    @abstractmethod
    def count_chunks(self, filters: Filters) -> int:
        """Count the chunks that pass."""

    def correct_spelling(self, term: str) -> str | None:  # noqa: ARG002 - for engines that can
        """Return the most frequent word one letter away; None for a term that is short or has other characters."""
        return None

    def known_speakers(self, names: Sequence[str]) -> list[str]:  # noqa: ARG002 - for engines that can
        """Return the names that some chunk begins with (`- Ada: …`); empty if the engine does not index names."""
        return []

    @abstractmethod
    def section_numbers(self, chunk_ids: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return (n,): a number that the chunks of one section share; −1 for an unknown id."""

    # -- links of the active generation ------------------------------------------------------------------------ A link
    # leads to the notes with a name (`names_of`) that is its key. Only the notes with the best match are returned,
    # forgotten notes last.
    @abstractmethod
    def named(self, key: str) -> list[NotePath]:
        """Return the notes that a link with this key leads to, by path."""

    @abstractmethod
    def links_from(self, path: NotePath | None = None) -> list[ResolvedLink]:
        """Return a note's links in their order; without a path, the links of all notes, by path."""

    @abstractmethod
    def links_to(self, path: NotePath, limit: int = 100_000) -> tuple[list[ResolvedLink], int]:
        """Return up to `limit` links of other notes to only this one, by path and place, and their number."""

    # -- contradictions, of all generations --------------------------------------------------------------------
    @abstractmethod
    def conflicts(self) -> list[Conflict]:
        """Return all stored conflicts."""

    @abstractmethod
    def compared(self) -> dict[NotePath, Etag]:
        """Return the version of each note in which it was compared with others."""

    @abstractmethod
    def put_conflicts(self, compared: Mapping[NotePath, Etag | None], found: Sequence[Conflict]) -> None:
        """Replace all conflicts of these notes by the found ones. The version is None for a note that is gone, and an
        empty etag for a note that keeps its version until it is compared again."""

    @abstractmethod
    def watermark(self) -> Watermark: ...

    def unread(self) -> UnreadFiles:
        """Return how much the next search would have to wait for. Never waits itself."""
        return UnreadFiles()

    def read(self, part: Part) -> None:  # noqa: B027 - nothing to read is a full answer
        """Read the part into memory. For a million passages this takes some seconds."""

    @abstractmethod
    def close(self) -> None:
        """Close the index. Idempotent."""
