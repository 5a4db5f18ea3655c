"""I1: whatever happens to it, the embedded index answers like a plain model of itself."""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from mcp_memory.index.base import Delete, Upsert
from mcp_memory.index.keywords import inverted_index
from mcp_memory.index.sqlite import row_writer
from mcp_memory.index.sqlite.sqlite_index import SqliteIndex
from mcp_memory.index.vectors import store
from mcp_memory.models import Filters, NotePath, NoteState, Scored
from mcp_memory.text.markdown.note_links import note_links
from tests.index.naive_index import NaiveGeneration, NaiveIndex, day
from tests.support.index_contract import COSINE_TOLERANCE, DIMENSION, make_upsert, text_hash, vector_of

WORDS = ["alpha", "beta", "gamma", "delta", "omega"]
TEXTS = st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(" ".join)
PATHS = st.sampled_from(["a.md", "dir/a.md", "dir/b.md", "dir/sub/c.md", "dirt/d.md"])
DAYS = st.none() | st.integers(0, 4).map(day)
FILTERS = st.builds(
    Filters,
    states=st.frozensets(st.sampled_from(list(NoteState)), min_size=1) | st.just(frozenset({NoteState.ACTIVE})),
    path_prefix=st.sampled_from([None, None, "", "dir/", "dir/sub/", "a.md", "dir"]),
    kinds=st.none() | st.frozensets(st.sampled_from(["note", "fix"])),
    tags=st.none() | st.frozensets(st.sampled_from(["x", "y"])),
    project=st.sampled_from([None, "p", "q"]),
    since=DAYS,
    until=DAYS,
    session=st.sampled_from([None, None, None, "s"]),
    now=DAYS,
)
LINKS = st.lists(st.sampled_from(["[[a]]", "[[dir/a]]", "[[beta]]", "[b](dir/b.md)", "[[d]]"]), max_size=3)


def upsert(path: str, texts: list[str], links: list[str], **values: Any) -> Upsert:
    found = note_links(" ".join(links), 0, path)
    return replace(make_upsert(path, texts, **values), links=found)


UPSERTS = st.builds(
    upsert,
    PATHS,
    st.lists(TEXTS, max_size=5),
    LINKS,
    title=st.sampled_from(["beta", "other"]),
    state=st.sampled_from([NoteState.ACTIVE, NoteState.ACTIVE, NoteState.ACTIVE, *NoteState]),
    kind=st.sampled_from(["note", "fix"]),
    project=st.sampled_from([None, "p", "q"]),
    tags=st.sampled_from([(), ("x",), ("y", "x")]),
    session=st.sampled_from([None, "s"]),
    created=DAYS,
    updated=DAYS,
    expires_at=DAYS,
    meta=st.sampled_from([{}, {}, {"when": ["alpha gamma", "omega"]}]),
)
MODELS = {"one": DIMENSION, "two": DIMENSION, "": 0}


