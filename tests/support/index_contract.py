"""What every index engine must do, as tests: subclass `IndexContract` and override the `index` fixture.

    class TestMyEngine(IndexContract):
        @pytest.fixture
        def index(self, tmp_path):
            engine = MyEngine(tmp_path)
            yield engine
            engine.close()

What changes, generations and vectors make of each other, `tests/index/test_index_model.py` compares with a plain model.
Scores are never compared between engines, only their order where the order is certain. Needs pytest.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta, timezone
from threading import Thread
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from mcp_memory.errors import InvalidInput, NotFound, PreconditionFailed, Refused
from mcp_memory.index.base import Delete, Generation, Index, IndexedChunk, Upsert
from mcp_memory.models import (
    IMPORTED_ID,
    NO_PROJECT,
    Chunk,
    Conflict,
    Etag,
    Filters,
    NoteId,
    NotePath,
    NoteRecord,
    NoteState,
    PrivateMarks,
    Scored,
    TextHash,
)
from mcp_memory.text.markdown.note_links import note_links

if TYPE_CHECKING:
    from mcp_memory.models import Vectors

DIMENSION = 16
EVERY_STATE = Filters(states=frozenset(NoteState))
COSINE_TOLERANCE = 0.02
"""An engine may round vectors to 8 bits."""

NASTY_TERMS = [
    "", " ", "\0", "a\0b", '"', '""', "'", "*", "alpha*", "-alpha", "NEAR", "NEAR(a b)", "AND", "OR", "NOT",
    "body:alpha", "{body}: alpha", "^alpha", "(", ")", "a:b", "%", "_", "\\", "\ud800", "alpha\udcff", "🙂", "❤️",
    "é", "e\u0301", "İ", "記", "記憶", "記憶管理の方法", "한국어", "ไทย", "हिन्दी", "+", "++", "C++", ";", "--", "/*",
    "x" * 5000, "\u200b", "\u0000\u0000",
]  # fmt: skip


def text_hash(text: str) -> TextHash:
    return TextHash(hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest())


def vector_of(text: str, dimension: int = DIMENSION) -> Vectors:
    """A unit vector that only the text decides; shape (dimension,)."""
    seed = int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:8], "big")
    vector = np.random.default_rng(seed).standard_normal(dimension)
    return (vector / np.linalg.norm(vector)).astype(np.float32)


def make_note(path: str, **values: Any) -> NoteRecord:
    """A record with sensible values for all that is not given."""
    given: dict[str, Any] = {
        "path": NotePath(path), "id": NoteId(f"path:{path}"), "etag": Etag("0" * 64), "signature": "s", "title": path,
        "kind": "note", "state": NoteState.ACTIVE, **values,
    }  # fmt: skip
    return NoteRecord(**given)


def make_upsert(path: str, texts: Sequence[str], *, per_section: int = 2, **values: Any) -> Upsert:
    """A note of these chunks, `per_section` of them under each heading."""
    chunks: list[IndexedChunk] = []
    start = 0
    for at, text in enumerate(texts):
        place = (start, start + len(text), at + 1, at + 1)
        chunk = Chunk(text, *place, headings=("Top", f"Part {at // per_section}"), section=at // per_section)
        chunks.append(IndexedChunk(chunk, text, text_hash(text)))
        start += len(text) + 1
    places = {chunk.chunk.section: " ".join(chunk.chunk.headings) for chunk in chunks}
    return Upsert(make_note(path, **values), chunks, places)


def linking(path: NotePath, text: str, **values: Any) -> Upsert:
    """A note with this one text, and its links."""
    return replace(make_upsert(path, [text], **values), links=note_links(text, 0, path))


def embed_all(index: Index, generation: int, dimension: int = DIMENSION) -> None:
    """Give every waiting text its vector, a few at a time."""
    while waiting := index.missing_vectors(generation, 7):
        vectors = np.stack([vector_of(text, dimension) for _, text in waiting])
        index.put_vectors(generation, [key for key, _ in waiting], vectors)


def start(index: Index, changes: Sequence[Upsert | Delete] = (), *, name: str = "first") -> Generation:
    """An active generation with these changes and all their vectors."""
    generation = index.begin(name, f"model of {name}", DIMENSION)
    index.apply(generation.number, changes)
    embed_all(index, generation.number)
    active = next((known.number for known in index.generations() if known.active), None)
    index.activate(generation.number, active)
    return generation


def texts_of(index: Index, scored: Iterable[Scored]) -> list[str]:
    """The chunks' texts, in the order of the ranking."""
    passages = index.get([row.chunk_id for row in scored])
    return [passages[row.chunk_id].chunk.text for row in scored]


def _paths_found(index: Index, filters: Filters) -> dict[str, set[str]]:
    """Per retriever, the notes in which `alpha` is found."""
    found = {
        "lexical": index.lexical(["alpha"], 100, filters),
        "section": index.lexical(["alpha"], 100, filters, by="section"),
        "dense": index.dense(vector_of("alpha"), 100, filters),
    }
    return {
        retriever: {str(passage.note.path) for passage in index.get([row.chunk_id for row in rows]).values()}
        for retriever, rows in found.items()
    }


