"""Entries of MEMORY.md: what agents add, replace and take out, and that nothing else changes."""

from __future__ import annotations

import re

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_memory.errors import InvalidInput, NotFound, Refused
from mcp_memory.models import Outcome
from mcp_memory.recall.config import RecallConfig
from mcp_memory.text.markdown import sections
from mcp_memory.text.markdown.frontmatter import parse
from mcp_memory.vault.journals.tombstones import Caller
from tests.support.keyword_engine import KeywordEngine
from tests.support.world import World, found

pytestmark = pytest.mark.anyio

CURATED = """\
# What every session should know

Ada works from Lisbon.

## Preferences
* Tabs, not spaces.
* Tools:
  * uv
  * ruff

## Projects

| name | port |
|------|------|
| shop | 8080 |
"""


async def remember(engine: KeywordEngine, content: str, section: str | None = "Preferences", **more: str):
    return await engine.append(content, path="MEMORY.md", section=section, **more)


def memory(world: World) -> str:
    return world.read("MEMORY.md").decode()


async def test_an_entry_goes_to_the_end_of_its_section(world: World) -> None:
    world.write("MEMORY.md", CURATED)
    async with world.engine() as engine:
        added = await remember(engine, "Tea, not coffee.", "preferences", source="codex")
        assert (added.path, added.outcome, added.indexed) == ("MEMORY.md", Outcome.CREATED, "keywords")
        assert re.fullmatch(r"MEMORY\.md#[0-9a-f]{8}", added.id)
        assert memory(world) == CURATED.replace("  * ruff\n", "  * ruff\n* Tea, not coffee.\n")
        assert set(await found(engine, "coffee")) == {"MEMORY.md"}
        again = await remember(engine, "- Tea,  not coffee.")
        assert (again.id, again.outcome, again.etag) == (added.id, Outcome.DUPLICATE, added.etag)
        await remember(engine, "Ask before deploying.\nAlways.", "Standing orders")
        assert memory(world).endswith("| shop | 8080 |\n\n## Standing orders\n\n- Ask before deploying.\n  Always.\n")


async def test_the_file_is_made_and_keeps_its_line_endings(world: World) -> None:
    async with world.engine() as engine:
        await remember(engine, "Tea.")
        assert world.read("MEMORY.md") == b"# Memory\n\n## Preferences\n\n- Tea.\n"
        mine = b"\xef\xbb\xbf## Preferences\r\n\r\nNo sugar.\r\nCaf\xe9.\r\n\r\n## Rest"
        world.write("MEMORY.md", mine)
        await remember(engine, "Tea.\nGreen.")
        assert world.read("MEMORY.md") == mine.replace(b"\xe9.\r\n", b"\xe9.\r\n\r\n- Tea.\r\n  Green.\r\n")


async def test_an_entry_is_replaced_and_comes_back(world: World) -> None:
    world.write("MEMORY.md", CURATED)
    async with world.engine() as engine:
        text = await engine.recall(path="MEMORY.md")
        ids = {words: entry for entry, words in re.findall(r'(#[0-9a-f]{8}) "([^"]*)"', text.splitlines()[-1])}
        assert list(ids) == ["Ada works from Lisbon.", "Tabs, not spaces.", "Tools:", "uv", "ruff"]
        old = ids["Tabs, not spaces."]
        new = await engine.append("Spaces, not tabs.", kind="preference", supersedes=old)
        assert (new.outcome, new.similar, new.contradicts) == (Outcome.SUPERSEDED, (), ())
        assert memory(world) == CURATED.replace("Tabs, not spaces.", "Spaces, not tabs.")
        again = await engine.append("Spaces, not tabs.", kind="preference", supersedes=f"MEMORY.md{old}")
        assert (again.id, again.outcome) == (new.id, Outcome.DUPLICATE)
        with pytest.raises(NotFound, match=f"was replaced .*holds now is {new.id}"):
            await engine.append("Both.", supersedes=old)
        with pytest.raises(NotFound, match="no entry"):
            await engine.append("Both.", supersedes="MEMORY.md#00000000")
        lisbon = await engine.append("Ada works from Porto.", supersedes=ids["Ada works from Lisbon."])
        assert "\n\nAda works from Porto.\n\n" in memory(world), "a paragraph stays one"
        tools = await engine.append("Tools that we use:", supersedes=ids["Tools:"])
        assert "* Tools that we use:\n  * uv\n  * ruff\n" in memory(world), "what stands below an item is not its"
        listed = await engine.perform("forgotten", {})
        assert {(stone["id"], stone["title"]) for stone in listed["forgotten"]} == {
            (f"MEMORY.md{ids[words]}", words) for words in ("Tabs, not spaces.", "Ada works from Lisbon.", "Tools:")
        }
        for entry in (old, ids["Ada works from Lisbon."], ids["Tools:"], old):
            assert (await engine.perform("restore", {"target": entry}))["status"] == "active"
        assert memory(world) == CURATED
        await engine.forget(old, restore=False)
        await engine.forget(new.id, restore=True)
        assert "Spaces, not tabs." in memory(world), "what was replaced in turn is kept, too"
        assert lisbon.id != tools.id


