"""Chains: of all notes that replaced one another, one holds."""

from __future__ import annotations

import shutil
from contextlib import suppress
from pathlib import Path

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_memory.errors import NotFound, Refused
from mcp_memory.models import NoteState, Receipt
from mcp_memory.vault.succession import chains
from tests.support.keyword_engine import KeywordEngine
from tests.support.world import EXHAUSTIVE, World, found, made, more, records

pytestmark = pytest.mark.anyio


async def chain(world: World, engine: KeywordEngine, *contents: str) -> list[Receipt]:
    notes: list[Receipt] = []
    for content in contents:
        notes.append(await engine.append(content, kind="fact", supersedes=notes[-1].id if notes else None))
        world.later(seconds=1)
    return notes


async def test_the_older_note_holds_again_when_the_newer_one_is_forgotten_and_not_when_it_is_restored(
    world: World,
) -> None:
    async with world.engine() as engine:
        four, five, six = await chain(world, engine, "Tea at four", "Tea at five", "Tea at six")
        holding = (await engine.forget(six.id)).holds_now
        assert holding and (holding["id"], holding["text"]) == (five.id, "Tea at five")
        assert await found(engine, "tea") == [five.path]
        assert "counts again" in await engine.recall(ids=[five.id])
        assert (await engine.append("Tea at five", kind="fact")).id == five.id, "it counts, so it is not stored twice"
        await engine.forget(five.id)
        assert await found(engine, "tea") == [four.path]
        await engine.forget(six.id, restore=True)
        assert await found(engine, "tea") == [six.path]
        await engine.forget(five.id, restore=True)
        assert await found(engine, "tea") == [six.path]
        hits = (await engine.search("tea", include_archived=True)).hits
        assert {hit.path: (hit.status, hit.superseded_by) for hit in hits} == {
            four.path: ("superseded", six.id), five.path: ("superseded", six.id), six.path: ("active", None)
        }  # fmt: skip


@pytest.mark.parametrize("middle", [False, True])
async def test_a_file_deleted_by_hand_or_erased_leaves_one_that_holds(world: World, middle: bool) -> None:
    async with world.engine() as engine:
        four, five, six = await chain(world, engine, "Tea at four", "Tea at five", "Tea at six")
        (world.root / (five if middle else six).path).unlink()
        await engine.sweep()
        assert await found(engine, "tea") == [(six if middle else five).path]
        await engine.perform("erase", {"target": (six if middle else five).id, "sure": True})
        assert await found(engine, "tea") == [four.path]
    async with world.engine() as engine:
        assert await found(engine, "tea") == [four.path]


async def test_marks_that_come_by_hand_or_with_a_sync_count_at_the_next_sweep(world: World) -> None:
    async with world.engine() as engine:
        four, five = await chain(world, engine, "Tea at four", "Tea at five")
        file = world.root / five.path
        text = file.read_text()
        file.write_text(text.replace("kind: fact", "kind: fact\nstatus: deleted"))
        await engine.sweep()
        assert await found(engine, "tea") == [four.path]
        file.write_text(text)
        await engine.sweep()
        assert await found(engine, "tea") == [five.path]


async def test_what_is_archived_brings_nothing_back(world: World) -> None:
    async with world.engine() as engine:
        _, five = await chain(world, engine, "Tea at four", "Tea at five")
        file = world.root / five.path
        file.write_text(file.read_text().replace("kind: fact", "kind: fact\nstatus: archived"))
        await engine.sweep()
        assert await found(engine, "tea") == []


async def test_what_another_note_took_the_place_of_comes_back_as_history(world: World) -> None:
    async with world.engine() as engine:
        four, five = await chain(world, engine, "Tea at four", "Tea at five")
        await engine.forget(five.id)
        six = await engine.append("Tea at six", kind="fact", supersedes=four.id)
        restored = await engine.forget(five.id, restore=True)
        assert restored.status == "superseded" and restored.holds_now and restored.holds_now["id"] == six.id
        assert await found(engine, "tea") == [six.path]
        await engine.forget(six.id)
        assert await found(engine, "tea") == [five.path]


async def test_what_lost_its_mark_is_superseded_again_when_its_successor_is_restored(world: World) -> None:
    async with world.engine() as engine:
        four, five = await chain(world, engine, "Tea at four", "Tea at five")
        done = await engine.perform("undo", {"target": five.id, "sure": True})
        assert done and await found(engine, "tea") == [four.path]
        assert b"superseded" not in world.read(four.path)
        assert (await engine.forget(five.id, restore=True)).status == "active"
        assert await found(engine, "tea") == [five.path]