class IndexContract:
    """Each test starts from an empty index."""

    @pytest.fixture
    def index(self) -> Iterator[Index]:
        raise NotImplementedError("override this fixture with one that yields an empty engine and closes it")

    # -- generations -------------------------------------------------------------------------------------------
    def test_an_empty_index_answers_nothing(self, index: Index) -> None:
        assert index.generations() == []
        assert list(index.lexical(["alpha"], 5, Filters())) == []
        assert list(index.lexical(["alpha"], 5, Filters(), by="section")) == []
        assert list(index.dense(vector_of("alpha"), 5, Filters())) == []
        assert index.get([1, -1, 1 << 70]) == {}
        assert index.notes(Filters()) == []
        assert index.note(NotePath("a.md")) is None
        assert index.find_notes("content_hash", "") == []
        assert index.passages(NotePath("a.md")) == []
        assert index.frequencies(["alpha"]) == {"alpha": 0}
        assert index.watermark().notes == 0

    def test_a_generation_answers_only_once_it_is_active(self, index: Index) -> None:
        first = start(index, [make_upsert("a.md", ["alpha one"])])
        second = index.begin("second", "other model", DIMENSION)
        index.apply(second.number, [make_upsert("b.md", ["alpha two"])])
        assert texts_of(index, index.lexical(["alpha"], 5, Filters())) == ["alpha one"]
        with pytest.raises(PreconditionFailed):
            index.activate(second.number, None)
        index.activate(second.number, first.number)
        assert texts_of(index, index.lexical(["alpha"], 5, Filters())) == ["alpha two"]
        assert [known.active for known in index.generations()] == [False, True]

    def test_begin_goes_on_with_an_interrupted_build(self, index: Index) -> None:
        first = index.begin("same", "model", DIMENSION)
        index.apply(first.number, [make_upsert("a.md", ["alpha"])])
        assert index.begin("same", "model", DIMENSION) == first
        assert [record.path for record in index.scan(first.number)] == ["a.md"]

    def test_drop_removes_all_but_the_active_one(self, index: Index) -> None:
        first = start(index, [make_upsert("a.md", ["alpha"])])
        second = index.begin("second", "model", DIMENSION)
        with pytest.raises(Refused):
            index.drop(first.number)
        index.drop(second.number)
        assert [known.number for known in index.generations()] == [first.number]
        with pytest.raises(NotFound):
            index.apply(second.number, [])
        assert index.begin("third", "model", DIMENSION).number not in {first.number, second.number}

    def test_another_model_shares_no_vector(self, index: Index) -> None:
        start(index, [make_upsert("a.md", ["alpha"])])
        other = index.begin("other", "another model", 2 * DIMENSION)
        index.apply(other.number, [make_upsert("a.md", ["alpha"])])
        assert len(index.missing_vectors(other.number, 10)) == 1
        embed_all(index, other.number, 2 * DIMENSION)
        index.activate(other.number, index.generations()[0].number)
        best = index.dense(vector_of("alpha", 2 * DIMENSION), 5, Filters())
        assert next(iter(best)).score == pytest.approx(1.0, abs=COSINE_TOLERANCE)

    # -- writing -----------------------------------------------------------------------------------------------

    def test_a_phrase_under_when_is_near_and_no_chunk(self, index: Index) -> None:
        told = make_upsert("a.md", ["alpha", "beta"], meta={"when": ["gamma", "delta"]})
        start(index, [told, make_upsert("b.md", ["gamma"]), make_upsert("c.md", [], meta={"when": ["gamma"]})])
        before = index.mean_vectors([NotePath("a.md")])
        (row,) = index.near_phrases(vector_of("gamma"), 1, Filters())
        assert row.text == "gamma" and row.cosine == pytest.approx(1.0, abs=COSINE_TOLERANCE)
        assert texts_of(index, [Scored(row.chunk_id, row.cosine)]) == ["alpha"], "the note's first chunk"
        assert len(index.near_phrases(vector_of("gamma"), 9, Filters())) == 2
        assert len(texts_of(index, index.dense(vector_of("gamma"), 9, Filters()))) == 3
        index.apply(index.generations()[0].number, [make_upsert("a.md", ["alpha", "beta"])])
        assert index.near_phrases(vector_of("gamma"), 9, Filters()) == []
        assert np.array_equal(index.mean_vectors([NotePath("a.md")]), before)

    def test_a_forgotten_note_is_known_but_has_no_chunk(self, index: Index) -> None:
        start(index, [make_upsert("a.md", ["alpha"], id="X", state=NoteState.DELETED)])
        assert [record.state for record in index.note_by_id(NoteId("X"))] == [NoteState.DELETED]
        assert index.passages(NotePath("a.md")) == []
        assert not any(_paths_found(index, EVERY_STATE).values())
        assert index.frequencies(["alpha"]) == {"alpha": 0}

    def test_a_failed_apply_changes_nothing(self, index: Index) -> None:
        generation = start(index, [make_upsert("a.md", ["alpha"])])
        before = index.watermark()
        with pytest.raises(NotFound):
            index.apply(generation.number + 99, [make_upsert("a.md", ["beta"])])
        wrong: Vectors = np.full((1, DIMENSION), np.nan, dtype=np.float32)
        with pytest.raises(InvalidInput):
            index.put_vectors(generation.number, [text_hash("alpha")], wrong)
        with pytest.raises(InvalidInput):
            index.put_vectors(generation.number, [text_hash("alpha")], np.ones((1, 3), dtype=np.float32))
        assert index.watermark() == before

    def test_purge_forgets_the_embeddings_of_what_is_gone(self, index: Index) -> None:
        generation = start(index, [make_upsert("a.md", ["alpha", "beta"]), make_upsert("b.md", ["beta"])])
        index.apply(generation.number, [Delete(NotePath("a.md"))])
        index.purge()
        assert texts_of(index, index.lexical(["beta"], 9, Filters())) == ["beta"]
        assert texts_of(index, index.dense(vector_of("beta"), 9, Filters())) == ["beta"]
        index.apply(generation.number, [make_upsert("a.md", ["alpha", "beta"])])
        assert [text for _, text in index.missing_vectors(generation.number, 9)] == ["alpha"]

    # -- what comes back ---------------------------------------------------------------------------------------
    def test_records_and_chunks_come_back_as_they_were_given(self, index: Index) -> None:
        meta: Mapping[str, Any] = {
            "moment": datetime(2026, 3, 29, 2, 30, tzinfo=timezone(timedelta(hours=2))), "day": date(2026, 1, 1),
            "list": [1, 2.5, None, True, {"deep": ["é", "\ud800"]}], "$time": "text", "dict": {1: "one", "$x": 2},
        }  # fmt: skip
        upsert = make_upsert(
            "ünï/c öde.md", ["one\0two", "\ud83d lone", "日本語"], id="01ABC", etag="e", signature="sig",
            title="T\ud800", kind="fix", state=NoteState.ARCHIVED, project="p", tags=("b", "a"), session="s",
            source="cli",
            created=datetime(2026, 1, 1, tzinfo=UTC), updated=datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC),
            expires_at=datetime(9999, 12, 31, tzinfo=UTC), always_load=True, content_hash="c", is_log=True,
            problem="broken", meta=meta,
        )  # fmt: skip
        start(index, [upsert])
        path = upsert.note.path
        assert index.note(path) == upsert.note
        assert index.note_by_id(NoteId("01ABC")) == [upsert.note]
        passages = index.passages(path)
        assert [passage.chunk for passage in passages] == [indexed.chunk for indexed in upsert.chunks]
        assert [passage.ordinal for passage in passages] == [0, 1, 2]
        assert index.get([passage.chunk_id for passage in passages]) == {
            passage.chunk_id: passage for passage in passages
        }

    def test_ids_of_a_note_follow_each_other_and_none_is_used_twice(self, index: Index) -> None:
        generation = start(index, [make_upsert("a.md", ["one", "two", "three"]), make_upsert("b.md", ["four"])])
        one, two, three = (passage.chunk_id for passage in index.passages(NotePath("a.md")))
        (four,) = (passage.chunk_id for passage in index.passages(NotePath("b.md")))
        assert (two, three) == (one + 1, one + 2)
        assert four not in {one - 1, three + 1}
        index.apply(generation.number, [make_upsert("a.md", ["one", "two", "three"])])
        assert {passage.chunk_id for passage in index.passages(NotePath("a.md"))}.isdisjoint({one, two, three, four})

    def test_ids_are_found_by_their_end(self, index: Index) -> None:
        entry = Chunk("x", 0, 1, 1, 1, ("10:00",), entry="c3b34ae24b31c916", time="10:00")
        log = make_upsert(
            "memory/2026-01-01.md", ["x"], kind="log", is_log=True, meta={"forgotten": ["ffff00004b31c916"]}
        )
        start(
            index,
            [
                make_upsert("a.md", ["4b31c916"], id="01KBZ0000000000000004K7Q2M"),
                make_upsert("b.md", ["x"], id="01KBZ0000000000000004K7Q2M", state=NoteState.ARCHIVED),
                make_upsert("c.md", ["x"], id="01KBZ00000000000000ABK7Q2M", state=NoteState.DELETED),
                replace(log, chunks=[replace(log.chunks[0], chunk=entry)]),
            ],
        )
        assert index.find_ids("4k7q2m") == ["01KBZ0000000000000004K7Q2M"]
        assert index.find_ids("K7Q2M") == ["01KBZ0000000000000004K7Q2M", "01KBZ00000000000000ABK7Q2M"]
        assert index.find_ids("E24B31C916") == ["memory/2026-01-01.md#c3b34ae24b31c916"]
        assert index.find_ids("4b31c916") == [f"memory/2026-01-01.md#{h}4b31c916" for h in ("c3b34ae2", "ffff0000")]
        assert index.find_ids("4K7Q2") == index.find_ids("000000") == []

    def test_notes_are_found_by_id_content_and_order(self, index: Index) -> None:
        day = datetime(2026, 1, 1, tzinfo=UTC)
        same: dict[str, Any] = {"content_hash": "c", "kind": "fact", "project": "p"}
        generation = start(
            index,
            [
                make_upsert("b.md", ["x"], id="X", updated=day, **same),
                make_upsert("a.md", ["x"], id="X", created=day + timedelta(days=1), **same),
                make_upsert("c.md", ["x"], content_hash="c", kind="fact"),
                make_upsert("d.md", ["x"], id="Y", state=NoteState.ARCHIVED, updated=day, **same),
            ],
        )
        assert [record.path for record in index.note_by_id(NoteId("X"))] == ["a.md", "b.md"]
        assert [record.path for record in index.find_content("c", "fact", "p")] == ["a.md", "b.md"]
        assert [record.path for record in index.find_content("c", "fact", None)] == ["c.md"]
        assert index.find_content("c", "fix", "p") == []
        assert [record.path for record in index.find_notes("content_hash", "c")] == ["a.md", "b.md", "c.md", "d.md"]
        for value in ("c'", "c%", "a.md\0", "\ud800"):
            assert index.find_notes("path", value) == index.find_notes("id", value) == []
            assert index.find_notes("content_hash", value) == []
        assert [record.path for record in index.notes(EVERY_STATE)] == ["a.md", "d.md", "b.md", "c.md"]
        assert [record.path for record in index.notes(EVERY_STATE, limit=1)] == ["a.md"]
        assert [record.path for record in index.scan(generation.number, NotePath("a.md"), 2)] == ["b.md", "c.md"]

    def test_short_notes_are_found_by_their_whole_text(self, index: Index) -> None:
        long = "Kiln, glaze, port, deploy, friday, region, build, cache, queue and index."
        texts = {"a.md": ["ok then"], "b.md": [long], "c.md": ["ok", long], "d.md": ["größe"]}
        start(index, [make_upsert(path, found) for path, found in texts.items()])
        assert [record.path for record in index.short_notes(EVERY_STATE, 7)] == ["d.md", "a.md"]
        assert [record.path for record in index.short_notes(EVERY_STATE, 7, limit=1)] == ["d.md"]
        assert index.short_notes(EVERY_STATE, 6) == []

    def test_imported_private_and_muted_notes_can_be_left_out(self, index: Index) -> None:
        foreign: dict[str, dict[str, Any]] = {
            "imported/x/a.md": {},
            "Agent/imported/x/b.md": {},
            "moved.md": {"id": f"{IMPORTED_ID}X1"},
            "@docs/c.md": {},
        }
        private: dict[str, dict[str, Any]] = {
            "head.md": {"meta": {"private": True}}, "private/a.md": {}, "notes/private/b.md": {}, "health/a.md": {},
            "kind.md": {"kind": "diary"}, "tag.md": {"tags": ("money", "x")},
        }  # fmt: skip
        muted: dict[str, dict[str, Any]] = {
            "muted.md": {"meta": {"muted": ["*"]}}, "muted-in-api.md": {"meta": {"muted": ["web", "api"]}},
        }  # fmt: skip
        own: dict[str, dict[str, Any]] = {
            "a.md": {"title": '"private":true'}, "private.md": {}, "notes/health/a.md": {}, "importedx/a.md": {},
            "memory/2026-01-01.md": {"is_log": True, "tags": ("money",)}, "tags.md": {"tags": ("moneys",)},
        }  # fmt: skip
        group: dict[str, dict[str, Any]] = {"group.md": {"project": "channel:chat:group:1"}}
        other: dict[str, dict[str, Any]] = {"other.md": {"project": "session:b"}}
        pages: dict[str, dict[str, Any]] = {
            "topics/1/_summary.md": {"state": NoteState.SUMMARY},
            "own/_summary.md": {"state": NoteState.SUMMARY, "project": "session:a"},
        }
        session: dict[str, dict[str, Any]] = {"session.md": {"project": "session:a"}} | other
        alone = Filters(frozenset({NoteState.ACTIVE, NoteState.SUMMARY}), own="session:a")
        notes = foreign | private | muted | own | group | session | pages
        everything = {*notes} - {*pages}
        start(index, [make_upsert(path, ["alpha"], **values) for path, values in notes.items()])
        marks = PrivateMarks(("private/", "/health/"), frozenset({"diary"}), frozenset({"money"}))
        for filters, wanted in (
            (Filters(foreign=True), {*foreign}),
            (Filters(foreign=False), {*private, *muted, *own, *group, *session}),
            (Filters(private=marks), {*foreign, "muted-in-api.md", *own, *session}),
            (Filters(private=PrivateMarks()), everything - {"head.md", "muted.md", *group}),
            (Filters(private=PrivateMarks(), project="api"), everything - {"head.md", *muted, *group, *session}),
            (Filters(project="api"), everything - {*group, *session}),
            (Filters(project="web", aliases=frozenset({"api"})), everything - {*group, *session}),
            (
                Filters(private=PrivateMarks(), project="web", aliases=frozenset({"api"})),
                everything - {"head.md", *muted, *group, *session},
            ),
            (alone, {*notes} - {*other, "topics/1/_summary.md"}),
            (replace(alone, project=NO_PROJECT), {*notes} - {*other, *group, "topics/1/_summary.md"}),
            (replace(alone, project="session:b"), {*notes} - {*other, *group, "topics/1/_summary.md"}),
            (replace(alone, own=""), everything - {*session}),
            (replace(alone, granted=frozenset({"topics/1", "other.md"})), {*notes}),
            (Filters(project="web", granted=frozenset({"group.md"})), everything - {*session}),
            (
                Filters(project="channel:chat:group:1", granted=frozenset({"notes", "private/a.md"})),
                {*group, "notes/private/b.md", "notes/health/a.md", "private/a.md"},
            ),
            (Filters(project="channel:chat:group:1"), {*group}),
            (Filters(project="channel:chat:group:1", private=marks), {*group}),
            (Filters(project="channel:chat:group:2"), set()),
            (Filters(foreign=False, private=marks), {"muted-in-api.md", *own, *session}),
        ):
            assert {str(note.path) for note in index.notes(filters)} == wanted
            assert {path for path, values in notes.items() if filters.admits(make_note(path, **values))} == wanted
            assert all(found == wanted for found in _paths_found(index, filters).values())
            assert index.frequencies(["alpha", "beta"], filters) == {"alpha": len(wanted), "beta": 0}
            assert index.count_chunks(filters) == len(wanted)

    def test_notes_are_chosen_by_their_authors(self, index: Index) -> None:
        notes: dict[str, dict[str, Any]] = {
            "alice.md": {"source": "alice"}, "bob.md": {"source": "bob"},
            "quoted.md": {"title": '"voice":', "source": "bob"},
            "memory/2026-01-01.md": {"is_log": True},
        }  # fmt: skip
        common: dict[str, dict[str, Any]] = {
            "person.md": {}, "cli.md": {"source": "cli"}, "home/shared/plan.md": {"source": "bob"},
            "said.md": {"source": "bob", "meta": {"voice": "said"}}, "imported/x/a.md": {"source": "bob"},
        }  # fmt: skip
        start(index, [make_upsert(path, ["alpha"], **values) for path, values in (notes | common).items()])
        persons = frozenset({None, "cli"})
        for filters, wanted in (
            (Filters(authors=frozenset({"alice"})), {"alice.md", "memory/2026-01-01.md"}),
            (
                Filters(authors=persons | {"alice"}, shared="home/shared"),
                {"alice.md", "memory/2026-01-01.md", *common},
            ),
            (Filters(authors=persons), {"memory/2026-01-01.md", *common} - {"home/shared/plan.md"}),
        ):
            assert {str(note.path) for note in index.notes(filters)} == wanted
            both = notes | common
            assert {path for path, values in both.items() if filters.admits(make_note(path, **values))} == wanted
            assert all(found == wanted for found in _paths_found(index, filters).values())

    # -- keywords ----------------------------------------------------------------------------------------------
    def test_a_chunk_outranks_its_neighbour_and_a_repeated_word_a_single_one(self, index: Index) -> None:
        filler = ["one two three", "four five six", "seven eight nine", "ten eleven twelve"]
        start(index, [make_upsert("a.md", ["alpha in here", *filler]), make_upsert("b.md", filler)])
        ranked = index.lexical(["alpha"], 9, Filters())
        assert texts_of(index, ranked) == ["alpha in here", *texts_of(index, ranked)[1:]]
        assert len(ranked) == 3, "the chunk and the two that have it in their context"
        assert [row.score for row in ranked] == sorted((row.score for row in ranked), reverse=True)
        assert all(row.score > 0 for row in ranked)

    def test_word_forms_accents_and_case_are_folded(self, index: Index) -> None:
        start(index, [make_upsert("a.md", ["The runners were Running to the Café"])])
        for term in ("run", "RUNS", "running", "cafe", "CAFÉ", "cafe\u0301"):
            assert len(index.lexical([term], 9, Filters())) == 1, term
        assert index.frequencies(["runs", "café", "tea"]) == {"runs": 1, "café": 1, "tea": 0}

    def test_frequencies_count_chunks_not_contexts(self, index: Index) -> None:
        start(index, [make_upsert("a.md", ["alpha alpha", "alpha", "beta"])])
        assert index.frequencies(["alpha", "beta", "snake_case", ""]) == {
            "alpha": 2, "beta": 1, "snake_case": 0, "": 0,
        }  # fmt: skip

    def test_chunks_of_one_section_share_a_number(self, index: Index) -> None:
        start(index, [make_upsert("a.md", ["a", "b", "c"]), make_upsert("b.md", ["d"])])
        ids = [passage.chunk_id for path in ("a.md", "b.md") for passage in index.passages(NotePath(path))]
        a, b, c, d, unknown = index.section_numbers(np.array([*ids, 1 << 60])).tolist()
        assert a == b and len({a, c, d, unknown}) == 4 and unknown == -1
        assert index.section_numbers(np.empty(0, dtype=np.int64)).tolist() == []

    def test_a_compound_term_is_a_phrase(self, index: Index) -> None:
        start(index, [make_upsert("a.md", ["call read_file now"]), make_upsert("b.md", ["file that I read"])])
        assert texts_of(index, index.lexical(["read_file"], 9, Filters())) == ["call read_file now"]
        assert texts_of(index, index.lexical(["read-file"], 9, Filters())) == ["call read_file now"]

    def test_nothing_in_a_term_is_syntax(self, index: Index) -> None:
        start(index, [make_upsert("a.md", ["alpha beta", "near and or not body"])])
        for term in NASTY_TERMS:
            for terms in ([term], [term, "alpha"]):
                index.lexical(terms, 5, Filters())
                index.lexical(terms, 5, Filters(), by="section")
                assert list(index.frequencies(terms)) == terms
            assert texts_of(index, index.lexical([term, "alpha"], 5, Filters())), term
        assert texts_of(index, index.lexical(["*"], 5, Filters())) == []
        assert len(index.lexical([f"word{number}" for number in range(3000)] + ["alpha"], 5, Filters())) <= 5

    def test_scripts_without_blanks_are_found_inside_a_run(self, index: Index) -> None:
        texts = [
            "記憶管理の方法を学ぶ",
            "東京タワーに行く",
            "한국어로 된 회의록을 정리",
            "เราใช้ฐานข้อมูลโพสต์เกรสสำหรับคิวงาน",
            "យើងប្រើមូលដ្ឋានទិន្នន័យសម្រាប់ជួរ",
            "plain text 东西 mixed",
            "美味しい料理",
        ]
        start(index, [make_upsert(f"{at}.md", [text]) for at, text in enumerate(texts)])
        wanted = {
            "管理": 0, "学ぶ": 0, "ぶ": 0, "記": 0, "タワー": 1, "東京": 1, "회의록": 2, "ฐานข้อมูล": 3, "คิวงาน": 3,
            "ទិន្នន័យ": 4, "东西": 5, "西": 5,
        }  # fmt: skip
        for term, at in wanted.items():
            assert texts_of(index, index.lexical([term], 9, Filters())) == [texts[at]], term
            assert index.frequencies([term]) == {term: 1}
        assert list(index.lexical(["𠮷"], 9, Filters())) == []
        assert texts_of(index, index.lexical(["記憶の管理"], 9, Filters())) == [texts[0]], "a part of a run is enough"

    def test_sections_rank_by_their_text_and_share_the_score(self, index: Index) -> None:
        start(index, [make_upsert("a.md", ["alpha", "beta", "gamma", "delta"]), make_upsert("b.md", ["gamma"])])
        ranked = index.lexical(["alpha"], 9, Filters(), by="section")
        assert texts_of(index, ranked) == ["alpha", "beta"]
        assert ranked.scores[0] == ranked.scores[1]
        assert len(index.lexical(["gamma"], 2, Filters(), by="section")) == 2

    # -- vectors -----------------------------------------------------------------------------------------------
    def test_dense_ranks_by_cosine(self, index: Index) -> None:
        texts = [f"text {number}" for number in range(300)]
        start(index, [make_upsert(f"{at}.md", texts[at : at + 3]) for at in range(0, 300, 3)])
        for query in ("text 7", "something else"):
            ranked = index.dense(vector_of(query), 20, Filters())
            exact = sorted((float(vector_of(text) @ vector_of(query)) for text in texts), reverse=True)
            assert [row.score for row in ranked] == pytest.approx(exact[:20], abs=COSINE_TOLERANCE)
            assert [row.score for row in ranked] == sorted((row.score for row in ranked), reverse=True)
        assert texts_of(index, index.dense(vector_of("text 7"), 1, Filters())) == ["text 7"]
        assert len(index.dense(vector_of("text 7"), 10_000, Filters())) == 300
        assert list(index.dense(vector_of("text 7"), 0, Filters())) == []

    def test_a_note_means_what_its_chunks_mean_on_average(self, index: Index) -> None:
        texts = {"a.md": ["alpha", "beta", "beta"], "dir/b.md": ["gamma"], "empty.md": []}
        generation = start(index, [make_upsert(path, each) for path, each in texts.items()])
        index.apply(generation.number, [make_upsert("c.md", ["waits"]), make_upsert("d.md", ["alpha", "waits too"])])
        paths = ["d.md", "a.md", "c.md", "gone.md", "empty.md", "dir/b.md", "a.md", "", "a\0\ud800", "dir"]
        found = index.mean_vectors([NotePath(path) for path in paths])
        sums = {path: np.sum([vector_of(text) for text in each], axis=0) for path, each in texts.items() if each}
        sums["d.md"] = vector_of("alpha")
        for path, meaning in zip(paths, found, strict=True):
            if path in sums:
                length = float(np.linalg.norm(sums[path]))
                assert float(meaning @ sums[path]) / length == pytest.approx(1, abs=COSINE_TOLERANCE), path
                assert float(np.linalg.norm(meaning)) == pytest.approx(1, abs=1e-5), path
            else:
                assert not meaning.any(), path
        embed_all(index, generation.number)
        assert index.mean_vectors([NotePath("c.md")])[0] @ vector_of("waits") == pytest.approx(1, abs=COSINE_TOLERANCE)

    def test_meanings_come_for_any_number_of_paths(self, index: Index) -> None:
        assert index.mean_vectors([NotePath("a.md")]).shape == (1, 0), "nothing is active yet"
        start(index, [make_upsert(f"{at}.md", [f"text {at}"]) for at in range(1300)])
        order = [*range(1299, -1, -1), *range(0, 1300, 7)]
        found = index.mean_vectors([NotePath(f"{at}.md") for at in order])
        exact = np.stack([vector_of(f"text {at}") for at in order])
        assert found.dtype == np.float32
        assert np.einsum("nd,nd->n", found, exact) == pytest.approx(np.ones(len(order)), abs=COSINE_TOLERANCE)
        assert index.mean_vectors([]).shape == (0, DIMENSION)

    def test_meanings_are_those_of_the_active_generation(self, index: Index) -> None:
        start(index, [make_upsert("a.md", ["alpha"])])
        other = index.begin("second", "model of first", DIMENSION)
        index.apply(other.number, [make_upsert("a.md", ["beta"])])
        embed_all(index, other.number)
        (meaning,) = index.mean_vectors([NotePath("a.md")])
        assert meaning @ vector_of("alpha") == pytest.approx(1, abs=COSINE_TOLERANCE)

    def test_sharing_counts_the_terms_that_a_chunk_has_itself(self, index: Index) -> None:
        texts = {"a.md": ["red tea and cake", "red wine"], "b.md": ["red tea, red cake, tea cakes", "nothing"]}
        start(index, [make_upsert(path, each, kind=path[0]) for path, each in texts.items()])
        terms = ["red", "tea", "cakes", "absent", "Part"]
        found = index.lexical(terms, 10, Filters(), by="overlap")
        assert [row.score for row in found] == [3, 3, 1]
        assert texts_of(index, found) == ["red tea and cake", "red tea, red cake, tea cakes", "red wine"]
        assert texts_of(index, index.lexical(terms, 1, Filters(kinds=frozenset({"b"})), by="overlap")) == [
            texts["b.md"][0]
        ]
        assert list(index.lexical([], 10, Filters(), by="overlap")) == []
        index.apply(index.generations()[0].number, [Delete(NotePath("a.md"))])
        assert len(index.lexical(terms, 10, Filters(), by="overlap")) == 1

    def test_a_query_of_another_dimension_is_refused(self, index: Index) -> None:
        start(index, [make_upsert("a.md", ["alpha"])])
        with pytest.raises(InvalidInput):
            index.dense(vector_of("alpha", DIMENSION + 1), 5, Filters())

    # -- filters -----------------------------------------------------------------------------------------------
    def test_filters_hold_in_every_retriever(self, index: Index) -> None:
        day = datetime(2026, 5, 1, tzinfo=UTC)
        notes: dict[str, dict[str, Any]] = {
            "a.md": {"kind": "fix", "tags": ("x", "y"), "project": "p", "updated": day},
            "dir/b.md": {"kind": "fact", "tags": ("x",), "project": "q", "created": day + timedelta(days=2)},
            "dir/c.md": {"session": "s", "expires_at": day, "always_load": True},
            "dir2/d.md": {"state": NoteState.ARCHIVED, "updated": day - timedelta(days=2), "created": day},
            "dir/sub/e.md": {"state": NoteState.INBOX, "expires_at": day + timedelta(days=1)},
        }
        start(index, [make_upsert(path, ["alpha"], **values) for path, values in notes.items()])
        everything = frozenset(NoteState)
        cases: list[tuple[Filters, set[str]]] = [
            (Filters(), {"a.md", "dir/b.md", "dir/c.md"}),
            (EVERY_STATE, set(notes)),
            (Filters(states=frozenset()), set()),
            (Filters(states=frozenset({NoteState.INBOX})), {"dir/sub/e.md"}),
            (Filters(everything, path_prefix="dir/"), {"dir/b.md", "dir/c.md", "dir/sub/e.md"}),
            (Filters(everything, path_prefix="dir"), {"dir/b.md", "dir/c.md", "dir/sub/e.md"}),
            (Filters(everything, path_prefix="dir/sub"), {"dir/sub/e.md"}),
            (Filters(everything, path_prefix="dir2/d.md"), {"dir2/d.md"}),
            (Filters(everything, path_prefix="dir2/d.md/"), set()),
            (Filters(everything, path_prefix="dir2/d"), set()),
            (Filters(everything, kinds=frozenset({"fix", "fact"})), {"a.md", "dir/b.md"}),
            (Filters(everything, kinds=frozenset()), set()),
            (Filters(everything, tags=frozenset({"x"})), {"a.md", "dir/b.md"}),
            (Filters(everything, tags=frozenset({"x", "y"})), {"a.md"}),
            (Filters(everything, project="p"), set(notes) - {"dir/b.md"}),
            (Filters(everything, session="s"), {"dir/c.md"}),
            (Filters(everything, always_load=True), {"dir/c.md"}),
            (Filters(everything, since=day), {"a.md", "dir/b.md"}),
            (Filters(everything, until=day), {"dir2/d.md"}),
            (Filters(everything, since=day, until=day + timedelta(days=2)), {"a.md"}),
            (Filters(everything, now=day - timedelta(microseconds=1)), set(notes)),
            (Filters(everything, now=day), set(notes) - {"dir/c.md"}),
            (Filters(everything, now=day + timedelta(days=1)), set(notes) - {"dir/c.md", "dir/sub/e.md"}),
            (Filters(everything, ended=day - timedelta(microseconds=1)), set()),
            (Filters(everything, ended=day), {"dir/c.md"}),
            (Filters(everything, ended=day + timedelta(days=1)), {"dir/c.md", "dir/sub/e.md"}),
        ]
        for filters, expected in cases:
            found = _paths_found(index, filters)
            assert found == dict.fromkeys(("lexical", "section", "dense"), expected), filters
            assert {str(record.path) for record in index.notes(filters)} == expected, filters

    def test_k_rows_come_back_whenever_k_match(self, index: Index) -> None:
        many = [make_upsert(f"many/{at}.md", ["alpha alpha alpha"]) for at in range(300)]
        few = [make_upsert(f"few/{at}.md", [f"alpha {'and much else ' * 20}"], tags=("rare",)) for at in range(5)]
        start(index, [*many, *few])
        for filters in (Filters(tags=frozenset({"rare"})), Filters(path_prefix="few/")):
            assert len(index.lexical(["alpha"], 5, filters)) == 5
            assert len(index.lexical(["alpha"], 5, filters, by="section")) == 5
            assert len(index.dense(vector_of("alpha alpha alpha"), 5, filters)) == 5
        assert len(index.lexical(["alpha"], 50, Filters())) == 50

    # -- threads and the end -----------------------------------------------------------------------------------
    def test_readers_see_whole_changes_while_a_writer_writes(self, index: Index) -> None:
        generation = start(index, [make_upsert("a.md", ["alpha 0", "alpha 0 too"])])
        torn: list[object] = []
        done = False

        def read() -> None:
            while not done:
                passages = index.passages(NotePath("a.md"))
                if len({passage.chunk.text.split()[1] for passage in passages}) != 1 or len(passages) != 2:
                    torn.append(passages)
                if len(index.lexical(["alpha"], 9, Filters())) != 2:
                    torn.append("lexical")
                if len(index.dense(vector_of("alpha"), 9, Filters())) not in {0, 2}:
                    torn.append("dense")

        readers = [Thread(target=read) for _ in range(3)]
        for reader in readers:
            reader.start()
        for turn in range(1, 30):
            texts = [f"alpha {turn}", f"alpha {turn} too"]
            index.apply(generation.number, [make_upsert("a.md", texts)])
            index.put_vectors(
                generation.number, [text_hash(text) for text in texts], np.stack(list(map(vector_of, texts)))
            )
        done = True
        for reader in readers:
            reader.join()
        assert torn == []

    def test_close_is_idempotent_from_any_thread(self, index: Index) -> None:
        start(index, [make_upsert("a.md", ["alpha"])])
        closers = [Thread(target=index.close) for _ in range(3)]
        for closer in closers:
            closer.start()
        for closer in closers:
            closer.join()
        index.close()

    # -- links -------------------------------------------------------------------------------------------------
    def test_a_link_leads_to_what_has_its_name_whichever_was_indexed_first(self, index: Index) -> None:
        a, b = NotePath("n/a.md"), NotePath("n/b.md")
        text = "[[b]] [b](b.md) [[Tea]] [[brew]] [[01KBZ000000000000000000000]] [[n/b#h|x]] [[nothing]] [[a]]"
        generation = start(index, [linking(a, text)])
        assert [one.targets for one in index.links_from(a)] == [()] * 7 + [(a,)]
        tea = make_upsert(b, ["x"], id="01KBZ000000000000000000000", title="Tea", meta={"aliases": ["Brew"]})
        index.apply(generation.number, [tea])
        found = index.links_from(a)
        assert [one.targets for one in found] == [(b,)] * 6 + [(), (a,)]
        assert [one.link for one in found] == note_links(text, 0, a)
        assert index.links_from() == found
        assert index.links_to(b, 2) == (found[:2], 6) and index.links_to(a, 9) == ([], 0), "its own don't count"
        index.apply(generation.number, [Delete(b)])
        assert [one.targets for one in index.links_from(a)][:-1] == [()] * 7
        assert index.links_to(b, 9) == ([], 0) and index.named("b") == []
        index.apply(generation.number, [linking(a, "[[c]]"), tea])
        assert [one.link.target for one in index.links_from()] == ["c"]

    def test_a_name_of_several_notes_is_ambiguous_unless_one_has_it_in_a_better_way(self, index: Index) -> None:
        paths = [NotePath(path) for path in ("a/x.md", "b/x.md", "b/deep/y.md", "y.md", "z.md")]
        generation = start(index, [linking(source := NotePath("from.md"), "[[x]] [[a/x]] [[y]] [[z]] [[X.MD]]"),
            *(make_upsert(path, ["x"], title="z" if path == "y.md" else path) for path in paths)])  # fmt: skip
        both = (paths[0], paths[1])
        targets = [both, (paths[0],), (paths[3],), (paths[4],), both]
        assert [one.targets for one in index.links_from()] == targets
        assert index.links_to(paths[0], 9)[1] == 1, "an ambiguous link is nobody's"
        index.apply(generation.number, [make_upsert("b/x.md", [], state=NoteState.DELETED)])
        assert index.links_from(source)[0].targets == (paths[0],), "a forgotten note makes none ambiguous"
        index.apply(generation.number, [Delete(paths[0])])
        assert index.links_from(source)[0].targets == (paths[1],)

    def test_links_of_a_source_stay_within_it(self, index: Index) -> None:
        inner, outer = NotePath("@docs/a/x.md"), NotePath("n/x.md")
        text = "[[x]] [[@docs/a/x]] [d](@docs/a/x.md)"
        start(index, [make_upsert(inner, ["x"]), make_upsert(outer, ["x"]), linking(NotePath("from.md"), text),
            linking(NotePath("@docs/b.md"), "[[x]] [up](../n/x.md) [in](a/x.md)")])  # fmt: skip
        assert [one.targets for one in index.links_from(NotePath("from.md"))] == [(outer,), (inner,), (inner,)]
        found = [one.targets for one in index.links_from(NotePath("@docs/b.md"))]
        assert found == [(inner,), (), (inner,)], "what leads out of a source leads nowhere"

    def test_a_forgotten_note_has_no_links_and_nothing_in_a_name_is_syntax(self, index: Index) -> None:
        names = ["%", "_", "'", '"', "a'; DROP TABLE x", "\ud800", "🙂", "é"]
        text = " ".join(f"[[{name}]]" for name in names)
        generation = start(index, [linking(NotePath("from.md"), text), make_upsert("x/e\u0301.md", [])])
        assert [len(one.targets) for one in index.links_from()] == [0] * 7 + [1]
        index.apply(generation.number, [linking(NotePath("from.md"), text, state=NoteState.DELETED)])
        assert index.links_from() == []

    # -- contradictions ----------------------------------------------------------------------------------------
    def test_conflicts_are_replaced_with_the_notes_that_were_compared(self, index: Index) -> None:
        a, b, c = NotePath("a.md"), NotePath("b.md"), NotePath("c.md")
        one = Conflict(NoteId("A"), NoteId("B"), a, b, "2026-11-21T12:00:00+00:00", "1", "2", "1 → 2")
        two = Conflict(NoteId("B"), NoteId("C"), b, c, "2026-11-22T12:00:00+00:00", "2", None, "no longer 2")
        assert index.conflicts() == [] and index.compared() == {}
        index.put_conflicts({a: Etag("e1"), b: Etag("e2"), c: Etag("e3")}, [one, two])
        assert index.conflicts() == [one, two]
        index.put_conflicts({c: None}, [])
        assert index.conflicts() == [one] and index.compared() == {a: "e1", b: "e2"}
        index.put_conflicts({b: Etag("e4")}, [one, one])
        assert index.conflicts() == [one] and index.compared() == {a: "e1", b: "e4"}
        index.put_conflicts({b: Etag("")}, [])
        assert index.conflicts() == [one] and index.compared() == {a: "e1"}, "until it is compared again"
