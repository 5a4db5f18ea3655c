"""What a new statement contradicts is named when it is stored, and kept in the index until somebody decides."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from shutil import rmtree

import pytest

from mcp_memory.errors import NotFound
from mcp_memory.indexing import conflict_scan
from mcp_memory.indexing.conflict_scan import ConflictScan
from mcp_memory.models import Conflict, Contradicted, NoteId, Outcome, Receipt
from tests.support.indexed_vault import indexed_vault
from tests.support.keyword_engine import KeywordEngine
from tests.support.world import World, index_of, records

pytestmark = pytest.mark.anyio

PORT, OTHER_PORT = "The billing gateway listens on port 8087.", "The billing gateway listens on port 8090 now."


def still_open(engine: KeywordEngine) -> Sequence[Conflict]:
    """The conflicts that the index has."""
    with index_of(engine) as index:
        return index.conflicts()


@asynccontextmanager
async def scanned(world: World) -> AsyncGenerator[ConflictScan]:
    """A scan of the index that an engine has left."""
    with indexed_vault(world) as room:
        scan = ConflictScan(room.index, room.writer, room.vault.chains, world.clock)
        await scan.scan()
        yield scan


async def test_a_receipt_names_what_it_contradicts_and_nothing_is_retired(world: World) -> None:
    async with world.engine() as engine:
        old = await engine.append(PORT, kind="fact", project="shop")
        world.later(hours=1)
        new = await engine.append(OTHER_PORT, kind="fact", project="shop")
        assert new.contradicts == (Contradicted(old.id, PORT, "8087 → 8090"),)
        assert "status" not in world.read(old.path).decode()
        again = await engine.append(OTHER_PORT, kind="fact", project="shop", supersedes=old.id)
        assert again.id == new.id and "status: superseded" in world.read(old.path).decode()


async def test_an_entry_of_a_log_contradicts_and_is_contradicted(world: World) -> None:
    async with world.engine() as engine:
        entry = await engine.append("- The nightly job of billing runs at 02:00.", kind="log", project="shop")
        world.later(hours=1)
        later = await engine.append("The nightly job of billing runs at 04:30 now.", kind="fact", project="shop")
        assert [one.id for one in later.contradicts] == [entry.id]
        world.later(hours=1)
        last = await engine.append("- The nightly job of billing now runs at 05:15.", kind="log", project="shop")
        assert [one.id for one in last.contradicts] == [later.id, entry.id]


async def test_other_projects_look_alikes_and_older_statements_are_left_alone(world: World) -> None:
    async with world.engine() as engine:
        await engine.append(PORT, kind="fact", project="shop")
        world.later(hours=1)
        for content, project in [
            (OTHER_PORT, "depot"),
            (OTHER_PORT, None),
            ("The billing worker listens on port 8090 now.", "shop"),
            ("On staging the billing gateway listens on port 8090 now.", "shop"),
        ]:
            assert (await engine.append(content, kind="fact", project=project)).contradicts == ()
        earlier = await engine.append(OTHER_PORT, kind="fact", project="shop", created="2026-11-01T10:00:00+00:00")
        assert earlier.outcome is Outcome.CREATED and earlier.contradicts == ()


async def test_the_index_has_the_relation_of_hand_written_notes_until_one_is_edited_or_forgotten(world: World) -> None:
    world.with_home("").write("notes/one.md", f"---\ncreated: 2026-11-01\nkind: fact\n---\n{PORT}\n".encode())
    world.write("notes/two.md", f"---\ncreated: 2026-11-03\nkind: fact\n---\n{OTHER_PORT}\n".encode())
    async with world.engine() as engine:
        (conflict,) = still_open(engine)
        assert (conflict.older, conflict.newer) == ("path:notes/one.md", "path:notes/two.md")
        assert (conflict.before, conflict.after) == ("8087", "8090")
        await engine.perform("reindex", {})
        await engine.sweep()
        assert still_open(engine) == [conflict]
        world.write("notes/one.md", f"---\ncreated: 2026-11-01\nkind: fact\n---\n{OTHER_PORT}\n".encode())
        await engine.sweep()
        assert not still_open(engine)


async def test_a_date_in_the_future_makes_no_note_the_newer_one(world: World) -> None:
    world.with_home("").write("notes/one.md", f"---\ncreated: 2099-01-01\nkind: fact\n---\n{PORT}\n".encode())
    async with world.engine() as engine:
        new = await engine.append(OTHER_PORT, kind="fact")
        assert [one.why for one in new.contradicts] == ["8087 → 8090"]


async def test_a_circle_of_contradictions_has_a_newest(world: World) -> None:
    async with world.engine() as engine:
        ids = []
        for port in (8087, 8090, 8087, 8090):
            world.later(hours=1)
            note = await engine.append(f"The billing gateway listens on port {port} now, since {len(ids)} o'clock.")
            ids.append(note.id)
        await engine.sweep()
    async with scanned(world) as conflicts:
        newest = conflicts.newer_of(ids[0])
        assert newest and newest.newer == ids[3]
        assert conflicts.newer_of(ids[3]) is None


async def test_of_very_many_values_the_newest_is_named_and_none_counts_unmarked_when_some_are_settled(
    world: World,
) -> None:
    world.with_home("")
    for n in range(40):
        head = f"---\nid: N{n:02}\nkind: fact\ncreated: 2026-11-01T10:{n:02}:00+00:00\n---\n"
        world.write(f"notes/fact/{n}.md", f"{head}The billing gateway listens on port {8000 + n} now.\n")
    async with world.engine() as engine:
        await engine.adopt()
        new = await engine.append("The billing gateway listens on port 9999 now.", kind="fact")
        assert new.contradicts[0].id == "N39"
        await engine.sweep()
    async with scanned(world) as conflicts:
        later = [conflicts.newer_of(NoteId(f"N{n:02}")) for n in range(40)]
        assert {one and one.newer for one in later} == {new.id}
    async with world.engine() as engine:
        await engine.settle("keep", new.id, "N39")
        left = [note for note in await engine.notes() if note.id != new.id]
        concerned = {side for one in still_open(engine) for side in (one.older, one.newer)}
        assert len(left) == 39 and [note.id for note in left if note.id not in concerned] == []
        rivals = 39
        while listed := await _rivals(engine, new.id):
            await engine.settle("keep", new.id)
            rivals -= len(listed)
            assert rivals == len([note for note in await engine.notes() if note.id != new.id])
        assert rivals == 0, "each gives way to it, once it was listed"


async def test_a_value_that_is_kept_leaves_other_subjects_of_its_rivals_alone(world: World) -> None:
    async with world.engine() as engine:
        first = await engine.append("The billing gateway is operated by Ada from the Berlin office.", kind="fact")
        for port in (8087, 8090, 9999):
            world.later(hours=1)
            last = await engine.append(f"The billing gateway listens on port {port} now.", kind="fact")
        while await _rivals(engine, last.id):
            await engine.settle("keep", last.id)
        assert {first.id, last.id} <= {note.id for note in await engine.notes()}
        assert sum("8087" in note.title or "8090" in note.title for note in await engine.notes()) == 0


async def test_what_counts_again_contradicts_again(world: World) -> None:
    async with world.engine() as engine:
        old = await engine.append(PORT, kind="fact")
        world.later(hours=1)
        third = await engine.append("The billing gateway is gone for good.", kind="fact", supersedes=old.id)
        world.later(hours=1)
        new = await engine.append(OTHER_PORT, kind="fact")
        assert await engine.conflicts() == [] == list(new.contradicts)
        await engine.forget(third.id)
        (item,) = await engine.conflicts()
        assert (item["older"]["id"], item["newer"]["id"]) == (old.id, new.id)


async def test_what_both_hold_says_so_in_the_file(world: World) -> None:
    world.with_home("").write("notes/one.md", f"---\nid: ONE\ncreated: 2026-11-01\n---\n{PORT}\n".encode())
    two = f"---\ncreated: 2026-11-03\ncompatible_with: [ONE]\n---\n{OTHER_PORT}\n"
    world.write("notes/two.md", two.encode())
    async with world.engine() as engine:
        assert not still_open(engine)
        world.write("notes/two.md", two.replace("compatible_with: [ONE]\n", "").encode())
        await engine.sweep()
        assert still_open(engine)


async def test_an_agent_is_told_the_newer_value_alone_and_what_held_before(world: World) -> None:
    async with world.engine() as engine:
        old = await engine.append(PORT, kind="fact", project="shop")
        world.later(hours=1)
        await engine.append(OTHER_PORT, kind="fact", project="shop", source="codex")
        await engine.sweep()
        told = await engine.recall("which port does the billing gateway listen on?", project="shop")
        assert OTHER_PORT in told and PORT not in told
        assert "was 8087 until 2026-11-21" in told
        told = await engine.recall("which port did the billing gateway listen on before?", project="shop")
        assert PORT in told and "8087 outdated since 2026-11-21: now 8090" in told
        assert told.index(OTHER_PORT) < told.index(PORT)
        newer, older = (await engine.search("billing gateway listens port 8087", project="shop")).hits
        assert older.id == old.id and older.outdated == "8087 outdated since 2026-11-21: now 8090"
        assert newer.outdated is None


async def test_an_older_note_stays_for_what_nobody_contradicts(world: World) -> None:
    dumps = "Dumps of the whole ledger go to the vaulted bucket in Falkenstein every night."
    async with world.engine() as engine:
        await engine.append(f"{PORT} {dumps}", kind="fact")
        world.later(days=1)
        await engine.append(OTHER_PORT, kind="fact")
        await engine.sweep()
        told = await engine.recall("on which port does the billing gateway listen")
        assert "8087 outdated since 2026-11-22: now 8090" in told and dumps in told
        assert told.index("8090 now.") < told.index(dumps)


async def test_a_general_note_holds_where_only_another_project_changed_it(world: World) -> None:
    async with world.engine() as engine:
        await engine.append("The line length of code is 88.", kind="preference")
        world.later(hours=1)
        await engine.append("The line length of code is 100 now.", kind="preference", project="shop")
        await engine.sweep()
        assert "is 88" in await engine.recall("what is the line length of code?", project="depot")
        assert "outdated" not in await engine.recall("what is the line length of code?", project="shop")
        assert await engine.conflicts() == [], "a project's rule is an exception"


async def test_an_entry_of_a_project_in_a_shared_log_replaces_that_projects_note(world: World) -> None:
    async with world.engine() as engine:
        old = await engine.append("The nightly job of billing runs at 02:00.", kind="fact", project="shop")
        world.later(hours=1)
        log = await engine.append("- The nightly job of billing now runs at 04:30.", kind="log", project="shop")
        assert [one.id for one in log.contradicts] == [old.id]
        await engine.sweep()
        told = await engine.recall("when does the nightly job of billing run?", project="shop")
        assert "04:30" in told and 'was "02:00"' in told and "runs at 02:00" not in told


async def _opposed(world: World, engine: KeywordEngine) -> tuple[Receipt, Receipt]:
    old = await engine.append(PORT, kind="fact")
    world.later(hours=1)
    return old, await engine.append(OTHER_PORT, kind="fact")


async def _rivals(engine: KeywordEngine, kept: str) -> list[str]:
    """What is listed as contradicting this note."""
    listed = await engine.conflicts()
    pairs = [{item[side]["id"] for side in ("older", "newer")} for item in listed]
    return [other for pair in pairs if kept in pair for other in pair - {kept}]


@pytest.mark.parametrize("contents", [
    (PORT, OTHER_PORT),
    ("The cache holds 300 entries.", "The cache holds 500 entries.", "The cache of the API holds 800 entries now."),
])  # fmt: skip
async def test_only_what_was_listed_gives_way_and_one_undo_brings_it_back(
    world: World, contents: tuple[str, ...]
) -> None:
    async with world.engine() as engine:
        for content in contents:
            kept = await engine.append(content, kind="fact", project="shop")
            world.later(hours=1)
        before, listed = world.files(), await _rivals(engine, kept.id)
        assert listed
        decided = await engine.settle("keep", kept.id)
        assert len(decided) == len(listed)
        assert {note.id for note in records(engine) if note.superseded_at} == set(listed)
        planned = await engine.perform("undo", {"target": kept.id})
        assert {step["target"] for step in planned["steps"]} == set(listed)
        undone = await engine.perform("undo", {"target": kept.id[-6:], "sure": True})
        assert [step["why"] for step in undone["steps"]] == [""] * len(listed)
        assert world.files() == before and sorted(await _rivals(engine, kept.id)) == sorted(listed)
        again = await engine.perform("undo", {"target": kept.id})
        assert [step["action"] for step in again["steps"]] == ["forget"], "storing it is the last thing that is left"


async def test_undoing_both_hold_opens_the_conflict_again(world: World) -> None:
    async with world.engine() as engine:
        old, new = await _opposed(world, engine)
        before = world.files()
        await engine.settle("both", old.id)
        undone = await engine.perform("undo", {"target": new.id, "sure": True})
        assert [(step["target"], step["why"]) for step in undone["steps"]] == [(new.id, "")]
        assert world.files() == before and await _rivals(engine, old.id) == [new.id]


async def test_a_decision_is_in_the_files(world: World) -> None:
    async with world.engine() as engine:
        old, new = await _opposed(world, engine)
        (listed,) = await engine.conflicts()
        assert (listed["older"]["id"], listed["newer"]["id"], listed["why"]) == (old.id, new.id, "8087 → 8090")
        await engine.settle("keep", old.path)
        assert f"superseded_by: [{old.id}]" in world.read(new.path).decode()
        assert await engine.conflicts() == []
        with pytest.raises(NotFound, match="no open conflict"):
            await engine.perform("review", {"items": [listed["id"]], "choice": "keep", "note": old.id})
        await engine.perform("reindex", {})
        kept = world.read(old.path).decode()
        world.write(old.path, kept.replace(PORT, f"{PORT} It has for years."))
        await engine.sweep()
        assert await engine.conflicts() == [], "an edit opens nothing again"
    async with world.engine() as restarted:
        assert await restarted.conflicts() == []


async def test_both_hold_survives_the_loss_of_the_index(world: World) -> None:
    async with world.engine() as engine:
        old, new = await _opposed(world, engine)
        before = world.read(new.path)
        await engine.settle("both", new.id, old.id)
        assert world.read(new.path).replace(f"compatible_with: [{old.id}]\n".encode(), b"") == before
        assert await engine.conflicts() == []
    rmtree(world.state / "index")
    async with world.engine() as engine:
        assert await engine.conflicts() == []


async def test_entries_of_logs_are_decided_too(world: World) -> None:
    async with world.engine() as engine:
        entries = []
        for hour in ("02:00", "04:30", "05:15"):
            world.later(hours=1)
            entries.append(await engine.append(f"- The nightly job of billing now runs at {hour}.", kind="log"))
        one, two, three = (entry.id for entry in entries)
        await engine.settle("both", one, two)
        assert f'compatible_with: ["{two.partition("#")[2]}={one}"]' in world.read(entries[0].path).decode()
        await engine.settle("keep", three)
        assert await engine.conflicts() == []
        told = await engine.recall("when does the nightly job of billing run?")
        assert "05:15" in told and "04:30" not in told and "02:00" not in told


async def test_five_hundred_notes_of_one_subject_are_compared_with_a_few_each(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conflict_scan, "BATCH_S", 5.0)  # as a fast machine does, many between two writes
    world.with_home("")
    for number in range(500):
        head = f"---\ncreated: 2026-11-{1 + number % 20:02}T{number % 24:02}:{number % 60:02}:00Z\nkind: fact\n---\n"
        world.write(f"notes/{number}.md", f"{head}The billing gateway listens on port {8000 + number} now.\n".encode())
    async with world.engine() as engine:
        compared = list[str]()
        while len(compared) < 500:
            await engine.sweep()
            with index_of(engine) as index:
                compared = [etag for etag in index.compared().values() if etag]
        found = still_open(engine)
        assert 400 <= len(found) <= 500 * 12, "each has one at least"
        told = await engine.recall("which port does the billing gateway listen on?")
        assert 1 <= told.count("listens on port") <= 12


async def test_a_session_starts_with_the_newer_of_two_preferences(world: World) -> None:
    async with world.engine() as engine:
        await engine.append("Use pip for Python packages.", kind="preference")
        world.later(hours=1)
        new = await engine.append("Python packages are installed with uv now, never use pip.", kind="preference")
        assert new.contradicts
        await engine.sweep()
        told = await engine.recall()
        assert told.count("installed with uv") == 1 and "Use pip" not in told.replace('was "Use pip', "")


async def test_nothing_takes_the_place_of_a_standing_order(world: World) -> None:
    world.with_home("").write("_always-load/pip.md", b"---\ncreated: 2026-11-01\n---\nAlways use pip for packages.\n")
    world.write("no.md", b"---\ncreated: 2026-11-20\n---\nNever use pip for packages.\n")
    async with world.engine() as engine:
        assert not still_open(engine)
        assert "Always use pip for packages." in await engine.recall()


async def test_an_import_of_the_own_export_contradicts_nothing_new(world: World) -> None:
    async with world.engine() as engine:
        old, new = await _opposed(world, engine)
        await engine.sweep()
        items = [
            {"path": note.path, "data": b64encode(world.read(note.path)).decode(), "id": note.id} for note in (old, new)
        ]
        await engine.perform("import", {"items": items})
        await engine.perform("import", {"items": items, "folder": "copy", "mark": "jsonl"})
        await engine.sweep()
        told = await engine.recall("which port does the billing gateway listen on?")
        assert OTHER_PORT in told and PORT not in told


async def test_what_held_before_is_not_told_of_what_is_forgotten_private_or_muted(world: World) -> None:
    async with world.engine() as engine:
        old = await engine.append(PORT, kind="fact", project="shop")
        world.later(hours=1)
        await engine.append(OTHER_PORT, kind="fact", project="shop")
        await engine.sweep()
        question = "which port does the billing gateway listen on?"
        assert "was 8087" in await engine.recall(question, project="shop")
        await engine.forget(old.id)
        assert "8087" not in await engine.recall(question, project="shop"), "before any scan"


async def test_a_receipt_names_no_private_note(world: World) -> None:
    async with world.engine() as engine:
        await engine.append("The therapy session is on Tuesday at 17:30.", kind="fact", tags=["private"])
        world.later(hours=1)
        new = await engine.append("The therapy session is on Tuesday at 18:15 now.", kind="fact")
        assert new.contradicts == new.similar == ()


async def test_a_receipt_names_no_private_or_muted_entry_of_a_log(world: World) -> None:
    async with world.engine() as engine:
        entry = await engine.append("The therapy session is on Tuesday at 17:30.", kind="log", tags=["private"])
        other = await engine.append("The dentist calls on Friday at 08:15.", kind="log")
        await engine.perform("mute", {"target": other.id, "project": None})
        world.later(hours=1)
        said = {
            entry.id: "The therapy session is on Tuesday at 18:15 now.",
            other.id: "The dentist calls on Friday at 09:45.",
        }
        for id_, text in said.items():
            new = await engine.append(text, kind="fact")
            assert id_ in [hit.id for hit in (await engine.search(text)).hits]
            assert new.contradicts == new.similar == ()


async def test_a_receipt_has_no_text_of_the_private_note_that_holds(world: World) -> None:
    async with world.engine() as engine:
        old = await engine.append(PORT, kind="fact")
        world.later(hours=1)
        new = await engine.append(OTHER_PORT, kind="fact", tags=["private"], supersedes=old.id)
        last = await engine.append("The billing gateway is gone.", kind="fact", supersedes=old.id)
        assert last.superseded and (last.superseded["id"], last.superseded["text"]) == (new.id, "")
        assert (await engine.forget(last.id)).holds_now == {"id": new.id, "path": new.path, "text": ""}


async def test_imported_text_and_answers_of_the_same_session_contradict_nothing(world: World) -> None:
    world.with_home("").write("imported/book/ports.md", f"---\ncreated: 2026-11-01\n---\n{PORT}\n".encode())
    async with world.engine() as engine:
        assert (await engine.append(OTHER_PORT, kind="fact")).contradicts == ()
        first = await engine.append("The mail worker runs on port 25.", kind="fact", session="one")
        world.later(hours=1)
        assert (await engine.append("The mail worker runs on port 587.", kind="fact", session="one")).contradicts == ()
        again = await engine.append("The mail worker runs on port 465 now, not 25.", kind="fact", session="one")
        assert first.id in [one.id for one in again.contradicts]


async def test_of_two_notes_about_what_is_asked_the_newer_comes_first(world: World) -> None:
    async with world.engine() as engine:
        await engine.append("My dentist is Dr. Adams, her practice is in the old mill behind the station.", kind="fact")
        world.later(days=3)
        await engine.append("The dentist moved in with Dr. Baker and shares the waiting room.", kind="fact")
        told = await engine.recall("who is my dentist?")
        assert told.index("Baker") < told.index("Adams")


@pytest.mark.parametrize(
    ("folder", "adams", "baker", "order"),
    [
        ("notes/fact", "2031-01-01T10:00:00+00:00", "2026-10-20T10:00:00+00:00", ["Baker", "Adams"]),
        ("notes/fact", "2026-10-20T23:30:00-05:00", "2026-10-21T01:00:00+02:00", ["Adams", "Baker"]),
        ("imported/book", "2026-10-20T10:00:00+00:00", "2026-10-25T10:00:00+00:00", ["Adams", "Baker"]),
    ],
    ids=["future", "offsets", "imported"],
)
async def test_a_date_in_the_future_and_imported_text_order_nothing(
    world: World, folder: str, adams: str, baker: str, order: list[str]
) -> None:
    mill = "My dentist is Dr. Adams, her practice is in the old mill behind the station."
    world.write("notes/fact/adams.md", f"---\nkind: fact\ncreated: {adams}\n---\n{mill}\n")
    shared = "The dentist moved in with Dr. Baker and shares the waiting room."
    world.write(f"{folder}/baker.md", f"---\nkind: fact\ncreated: {baker}\n---\n{shared}\n")
    async with world.engine() as engine:
        await engine.sweep()
        told = await engine.recall("who is my dentist?")
        assert sorted(order, key=told.index) == order


async def test_the_value_before_is_found_whatever_the_time_zones(world: World) -> None:
    when = {8087: "20T10:00:00+00:00", 8090: "21T01:00:00+02:00", 8093: "20T23:30:00-05:00", 8099: "22T10:00:00+00:00"}
    for port, created in when.items():
        text = f"The billing gateway listens on port {port}."
        world.write(f"notes/fact/{port}.md", f"---\nkind: fact\ncreated: 2026-10-{created}\n---\n{text}\n")
    async with world.engine() as engine:
        await engine.sweep()
        told = await engine.recall("which port does the billing gateway listen on?")
        assert "8099" in told and "was 8093" in told
