from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import anyio
import pytest

from mcp_memory.errors import InvalidInput, NotFound, StorageFailed
from mcp_memory.models import NoteState
from mcp_memory.runs.journal import RunJournal
from mcp_memory.runtime.json_lines import JsonLines
from mcp_memory.text.dates import format_when
from mcp_memory.topics.config import TopicsConfig
from tests.support.keyword_engine import KeywordEngine
from tests.support.topics import TEA, told
from tests.support.world import World, found, records

pytestmark = pytest.mark.anyio


async def changes(engine: KeywordEngine, **wanted: Any) -> list[dict[str, Any]]:
    return (await engine.perform("changes", wanted))["changes"]


async def undo(engine: KeywordEngine, target: str | None = None, **wanted: Any) -> list[tuple[str, str, str]]:
    """Each step as kind, action and why not."""
    answer = await engine.perform("undo", {"target": target, "sure": True, **wanted})
    return [(step["kind"], step["action"], step["why"]) for step in answer["steps"]]


async def kinds(engine: KeywordEngine, **wanted: Any) -> list[str]:
    return [change["kind"] for change in await changes(engine, **wanted)]


async def test_the_words_of_a_time_mean_the_same_for_the_deed_as_for_the_plan(world: World) -> None:
    async with world.engine() as engine:
        await engine.append("The port is 8087", kind="fact")
        world.later(minutes=8)
        wanted = {"since": "10 minutes ago"}
        planned = await engine.perform("undo", wanted)
        world.later(minutes=8)
        assert await undo(engine, **wanted) == [], "the words alone mean another time by now"
        only = [step["id"] for step in planned["steps"]]
        assert await undo(engine, since=planned["since"], only=only) == [("stored", "forget", "")]


async def test_who_did_what_in_which_session_the_latest_first(world: World) -> None:
    async with world.engine() as engine:
        first = await engine.append("The port is 8087", kind="fact", source="codex", session="s1", project="api")
        world.later(days=1)
        await engine.append("Deployed it", kind="log", source="claude-code", session="s2", project="web")
        await engine.perform("update", {"target": first.id, "text": "The port is 8090"})
        await engine.forget(first.id, source="claude-code")
        listed = await changes(engine)
        assert [(one["kind"], one["client"], one["session"]) for one in listed] == [
            ("forgotten", "claude-code", None), ("edited", "cli", None), ("stored", "claude-code", "s2"),
            ("stored", "codex", "s1"),
        ]  # fmt: skip
        assert [one["title"] for one in listed] == ["The port is 8090"] * 2 + ["Deployed it", "The port is 8087"]
        assert await kinds(engine, client="you") == ["edited"]
        assert await kinds(engine, session="codex/s1") == ["stored"]
        assert await kinds(engine, project="api") == ["forgotten", "edited", "stored"]
        assert await kinds(engine, since="2026-11-22") == ["forgotten", "edited", "stored"]
        answer = await engine.perform("changes", {"limit": 1})
        assert (len(answer["changes"]), answer["further"]) == (1, True)
        with pytest.raises(InvalidInput, match="since: not a date or time"):
            await changes(engine, since="lunch")


async def test_each_change_is_taken_back_and_that_too(world: World) -> None:
    async with world.engine() as engine:
        note = await engine.append("The port is 8087", kind="fact", source="codex")
        stored, before = (await changes(engine))[0]["id"], world.files()
        assert await undo(engine, stored) == [("stored", "forget", "")]
        assert await found(engine, "port") == []
        assert await undo(engine, stored) == []  # it is undone
        assert await undo(engine, (await changes(engine))[0]["id"][:5]) == [("forgotten", "restore", "")]
        assert (await found(engine, "port"), world.files()) == ([note.path], before)
        for operation, arguments in (
            ("update", {"target": note.id, "text": "The port is 9999"}),
            ("forget", {"target": note.id}),
            ("forget", {"target": note.id, "archive": True}),
            ("append", {"content": "The port is 8090", "kind": "fact", "supersedes": note.id}),
        ):
            await engine.perform(operation, arguments)
            after = world.files()
            assert after[note.path] != before[note.path]
            (change,) = [one for one in await changes(engine) if one["path"] == note.path][:1]
            assert (await undo(engine, change["id"]))[0][2] == ""
            assert world.read(note.path) == before[note.path]
            assert (await found(engine, "8087"))[:1] == [note.path]
            if operation == "update":  # an undone edit, made again
                assert (await undo(engine, (await changes(engine))[0]["id"]))[0][2] == ""
                assert world.files() == after
                assert (await undo(engine, (await changes(engine))[0]["id"]))[0][2] == ""


