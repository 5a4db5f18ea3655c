"""Topics renamed, moved, merged and split, by command and in a file manager: links follow, titles stay, and each run is
taken back."""

from __future__ import annotations

import shutil
from dataclasses import replace
from types import SimpleNamespace

import anyio
import pytest

from mcp_memory.compaction.topic_edits import checked_title
from mcp_memory.errors import Busy, InvalidInput, McpMemoryError, NotFound, Refused
from mcp_memory.topics.page import CHILDREN, PAGE
from tests.support.keyword_engine import KeywordEngine
from tests.support.topics import ALL_AT_ONCE, RAIL, TEA, dangling, leaves, told, topic_of, tree_of
from tests.support.world import World

pytestmark = pytest.mark.anyio

MORE = ["Green tea from Uji needs water of 99 degrees and a warm pot."]


async def edit(engine: KeywordEngine, verb: str, topic: str, **more: object) -> SimpleNamespace:
    return SimpleNamespace(**await engine.perform("edit_topic", {"verb": verb, "topic": topic, **more}))


def titles(engine: KeywordEngine, tree: list) -> dict[str, str]:
    return {topic.name: topic.title for top in tree for topic in top.walk()}


async def filed(engine: KeywordEngine, world: World) -> tuple[str, str]:
    await told(engine, TEA + RAIL)
    await engine.compact()
    return topic_of(world, "green-tea"), topic_of(world, "night-train")


async def test_the_quick_tree_follows_each_change_and_lists_no_notes_if_not_asked(toy_world: World) -> None:
    async with toy_world.engine(topics=ALL_AT_ONCE) as engine:
        tea, _ = await filed(engine, toy_world)

        async def same() -> list:
            quick, whole = [await engine.perform("tree", {"quick": quick}) for quick in (True, False)]
            assert quick == whole
            return [topic["title"] for topic in quick["topics"]]

        before = await same()
        report = await edit(engine, "rename", tea, name="Hot drinks")
        assert "Hot drinks" in await same()
        await engine.perform("undo", {"target": report.run, "sure": True})
        assert await same() == before
        await engine.forget((await tree_of(engine))[0].leaves[0].id)
        await same()
        found = await engine.perform("tree", {"notes": False})
        assert [(len(topic["leaves"]), topic["notes"]) for topic in found["topics"]] == [(0, 3), (0, 4)]
        assert not found["fresh"]


async def test_renamed_by_command_it_keeps_its_title_its_page_and_its_links(toy_world: World) -> None:
    async with toy_world.engine(topics=ALL_AT_ONCE) as engine:
        tea, _ = await filed(engine, toy_world)
        note = next((toy_world.root / tea).glob("001-*.md")).name
        fact = await engine.append(f"See [tea](../../{tea}/{note}) and [[{tea}/{note[:-3]}]].", kind="fact")
        before = toy_world.files()
        page = (await tree_of(engine))[0].id
        report = await edit(engine, "rename", tea, name="Tea/Coffee, and 茶")
        (folder,) = [topic.folder for topic in await tree_of(engine) if topic.id == page]
        assert folder == "topics/01-tea-coffee-and-茶" and not report.left and not report.links
        assert f"({'../../' + folder}/{note})" in toy_world.read(fact.path).decode() and not list(dangling(toy_world))
        await told(engine, MORE)
        ids = [note.id for note in (await tree_of(engine))[0].leaves]
        await engine.forget(ids[0])
        await engine.compact()
        (topic,) = [topic for topic in await tree_of(engine) if topic.folder == folder]
        assert topic.title == "Tea/Coffee, and 茶" and topic.notes == 5 and not topic.stale and not topic.edited
        await engine.forget(ids[0], restore=True)
    async with toy_world.engine(topics=ALL_AT_ONCE) as engine:
        (topic,) = [topic for topic in await tree_of(engine) if topic.folder == folder]
        assert topic.ours and topic.title == "Tea/Coffee, and 茶"
        assert before.keys() - toy_world.files().keys()


@pytest.mark.parametrize("verb", ["rename", "move", "merge", "split"])
async def test_each_edit_is_taken_back_to_the_byte(toy_world: World, verb: str) -> None:
    async with toy_world.engine(topics=ALL_AT_ONCE) as engine:
        tea, rail = await filed(engine, toy_world)
        note = next((toy_world.root / tea).glob("001-*.md")).name
        await engine.append(f"See [tea](../../{tea}/{note}) and [its page](../../{tea}/{PAGE}).", kind="fact")
        await engine.compact()
        before = toy_world.files()
        wanted = {
            "rename": {"name": "My tea"}, "move": {"into": rail}, "merge": {"into": rail},
            "split": {"name": "Hot", "notes": [note]},
        }[verb]  # fmt: skip
        report = await edit(engine, verb, tea, **wanted)
        after = toy_world.files()
        assert sorted(leaves(after).values()) == sorted(leaves(before).values()) and after != before
        assert not list(dangling(toy_world)) and not report.left and not report.given_up
        assert not (await engine.compact()).done, "everything was brought up to date"
        undone = await engine.undo_run(report.run)
        assert toy_world.files() == before and not undone.left