async def test_a_name_that_no_note_has_keeps_the_note_superseded(world: World) -> None:
    head = "---\nid: old\nstatus: superseded\nsuperseded_by: the roadmap of 2025\n---\n"
    world.with_home("").write("notes/fact/old.md", f"{head}Tea at four\n")
    async with world.engine() as engine:
        assert await found(engine, "tea") == []
        assert "was superseded." in await engine.recall(path="notes/fact/old.md")


async def test_circles_that_hands_made_end(world: World) -> None:
    world.with_home("")
    circles = (
        ("one", "two"),
        ("two", "three"),
        ("three", "one"),
        ("self", "self"),
        ("left", "right"),
        ("right", "left"),
        ("alpha", "bravo"),  # a circle that something outside replaced
        ("bravo", "alpha, exit"),
    )
    for name, other in circles:
        created = f"created: 2026-11-{10 + len(name)}\n"
        marks = f"---\nid: {name}\n{created}status: superseded\nsuperseded_by: [{other}]\nsupersedes: [{other}]\n---\n"
        world.write(f"notes/fact/{name}.md", f"{marks}Tea at {name}\n")
    world.write("notes/fact/exit.md", "---\nid: exit\ncreated: 2026-11-12\n---\nTea at the exit\n")
    async with world.engine() as engine:
        await engine.adopt()
        for name in ("one", "self"):
            assert f"Tea at {name}" in await engine.recall(path=f"notes/fact/{name}.md")
            assert (await engine.perform("history", {"target": name}))["chain"]
        held = {f"notes/fact/{name}.md" for name in ("self", "right", "three", "exit")}
        assert set(await found(engine, "tea")) == held
        hits = (await engine.search("tea", limit=50, include_archived=True)).hits
        assert {hit.superseded_by for hit in hits if hit.id in {"one", "two"}} == {"three"}
        heads = {one.what.partition(" ")[0] for one in await engine.doctor() if "circle" in one.what}
        assert heads == held - {"notes/fact/exit.md"}
        receipt = await engine.append("Tea at last", kind="fact", supersedes="one")
        held = held - {"notes/fact/three.md"} | {receipt.path}
        assert set(await found(engine, "tea")) == held
    world.write("notes/fact/one.md", "---\nid: one\ncreated: 2026-11-13\n---\nTea at one\n")
    async with world.engine() as engine:
        assert "notes/fact/one.md" in await found(engine, "tea")


@pytest.mark.parametrize("is_too_long", [False, True])
async def test_a_long_circle_has_one_that_holds_or_is_named_by_the_doctor(
    world: World, monkeypatch: pytest.MonkeyPatch, is_too_long: bool
) -> None:
    if not EXHAUSTIVE:
        monkeypatch.setattr(chains, "MOST_IN_CIRCLE", 30)
    notes = chains.MOST_IN_CIRCLE + (10 if is_too_long else -10)
    world.with_home("")
    for number in range(notes):
        marks = (
            f"status: superseded\nsuperseded_by: [n{(number + 1) % notes}]\ncreated: 2026-11-01T10:{number % 60:02}:00Z"
        )
        world.write(f"notes/fact/{number}.md", f"---\nid: n{number}\n{marks}\n---\nTea at {number}\n")
    async with world.engine() as engine:
        holding = await found(engine, "tea")
        named = [one.what for one in await engine.doctor() if "in a circle" in one.what]
        assert len(named) == 1 and named[0].startswith("notes/fact/")
        assert (len(holding), "is hidden" in named[0]) == ((0, True) if is_too_long else (1, False))


async def test_a_circle_that_comes_file_by_file_with_a_sync_has_one_that_holds(world: World) -> None:
    world.with_home("")
    names = ["three", "one", "two"]
    async with world.engine() as engine:
        for name, other in zip(names, [names[1], names[2], names[0]], strict=True):
            created = f"created: 2026-11-{10 + len(name)}\n"
            world.write(
                f"notes/{name}.md",
                f"---\nid: {name}\n{created}status: superseded\nsuperseded_by: {other}\n---\nTea at {name}\n",
            )
            await engine.sweep()
        assert await found(engine, "tea") == ["notes/three.md"]


