"""A plain model of an index: dictionaries, and loops over all of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime

import numpy as np

from mcp_memory.index.base import Delete, Generation, IndexedChunk, Upsert
from mcp_memory.models import Filters, NoteState
from mcp_memory.text.markdown.note_links import names_of
from tests.support.index_contract import DIMENSION, vector_of

LATER = {NoteState.SUMMARY: 10, NoteState.DELETED: 20}
"""Any way by which a note has a name comes before the ways of a page, and those before the ways of a forgotten note."""


@dataclass
class NaiveGeneration:
    generation: Generation
    notes: dict[str, Upsert] = field(default_factory=dict)

    def apply(self, change: Upsert | Delete) -> None:
        if isinstance(change, Delete):
            self.notes.pop(change.path, None)
        else:
            self.notes[change.note.path] = change

    def chunks(self, filters: Filters | None = None) -> list[tuple[str, int, IndexedChunk]]:
        """(path, ordinal, chunk) of the notes that pass."""
        return [
            (path, at, indexed)
            for path, upsert in self.notes.items()
            if upsert.note.state is not NoteState.DELETED and (filters is None or filters.admits(upsert.note))
            for at, indexed in enumerate(upsert.chunks)
        ]

    def texts(self) -> list[str]:
        """Each text that has a vector."""
        chunks = self.chunks()
        phrases = [phrase for path, at, _ in chunks if at == 0 for phrase in self.notes[path].note.when]
        return [indexed.embedded_text for _, _, indexed in chunks] + phrases

    def around(self, path: str, at: int) -> str:
        """What the keyword retriever finds a chunk by."""
        upsert = self.notes[path]
        near = [indexed.chunk.text for indexed in upsert.chunks[max(0, at - 2) : at + 3]]
        return "\n".join([upsert.places[upsert.chunks[at].chunk.section], *near])

    def section_text(self, path: str, indexed: IndexedChunk) -> str:
        upsert, section = self.notes[path], indexed.chunk.section
        texts = [each.chunk.text for each in upsert.chunks if each.chunk.section == section]
        return "\n".join([upsert.places[section], *texts])


@dataclass
class NaiveIndex:
    generations: dict[int, NaiveGeneration] = field(default_factory=dict)
    active: int | None = None
    cached: set[tuple[str, str]] = field(default_factory=set)
    """(model, text) of the vectors that are in."""

    def dense(self, query: str, filters: Filters) -> dict[tuple[str, int], float]:
        current = self.generations[self.active]
        if not current.generation.dimension:
            return {}
        wanted = vector_of(query, DIMENSION)
        return {
            (path, at): float(np.dot(vector_of(indexed.embedded_text), wanted))
            for path, at, indexed in current.chunks(filters)
            if (current.generation.embedding, indexed.embedded_text) in self.cached
        }

    def phrases(self, filters: Filters) -> list[tuple[str, str]]:
        """(path, phrase) of those with a vector."""
        current = self.generations[self.active]
        return sorted(
            (path, phrase)
            for path, at, _ in current.chunks(filters)
            for phrase in (current.notes[path].note.when if at == 0 and current.generation.dimension else ())
            if (current.generation.embedding, phrase) in self.cached
        )

    def lexical(self, terms: list[str], filters: Filters) -> set[tuple[str, int]]:
        current = self.generations[self.active]
        return {(path, at) for path, at, _ in current.chunks(filters) if holds(current.around(path, at), terms)}

    def section(self, terms: list[str], filters: Filters) -> set[tuple[str, int]]:
        current = self.generations[self.active]
        chunks = current.chunks(filters)
        return {(path, at) for path, at, indexed in chunks if holds(current.section_text(path, indexed), terms)}

    def links(self) -> list[tuple[str, int, tuple[str, ...]]]:
        """(source, place, targets) of each link."""
        notes = self.generations[self.active].notes
        return [
            (path, link.at, tuple(sorted(self._leading(link.key))))
            for path, upsert in sorted(notes.items())
            if upsert.note.state is not NoteState.DELETED
            for link in upsert.links
        ]

    def _leading(self, key: str) -> list[str]:
        ways: dict[int, list[str]] = {}
        for path, upsert in self.generations[self.active].notes.items():
            note = upsert.note
            if (rank := names_of(path, note.id, note.title, ()).get(key)) is not None:
                ways.setdefault(rank + LATER.get(note.state, 0), []).append(path)
        return ways[min(ways)] if ways else []

    def pending(self, generation: NaiveGeneration) -> list[str]:
        if not generation.generation.dimension:
            return []
        return [text for text in generation.texts() if (generation.generation.embedding, text) not in self.cached]


def holds(text: str, terms: list[str]) -> bool:
    """The tests' words have one form each, so that membership needs no stemmer."""
    return not set(text.split()).isdisjoint(terms)


def day(number: int) -> datetime:
    return datetime(2026, 1, 1 + number, tzinfo=UTC)
