"""Memory as a program uses it, with a daemon and without one."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from datetime import UTC, datetime
from pathlib import Path

import pytest

from mcp_memory import Memory
from mcp_memory.daemon.instance import is_held
from mcp_memory.errors import AlreadyExists, Busy, ConfigInvalid, InvalidInput, NotFound, PreconditionFailed, Refused
from mcp_memory.models import Outcome, Status
from mcp_memory.text.markdown import frontmatter
from tests.daemon.place import Place

SESSIONS = {
    "trip": [
        ("Ada", "Let us plan the trip to Lisbon in March.", "2026-03-01T10:00:00+00:00"),
        ("Grace", "I booked the night train. It leaves from Hendaye at half past six.", "2026-03-01T10:02:00+00:00"),
        ("Ada", "Good. My sister Mary will water the tomatoes.", "2026-03-01T10:03:00+00:00"),
    ],
    "index": [
        ("Ada", "Which database should hold the search index?", "2026-05-12T09:00:00+00:00"),
        ("Grace", "SQLite, since it is one file and needs no server.\n\n```sql\nPRAGMA journal_mode = wal;\n```",
         "2026-05-12T09:01:00+00:00"),
    ],
    "garden": [
        ("Ada", "The hedge has been cut, and the hedgehogs have moved into the compost.", "2026-07-20T18:00:00+00:00"),
        ("Grace", "Then nobody turns the compost before April.", "2026-07-20T18:30:00+00:00"),
    ],
}  # fmt: skip
MESSAGES = [
    {"role": "user", "name": who, "content": what, "timestamp": when, "session": session}
    for session, turns in SESSIONS.items()
    for who, what, when in turns
]


@pytest.mark.with_model
def test_three_sessions_are_stored_found_forgotten_and_restored(vault: Path) -> None:
    with Memory.open(vault) as memory:
        leaves = memory.extract(MESSAGES)
        assert [leaf.session for leaf in leaves] == list(SESSIONS)
        receipts = [memory.add(leaf, tags=["chat"], project="home", source="tests") for leaf in leaves]
        assert [receipt.outcome for receipt in receipts] == [Outcome.CREATED] * 3
        assert [receipt.path.rpartition("/")[0] for receipt in receipts] == ["topics/_fresh"] * 3
        assert memory.settled()
        for leaf, receipt in zip(leaves, receipts, strict=True):
            document = frontmatter.parse((vault / receipt.path).read_text())
            assert document.meta | {"id": 0, "title": 0} == {
                "id": 0, "title": 0, "kind": "note", "project": "home", "created": leaf.began, "tags": ["chat"],
                "source": "tests", "session": leaf.session,
            }  # fmt: skip
            assert (vault / receipt.path).read_text().endswith(f"---\n\n{leaf.content}")

        trip, index, garden = receipts
        found = memory.search("when does the train to Portugal depart")
        assert (found.hits[0].id, found.degraded) == (trip.id, None)
        assert found.hits[0].date and found.hits[0].date.startswith("2026-03-01")
        assert found.as_of.tzinfo and 0 <= found.confidence <= 1
        assert "journal_mode" in memory.recall("what keeps the search index", budget_tokens=300)
        assert "half past six" in memory.recall(ids=[trip.id])
        summer = memory.search("compost", since=datetime(2026, 6, 1, tzinfo=UTC), kinds=["note"], tags=["chat"])
        assert {hit.id for hit in summer.hits} == {garden.id}
        assert memory.search("compost", until="2026-06-01", mode="keyword").hits == ()

        before = (vault / garden.path).read_bytes()
        gone = memory.forget(garden.id, reason="a test")
        assert (gone.id, gone.path, gone.status) == (garden.id, garden.path, Status.DELETED)
        assert garden.id not in {hit.id for hit in memory.search("hedgehogs in the compost").hits}
        again = memory.restore(garden.path)
        assert again.status is Status.ACTIVE and again.etag == garden.etag
        assert (vault / garden.path).read_bytes() == before
        assert memory.search("hedgehogs in the compost").hits[0].id == garden.id
        explained = memory.search("index", explain=True)
        assert explained.signs and explained.hits[0].explain
        assert index.id in {hit.id for hit in explained.hits}


def test_the_same_conversation_is_stored_once(vault: Path) -> None:
    with Memory.open(vault) as memory:
        first = [memory.add(leaf) for leaf in memory.extract(MESSAGES)]
    with Memory.open(vault) as memory:
        memory.forget(first[1].id)
        again = [memory.add(leaf) for leaf in memory.extract(MESSAGES)]
        assert [(receipt.id, receipt.outcome) for receipt in again] == [(each.id, Outcome.DUPLICATE) for each in first]
        assert first[1].id not in {hit.id for hit in memory.search("SQLite").hits}, "it stays forgotten"
    assert len(list((vault / "topics/_fresh").glob("*.md"))) == 3


def test_notes_of_any_kind(vault: Path) -> None:
    with Memory.open(str(vault)) as memory:
        one = memory.append("Tea at five.", kind="preference", title="When Ada has her tea", tags=["tea"])
        assert one.path == "notes/preference/when-ada-has-her-tea.md"
        assert "source: library" in (vault / one.path).read_text()
        assert memory.append("Tea at five.", kind="preference").outcome is Outcome.DUPLICATE
        two = memory.append(
            "Tea at six.", kind="preference", supersedes=one.id, expires=datetime(2099, 1, 1, tzinfo=UTC)
        )
        assert (two.outcome, two.similar) == (Outcome.SUPERSEDED, ())
        assert two.superseded == {"id": one.id, "path": one.path, "text": "Tea at five."}
        assert memory.forget(two.id).holds_now == two.superseded and memory.restore(two.id).holds_now is None
        entry = memory.append("Tea was late.", kind="log")
        assert "#" in entry.id
        assert {hit.path for hit in memory.search("tea").hits} >= {two.path, entry.path}
        assert "Tea at six." in memory.recall(), "what a session starts with"
        assert memory.forget(entry.id).id == entry.id
        assert "late" not in memory.recall(path=entry.path)


@pytest.mark.parametrize("is_served", [True, False], ids=["daemon", "alone"])
def test_a_note_is_updated_and_archived(place: Place, is_served: bool) -> None:
    with place.started() if is_served else nullcontext(), Memory.open(place.vault) as memory:
        note = memory.append("The kettle is red.", kind="fact")
        updated = memory.update(note.id, "The kettle is blue.", expected=note.etag)
        assert (updated.outcome, updated.path) == (Outcome.UPDATED, note.path)
        assert memory.update(note.id, "The kettle is blue.", expected=note.etag).outcome is Outcome.UNCHANGED
        with pytest.raises(PreconditionFailed):
            memory.update(note.id, "The kettle is green.", expected=note.etag)
        assert [hit.snippet for hit in memory.search("kettle").hits] == ["The kettle is blue."]
        assert memory.archive(note.id).status is Status.ARCHIVED
        assert memory.search("kettle").hits == ()
        assert memory.restore(note.id).etag == updated.etag


def test_errors_are_those_of_the_tree(vault: Path) -> None:
    with Memory.open(vault) as memory:
        kept = memory.append("x", kind="fact", path="notes/fact/x.md")
        with pytest.raises(NotFound):
            memory.forget("01ARZ3NDEKTSV4RRFFQ69G5FAV")
        with pytest.raises(InvalidInput, match="did you mean"):
            memory.append("x", kind="facts")
        with pytest.raises(AlreadyExists):
            memory.append("y", path=kept.path)
        with pytest.raises(Refused, match="secret"):
            memory.append("push with ghp_16C7e42F292c6912E7710c838347Ae178B4a")
        with pytest.raises(InvalidInput, match="created"):
            memory.append("y", created="2999-01-01")
        with pytest.raises(InvalidInput, match="limit"):
            memory.search("x", limit=0)
        with pytest.raises(InvalidInput, match="message 1"):
            memory.extract([{"content": "x"}])
    for closed in (memory.recall, memory.settled, lambda: memory.append("z")):
        with pytest.raises(InvalidInput, match="closed"):
            closed()
    memory.close()


def test_many_threads_may_call(vault: Path) -> None:
    with Memory.open(vault) as memory, ThreadPoolExecutor(8) as pool:
        receipts = list(pool.map(lambda number: memory.append(f"Thought {number} of many", kind="idea"), range(40)))
        assert len({receipt.id for receipt in receipts}) == 40
        found = list(pool.map(lambda _: len(memory.search("thought of many", limit=40).hits), range(8)))
        assert found == [40] * 8


def test_the_lock_is_held_until_it_is_closed(place: Place) -> None:
    with Memory.open(place.vault) as memory:
        assert is_held(place.state)
        busy = place.run_impatient("search", "x", turn_s=0.1)
        assert busy.code == 3 and "another mcp-memory process" in busy.err
        assert not memory.settled(), "there is no model"
        assert memory.append("Keywords find this.").indexed == "keywords"
        assert len(memory.search("keywords").hits) == 1
    assert not is_held(place.state)
    assert "Keywords find this." in place.run("search", "keywords").ok().out


def test_a_change_in_an_editor_is_seen(place: Place) -> None:
    with Memory.open(place.vault) as memory:
        (place.vault / "plan.md").write_text("# Plan\n\nWe sail on Friday.\n")
        waiting = threading.Event()
        for _ in range(400):
            if memory.search("sail").hits:
                break
            waiting.wait(0.05)
        assert memory.search("sail").hits[0].path == "plan.md"


def test_the_settings_are_those_of_the_command_line(place: Place) -> None:
    config = place.root / "config.toml"
    config.write_text('[kinds]\nrecipe = { folder = "kitchen" }\n[embedder]\nprovider = "none"\n')
    with Memory.open(config=config) as memory:
        assert memory.append("Rice: one cup, two cups of water.", kind="recipe").path.startswith("kitchen/")
    assert (place.vault / "kitchen").is_dir(), "MCP_MEMORY_VAULT says where"
    with pytest.raises(ConfigInvalid, match=r"did you mean embedder\.provider"):
        Memory.open(place.vault, embedder__provder="none")
    with pytest.raises(ConfigInvalid, match=r"none\.toml"):
        Memory.open(place.vault, config=place.root / "none.toml")
    assert not is_held(place.state)


def test_who_does_not_wait_is_told_who_has_the_vault(place: Place) -> None:
    with Memory.open(place.vault):
        with pytest.raises(Busy, match="pid"):
            Memory.open(place.vault, wait_s=0)
        assert is_held(place.state), "who was refused has not closed what is another's"


@pytest.mark.with_model
@pytest.mark.parametrize("is_served", [False, True])
def test_fresh_notes_are_filed_under_topics(place: Place, is_served: bool) -> None:
    daemon = place.started() if is_served else nullcontext()
    with daemon, Memory.open(place.vault) as memory:
        ids = [memory.append(f"Green tea from Uji, cup {n}: water of {60 + n} degrees.").id for n in range(3)]
        assert memory.settled()
        filed = memory.compact()
        (topic,) = memory.tree()
        assert filed.waiting == 0 and filed.note is None
        assert sorted(topic.leaves) == sorted(ids) and topic.notes == 3 and not topic.stale
        assert not memory.compact().done


def test_without_a_model_a_compaction_says_why_notes_wait(place: Place) -> None:
    with Memory.open(place.vault) as memory:
        memory.append("Green tea from Uji.")
        filed = memory.compact()
        assert filed.waiting == 1 and filed.note and "without a vector" in filed.note