async def test_a_note_and_an_entry_that_replaced_each_other_have_one_that_holds(world: World) -> None:
    async with world.engine() as engine:
        entry = await engine.append("Tea at four", kind="log")
        world.later(minutes=1)
        note = await engine.append("Tea at five", kind="fact", supersedes=entry.id)
        text = world.read(note.path).decode()
        world.write(
            note.path, text.replace("kind: fact", f"kind: fact\nstatus: superseded\nsuperseded_by: '{entry.id}'")
        )
        await engine.sweep()
        assert await found(engine, "tea") == [note.path]


async def test_two_that_replaced_one_note_on_two_machines_are_a_conflict_until_one_is_kept(world: World) -> None:
    world.with_home("")
    head = "---\nid: {0}\ncreated: 2026-11-1{1}\nsupersedes: [{2}]\n---\n{3}\n"
    world.write(
        "notes/old.md", "---\nid: OLD\nstatus: superseded\nsuperseded_by: [RED]\n---\n# Colours\n\nThe door is blue\n"
    )
    world.write("notes/red.md", head.format("RED", 2, "OLD", "Paint it as the owner said, in red"))
    world.write("notes/red.sync-conflict-20261121-120000-ABCDEFG.md", world.read("notes/red.md"))
    async with world.engine() as engine:
        assert await engine.conflicts() == []
        world.write("notes/green.md", head.format("GREEN", 3, "OLD", "Green, by a vote of the neighbours"))
        await engine.sweep()
        (item,) = await engine.conflicts()
        assert (item["older"]["id"], item["newer"]["id"], item["why"]) == ("RED", "GREEN", 'both replace "Colours"')
        hits = (await engine.search("red owner")).hits
        assert hits[0].outdated is None, "both were stored as the newest: only a person can tell"
        await engine.adopt()
        await engine.settle("keep", "RED")
        assert await engine.conflicts() == []
        assert await found(engine, "vote neighbours") == []


async def test_a_long_chain_is_read_from_any_link(world: World) -> None:
    async with world.engine() as engine:
        notes = await chain(world, engine, *(f"Tea at {number}" for number in range(50)))
        assert await found(engine, "tea") == [notes[-1].path]
        receipt = await engine.append("Tea at last", kind="fact", supersedes=notes[0].id)
        assert receipt.superseded and receipt.superseded["id"] == notes[-1].id
        for note in (notes[0], notes[25], receipt):
            listed = (await engine.perform("history", {"target": note.id}))["chain"]
            assert [link["id"] for link in listed] == [receipt.id, *(known.id for known in reversed(notes))]
            assert [link["status"] for link in listed] == ["active", *["superseded"] * 50]
        told = await engine.recall(ids=[notes[0].id])
        assert told.index("Tea at last") < told.index("Tea at 0") and "superseded" in told


async def test_a_log_entry_is_superseded_by_a_mark_in_the_head_alone(world: World) -> None:
    async with world.engine() as engine:
        entry = await engine.append("Tea is at four, says Ada.", kind="log", title="Tea")
        other = await engine.append("The kettle leaks.", kind="log")
        body = world.read(entry.path).decode()
        world.later(seconds=1)
        five = await engine.append("Tea is at five.", kind="fact", supersedes=entry.id)
        assert five.superseded and five.superseded["id"] == entry.id and "says Ada" in five.superseded["text"]
        marked = world.read(entry.path).decode()
        assert marked.endswith(body) and entry.id.partition("#")[2] in marked[: -len(body)]
        assert [hit.id for hit in (await engine.search("tea")).hits if "ea is" in hit.snippet] == [five.id]
        assert "says Ada" not in await engine.recall() and "kettle leaks" in await engine.recall()
        told = await engine.recall(ids=[entry.id])
        assert five.id in told and told.index("at five") < told.index("says Ada")
        hits = (await engine.search("tea", include_archived=True)).hits
        assert {(hit.id, hit.status, hit.superseded_by) for hit in hits if "ea is" in hit.snippet} == {
            (five.id, "active", None), (entry.id, "superseded", five.id)
        }  # fmt: skip
        world.later(seconds=1)
        six = await engine.append("Tea is at six.", kind="fact", supersedes=entry.id)
        assert six.superseded and six.superseded["id"] == five.id
        listed = (await engine.perform("history", {"target": entry.id}))["chain"]
        assert [link["id"] for link in listed] == [six.id, five.id, entry.id]
        await engine.forget(six.id)
        await engine.forget(five.id)
        assert {hit.id for hit in (await engine.search("tea")).hits if "Ada" in hit.snippet} == {entry.id}
        await engine.forget(entry.id)
        with pytest.raises(NotFound):
            await engine.append("Tea is at seven.", kind="fact", supersedes=entry.id)
        assert other.id in {hit.id for hit in (await engine.search("kettle")).hits}