async def test_taking_back_a_note_lets_the_one_it_replaced_hold_again(world: World) -> None:
    async with world.engine() as engine:
        old = await engine.append("The port is 8087", kind="fact")
        before = world.read(old.path)
        new = await engine.append("The port is 8090", kind="fact", supersedes=old.id)
        assert [step[:2] for step in await undo(engine, new.id)] == [("superseded", "reinstate"), ("stored", "forget")]
        assert world.read(old.path) == before
        assert await found(engine, "port") == [old.path]


async def test_what_gave_way_to_a_note_that_stood_already_is_taken_back_without_that_note(world: World) -> None:
    async with world.engine() as engine:
        old = await engine.append("The port is 8087", kind="fact")
        new = await engine.append("The port is 8090", kind="fact")
        again = await engine.append("The port is 8090", kind="fact", supersedes=old.id)
        assert (again.id, again.outcome) == (new.id, "duplicate")
        assert await undo(engine, new.id) == [("superseded", "reinstate", "")]
        assert sorted(await found(engine, "port")) == sorted([old.path, new.path])
        assert await undo(engine, new.id) == [("stored", "forget", "")]


@pytest.mark.parametrize("is_changed", [False, True])
@pytest.mark.parametrize("retired", [{}, {"archive": True}, {"done": True}])
async def test_a_replaced_note_is_as_it_was_before_also_if_it_was_archived_then(
    world: World, retired: dict[str, bool], *, is_changed: bool
) -> None:
    async with world.engine() as engine:
        old = await engine.append("Call Lena about the invoice on Friday.", kind="commitment")
        if retired:
            await engine.perform("forget", {"target": old.id, **retired})
        before = world.read(old.path)
        await engine.append("Call Tom about the invoice.", kind="commitment", supersedes=old.id)
        superseded = next(one for one in await changes(engine) if one["kind"] == "superseded")
        replaced = world.read(old.path)
        more = b"More, by hand.\n" if is_changed else b""
        world.write(old.path, replaced + more)
        await engine.sweep()
        assert await undo(engine, superseded["id"]) == [("superseded", "reinstate", "")]
        assert world.read(old.path) == before + more
        (now,) = [record for record in records(engine) if record.id == old.id]
        assert now.state is (NoteState.ARCHIVED if retired else NoteState.ACTIVE)
        if not is_changed:
            await undo(engine, (await changes(engine))[0]["id"])
            assert world.read(old.path) == replaced, "an undo can be undone"


@pytest.mark.parametrize("retired", ["archived", "superseded"])
async def test_the_restore_of_a_note_that_was_retired_before_is_taken_back(world: World, retired: str) -> None:
    async with world.engine() as engine:
        old = await engine.append("The port is 8087", kind="fact")
        if retired == "archived":
            await engine.perform("forget", {"target": old.id, "archive": True})
        else:
            await engine.append("The port is 8090", kind="fact", supersedes=old.id)
        before = world.read(old.path)
        await engine.forget(old.id)
        await engine.forget(old.id, restore=True)
        assert world.read(old.path) == before
        restored = (await changes(engine))[0]
        assert (restored["kind"], restored["other"]) == (retired, "deleted")
        assert await undo(engine, restored["id"]) == [(retired, "forget", "")]
        assert [record.state for record in records(engine) if record.id == old.id] == [NoteState.DELETED]
        assert [step[1:] for step in await undo(engine, (await changes(engine))[0]["id"])] == [("restore", "")]
        assert world.read(old.path) == before