async def test_a_forgotten_entry_is_kept(world: World) -> None:
    world.write("MEMORY.md", CURATED)
    async with world.engine() as engine:
        added = await remember(engine, "Tea, not coffee.")
        before = memory(world)
        answer = await engine.perform("forget", {"target": added.id, "reason": "wrong"}, Caller("codex"))
        assert (answer["id"], answer["status"]) == (added.id, "deleted")
        assert memory(world) == CURATED
        assert await found(engine, "coffee") == []
        await engine.forget(added.id)
        (stone,) = (await engine.perform("forgotten", {"client": "codex"}))["forgotten"]
        assert (stone["id"], stone["reason"]) == (added.id, "wrong")
    async with world.engine() as engine:
        await engine.forget(added.id, restore=True)
        assert memory(world) == before
        await engine.forget(added.id)
        world.write("MEMORY.md", "New.\n\n" + CURATED)
        await engine.forget(added.id, restore=True)
        assert memory(world) == "New.\n\n" + before
        with pytest.raises(NotFound):
            await engine.forget("MEMORY.md#00000000")
        with pytest.raises(Refused, match="name one entry"):
            await engine.forget("MEMORY.md")
        await engine.perform("erase", {"target": added.id, "sure": True})
        assert memory(world) == "New.\n\n" + CURATED


async def test_what_a_stale_save_removes_can_be_put_back(world: World) -> None:
    world.write("MEMORY.md", CURATED)
    async with world.engine() as engine:
        added = await remember(engine, "Tea, not coffee.")
        replaced = await engine.append("Tea only.", supersedes=added.id)
        before = memory(world)
        assert await engine.lost() == [], "what was replaced is not lost"
        world.write("MEMORY.md", CURATED)
        (lost,) = await engine.lost()
        assert lost["id"] == replaced.id
        await engine.perform("recover", {"ids": [lost["id"]]})
        assert memory(world) == before


async def test_many_writers_lose_nothing(world: World) -> None:
    world.write("MEMORY.md", CURATED)
    async with world.engine() as engine, anyio.create_task_group() as tasks:
        for number in range(20):
            tasks.start_soon(remember, engine, f"Preference number {number}.", f"Section {number % 3}")
    text = memory(world)
    assert text.startswith(CURATED)
    assert sorted(re.findall(r"number (\d+)\.", text), key=int) == [str(number) for number in range(20)]
    assert text.count("## Section") == 3


async def test_what_is_refused(world: World) -> None:
    world.write("MEMORY.md", CURATED)
    config = RecallConfig(start_budget_tokens=200)
    async with world.engine(recall=config) as engine:
        for content, more, error in (
            ("Tea.", {"section": None}, "needs a section"),
            ("Tea.", {"title": "Tea"}, "no title"),
            ("- Tea.\n- Milk.", {}, "2 entries"),
        ):
            with pytest.raises(InvalidInput, match=error):
                await remember(engine, content, **{"section": "Preferences", **more})
        with pytest.raises(InvalidInput, match=r"only MEMORY\.md"):
            await engine.append("Tea.", section="Preferences")
        with pytest.raises(Refused, match="secret"):
            await remember(engine, "The key is ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8")
        with pytest.raises(Refused, match=r"MEMORY\.md is full"):
            for number in range(50):
                await remember(engine, f"Preference number {number} of very many.")
        assert 5 < memory(world).count("of very many") < 40
        first = (await remember(engine, "Preference number 0 of very many.")).id
        await engine.append("Short.", supersedes=first)
        assert "* Short.\n" in memory(world), "a shorter entry may take the place of a longer one"


LINES = ["# A", "## B", "- x", "  - y", "* z", "", "words", "1. one", "```", "| a |", "> q", "\t- t"]


@given(st.lists(st.sampled_from(LINES), max_size=12), st.sampled_from(["A", "b", "New"]), st.booleans(), st.booleans())
def test_an_added_entry_is_one_entry_and_all_else_stays(
    lines: list[str], section: str, is_dos: bool, ends: bool
) -> None:
    newline = "\r\n" if is_dos else "\n"
    text = newline.join(lines) + (newline if ends else "")
    try:
        after = sections.add_entry(text, section, "- the new one")
    except InvalidInput:
        return
    known = [(entry.hash, entry.section) for entry in sections.entries(text)]
    (new,) = [entry for entry in sections.entries(after) if entry.title == "the new one"]
    assert new.section.casefold() == section.casefold()
    assert [(entry.hash, entry.section) for entry in sections.entries(after) if entry != new] == known
    rest = after[: new.start] + after[new.end :]
    assert rest.split() == text.split() or rest.replace(f"## {section}", "").split() == text.split()
    assert ("\n" in after.replace("\r\n", "")) is ("\n" in text.replace("\r\n", "") or not is_dos or "\n" not in text)