async def test_an_entry_that_is_edited_in_an_editor_stays_superseded(world: World) -> None:
    async with world.engine() as engine:
        entries = [
            await engine.append(f"Tea is at four, says {who}.", kind="log", title="Tea") for who in ("Ada", "Bo")
        ]
        five = await engine.append("Tea is at five.", kind="fact", supersedes=entries[0].id)
        path, marked = entries[0].path, world.read(entries[0].path)
        world.write(path, marked.replace(b"says Ada", b"said Ada, who left"))
        await engine.sweep()
        hits = (await engine.search("tea", include_archived=True)).hits
        assert {(hit.status, hit.superseded_by) for hit in hits if "Ada" in hit.snippet} == {("superseded", five.id)}
        assert {hit.status for hit in hits if "Bo" in hit.snippet} == {"active"}
        assert "Ada" not in await engine.recall("when is tea?") and "says Bo" in await engine.recall("when is tea?")
        now = next(hit.id for hit in hits if "Ada" in hit.snippet)
        assert five.id in await engine.recall(ids=[now])
        six = await engine.append("Tea is at six.", kind="fact", supersedes=entries[1].id)
        await engine.forget(five.id)
        assert {hit.id for hit in (await engine.search("tea")).hits if "ea is" in hit.snippet} == {now, six.id}
        await engine.forget(five.id, restore=True)
        text = world.read(path).decode()
        world.write(path, text.replace(text[text.index("## ") : text.rindex("## ")], ""))
        await engine.sweep()
        await engine.forget(six.id)
        assert [hit.snippet for hit in (await engine.search("says Bo")).hits if "Bo" in hit.snippet], (
            "no other is hidden"
        )


async def test_a_persons_successor_is_not_replaced_by_agents(world: World) -> None:
    async with world.engine() as engine:
        old = await engine.append("Tea at four", kind="fact")
        file = world.root / old.path
        marks = "status: superseded\nsuperseded_by: [mine]\n"
        file.write_text(file.read_text().replace("kind: fact\n", f"kind: fact\n{marks}"))
        world.write("notes/fact/mine.md", "---\nid: mine\n---\nTea at five\n")
        await engine.sweep()
        before = world.files()
        with pytest.raises(Refused, match="mine"):
            await engine.append("Tea at six", kind="fact", supersedes=old.id)
        assert world.files() == before


async def test_as_of_a_date_what_counted_then_is_found(world: World) -> None:
    async with world.engine() as engine:
        four = await engine.append("Tea at four", kind="fact")
        gone = await engine.append("Tea in the blue pot", kind="fact", expires="2026-11-25")
        world.later(days=5)
        five = await engine.append("Tea at five", kind="fact", supersedes=four.id)
        world.later(days=5)
        assert await found(engine, "tea") == [five.path]
        assert set(await found(engine, "tea", until="2026-11-24")) == {four.path, gone.path}
        assert await found(engine, "tea", until="2026-11-29") == [five.path]
        told = await engine.recall("when is tea", until="2026-11-24")
        assert "Tea at four" in told and "Tea at five" in told and five.id in told
        assert "was superseded" not in await engine.recall("when is tea")


@pytest.mark.parametrize("restarts", [False, True])
async def test_what_a_note_replaced_for_a_time_is_active_after_its_end(world: World, *, restarts: bool) -> None:
    async with world.engine() as engine:
        four = await engine.append("Tea at four", kind="fact")
        five = await engine.append("Tea at five", kind="fact", supersedes=four.id, expires="2026-11-25")
        duty = await engine.append("Order tea", kind="commitment", due="2026-11-24")
        late = {"due": "2026-11-25", "expires": "2026-11-25", "supersedes": duty.id}
        moved = await engine.append("Order more tea", kind="commitment", **late)
        world.later(days=2)
        await engine.sweep()
        assert await found(engine, "tea", kinds=["fact"]) == [five.path]
        if not restarts:
            world.later(days=3)
            await engine.sweep()
            assert await found(engine, "tea") == [four.path]
    world.later(days=3)
    async with world.engine() as engine:
        assert await found(engine, "tea") == [four.path], "a duty in place of a duty is for good"
        assert f"{moved.id}" in await engine.recall(ids=[duty.id])
        assert "has ended" in await engine.recall(ids=[four.id])
        six = await engine.append("Tea at six", kind="fact", supersedes=four.id)
        await engine.sweep()
        assert await found(engine, "tea") == [six.path]