async def test_an_entry_that_was_replaced_holds_again(world: World) -> None:
    async with world.engine() as engine:
        entry = await engine.append("The port is 8087", kind="log")
        before = world.read(entry.path)
        await engine.append("The port is 8090", kind="fact", supersedes=entry.id)
        superseded = (await changes(engine))[0]
        assert (superseded["kind"], superseded["target"]) == ("superseded", entry.id)
        assert await undo(engine, superseded["id"]) == [("superseded", "reinstate", "")]
        assert world.read(entry.path) == before


async def test_a_session_is_undone_as_a_whole_and_others_keep_theirs(world: World) -> None:
    async with world.engine() as engine:
        mine = await engine.append("Mine", kind="fact", source="codex", session="good")
        before = world.files()
        await engine.append("Theirs", kind="fact", source="codex", session="bad")
        await engine.append("Their entry", kind="log", source="codex", session="bad")
        await engine.append("Theirs is better", kind="fact", source="codex", session="bad", supersedes=mine.id)
        await engine.forget(mine.id, source="codex", session="bad")
        planned = await engine.perform("undo", {"session": "bad"})
        assert [step["kind"] for step in planned["steps"]] == ["forgotten", "superseded", "stored", "stored", "stored"]
        assert world.read(mine.path) != before[mine.path]  # a preview does nothing
        assert {step[2] for step in await undo(engine, session="bad")} == {""}
        assert world.read(mine.path) == before[mine.path]
        assert await found(engine, "mine") == [mine.path]
        assert await found(engine, "theirs") == []
        assert await undo(engine, session="bad") == []
        # Back to the state before the undo, by time
        world.later(hours=1)
        assert (
            len(await undo(engine, since=format_when(world.now - timedelta(minutes=90)))) == 1
        )  # of what is left, the one that stored "Mine"


async def test_undo_by_time_ends_at_the_state_of_that_time(world: World) -> None:
    async with world.engine() as engine:
        note = await engine.append("One", kind="fact")
        await engine.perform("update", {"target": note.id, "text": "Two"})
        before = world.files()
        edited = (await changes(engine))[0]["id"]
        world.later(hours=2)
        await engine.append("Three", kind="fact")
        await undo(engine, edited)
        third = [change["id"] for change in await changes(engine) if change["title"] == "Three"]
        await undo(engine, third[0])  # undone within the time: both cancel out
        assert [step[0] for step in await undo(engine, since=format_when(world.now - timedelta(hours=1)))] == ["edited"]
        assert world.read(note.path) == before[note.path]


async def test_a_note_that_was_changed_since_stays_and_says_so(world: World) -> None:
    async with world.engine() as engine:
        note = await engine.append("One", kind="fact")
        await engine.perform("update", {"target": note.id, "text": "Two"})
        edited = (await changes(engine))[0]["id"]
        world.write(note.path, world.read(note.path) + b"by hand\n")
        await engine.sweep()
        kept = world.read(note.path)
        ((_, action, why),) = await undo(engine, edited)  # as the preview says
        assert action == ""
        assert "changed since" in why
        ((kind, action, why),) = await undo(engine, note.path)  # its last change, on disk
        assert (kind, action) == ("edited", "")
        assert "by hand" in why
        assert world.read(note.path) == kept


