"""The searcher over a real index: what is found, how it is shown, and what happens when a part fails."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import anyio
import pytest

from mcp_memory.embedders.base import Embedder, EmbedderConfig
from mcp_memory.embedders.open_embedder import open_embedder
from mcp_memory.errors import IndexUnavailable
from mcp_memory.index.base import LexicalRanking, ScoredRows, Upsert
from mcp_memory.index.sqlite.sqlite_index import SqliteIndex
from mcp_memory.indexing.index_rows import to_upsert
from mcp_memory.models import Etag, Filters, NotePath, NoteState, SearchResult
from mcp_memory.search.searcher import SearchConfig, Searcher
from mcp_memory.text.chunking.chunker import ChunkingConfig
from mcp_memory.vault.config import NoteKinds
from mcp_memory.vault.note_file import Layout, read_note
from tests.support.searching import ALL, NOW, searcher
from tests.support.toy import FixedModel, ToyEmbedder

pytestmark = pytest.mark.anyio

LOG = """# 2023-05-08

## 13:56 Ada and Bob

- Ada: I painted a lake at sunrise last year.
- Bob: Did you paint a lake?
- Bob: I bought a red bicycle.

## 15:10 Deploy

The staging server needs 4 GB of memory.
"""
TRIP = """---
id: 01JD00000000000000000000AA
title: Japan trip in spring
kind: decision
tags: [travel]
project: holiday
created: 2026-03-01T10:00:00+00:00
---
We fly to Osaka on Monday.
"""
GUIDE = """# Guide

Introduction to everything.

## Install

Run the installer, then restart the computer.

## Remove