CONTENT = [*LINES, "---", "***", "a: b", "===", "<!-- c", "-->", "    code", "  two", "~~~", "- [ ] todo"]
BEFORE = [
    "",
    "# Memory\n",
    "## A\n\n- first\n",
    "## A\n* first\n\n## B\n\nother\n",
    "---\na: b\n---\n\n## A\n- known\n",
]


@given(st.lists(st.sampled_from(CONTENT), min_size=1, max_size=4), st.sampled_from(BEFORE))
def test_what_is_accepted_as_an_entry_stays_whole_when_others_are_added(lines: list[str], before: str) -> None:
    try:
        entry = sections.render_entry("\n".join(lines))
        after = sections.add_entry(before, "A", entry)
    except InvalidInput:
        return
    (new,) = sections.entries(entry)
    for more in ("- next", "- last"):
        after = sections.add_entry(after, "A", more)
        (found,) = [one for one in sections.entries(after, parse(after).body_start) if one.hash == new.hash]
        assert found.title == new.title
        assert after[found.start : found.end].rstrip()[2:] == entry.rstrip()[2:]


async def test_a_rule_begins_no_entry_and_code_in_one_keeps_its_indentation(world: World) -> None:
    async with world.engine() as engine:
        with pytest.raises(InvalidInput, match="begin with words"):
            await remember(engine, "---\nAlways rebase.\n---")
        code = "Format so:\n```python\nif True:\n    pass\n```"
        added = await remember(engine, code)
        await remember(engine, "Tea.")
        assert "- Format so:\n  ```python\n  if True:\n      pass\n  ```\n- Tea.\n" in memory(world)
        assert "      pass" in await engine.recall(ids=[added.id])


async def test_of_entries_that_say_the_same_none_is_taken_out(world: World) -> None:
    text = "# Memory\n\n## Work\n- Ask before deploying\n\n## Shop\n- Ask before deploying\n"
    world.write("MEMORY.md", text)
    async with world.engine() as engine:
        entry = sections.entries(text)[0].hash
        for _ in range(2):
            with pytest.raises(InvalidInput, match='"Work", "Shop"'):
                await engine.forget(f"MEMORY.md#{entry}")
        assert world.read("MEMORY.md").decode() == text


async def test_a_status_of_the_persons_own_is_not_replaced_by_archiving(world: World) -> None:
    async with world.engine() as engine:
        note = await engine.append("We deploy with Fly.", kind="fact")
        text = world.read(note.path).decode().replace("kind: fact\n", "kind: fact\nstatus: in-progress # see board\n")
        world.write(note.path, text)
        await engine.sweep()
        with pytest.raises(Refused, match="status of its own"):
            await engine.forget(note.id, archive=True)
        assert world.read(note.path).decode() == text


@pytest.mark.parametrize(
    "entry",
    [
        "Deploy with:\n```sh\nmake deploy\n- no item\n```\n",
        "Deploy with:\n\n~~~\n# no heading\n\nmake deploy\n~~~\n",
        "- Deploy with:\n  ```sh\n  make deploy\n\n  - no item\n  ```\n",
        "- Deploy with:\n```sh\nmake deploy\n```\n",
        "Deploy with\n```sh\nmake deploy\n```\nand wait.\n",
        "1. Deploy with:\n\n   ```sh\n   make deploy\n   ```\n",
    ],
)
async def test_an_entry_with_code_is_one(world: World, entry: str) -> None:
    before, after = "# Rules\n\n- One rule\n\n", "\n## More\n\n- Another rule\n"
    world.write("MEMORY.md", before + entry + after)
    known = sections.entries(before + entry + after)
    assert [one.title.split()[0] for one in known] == ["One", "Deploy", "Another"]
    async with world.engine() as engine:
        await engine.adopt()
        await engine.forget(f"MEMORY.md#{known[1].hash}")
        assert memory(world) == before + after
        await engine.perform("restore", {"target": f"MEMORY.md#{known[1].hash}"})
        assert memory(world) == before + entry + after


async def test_what_is_said_around_code_is_stored_as_one_entry(world: World) -> None:
    async with world.engine() as engine:
        stored = await remember(engine, "Deploy with:\n\n```sh\n- make deploy\n```\n\nThen wait.")
        (one,) = sections.entries(memory(world))
        assert stored.id == f"MEMORY.md#{one.hash}"
        with pytest.raises(InvalidInput):
            await remember(engine, "One rule.\n\nAnother rule.")