async def test_an_edited_entry_is_put_back_whatever_was_added_since(world: World) -> None:
    async with world.engine() as engine:
        first = await engine.append("The port is 8087", kind="log")
        world.later(minutes=1)
        second = await engine.append("The host is alpha", kind="log")
        one = await engine.perform("update", {"target": first.id, "text": "The port is 9001"})
        other = await engine.perform("update", {"target": second.id, "text": "The host is beta"})
        again = await engine.perform("update", {"target": one["id"], "text": "The port is 9002"})
        world.later(minutes=1)
        await engine.append("Deployed", kind="log")
        edits = [change for change in await changes(engine) if change["kind"] == "edited"]
        assert [change["target"] for change in edits] == [again["id"], other["id"], one["id"]]
        ((_, action, why),) = await undo(engine, edits[2]["id"])
        assert not action and "changed since" in why
        assert await undo(engine, edits[1]["id"]) == [("edited", "put back", "")]
        text = world.read(first.path).decode()
        assert "9002" in text and "alpha" in text and "beta" not in text and "Deployed" in text
        assert await undo(engine, edits[1]["id"]) == []
        assert {step[2] for step in await undo(engine, client="you")} == {""}
        assert "8087" in world.read(first.path).decode() and "alpha" in world.read(first.path).decode()


async def test_an_edited_entry_keeps_its_marks_and_gets_them_back(world: World) -> None:
    async with world.engine() as engine:
        old = await engine.append("The port is 8087", kind="log")
        new = await engine.append("The port is 8090", kind="fact", supersedes=old.id)
        await engine.perform("mute", {"target": old.id, "project": "api"})
        before = world.read(old.path)
        edited = await engine.perform("update", {"target": old.id, "text": "The port was 8087"})
        assert await found(engine, "port") == [new.path]
        assert new.id in await engine.recall(ids=[edited["id"]])
        await engine.append("Deployed", kind="log")
        assert [step[2] for step in await undo(engine, edited["id"])] == [""]
        assert world.read(old.path).startswith(before.rstrip())
        assert old.id not in [hit.id for hit in (await engine.search("port")).hits]


async def test_an_edit_on_disk_is_undone_where_somebody_kept_the_text_and_else_says_what_to_do(world: World) -> None:
    async with world.engine() as engine:
        note = await engine.append("One", kind="fact")
        first = world.read(note.path)
        await engine.perform("update", {"target": note.id, "text": "Two"})
        second = world.read(note.path)
        world.write(note.path, first)  # back to what we kept
        await engine.sweep()
        ((_, action, why),) = await undo(engine, (await changes(engine))[0]["id"])
        assert not action and "edited by hand" in why and "backup" in why
        await repository(world)
        world.later(minutes=1)
        world.write(note.path, second)
        await engine.sweep()
        assert await undo(engine, (await changes(engine))[0]["id"]) == [("edited", "put back", "")]
        assert world.read(note.path) == first
        (world.root / note.path).unlink()
        await engine.sweep()
        removed = (await changes(engine))[0]
        assert removed["is_kept"] is True
        assert await undo(engine, removed["id"]) == [("removed", "bring back", "")]
        assert world.read(note.path) == first and [hit.id for hit in (await engine.search("One")).hits] == [note.id]