async def test_moved_into_another_and_to_the_top_again(toy_world: World) -> None:
    async with toy_world.engine(topics=ALL_AT_ONCE) as engine:
        tea, rail = await filed(engine, toy_world)
        before = leaves(toy_world.files())
        await edit(engine, "move", tea, into=rail)
        (top,) = await tree_of(engine)
        assert [topic.name for topic in top.topics] == [tea.rpartition("/")[2]] and top.notes == 8
        for into in (tea.rpartition("/")[2], f"{rail}/{tea.rpartition('/')[2]}"):
            with pytest.raises((InvalidInput, NotFound)):
                await edit(engine, "move", rail, into=into)
        await edit(engine, "move", f"{rail}/{tea.rpartition('/')[2]}", into="/")
        assert leaves(toy_world.files()) == before and not list(dangling(toy_world))
        with pytest.raises(InvalidInput, match="there already"):
            await edit(engine, "move", tea, into="")


async def test_merged_pages_keep_what_a_person_wrote(toy_world: World) -> None:
    async with toy_world.engine(topics=ALL_AT_ONCE) as engine:
        tea, rail = await filed(engine, toy_world)
        page = toy_world.root / tea / PAGE
        page.write_text(page.read_text().replace(CHILDREN, f"Bought at *Ada's*.\n\n{CHILDREN}"))
        await engine.sweep()
        await edit(engine, "merge", tea, into=rail)
        (topic,) = await tree_of(engine)
        assert topic.folder == rail and topic.notes == 8 and not (toy_world.root / tea).exists()
        assert "\n\nBought at *Ada's*.\n" in toy_world.read(topic.page_path).decode()
        await told(engine, MORE)
        await engine.compact()
        assert "\n\nBought at *Ada's*.\n" in toy_world.read(topic.page_path).decode()


async def test_split_by_words(toy_world: World) -> None:
    async with toy_world.engine(topics=ALL_AT_ONCE) as engine:
        tea, _ = await filed(engine, toy_world)
        await edit(engine, "split", tea, name="61 degrees")
        tree = await tree_of(engine)
        assert {topic.title: topic.notes for topic in tree}["61 degrees"] == 1 and sum(t.notes for t in tree) == 8
        for name in ("Nowhere at all", "green tea"):
            with pytest.raises(InvalidInput, match="would be split off"):
                await edit(engine, "split", tea, name=name)


async def test_what_is_a_persons_is_moved_by_no_command(toy_world: World) -> None:
    async with toy_world.engine(topics=ALL_AT_ONCE) as engine:
        tea, rail = await filed(engine, toy_world)
        toy_world.write(f"{tea}/mine.md", "My own words on tea.")
        toy_world.write("topics/09-mine/one.md", "Mine.")
        await engine.sweep()
        before = toy_world.files()
        for verb, topic, more in (
            ("rename", tea, {"name": "x1"}), ("move", tea, {"into": rail}), ("merge", tea, {"into": rail}),
            ("rename", "topics/09-mine", {"name": "x1"}), ("merge", rail, {"into": "topics/09-mine"}),
        ):  # fmt: skip
            with pytest.raises(Refused):
                await edit(engine, verb, topic, **more)
        assert toy_world.files() == before


@pytest.mark.parametrize("folder", ["My tea", "07-my-tea", "My_tea", "01-my-tea"])
async def test_renamed_in_a_file_manager_the_title_follows_and_the_topic_grows(toy_world: World, folder: str) -> None:
    async with toy_world.engine(topics=ALL_AT_ONCE) as engine:
        tea, _ = await filed(engine, toy_world)
        (toy_world.root / tea).rename(toy_world.root / "topics" / folder)
        await told(engine, MORE)
        await engine.compact()
        (topic,) = [topic for topic in await tree_of(engine) if topic.folder == f"topics/{folder}"]
        assert topic.title == "My tea" and topic.notes == 5 and topic.ours and not topic.stale
        assert "99 degrees" in toy_world.read(topic.page_path).decode() and not list(dangling(toy_world))
        before = toy_world.files()
        again = await engine.compact()
        assert not again.done and not again.kept and toy_world.files() == before


TEN = "旅行 رحلة הטיול_שלי हिन्दी_यात्रा การเดินทาง поездка ταξίδι 여행 chuyến_đi می‌خواهم"


@pytest.mark.parametrize("name", TEN.replace(" ", "|").replace("_", " ").split("|"))
async def test_a_topic_is_called_in_any_language(toy_world: World, name: str) -> None:
    async with toy_world.engine(topics=ALL_AT_ONCE) as engine:
        tea, rail = await filed(engine, toy_world)
        await edit(engine, "rename", tea, name=name)
        (toy_world.root / rail).rename(toy_world.root / "topics" / f"{name} 2")
        await told(engine, MORE)
        assert not (await engine.compact()).left
        tree = await tree_of(engine)
        assert {topic.title for topic in tree} == {name, f"{name} 2"[:1].upper() + f"{name} 2"[1:]}
        assert {topic.notes for topic in tree} == {4, 5} and not list(dangling(toy_world))


