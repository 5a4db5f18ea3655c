"""A clone of the vault on another device: its topics are another's until they are adopted, all with one question."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mcp_memory.cli.topics.tree_view import draw_tree
from mcp_memory.topics.page import CHILDREN, PAGE
from tests.support.topics import ALL_AT_ONCE, RAIL, TEA, told, topic_of, tree_of
from tests.support.world import World

pytestmark = pytest.mark.anyio

MORE = ["Green tea from Uji needs water of 99 degrees and a warm pot."]


async def test_a_clone_is_taken_over_with_its_tree_and_no_page_of_a_stranger(toy_world: World) -> None:
    async with toy_world.engine(topics=ALL_AT_ONCE) as engine:
        await told(engine, TEA + RAIL)
        await engine.compact()
        tea, rail = topic_of(toy_world, "green-tea"), topic_of(toy_world, "night-train")
    edited = toy_world.root / rail / PAGE
    edited.write_text(edited.read_text().replace(CHILDREN, f"Edited there.\n\n{CHILDREN}"))
    page = toy_world.read(f"{tea}/{PAGE}").decode()
    toy_world.write(f"topics/09-evil/{PAGE}", page.replace("Green tea", "Obey me").replace("id: 01", "id: 02"))
    toy_world.write("topics/09-evil/one.md", "A stranger's note.")
    elsewhere = replace(toy_world, state=toy_world.root.parent / "other-state")
    async with elsewhere.engine(topics=ALL_AT_ONCE) as engine:
        await told(engine, MORE)
        before = toy_world.files()
        await engine.compact()
        found = (await engine.perform("tree", {}))["topics"]
        assert not any(topic["ours"] for topic in found) and all(topic["foreign"] for topic in found)
        assert "made elsewhere" in "".join(draw_tree({"topics": found, "fresh": [], "waiting": 0}))
        after = toy_world.files()
        assert [path for path, data in before.items() if after[path] != data] == []
        planned = await engine.adopt("topics", dry_run=True)
        assert f"{tea}/{PAGE}" in planned and f"{rail}/{PAGE}" not in planned
        assert f"topics/09-evil/{PAGE}" not in planned, "its lines aren't those that its head was made for"
        await engine.adopt("topics")
        await engine.compact()
        (topic,) = [topic for topic in await tree_of(engine) if topic.folder == tea]
        assert topic.ours and topic.notes == 5 and not topic.stale
        assert "99 degrees" in toy_world.read(topic.page_path).decode()
        assert edited.read_text().count("Edited there.") == 1
        assert "Obey me" in toy_world.read(f"topics/09-evil/{PAGE}").decode()
        assert not next(topic for topic in await tree_of(engine) if topic.name == "09-evil").ours


async def test_two_devices_that_adopted_a_topic_go_on_with_it_in_turn(toy_world: World) -> None:
    """A page keeps no line twice, though each device knows only the lines that it wrote itself."""
    here, elsewhere = toy_world, replace(toy_world, state=toy_world.root.parent / "other-state")
    async with here.engine(topics=ALL_AT_ONCE) as engine:
        await told(engine, TEA + RAIL)
        await engine.compact()
    tea = topic_of(here, "green-tea")
    async with elsewhere.engine(topics=ALL_AT_ONCE) as engine:
        await engine.adopt("topics")
        await told(engine, MORE)
        await engine.compact()
    assert "99 degrees" in here.read(f"{tea}/{PAGE}").decode()
    async with here.engine(topics=ALL_AT_ONCE) as engine:
        await engine.adopt("topics")
        await told(engine, ["Green tea from Uji needs water of 55 degrees and a cold pot."])
        await engine.compact()
        (topic,) = [topic for topic in await tree_of(engine) if topic.folder == tea]
        assert topic.ours and topic.notes == 6 and not topic.stale
        report = await engine.compact()
        assert not report.done and not report.kept
        body = here.read(topic.page_path).decode().split("---\n", 2)[2]
        lines = [line for line in body.splitlines() if line.strip()]
        assert sorted(lines) == sorted(set(lines)) and "55 degrees" in body


@pytest.mark.parametrize("change", ["none", "line", "related", "head", "removed"])
async def test_no_page_of_another_device_is_written_before_it_is_adopted(toy_world: World, change: str) -> None:
    """Neither one with an intact seal nor one that a person has edited, on that device or on this one."""
    async with toy_world.engine(topics=ALL_AT_ONCE) as engine:
        await told(engine, TEA)
        await engine.compact()
    path = f"{topic_of(toy_world, 'green-tea')}/{PAGE}"
    page = toy_world.root / path
    text = page.read_text()
    edited = {
        "line": text.replace(CHILDREN, f"My words.\n\n{CHILDREN}"),
        "related": f"{text}\n## Related\n\n- My words.\n",
        "head": text.replace("title: ", "title: My "),
        "removed": text[: text.index(CHILDREN)],
    }.get(change, text)
    page.write_text(edited)
    elsewhere = replace(toy_world, state=toy_world.root.parent / "other-state")
    async with elsewhere.engine(topics=ALL_AT_ONCE) as engine:
        await told(engine, MORE)
        await engine.compact()
        assert page.read_text() == edited
        adopted = await engine.adopt("topics")
        assert (path in adopted) == (change not in {"line", "removed"})
        await told(engine, MORE)
        await engine.compact()
        after = page.read_text()
        assert ("My words." in edited) == ("My words." in after)
        assert ("title: My " in edited) == ("title: My " in after)
        assert (after == edited) == (path not in adopted)


async def test_what_a_person_changes_outside_of_the_lines_stays_theirs(toy_world: World) -> None:
    """The title, the related topics and targets, on the device that made the page; no run takes it for another's."""
    async with toy_world.engine(topics=ALL_AT_ONCE) as engine:
        await told(engine, TEA)
        await engine.compact()
        page = toy_world.root / topic_of(toy_world, "green-tea") / PAGE
        page.write_text(page.read_text().replace("title: ", "title: My ") + "\n## Related\n\n- I wrote this.\n")
        await engine.sweep()
        for more in ([], MORE):
            await told(engine, more)
            await engine.compact()
            assert "title: My " in page.read_text() and "- I wrote this." in page.read_text()
            report = await engine.compact()
            assert not report.done and not report.kept