@pytest.mark.parametrize("trash", [None, "vault", "desktop"])
async def test_a_file_that_a_person_removed_comes_back_from_the_trash_and_else_the_list_says_so(
    world: World, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, trash: str | None
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    async with world.engine() as engine:
        note = await engine.append("The kettle is red.", kind="fact")
        file, data = world.root / note.path, world.read(note.path)
        places = {
            "vault": world.root / ".trash" / file.name,
            "desktop": tmp_path / "data/Trash/files" / f"{file.stem}.2.md",
        }
        if trash:
            places[trash].parent.mkdir(parents=True)
            file.rename(places[trash])
        else:
            file.unlink()
        await engine.sweep()
        listed = (await changes(engine))[0]
        assert (listed["kind"], listed["is_kept"]) == ("removed", trash is not None)
        ((_, action, why),) = await undo(engine, listed["id"])
        if trash is None:
            assert not action and "nobody kept" in why
            return
        assert (action, why, world.read(note.path)) == ("bring back", "", data)
        assert [hit.id for hit in (await engine.search("kettle")).hits] == [note.id]
        assert (await changes(engine))[1]["undone"]


async def test_a_file_that_a_person_moved_goes_back_and_one_that_he_made_is_forgotten(world: World) -> None:
    async with world.engine() as engine:
        note = await engine.append("The kettle is red.", kind="fact")
        (world.root / "elsewhere").mkdir()
        (world.root / note.path).rename(world.root / "elsewhere/kettle.md")
        await engine.sweep()
        moved = (await changes(engine))[0]
        assert (moved["kind"], moved["other"]) == ("moved", note.path)
        assert await undo(engine, moved["id"]) == [("moved", "bring back", "")]
        assert (world.root / note.path).exists()
        assert await undo(engine, (await changes(engine))[0]["id"]) == [("moved", "bring back", "")]
        assert (world.root / "elsewhere/kettle.md").exists(), "an undo can be undone"
        assert await undo(engine, (await changes(engine))[0]["id"]) == [("moved", "bring back", "")]
        await engine.sweep()
        assert [change["kind"] for change in await changes(engine)][:2] == ["moved", "moved"], "nothing was removed"
        world.write("elsewhere/pot.md", "The pot is blue.")
        await engine.sweep()
        assert await undo(engine, (await changes(engine))[0]["id"]) == [("stored", "forget", "")]
        assert not [hit for hit in (await engine.search("pot blue")).hits if "pot" in hit.snippet]


async def test_an_earlier_change_is_listed_with_the_title_of_then(world: World) -> None:
    async with world.engine() as engine:
        note = await engine.append("The kettle is red.", kind="fact")
        world.later(minutes=1)
        await engine.perform("update", {"target": note.id, "text": "The kettle is blue."})
        assert [one["title"] for one in await changes(engine)] == ["The kettle is blue.", "The kettle is red."]


async def repository(world: World) -> None:
    for command in (["init", "-q"], ["add", "-A"], ["-c", "user.name=x", "-c", "user.email=x@y", "commit", "-qm", "x"]):
        await anyio.run_process(["git", "-C", str(world.root), *command])


async def test_a_note_that_you_edited_since_is_not_forgotten_with_its_session(world: World) -> None:
    async with world.engine() as engine:
        note = await engine.append("One", kind="fact", source="codex", session="s")
        await engine.perform("update", {"target": note.id, "text": "Two"})
        edited = (await changes(engine))[0]["id"]
        ((kind, action, why),) = await undo(engine, session="s")
        assert (kind, action) == ("stored", "")
        assert "you edited it since" in why
        await undo(engine, edited)
        assert await undo(engine, session="s") == [("stored", "forget", "")]


async def test_earlier_text_that_is_gone_is_an_honest_error(world: World) -> None:
    async with world.engine() as engine:
        note = await engine.append("One", kind="fact")
        await engine.perform("update", {"target": note.id, "text": "Two"})
        for file in (world.state / "versions").iterdir():
            file.unlink()
        ((_, _, why),) = await undo(engine, note.id)
        assert "isn't kept any more" in why


async def test_unknown_and_ambiguous_names_are_refused(world: World) -> None:
    async with world.engine() as engine:
        with pytest.raises(NotFound):
            await undo(engine, "abcd")
        with pytest.raises(InvalidInput, match="name one"):
            await undo(engine)


async def test_several_targets_are_undone_at_once(world: World) -> None:
    async with world.engine() as engine:
        kept, one, other = [await engine.append(f"Note {number}", kind="fact") for number in range(3)]
        await engine.forget(other.id)
        forgotten = (await changes(engine, target=other.id))[0]
        steps = await undo(engine, targets=[one.id, forgotten["id"]])
        assert sorted(kind for kind, _, _ in steps) == ["forgotten", "stored"]
        assert sorted(note.id for note in records(engine) if note.state is NoteState.ACTIVE) == [kept.id, other.id]
        with pytest.raises(InvalidInput, match="name one"):
            await undo(engine, targets=[one.id], session="s")


async def test_a_compaction_is_taken_back_by_its_own_undo(toy_world: World) -> None:
    at_once = TopicsConfig(leaf_cosine=0.2, by_subject=False, min_leaves=3)
    async with toy_world.engine(topics=at_once) as engine:
        await told(engine, TEA)
        before = toy_world.files()
        run = (await engine.perform("compact", {}))["run"]
        moved = [change for change in await changes(engine) if change["run"] == run]
        assert [change["kind"] for change in moved] == ["moved"] * len(TEA)
        planned = await engine.perform("undo", {"target": run})
        assert [step["action"] for step in planned["steps"]] == ["undo run"] and toy_world.files() != before
        assert await undo(engine, moved[0]["id"]) == [("moved", "undo run", "")]
        assert toy_world.files() == before
        ((_, action, why),) = await undo(engine, (await changes(engine))[0]["id"])
        assert not action and "whole run" in why, "the next compaction files them again"
        assert all(change["undone"] for change in await changes(engine) if change["run"] == run)
        assert await undo(engine, run) == []


async def test_links_that_a_run_updated_stay_with_its_notes_once_its_journal_has_gone(toy_world: World) -> None:
    at_once = TopicsConfig(leaf_cosine=0.2, by_subject=False, min_leaves=3)
    async with toy_world.engine(topics=at_once) as engine:
        await told(engine, TEA)
        fresh = sorted((toy_world.root / "topics/_fresh").glob("*.md"))[0].name
        await engine.append(f"See [tea](../../topics/_fresh/{fresh}).", kind="decision")
        await engine.append(f"Read [tea](../topics/_fresh/{fresh}).", kind="log")
        await repository(toy_world)
        run = (await engine.perform("compact", {}))["run"]
        (toy_world.state / "compaction" / f"{run}.jsonl").unlink()
        after = toy_world.files()
        steps = await undo(engine, run)
        assert {kind for kind, _, _ in steps} == {"moved", "edited"}
        assert all(not action and "whole run" in why for _, action, why in steps)
        assert toy_world.files() == after


async def test_changes_are_listed_though_the_journal_of_a_run_cannot_be_read(toy_world: World) -> None:
    at_once = TopicsConfig(leaf_cosine=0.2, by_subject=False, min_leaves=3)
    async with toy_world.engine(topics=at_once) as engine:
        await told(engine, TEA)
        run = (await engine.perform("compact", {}))["run"]
        await undo(engine, run)
        for number in range(3):
            note = await engine.append(f"Note {number}", kind="fact")
            await undo(engine, note.id)
        listed = await changes(engine)
        read, list_runs, calls = JsonLines.read, RunJournal.list_runs, list[RunJournal]()

        def failing(lines: JsonLines) -> list[dict[str, Any]]:
            if lines.file.stem == run:
                raise StorageFailed("the disk reported an I/O error")
            return read(lines)

        def counted(journal: RunJournal) -> list[str]:
            calls.append(journal)
            return list_runs(journal)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(JsonLines, "read", failing)
            patch.setattr(RunJournal, "list_runs", counted)
            unread = await changes(engine)
            assert len(calls) == 1
            ((_, _, why),) = await undo(engine, run)
            assert "I/O error" in why
        assert [one["id"] for one in unread] == [one["id"] for one in listed]
        assert await changes(engine) == listed


async def test_entries_of_the_curated_file_are_taken_back_one_by_one(world: World) -> None:
    async with world.engine() as engine:
        fields = {"path": "MEMORY.md", "section": "Preferences", "source": "codex"}
        first = await engine.append("Use uv", **fields)
        one = world.read("MEMORY.md")
        second = await engine.append("Tabs, not spaces", **fields)
        await engine.append("Use pip", **fields, supersedes=first.id)
        listed = await changes(engine)
        assert [(change["kind"], change["title"]) for change in listed][1:] == [
            ("stored", "Tabs, not spaces"), ("stored", ""),
        ]  # fmt: skip
        assert listed[0]["kind"] == "edited"
        assert await undo(engine, listed[0]["id"]) == [("edited", "put back", "")]
        assert b"Use uv" in world.read("MEMORY.md")
        assert await undo(engine, second.id[-8:]) == [("stored", "forget", "")]
        assert world.read("MEMORY.md") == one
        assert await engine.lost() == []
