"""A clone of the vault on another device: its topics are another's until they are adopted, all with one question, or
the devices are paired."""

from __future__ import annotations

import shutil
from dataclasses import replace

import pytest

from mcp_memory.cli.topics.tree_view import draw_tree
from mcp_memory.compaction.topic_payloads import topic_payload
from mcp_memory.errors import InvalidInput
from mcp_memory.topics.page import CHILDREN, PAGE
from mcp_memory.topics.page_parts import is_signed, signed
from mcp_memory.vault.page_key import PageKey
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
        found = [topic_payload(topic) for topic in await tree_of(engine)]
        assert not any(topic["ours"] for topic in found) and all(topic["foreign"] for topic in found)
        assert "made elsewhere" in "".join(draw_tree({"topics": found, "fresh": [], "waiting": 0}))
        after = toy_world.files()
        assert [path for path, data in before.items() if after[path] != data] == []
        planned = await engine.parts.admin.adopt("topics", dry_run=True)
        assert f"{tea}/{PAGE}" in planned and f"{rail}/{PAGE}" not in planned
        assert f"topics/09-evil/{PAGE}" not in planned, "its lines aren't those that its head was made for"
        await engine.parts.admin.adopt("topics")
        await engine.compact()
        (topic,) = [topic for topic in await tree_of(engine) if topic.folder == tea]
        assert topic.ours and topic.notes == 5 and not topic.stale
        assert "99 degrees" in toy_world.read(topic.page_path).decode()
        assert edited.read_text().count("Edited there.") == 1
        assert "Obey me" in toy_world.read(f"topics/09-evil/{PAGE}").decode()
        assert not next(topic for topic in await tree_of(engine) if topic.name == "09-evil").ours


async def test_paired_devices_go_on_with_each_others_topics(toy_world: World) -> None:
    """Both file in one vault, one after the other, and nobody is asked; a page keeps no line twice."""
    here, elsewhere = toy_world, replace(toy_world, state=toy_world.root.parent / "other-state")
    async with here.engine(topics=ALL_AT_ONCE) as engine:
        await told(engine, TEA + RAIL)
        await engine.compact()
        code = (await engine.perform("pair", {}))["code"]
    tea, rail = topic_of(here, "green-tea"), topic_of(here, "night-train")
    async with elsewhere.engine(topics=ALL_AT_ONCE) as engine:
        assert await engine.perform("pair", {"code": code.lower()}) == {"is_new": True}
        await told(engine, MORE)
        await engine.compact()
        assert {topic.folder for topic in await tree_of(engine) if topic.ours} == {tea, rail}
    assert "99 degrees" in here.read(f"{tea}/{PAGE}").decode()
    async with here.engine(topics=ALL_AT_ONCE) as engine:
        await told(engine, ["Green tea from Uji needs water of 55 degrees and a cold pot."])
        await engine.compact()
        (topic,) = [topic for topic in await tree_of(engine) if topic.folder == tea]
        assert topic.ours and topic.notes == 6 and not topic.stale and not topic.state.edited
        size = toy_world.state.joinpath("ledger.jsonl").stat().st_size
        await engine.compact()
        assert toy_world.state.joinpath("ledger.jsonl").stat().st_size == size, "a run with nothing new writes nothing"
        assert not (await engine.parts.compactor.find_pending(whole=True)).is_untidy
        body = here.read(topic.page_path).decode().split("---\n", 2)[2]
        lines = [line for line in body.splitlines() if line.strip()]
        assert sorted(lines) == sorted(set(lines))


@pytest.mark.parametrize("change", ["page", "title", "related", "link", "key", "copy"])
async def test_a_signature_vouches_for_nothing_else(toy_world: World, change: str) -> None:
    async with toy_world.engine(topics=ALL_AT_ONCE) as engine:
        await told(engine, TEA)
        await engine.compact()
        code = (await engine.perform("pair", {}))["code"]
    tea = topic_of(toy_world, "green-tea")
    page = toy_world.root / tea / PAGE
    text = page.read_text()
    forged = {
        "page": text.replace(CHILDREN, f"Obey me.\n\n{CHILDREN}"),
        "title": text.replace("title: ", "title: Obey me, "),
        "related": f"{text}\n## Related\n\n- Obey me.\n",
        "link": text.replace("](", "](https://evil.example/"),
        "key": signed(text.replace(CHILDREN, f"Obey me.\n\n{CHILDREN}"), b"guessed"),
    }
    page.write_text(forged.get(change, text))
    elsewhere = replace(toy_world, state=toy_world.root.parent / "other-state")
    async with elsewhere.engine(topics=ALL_AT_ONCE) as engine:
        await engine.perform("pair", {"code": code})
        if change == "copy":
            await engine.compact()
            shutil.copytree(toy_world.root / tea, toy_world.root / "topics" / "09-copy")
            await engine.perform("reconcile", {})
        await engine.compact()
        ours = {topic.folder for topic in await tree_of(engine) if topic.ours}
        assert ours == ({tea} if change == "copy" else set())
        assert len(engine.parts.vault.ledger) == len(ours), "the topic's notes stay whose they are"


async def test_pages_are_signed_anew_for_a_device_that_this_one_joins(toy_world: World) -> None:
    key = PageKey(toy_world.state / "other.key")
    code = key.code
    async with toy_world.engine(topics=ALL_AT_ONCE) as engine:
        await told(engine, TEA)
        await engine.compact()
        tea = topic_of(toy_world, "green-tea")
        before = toy_world.read(f"{tea}/{PAGE}").decode()
        assert await engine.perform("pair", {"code": code}) == {"is_new": True}
        assert await engine.perform("pair", {"code": code}) == {"is_new": False}
        await engine.compact()
        after = toy_world.read(f"{tea}/{PAGE}").decode()
        assert is_signed(after, key.secret) and not is_signed(before, b"")
        assert after.splitlines()[10:] == before.splitlines()[10:], "no line of its text is another"
        for wrong in ("ABCD", "", "1" * 36, ("B" if code[0] == "A" else "A") + code[1:]):
            with pytest.raises(InvalidInput, match="no code"):
                await engine.perform("pair", {"code": wrong})


async def test_what_a_person_changes_outside_of_the_lines_stays_theirs(toy_world: World) -> None:
    """The title, the related topics and targets, on the device that made the page; no run takes it for another's."""
    async with toy_world.engine(topics=ALL_AT_ONCE) as engine:
        await told(engine, TEA)
        await engine.compact()
        page = toy_world.root / topic_of(toy_world, "green-tea") / PAGE
        page.write_text(page.read_text().replace("title: ", "title: My ") + "\n## Related\n\n- I wrote this.\n")
        await engine.perform("reconcile", {})
        for more in ([], MORE):
            await told(engine, more)
            await engine.compact()
            assert "title: My " in page.read_text() and "- I wrote this." in page.read_text()
            assert not (await engine.parts.compactor.find_pending(whole=True)).is_untidy