Delete the folder.
"""


class Fails(SqliteIndex):
    """A real index of which single retrievers can be made to fail or to hang."""

    broken: frozenset[str] = frozenset()
    hanging: threading.Event | None = None

    def lexical(self, terms: Sequence[str], k: int, filters: Filters, *, by: LexicalRanking = "chunk") -> ScoredRows:
        self._check("section" if by == "section" else "lexical")
        return super().lexical(terms, k, filters, by=by)

    def dense(self, vector: Any, k: int, filters: Filters) -> ScoredRows:
        if self.hanging:
            self.hanging.wait()
        self._check("dense")
        return super().dense(vector, k, filters)

    def _check(self, retriever: str) -> None:
        if retriever in self.broken:
            raise IndexUnavailable(f"{retriever} is broken")


def upsert(path: str, text: str) -> Upsert:
    note = read_note(NotePath(path), text.encode(), Etag("e"), "s", Layout("", UTC), NoteKinds({}))
    return to_upsert(note.record, note.text, note.body_start, ChunkingConfig())


def fill(index: SqliteIndex, files: dict[str, str], embedder: Embedder | None) -> None:
    embedding = embedder.fingerprint if embedder else ""
    made = index.begin(f"test | {embedding}", embedding, embedder.dimension if embedder else 0)
    index.activate(made.number, None)
    index.apply(made.number, [upsert(path, text) for path, text in files.items()])
    if embedder:
        missing = index.missing_vectors(made.number, 10_000)
        vectors = embedder.embed_documents([text for _, text in missing])
        index.put_vectors(made.number, [text_hash for text_hash, _ in missing], vectors)


FILES = {"memory/2023-05-08.md": LOG, "notes/decision/japan.md": TRIP, "guide.md": GUIDE}


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Fails]:
    with closing(Fails(tmp_path / "index")) as made:
        yield made


@pytest.fixture
def toy() -> ToyEmbedder:
    return ToyEmbedder()


@pytest.fixture
def find(index: Fails, toy: ToyEmbedder) -> Callable[..., Any]:
    """Search in the three files above."""
    fill(index, FILES, toy)
    made = searcher(index, toy)

    async def find(query: str, *, limit: int = 6, filters: Filters = ALL, **more: Any) -> SearchResult:
        return await made.search(query, limit=limit, filters=filters, **more)

    return find


class TestHits:
    async def test_a_log_entry(self, find: Callable[..., Any]) -> None:
        hit = (await find("what did Ada paint?")).hits[0]
        assert hit.snippet == "- Ada: I painted a lake at sunrise last year."
        assert (hit.path, hit.start_line, hit.end_line) == ("memory/2023-05-08.md", 5, 5)
        assert hit.id == f"memory/2023-05-08.md#{upsert(hit.path, LOG).chunks[0].chunk.entry}"
        assert (hit.kind, hit.date) == ("log", "2023-05-08 13:56")
        assert "Ada and Bob" in hit.heading

    async def test_a_note(self, find: Callable[..., Any]) -> None:
        hit = (await find("flight to Osaka")).hits[0]
        assert (hit.id, hit.title, hit.kind) == ("01JD00000000000000000000AA", "Japan trip in spring", "decision")
        assert (hit.date, hit.snippet, hit.start_line) == ("2026-03-01", "We fly to Osaka on Monday.", 9)

    async def test_a_heading_path_without_the_title(self, find: Callable[..., Any]) -> None:
        hit = (await find("restart the computer")).hits[0]
        assert (hit.title, hit.heading, hit.id) == ("Guide", "Install", "path:guide.md")

    @pytest.mark.parametrize("query", ["japan", "spring trip", "travel", "deploy"])
    async def test_titles_tags_and_entry_titles_are_found_by_keywords(
        self, find: Callable[..., Any], query: str
    ) -> None:
        first = (await find(query, mode="keyword")).hits[0]
        assert first.snippet.startswith("We fly" if query != "deploy" else "The staging")

    async def test_scores_are_between_zero_and_one_and_fall(self, find: Callable[..., Any]) -> None:
        result = await find("what did Ada paint?", limit=50)
        scores = [hit.score for hit in result.hits]
        assert scores == sorted(scores, reverse=True)
        assert scores[-1] >= 0 and scores[0] == pytest.approx(result.confidence, abs=1e-3) and scores[0] < 1

    async def test_a_question_about_nothing_stored_scores_lower(self, find: Callable[..., Any]) -> None:
        known, unknown = await find("who bought a red bicycle?"), await find("zeppelin maintenance manual")
        assert known.confidence > 0.8
        assert unknown.confidence < 0.4

    @pytest.mark.parametrize(
        ("asked", "as_well_as"),
        [
            ("zurich", "Zürich"), ("Zu\u0308rich", "Zürich"), ("backoff", "retry_with_backoff"),
            ("timeout", "connectTimeout"), ("bicycel", "bicycle"),
        ],
    )  # fmt: skip
    async def test_what_finds_as_much_is_as_sure(
        self, index: Fails, toy: ToyEmbedder, asked: str, as_well_as: str
    ) -> None:
        """A word without its accents, a part of an identifier and a mistyped word find the passage as well."""
        fill(index, {"a.md": "From Zürich by bicycle: call retry_with_backoff in connectTimeout."}, toy)
        found, other = [await searcher(index, toy).search(each, limit=1, filters=ALL) for each in (asked, as_well_as)]
        assert found.signs["closest"] == other.signs["closest"] == 1.0

    @pytest.mark.parametrize("asked", ["🎉🔥", "?!... ---"])
    async def test_without_a_word_nothing_is_an_answer(self, index: Fails, asked: str) -> None:
        class Blind(ToyEmbedder):
            """As a model to which all texts that it cannot read are the same."""

            def embed_query(self, text: str) -> Any:
                return self.embed_documents(["unknown"])[0]

        fill(index, {"a.md": "unknown", **FILES}, Blind())
        result = await searcher(index, Blind()).search(asked, limit=1, filters=ALL)
        assert result.signs.get("cosine", 1) > 0.4
        assert result.note

    async def test_explain(self, find: Callable[..., Any]) -> None:
        first = (await find("When did Ada paint a lake?", explain=True)).hits[0]
        reason = dict(first.explain)
        assert reason["ranks"]["lexical"] >= 1 and reason["ranks"]["dense"] >= 1
        assert -1 <= reason["cosine"] <= 1
        assert reason["terms"] == ["ada", "paint", "lake"]
        assert reason["boosts"] == {"lead Ada": 0.7, "time": 0.1}
        assert (await find("lake")).hits[0].explain is None

    async def test_explain_names_what_filters_left_out_and_which(self, index: Fails, toy: ToyEmbedder) -> None:
        retired = {
            "old.md": "---\nstatus: archived\n---\nOsaka was wet.",
            "gone.md": "---\nstatus: deleted\n---\nOsaka.",
        }
        fill(index, {**FILES, **retired}, toy)
        made = searcher(index, toy)

        async def told(**filters: Any) -> dict[str, tuple[str, ...]]:
            asked = replace(ALL, **filters)
            found = await made.search("Osaka on Monday", limit=2, filters=asked, mode="keyword", explain=True)
            assert not {each.path for each in found.left_out} & {hit.path for hit in found.hits}
            return {each.path: each.filters for each in found.left_out}

        trip, old = "notes/decision/japan.md", "old.md"
        hidden = ("include_archived=false",)
        assert await told() == {old: hidden}
        assert await told(kinds=frozenset({"log"})) == {trip: ("kinds",), old: ("kinds", *hidden)}
        assert await told(project="work", tags=frozenset({"x"})) == {trip: ("tags", "project"), old: ("tags", *hidden)}
        assert await told(path_prefix="memory", states=frozenset(NoteState)) == {trip: ("path",), old: ("path",)}
        assert await told(since=NOW) == {trip: ("since",), old: ("since", *hidden)}
        assert (await made.search("Osaka", limit=2, filters=ALL)).left_out == ()

    async def test_explain_names_what_the_index_matched_by(self, index: Fails, toy: ToyEmbedder) -> None:
        fill(index, {"a.md": "# Zürich trip\n\nCall retry_with_backoff in connectTimeout from Köln near Basel."}, toy)
        query = "zurich backoff timeout koln trpi"
        first = (await searcher(index, toy).search(query, limit=1, filters=ALL, explain=True)).hits[0]
        assert first.explain and first.explain["terms"] == ["zurich", "backoff", "timeout", "koln"]
        first = (await searcher(index, toy).search("retry baesl", limit=1, filters=ALL, explain=True)).hits[0]
        assert first.explain and first.explain["terms"] == ["retry", "baesl (basel)"]

    async def test_long_chunks_are_cut_short_ones_never(self, index: Fails) -> None:
        text = "zebra " + "word " * 300
        fill(index, {"a.md": text}, None)
        whole = await searcher(index, None).search("zebra", limit=1, filters=ALL)
        assert whole.hits[0].snippet == text.strip()
        cut = Searcher(index, FixedModel(), SearchConfig(snippet_chars=400), lambda: NOW)
        snippet = (await cut.search("zebra", limit=1, filters=ALL)).hits[0].snippet
        assert len(snippet) <= 400 and snippet.endswith("…")


class TestRepeats:
    async def test_ten_copies_are_one_hit(self, index: Fails, toy: ToyEmbedder) -> None:
        copies = {f"copy{number}.md": "The red bicycle stands in the cellar.\n" for number in range(10)}
        others = {f"other{number}.md": f"A bicycle of colour {number}.\n" for number in range(5)}
        fill(index, copies | others, toy)
        hits = (await searcher(index, toy).search("red bicycle cellar", limit=6, filters=ALL)).hits
        assert len(hits) == 6
        assert len({hit.snippet for hit in hits}) == 6

    async def test_the_order_does_not_depend_on_when_something_was_indexed(self, tmp_path: Path) -> None:
        files = {f"n{number}.md": f"The bicycle is red, {'x' * number}.\n" for number in range(9)}
        orders = []
        for name, items in (("a", list(files.items())), ("b", list(files.items())[::-1])):
            toy = ToyEmbedder()
            with closing(SqliteIndex(tmp_path / name)) as index:
                fill(index, dict(items), toy)
                result = await searcher(index, toy).search("red bicycle", limit=9, filters=ALL)
                orders.append([(hit.path, hit.score) for hit in result.hits])
        assert orders[0] == orders[1]


class TestModes:
    async def test_keyword_mode_needs_no_model_and_is_complete(self, index: Fails) -> None:
        fill(index, FILES, None)
        result = await searcher(index, None).search("red bicycle", limit=3, filters=ALL, mode="keyword")
        assert result.degraded is None and result.hits

    async def test_semantic_mode_asks_for_no_words(self, find: Callable[..., Any], index: Fails) -> None:
        index.broken = frozenset({"lexical", "section"})
        result = await find("red bicycle", mode="semantic")
        assert result.hits and result.degraded is None

    async def test_vectors_of_another_model_are_not_compared(self, index: Fails, toy: ToyEmbedder) -> None:
        fill(index, FILES, toy)
        result = await searcher(index, ToyEmbedder("other")).search("red bicycle", limit=3, filters=ALL)
        assert result.hits and "still being made" in str(result.degraded)

    async def test_passages_without_a_vector_are_mentioned(self, index: Fails, toy: ToyEmbedder) -> None:
        fill(index, FILES, toy)
        active = index.generations()[0]
        index.apply(active.number, [upsert("new.md", "A blue bicycle.\n")])
        result = await searcher(index, toy).search("blue bicycle", limit=3, filters=ALL)
        assert result.hits[0].path == "new.md"
        assert result.degraded is None  # one that was just written has its vector in a moment
        index.apply(active.number, [upsert(f"{at}.md", f"Bicycle number {at}.\n") for at in range(64)])
        result = await searcher(index, toy).search("blue bicycle", limit=3, filters=ALL)
        assert result.degraded == "65 passages have no vector yet"


class TestFaults:
    @pytest.mark.parametrize("broken", ["lexical", "section", "dense"])
    async def test_one_broken_retriever_makes_the_answer_poorer(
        self, find: Callable[..., Any], index: Fails, broken: str
    ) -> None:
        index.broken = frozenset({broken})
        result = await find("who bought a red bicycle?")
        assert result.hits[0].snippet == "- Bob: I bought a red bicycle."
        assert f"{broken} is broken" in str(result.degraded)

    async def test_with_no_retriever_at_all_there_is_an_error(self, find: Callable[..., Any], index: Fails) -> None:
        index.broken = frozenset({"lexical", "section", "dense"})
        with pytest.raises(IndexUnavailable):
            await find("red bicycle")

    async def test_hanging_retrievers_do_not_stop_the_others(self, index: Fails, toy: ToyEmbedder) -> None:
        fill(index, FILES, toy)
        index.hanging = threading.Event()
        made = searcher(index, toy, deadline_s=0.2)
        try:
            for _ in range(3):  # more than look at once
                late = await made.search("red bicycle", limit=3, filters=ALL)
                assert late.hits and "took longer than 0.2 s" in str(late.degraded)
            found = await made.search("red bicycle", limit=3, filters=ALL, mode="keyword")
            assert found.hits and not found.degraded
        finally:
            index.hanging.set()
        assert not (await made.search("red bicycle", limit=3, filters=ALL)).degraded


class TestFilters:
    @pytest.mark.parametrize(
        ("filters", "name"),
        [
            (replace(ALL, kinds=frozenset({"skill"})), "kinds"),
            (replace(ALL, tags=frozenset({"food"})), "tags"),
            (replace(ALL, path_prefix="nowhere/"), "path"),
            (replace(ALL, session="s1"), "session"),
            (replace(ALL, since=NOW + timedelta(days=1)), "since"),
            (replace(ALL, until=NOW - timedelta(days=9999)), "until"),
        ],
    )
    async def test_the_filter_that_emptied_the_set_is_named(
        self, find: Callable[..., Any], filters: Filters, name: str
    ) -> None:
        result = await find("red bicycle", filters=filters)
        assert result.hits == () and result.confidence == 0
        assert result.note == f"no note passes the filter {name}; without it there are some"

    async def test_filters_that_contradict_each_other(self, find: Callable[..., Any]) -> None:
        both = replace(ALL, kinds=frozenset({"skill"}), tags=frozenset({"food"}))
        assert (await find("bicycle", filters=both)).note == "no note passes these filters together"

    async def test_no_such_words(self, find: Callable[..., Any]) -> None:
        assert (await find("zeppelin", mode="keyword")).note == "no passage has any of these words"

    async def test_an_empty_memory(self, index: Fails, toy: ToyEmbedder) -> None:
        index.activate(index.begin("x", toy.fingerprint, toy.dimension).number, None)
        assert (await searcher(index, toy).search("x", limit=3, filters=ALL)).note == "nothing is stored yet"

    async def test_only_archived_notes(self, index: Fails, toy: ToyEmbedder) -> None:
        fill(index, {"_archive/old.md": "A red bicycle.\n"}, toy)
        made = searcher(index, toy)
        assert "include_archived" in str((await made.search("bicycle", limit=3, filters=ALL)).note)
        wide = Filters(states=frozenset({NoteState.ACTIVE, NoteState.ARCHIVED}))
        assert len((await made.search("bicycle", limit=3, filters=wide)).hits) == 1


class TestWeakAnswers:
    async def test_they_are_marked(self, find: Callable[..., Any]) -> None:
        weak = await find("zebra zeppelin zoo marathon")
        assert weak.hits and weak.confidence < 0.18
        assert weak.note == "weak: probably nothing that is stored answers this"
        assert (await find("who bought a red bicycle?")).note is None

    async def test_how_many_hits_are_wanted_changes_nothing(self, find: Callable[..., Any]) -> None:
        assert len({(await find("red bicycle at sunrise", limit=limit)).confidence for limit in (1, 2, 9)}) == 1


class TestAnyQuestion:
    async def test_only_stop_words_are_looked_for_after_all(self, find: Callable[..., Any]) -> None:
        assert (await find("then the to", mode="keyword")).hits


class Asked(SqliteIndex):
    """A real index that counts how often its retrievers are asked."""

    retrievers = 0

    def lexical(self, terms: Sequence[str], k: int, filters: Filters, *, by: LexicalRanking = "chunk") -> ScoredRows:
        self.retrievers += by == "chunk"
        return super().lexical(terms, k, filters, by=by)

    def dense(self, vector: Any, k: int, filters: Filters) -> ScoredRows:
        self.retrievers += 1
        return super().dense(vector, k, filters)


async def test_a_question_asked_again_costs_no_retriever_until_the_index_changes(tmp_path: Path) -> None:
    with closing(Asked(tmp_path / "index")) as index:
        fill(index, {"a.md": "violet teapot\n"}, ToyEmbedder())
        made = searcher(index, ToyEmbedder())
        first = await made.search("violet teapot", limit=5, filters=ALL)
        assert index.retrievers == 2
        again = await made.search("violet teapot", limit=5, filters=replace(ALL, now=datetime.now(UTC)))
        assert index.retrievers == 2 and again.hits == first.hits
        await made.search("violet teapot", limit=5, filters=replace(ALL, path_prefix="b"))
        assert index.retrievers == 4
        index.apply(index.generations()[0].number, [upsert("b.md", "another violet teapot\n")])
        now = await made.search("violet teapot", limit=5, filters=ALL)
        assert index.retrievers == 6 and {hit.path for hit in now.hits} == {"a.md", "b.md"}


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("handleDeliveryWebhook", "snake.md"), ("why was handleDeliveryWebhook slow?", "snake.md"),
        ("retry_booking_sync", "humps.md"), ("RETRY_BOOKING_SYNC", "humps.md"), ("renewParkingPermit", "words.md"),
    ],
)  # fmt: skip
async def test_an_identifier_is_found_however_it_is_written(tmp_path: Path, asked: str, found: str) -> None:
    files = {
        "snake.md": "`handle_delivery_webhook` took too long.\n", "humps.md": "`retryBookingSync` ran twice.\n",
        "words.md": "To renew a parking permit, call the office.\n", "other.md": "The delivery took long.\n",
    }  # fmt: skip
    with closing(SqliteIndex(tmp_path / "index")) as index:
        fill(index, files, None)
        made = searcher(index, None)
        answer = await made.search(asked, limit=5, filters=ALL)
        assert answer.hits[0].path == found
        assert found == "words.md" or answer.confidence > 0.5
        without = await searcher(index, None, respelled_terms=0).search(asked, limit=5, filters=ALL)
        assert found not in [hit.path for hit in without.hits]
        lower = await made.search(asked.lower().replace("_", ""), limit=5, filters=ALL)
        assert (await made.search(asked, limit=5, filters=ALL)).hits == answer.hits, "remembered apart"
        assert found not in [hit.path for hit in lower.hits] or found == "humps.md"


async def test_a_remembered_answer_loses_a_note_that_expires(tmp_path: Path) -> None:
    with closing(Asked(tmp_path / "index")) as index:
        expiring = "---\nexpires_at: 2026-01-02T00:00:00+00:00\n---\nviolet teapot\n"
        fill(index, {"a.md": expiring, "b.md": "violet kettle\n"}, ToyEmbedder())
        made = searcher(index, ToyEmbedder())
        paths: list[set[str]] = []
        for day in (1, 3):
            found = await made.search("violet", limit=5, filters=replace(ALL, now=datetime(2026, 1, day, tzinfo=UTC)))
            paths.append({hit.path for hit in found.hits})
        assert paths == [{"a.md", "b.md"}, {"b.md"}] and index.retrievers == 2


async def test_who_is_named_counts_also_where_the_vectors_are_another_models(index: Fails, toy: ToyEmbedder) -> None:
    fill(index, FILES, toy)
    found = await searcher(index, ToyEmbedder("another")).search(
        "What did Ada paint?", limit=6, filters=ALL, explain=True
    )
    assert "still being made" in found.degraded
    assert found.hits[0].explain["boosts"].get("lead Ada") == 0.7


class TestPassages:
    def test_what_is_embedded(self) -> None:
        log, note = upsert("memory/2023-05-08.md", LOG), upsert("notes/decision/japan.md", TRIP)
        assert log.chunks[0].embedded_text == "- Ada: I painted a lake at sunrise last year."
        assert note.chunks[0].embedded_text == "japan > Japan trip in spring > travel\nWe fly to Osaka on Monday."
        assert upsert("guide.md", GUIDE).chunks[1].embedded_text.startswith("guide > Guide > Install\nRun the")
        talk = upsert("talk.md", "## 2023-05-08\n\n- Ada (9:00): Tea?\n- Bob: No.\n- Ada: Why?\n- Bob: It is late.\n")
        assert [each.embedded_text for each in talk.chunks][:2] == ["- Ada (9:00): Tea?", "- Bob: No."]
        assert set(talk.places.values()) == {"2023-05-08"}


@pytest.mark.parametrize("voice", ["voice: said\n", ""], ids=["made of a session", "somebody's own"])
async def test_a_statement_stands_for_the_words_that_it_was_made_of(
    tmp_path: Path, toy: ToyEmbedder, voice: str
) -> None:
    said = "> " + "Long after the fair we talked about harbours, cranes and the price of salt. " * 12
    note = f"---\nkind: decision\n{voice}---\n\nThe lift is rented by the week.\n\n{said}\n"
    with closing(SqliteIndex(tmp_path / "index")) as index:
        fill(index, {"a.md": note}, toy)
        hits = (await searcher(index, toy).search("harbours, salt", limit=5, filters=ALL, mode="keyword")).hits
    assert [hit.snippet.partition(" ")[0] for hit in hits] == (["The"] if voice else [">", "The"])


async def test_meaning_is_found_without_a_common_word(tmp_path: Path, model_cache: Path) -> None:
    """The real model: the question shares no word with its answer."""
    files = {
        "a.md": "The physician prescribed antibiotics for her throat infection.\n",
        "b.md": "The harvest of apples was poor because of late frost.\n",
        "c.md": "Our compiler emits slower code for nested loops.\n",
    }
    embedder = open_embedder(EmbedderConfig(), model_cache)
    with closing(embedder), closing(SqliteIndex(tmp_path / "index")) as index:
        fill(index, files, embedder)
        made = searcher(index, embedder)
        for query, path in {"which doctor treats illness": "a.md", "bad fruit crop due to cold": "b.md"}.items():
            assert (await made.search(query, limit=1, filters=ALL, mode="semantic")).hits[0].path == path
            assert (await made.search(query, limit=1, filters=ALL)).hits[0].path == path


async def test_the_index_is_read_once_there_was_a_sweep_and_one_that_fails_ends_nothing(
    index: Fails, toy: ToyEmbedder, caplog: pytest.LogCaptureFixture
):
    fill(index, FILES, toy)
    index.broken = frozenset({"dense"})
    swept = anyio.Event()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(searcher(index, toy).warm, swept)
        await anyio.wait_all_tasks_blocked()
        assert not caplog.records
        swept.set()
    assert "not in memory yet: index_unavailable" in caplog.text
    index.broken = frozenset()
    caplog.clear()
    await searcher(index, toy).warm(swept)
    assert not caplog.records