async def test_a_copy_of_the_folder_knows_its_chains(world: World, tmp_path: Path) -> None:
    """As git clone, a sync client, or a restored backup make one, without the state folder."""
    async with world.engine() as engine:
        four, five, six = await chain(world, engine, "Tea at four", "Tea at five", "Tea at six")
        await engine.forget(six.id)
    clone = made(tmp_path / "clone")
    shutil.copytree(world.root, clone.root)
    async with clone.engine() as engine:
        assert await found(engine, "tea") == [five.path]
        assert f"superseded by {five.id}" in await engine.recall(ids=[four.id])
        assert len((await engine.perform("history", {"target": four.id}))["chain"]) == 3


async def test_two_machines_that_replaced_one_note_leave_both_and_history_names_them(world: World) -> None:
    async with world.engine() as engine:
        four, five = await chain(world, engine, "Tea at four", "Tea at five")
        file = world.root / five.path
        other = file.read_text().replace(five.id, "01M7Z3HPR77M1K414E2NKABTV4").replace("five", "half past")
        world.write("notes/fact/half-past.md", other)  # what the other machine stored
        old = world.root / four.path
        old.write_text(old.read_text().replace(f"[{five.id}]", f"[{five.id}, 01M7Z3HPR77M1K414E2NKABTV4]"))
        await engine.sweep()
        assert set(await found(engine, "tea")) == {five.path, "notes/fact/half-past.md"}
        assert len((await engine.perform("history", {"target": five.id}))["chain"]) == 3


async def test_a_date_in_the_future_changes_no_order_of_a_chain(world: World) -> None:
    async with world.engine() as engine:
        four, five = await chain(world, engine, "Tea at four", "Tea at five")
        file = world.root / four.path
        file.write_text(file.read_text().replace("created: 2026", "created: 2099"))
        await engine.sweep()
        assert await found(engine, "tea") == [five.path]
        assert await found(engine, "tea", until="2050-01-01") == [five.path]
        told = await engine.recall(ids=[four.id])
        assert told.index("Tea at five") < told.index("Tea at four")


OPERATIONS = st.lists(
    st.tuples(st.sampled_from(["append", "supersede", "forget", "restore", "sweep", "later"]), st.integers(0, 99)),
    max_size=14,
)


@settings(max_examples=more(12), deadline=None)
@given(operations=OPERATIONS)
def test_one_note_of_a_chain_holds_whatever_happens(
    tmp_path_factory: pytest.TempPathFactory, operations: list[tuple[str, int]]
) -> None:
    folder = tmp_path_factory.mktemp("chain")

    async def run() -> None:
        world = made(folder)
        async with world.engine() as engine:
            chains: list[list[str]] = []
            for operation, number in [("append", 0), *operations]:
                every = [(links, link) for links in chains for link in links]
                links, link = every[number % len(every)] if every else ([], "")
                if operation == "append":
                    chains.append([(await engine.append(f"Tea {len(every)}", kind="fact")).id])
                elif operation == "supersede":
                    with suppress(NotFound):  # it is forgotten
                        links.append((await engine.append(f"Tea {len(every)}", kind="fact", supersedes=link)).id)
                elif operation in ("forget", "restore"):
                    await engine.forget(link, restore=operation == "restore")
                elif operation == "sweep":
                    await engine.sweep()
                else:
                    world.later(seconds=number)
                states = {record.id: record.state for record in records(engine)}
                for links in chains:
                    active = [link for link in links if states[link] is NoteState.ACTIVE]
                    forgotten = [link for link in links if states[link] is NoteState.DELETED]
                    assert len(active) == (len(forgotten) < len(links)), (links, states)
        shutil.rmtree(world.state / "index")
        async with world.engine() as engine:
            assert {record.id: record.state for record in records(engine)} == states

    anyio.run(run)
    shutil.rmtree(folder)