@pytest.mark.parametrize("folder", ["_old", "con", "tea.", "a:b", "te\u202ea"])
async def test_a_folder_of_a_hostile_name_is_left_as_it_is(toy_world: World, folder: str) -> None:
    async with toy_world.engine(topics=ALL_AT_ONCE) as engine:
        tea, _ = await filed(engine, toy_world)
        (toy_world.root / tea).rename(toy_world.root / "topics" / folder)
        await engine.sweep()
        before = {path: data for path, data in toy_world.files().items() if path.startswith(f"topics/{folder}/")}
        await told(engine, MORE)
        await engine.compact()
        after = toy_world.files()
        assert {path for path in after if path.startswith(f"topics/{folder}/")} == set(before)
        assert all(after[path] == data for path, data in before.items() if not path.endswith(PAGE))


async def test_a_folder_moved_out_of_the_topics_and_back_is_the_same_topic(toy_world: World) -> None:
    async with toy_world.engine(topics=ALL_AT_ONCE) as engine:
        tea, _ = await filed(engine, toy_world)
        inside = {path: data for path, data in toy_world.files().items() if path.startswith(tea)}
        (toy_world.root / tea).rename(toy_world.root / "elsewhere")
        await engine.compact()
        assert len(await tree_of(engine)) == 1
        for back in (tea, "topics/05-back"):
            (toy_world.root / "elsewhere").rename(toy_world.root / back)
            await engine.compact()
            (topic,) = [topic for topic in await tree_of(engine) if topic.folder == back]
            assert topic.ours and topic.notes == 4 and not topic.stale and not list(dangling(toy_world))
            if back == tea:
                assert {path: data for path, data in toy_world.files().items() if path.startswith(tea)} == inside
                (toy_world.root / back).rename(toy_world.root / "elsewhere")
                await engine.sweep()
        assert topic.title == "Back"
        await told(engine, MORE)
        await engine.compact()
        assert {topic.notes for topic in await tree_of(engine)} == {4, 5}


async def test_a_copied_folder_is_a_persons(toy_world: World) -> None:
    async with toy_world.engine(topics=ALL_AT_ONCE) as engine:
        tea, _ = await filed(engine, toy_world)
        shutil.copytree(toy_world.root / tea, toy_world.root / "topics/08-copy")
        before = toy_world.files()
        await engine.compact()
        assert {p: d for p, d in toy_world.files().items() if "08-copy" in p} == {
            p: d for p, d in before.items() if "08-copy" in p
        }


async def test_an_edit_during_a_run_waits_for_its_job_or_is_refused(toy_world: World) -> None:
    async with toy_world.engine(topics=replace(ALL_AT_ONCE, leaf_cosine=0.1)) as engine:
        tea, rail = await filed(engine, toy_world)
        await told(engine, MORE)
        outcomes: list[str] = []

        async def merge(topic: str, into: str) -> None:
            try:
                await edit(engine, "merge", topic, into=into)
                outcomes.append("done")
            except (Busy, McpMemoryError) as error:
                outcomes.append(error.code)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(engine.run_job, "topics")
            tasks.start_soon(merge, tea, rail)
            tasks.start_soon(merge, rail, tea)
        assert sorted(outcomes) == ["busy", "done"]
        await engine.compact()
        (topic,) = await tree_of(engine)
        assert topic.notes == 9 and len(leaves(toy_world.files())) == 9 and not list(dangling(toy_world))


@pytest.mark.parametrize("name", ["", "  ", "///", "...", "a\x00b", "a\x1b", "right\u202eleft", "x\u200by", "x" * 101])
def test_a_name_that_can_be_no_title_is_refused(name: str) -> None:
    with pytest.raises(InvalidInput):
        checked_title(name)


async def test_the_facts_that_a_page_drops_are_named_with_their_notes(toy_world: World) -> None:
    async with toy_world.engine(topics=ALL_AT_ONCE) as engine:
        bills = " ".join(f"Green tea bill {4700 + n} was paid in a warm pot." for n in range(60))
        await told(engine, [*TEA, f"{TEA[0]} {bills}"])
        await engine.compact()
        tea = topic_of(toy_world, "green-tea")
        (page,) = (await engine.perform("tree", {"dropped": tea}))["pages"]
        text = toy_world.read(f"{tea}/{PAGE}").decode()
        gone = {one["fact"].rpartition(" ")[2]: one["in"] for one in page["dropped"]}
        missing = {str(4700 + n) for n in range(60) if str(4700 + n) not in text}
        assert missing and missing <= gone.keys() and page["kept"]
        for bill in missing:
            (note,) = gone[bill]
            assert bill in toy_world.read(note).decode()
            assert f"Green tea bill {bill} was paid in a warm pot." in {one["said"] for one in page["dropped"]}
            if bill in {min(missing), max(missing)}:  # recall goes below the page for what the page leaves out
                assert bill in await engine.recall(f"Was the green tea bill {bill} paid?")
        assert (await engine.perform("tree", {"dropped": ""}))["pages"] == [page]
