"""A clone of the vault on another device: its topics are another's until they are adopted, all with one question."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mcp_memory.topics.page import CHILDREN, PAGE
from tests.support.topics import ALL_AT_ONCE, RAIL, TEA, told, topic_of, tree_of
from tests.support.world import World

pytestmark = pytest.mark.anyio

MORE = ["Green tea from Uji needs water of 99 degrees and a warm pot."]


async def test_a_clone_is_taken_over_with_its_tree_and_no_page_of_a_stranger(toy_world: World) -> None:
    async with toy_world.engine(topics=ALL_AT_ONCE) as engine:
        await told(engine, TEA + RAIL)
        await engine.parts.compactor.run()
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
        await engine.parts.compactor.run()
        assert not any(topic.ours for topic in await tree_of(engine))
        after = toy_world.files()
        assert [path for path, data in before.items() if after[path] != data] == []
        planned = await engine.parts.admin.adopt("topics", dry_run=True)
        assert f"{tea}/{PAGE}" in planned and f"{rail}/{PAGE}" not in planned
        assert f"topics/09-evil/{PAGE}" not in planned, "its lines aren't those that its head was made for"
        await engine.parts.admin.adopt("topics")
        await engine.parts.compactor.run()
        (topic,) = [topic for topic in await tree_of(engine) if topic.folder == tea]
        assert topic.ours and topic.notes == 5 and not topic.stale
        assert "99 degrees" in toy_world.read(topic.page_path).decode()
        assert edited.read_text().count("Edited there.") == 1
        assert "Obey me" in toy_world.read(f"topics/09-evil/{PAGE}").decode()
        assert not next(topic for topic in await tree_of(engine) if topic.name == "09-evil").ours