class IndexMachine(RuleBasedStateMachine):
    @initialize()
    def begin_with_nothing(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.model = NaiveIndex()
        self.index = SqliteIndex(self.folder)
        self.token = 0
        self.builds = 0
        self.new_generation("one", "chunker 0", activate=True)

    def teardown(self) -> None:
        if hasattr(self, "index"):
            self.index.close()
            shutil.rmtree(self.folder)

    @rule(
        model=st.sampled_from(list(MODELS)), chunker=st.sampled_from(["chunker 1", "chunker 2"]), activate=st.booleans()
    )
    def new_generation(self, model: str, chunker: str, activate: bool) -> None:
        generation = self.index.begin(f"{model} {chunker}", model, MODELS[model])
        self.model.generations.setdefault(generation.number, NaiveGeneration(generation))
        if activate:
            self.index.activate(generation.number, self.model.active)
            self.model.active = generation.number

    @precondition(lambda self: len(self.model.generations) > 1)
    @rule(data=st.data())
    def drop(self, data: st.DataObject) -> None:
        number = data.draw(st.sampled_from(sorted(set(self.model.generations) - {self.model.active})))
        self.index.drop(number)
        del self.model.generations[number]
        self.model.cached &= {
            (generation.generation.embedding, text)
            for generation in self.model.generations.values()
            for text in generation.texts()
        }

    @rule(changes=st.lists(UPSERTS | PATHS.map(NotePath).map(Delete), min_size=1, max_size=6), data=st.data())
    def apply(self, changes: list, data: st.DataObject) -> None:
        number = data.draw(st.sampled_from([self.model.active, *sorted(self.model.generations)]))
        token = self.index.apply(number, changes)
        assert token > self.token
        self.token = token
        for change in changes:
            self.model.generations[number].apply(change)

    @rule(data=st.data(), limit=st.integers(0, 4))
    def put_vectors(self, data: st.DataObject, limit: int) -> None:
        number = data.draw(st.sampled_from(sorted(self.model.generations)))
        waiting = self.index.missing_vectors(number, limit)
        texts = [text for _, text in waiting]
        expected = set(self.model.pending(self.model.generations[number]))
        assert len(texts) == len(set(texts)) == min(limit, len(expected))
        assert set(texts) <= expected
        if waiting:
            self.index.put_vectors(number, [key for key, _ in waiting], np.stack([vector_of(text) for text in texts]))
            self.model.cached |= {(self.model.generations[number].generation.embedding, text) for text in texts}

    @rule()
    def reopen(self) -> None:
        self.index.close()
        self.index = SqliteIndex(self.folder)
        assert self.index.problems == []

    @rule()
    def links(self) -> None:
        expected = self.model.links()
        found = [(one.source, one.link.at, one.targets) for one in self.index.links_from()]
        assert found == expected
        for path in self.model.generations[self.model.active].notes:
            leading = [(at, source) for source, at, targets in expected if targets == (path,) and source != path]
            some, count = self.index.links_to(NotePath(path), 1)
            assert (len(some), count) == (min(1, len(leading)), len(leading))
            assert self.index.links_from(NotePath(path)) == [
                one for one in self.index.links_from() if one.source == path
            ]

    @rule(query=TEXTS, filters=FILTERS, k=st.integers(1, 30))
    def search(self, query: str, filters: Filters, k: int) -> None:
        places = self.places()
        for retriever, expected in (
            (self.index.lexical, self.model.lexical(query.split(), filters)),
            (partial(self.index.lexical, by="section"), self.model.section(query.split(), filters)),
        ):
            found = [places[row.chunk_id] for row in retriever(query.split(), 1000, filters)]
            assert len(found) == len(set(found))
            assert set(found) == expected
            assert len(retriever(query.split(), k, filters)) == min(k, len(expected))
        dense = self.index.dense(vector_of(query), k, filters)
        self.check_dense(dense, self.model.dense(query, filters), k)
        near = self.index.near_phrases(vector_of(query), 100, filters)
        said = self.index.get([phrase.chunk_id for phrase in near])
        assert sorted((str(said[one.chunk_id].note.path), one.text) for one in near) == self.model.phrases(filters)

    @invariant()
    def same_rows(self) -> None:
        if not hasattr(self, "index"):
            return
        mark = self.index.watermark()
        current = self.model.generations[self.model.active]
        assert (mark.notes, mark.chunks) == (len(current.notes), len(current.chunks()))
        assert mark.vectors_pending == len(self.model.pending(current))
        for number, generation in self.model.generations.items():
            records = [generation.notes[path].note for path in sorted(generation.notes)]
            assert self.index.scan(number) == records
        counts = Counter(word for *_, indexed in current.chunks() for word in set(indexed.chunk.text.split()))
        assert self.index.frequencies(WORDS) == {word: counts[word] for word in WORDS}

    def places(self) -> dict[int, tuple[str, int]]:
        """Chunk id → (path, ordinal), and the chunks are the model's."""
        places = {}
        current = self.model.generations[self.model.active]
        stored: dict[str, list] = {}
        for path, _, indexed in current.chunks():
            stored.setdefault(path, []).append(indexed.chunk)
        for path in current.notes:
            passages = self.index.passages(NotePath(path))
            assert [passage.chunk for passage in passages] == stored.get(path, [])
            places |= {passage.chunk_id: (path, passage.ordinal) for passage in passages}
        return places

    def check_dense(self, rows: list[Scored], expected: dict[tuple[str, int], float], k: int) -> None:
        places = self.places()
        found = [places[row.chunk_id] for row in rows]
        assert len(found) == len(set(found)) == min(k, len(expected))
        for row, place in zip(rows, found, strict=True):
            assert row.score == pytest.approx(expected[place], abs=COSINE_TOLERANCE)
        best = sorted(expected.values(), reverse=True)
        for row, cosine in zip(rows, best, strict=False):
            assert row.score == pytest.approx(cosine, abs=COSINE_TOLERANCE)


IndexMachine.TestCase.settings = settings(
    max_examples=60, stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck)
)


class TestIndexMachine(IndexMachine.TestCase):
    @pytest.fixture(autouse=True)
    def many_small_batches(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(store, "CHECKED_ROWS", 3)
        monkeypatch.setattr(inverted_index, "READ_NOTES", 2)
        monkeypatch.setattr(row_writer, "GONE_KEPT", 4)


def test_most_dead_vectors_leave_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "CHECKED_ROWS", 5)
    scanned = list[int]()
    search = store.chained
    monkeypatch.setattr(store, "chained", lambda arrays: scanned.append(len(search(arrays))) or search(arrays))
    index = SqliteIndex(tmp_path)
    number = index.begin("f", "m", DIMENSION).number
    index.activate(number, None)
    for step in range(40):
        texts = [f"alpha {step} {at}" for at in range(5)]
        index.apply(number, [make_upsert("a.md", texts), make_upsert(f"{step}.md", ["kept"])])
        hashes = [text_hash(text) for text in [*texts, "kept"]]
        index.put_vectors(number, hashes, np.stack([vector_of(text) for text in [*texts, "kept"]]))
        assert len(index.dense(vector_of("alpha"), 1000, Filters())) == 5 + step + 1
    assert scanned[-1] < 150, "240 vectors were written, 45 are alive"
    index.close()
