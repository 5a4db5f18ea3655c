"""A large index that is still being read: who asks gets what there is at once, and the rest as soon as it is read."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import numpy as np
import pytest
from anyio.to_thread import run_sync

from mcp_memory.errors import IndexUnavailable, StillReading
from mcp_memory.index.base import Delete, UnreadFiles
from mcp_memory.index.keywords import inverted_index, posting_codec
from mcp_memory.index.sqlite.cache_sync import FEW
from mcp_memory.index.sqlite.sqlite_index import SqliteIndex
from mcp_memory.index.vectors import store
from mcp_memory.models import NotePath, SearchResult
from mcp_memory.search import index_warmup
from mcp_memory.search.searcher import Searcher
from tests.support.index_contract import make_upsert
from tests.support.searching import ALL, searcher
from tests.support.toy import ToyEmbedder

pytestmark = pytest.mark.anyio

A_NOTE = 20
NOTES = FEW // A_NOTE + 10
PASSAGES = NOTES * A_NOTE
BATCH = 50
"""Notes that are read in one go, here."""

WORDS = f"the words of {PASSAGES:,} passages are still being read, 0% done"
VECTORS = f"the vectors of {PASSAGES:,} passages are still being read, 0% done"


@dataclass
class Gate:
    """Who comes to it waits until it is open; `came` counts them."""

    is_open: threading.Event = field(default_factory=threading.Event)
    reached: threading.Event = field(default_factory=threading.Event)
    came: int = 0

    def before(self, work: Callable[..., Any]) -> Callable[..., Any]:
        def gated(*args: Any, **named: Any) -> Any:
            self.came += 1
            self.reached.set()
            assert self.is_open.wait(30)
            return work(*args, **named)

        return gated


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder, toy = tmp_path_factory.mktemp("built"), ToyEmbedder()
    with closing(SqliteIndex(folder)) as index:
        made = index.begin("test", toy.fingerprint, toy.dimension)
        index.activate(made.number, None)
        notes = [
            make_upsert(f"{at}.md", [f"teapot number {at} of {part}" for part in range(A_NOTE)]) for at in range(NOTES)
        ]
        index.apply(made.number, notes)
        missing = index.missing_vectors(made.number, PASSAGES)
        index.put_vectors(made.number, [key for key, _ in missing], toy.embed_documents([text for _, text in missing]))
    return folder


@pytest.fixture
def folder(built: Path, tmp_path: Path) -> Path:
    """An index whose words were never read."""
    shutil.copytree(built, tmp_path / "index")
    return tmp_path / "index"


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_warmup, "SHORT_S", 0.0)
    monkeypatch.setattr(index_warmup, "ANYTHING_S", 0.0)
    monkeypatch.setattr(inverted_index, "READ_NOTES", BATCH)


@pytest.fixture
def words(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gate]:
    gate = Gate()
    monkeypatch.setattr(posting_codec, "segment", gate.before(posting_codec.segment))
    yield gate
    gate.is_open.set()


@pytest.fixture
def vectors(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gate]:
    gate = Gate()
    monkeypatch.setattr(store, "Slots", gate.before(store.Slots))
    yield gate
    gate.is_open.set()


@pytest.fixture
def index(folder: Path, words: Gate, vectors: Gate) -> Iterator[SqliteIndex]:
    with closing(SqliteIndex(folder)) as made:
        yield made
        words.is_open.set()
        vectors.is_open.set()


async def ask(made: Searcher, question: str = "teapot number 7", **more: Any) -> SearchResult:
    return await made.search(question, limit=5, filters=ALL, **more)


async def whole(made: Searcher) -> SearchResult:
    """After the readings under way."""
    swept = anyio.Event()
    swept.set()
    await made.warm(swept)
    return await ask(made)


async def test_meaning_answers_while_the_words_are_read(index: SqliteIndex, words: Gate, vectors: Gate) -> None:
    made = searcher(index, ToyEmbedder())
    vectors.is_open.set()
    await run_sync(index.read, "vectors")
    for question in ("teapot number 7", "teapot number 8"):
        found = await ask(made, question)
        assert found.hits and found.degraded == f"without the keyword search: {WORDS}"
    found = await ask(made, mode="semantic")
    assert found.hits and found.degraded == f"the order may change: {WORDS}"
    with pytest.raises(StillReading, match=WORDS) as raised:
        await ask(made, mode="keyword")
    assert raised.value.hint == "ask again in some seconds"
    words.is_open.set()
    found = await whole(made)
    assert found.hits[0].path == "7.md" and found.degraded is None
    for mode in ("keyword", "semantic"):
        assert (await ask(made, mode=mode)).degraded is None
    assert words.came == -(-NOTES // BATCH), "read once for all who asked"


async def test_words_answer_while_the_vectors_are_read(index: SqliteIndex, words: Gate, vectors: Gate) -> None:
    made = searcher(index, ToyEmbedder())
    words.is_open.set()
    await run_sync(index.read, "words")
    for mode in ("hybrid", "semantic"):
        found = await ask(made, mode=mode)
        assert found.hits[0].path == "7.md" and found.degraded == f"keywords only: {VECTORS}"
    assert (await ask(made, mode="keyword")).degraded is None
    vectors.is_open.set()
    assert (await whole(made)).degraded is None
    assert vectors.came == 1


async def test_where_nothing_is_read_yet_that_is_said_and_nobody_is_stuck(
    index: SqliteIndex, words: Gate, vectors: Gate
) -> None:
    made = searcher(index, ToyEmbedder())
    refused: list[str] = []

    async def one(number: int) -> None:
        with pytest.raises(StillReading) as raised:
            await ask(made, f"teapot number {number}")
        refused.append(raised.value.message)

    async with anyio.create_task_group() as tasks:
        for number in range(20):
            tasks.start_soon(one, number)
    assert {frozenset(each.split("; ")) for each in refused} == {frozenset({WORDS, VECTORS})}
    names = [thread.name for thread in threading.enumerate()]
    assert sorted(name for name in names if name.startswith("read-")) == ["read-vectors", "read-words"]
    words.is_open.set()
    vectors.is_open.set()
    assert (await whole(made)).degraded is None
    assert (words.came, vectors.came) == (-(-NOTES // BATCH), 1)


@pytest.mark.parametrize("first", ["words", "vectors"])
async def test_who_can_get_nothing_waits_for_whatever_comes_first(
    index: SqliteIndex, words: Gate, vectors: Gate, monkeypatch: pytest.MonkeyPatch, first: str
) -> None:
    monkeypatch.setattr(index_warmup, "ANYTHING_S", 3.0)
    made = searcher(index, ToyEmbedder(), deadline_s=30.0)
    answers: list[SearchResult] = []

    async def one() -> None:
        answers.append(await ask(made))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(one)
        await run_sync(words.reached.wait)
        await run_sync(vectors.reached.wait)
        assert not answers
        (words if first == "words" else vectors).is_open.set()
    missing = {"words": f"keywords only: {VECTORS}", "vectors": f"without the keyword search: {WORDS}"}
    assert answers[0].hits and answers[0].degraded == missing[first]


async def test_how_much_is_done_is_told(index: SqliteIndex, words: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    shares: list[float | None] = []
    told = posting_codec.segment

    def spying(notes: Any) -> Any:
        shares.append(index.unread().words)
        return told(notes)

    words.is_open.set()
    monkeypatch.setattr(posting_codec, "segment", spying)
    assert index.unread() == UnreadFiles(PASSAGES, 0.0, 0.0)
    index.read("words")
    assert index.unread() == UnreadFiles(PASSAGES, None, 0.0)
    assert shares[0] == 0 and shares == sorted(set(shares)) and 0.3 < float(shares[-1] or 0) < 1


async def test_what_is_written_meanwhile_is_found_and_what_is_taken_out_is_not(
    index: SqliteIndex, folder: Path, words: Gate, vectors: Gate
) -> None:
    made, toy = searcher(index, ToyEmbedder()), ToyEmbedder()
    with pytest.raises(StillReading):
        await ask(made)
    await run_sync(words.reached.wait)
    number = index.generations()[0].number
    index.apply(number, [Delete(NotePath("7.md")), make_upsert("new.md", ["a violet kettle"])])
    missing = index.missing_vectors(number, 10)
    index.put_vectors(number, [key for key, _ in missing], toy.embed_documents([text for _, text in missing]))
    words.is_open.set()
    vectors.is_open.set()
    assert "7.md" not in {hit.path for hit in (await whole(made)).hits}
    assert (await ask(made, "violet kettle")).hits[0].path == "new.md"
    kept = answers_of(index)
    index.close()
    with closing(SqliteIndex(folder)) as anew:
        assert answers_of(anew) == kept


def answers_of(index: SqliteIndex) -> list[object]:
    wanted = ["teapot", "number", "7", "kettle"]
    found = [index.lexical(wanted, 100, ALL), index.lexical(wanted, 100, ALL, by="section")]
    found.append(index.dense(np.ones(index.generations()[0].dimension, dtype=np.float32), 100, ALL))
    return [
        index.frequencies(wanted),
        *((rows.ids.tolist(), rows.scores.tolist()) for rows in found),
    ]


async def test_a_reading_that_fails_is_said_and_tried_again(
    index: SqliteIndex, words: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_warmup, "SHORT_S", 30.0)
    words.is_open.set()
    read = posting_codec.segment

    def failing(notes: Any) -> Any:
        raise IndexUnavailable("the disk is gone")

    monkeypatch.setattr(posting_codec, "segment", failing)
    made = searcher(index, ToyEmbedder())
    with pytest.raises(IndexUnavailable, match="the disk is gone"):
        await ask(made, mode="keyword")
    monkeypatch.setattr(posting_codec, "segment", read)
    assert (await ask(made, mode="keyword")).hits[0].path == "7.md"


async def test_an_index_that_is_closed_ends_its_readings(folder: Path, words: Gate) -> None:
    index = SqliteIndex(folder)
    made = searcher(index, None)
    with pytest.raises(StillReading):
        await ask(made, mode="keyword")
    await run_sync(words.reached.wait)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run_sync, index.close)
        while not index._words._closed:
            await anyio.sleep(0)
        words.is_open.set()
    assert words.came == 1, "the rest was not read"
    with closing(SqliteIndex(folder)) as again:
        again.read("words")
        assert again.lexical(["teapot"], 3, ALL)
