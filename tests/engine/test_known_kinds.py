"""Kinds that a call names: the configured ones and those of the vault's notes, in any case; another is said."""

from __future__ import annotations

import pytest

from mcp_memory.errors import InvalidInput
from mcp_memory.indexing.reconciler import Reconciler
from mcp_memory.text.markdown import frontmatter
from tests.support.world import World, found

pytestmark = pytest.mark.anyio


@pytest.fixture
def vault(world: World) -> World:
    world.write("bread.md", "---\nid: bread\nkind: Recipe\n---\nSourdough bread at dawn.\n")
    world.write("tea.md", "---\nid: tea\nkind: field note\n---\nTea from Uji at dawn.\n")
    return world


@pytest.mark.parametrize(
    ("kinds", "paths"),
    [
        (["Recipe"], ["bread.md"]), (["recipe"], ["bread.md"]), (["RECIPE", "fact"], ["bread.md"]),
        (["field note"], ["tea.md"]), (["Field Note", "recipe"], ["bread.md", "tea.md"]), (["Fact"], []),
        ([], ["bread.md", "tea.md"]),
    ],
)  # fmt: skip
async def test_kinds_of_the_vaults_notes_are_known_in_any_case(
    vault: World, kinds: list[str], paths: list[str]
) -> None:
    async with vault.engine() as engine:
        assert sorted(await found(engine, "dawn", kinds=kinds)) == paths


@pytest.mark.parametrize(
    ("kind", "near"),
    [("recipee", "'Recipe'"), ("fakt", "'fact'"), ("decisions", "'decision'"), ("field-note", "'field note'"),
     ("zzz", "known kinds: note, log, .*, commitment, Recipe, field note")],
)  # fmt: skip
async def test_an_unknown_kind_is_said_with_the_nearest(vault: World, kind: str, near: str) -> None:
    async with vault.engine() as engine:
        for call in (
            engine.search("dawn", kinds=[kind]),
            engine.recall("dawn", kinds=["fact", kind]),
            engine.append("Rye.", kind=kind),
            engine.perform("list", {"kinds": kind}),
        ):
            with pytest.raises(InvalidInput, match=f"unknown kind '{kind}'.*{near}"):
                await call


@pytest.mark.parametrize(
    ("kind", "stored", "folder"),
    [("recipe", "Recipe", "recipe"), ("Field Note", "field note", "field-note"), ("FACT", "fact", "fact")],
)
async def test_an_agent_appends_with_a_kind_of_the_vault(vault: World, kind: str, stored: str, folder: str) -> None:
    async with vault.engine() as engine:
        note = await engine.append("Rye bread at noon.", kind=kind, source="codex")
        assert note.path == f"Agent/notes/{folder}/rye-bread-at-noon.md"
        assert frontmatter.parse(vault.read(note.path).decode()).meta["kind"] == stored
        assert await found(engine, "rye", kinds=[stored]) == [note.path]


async def test_the_error_names_a_few_kinds_and_none_of_private_notes(world: World) -> None:
    for number in range(23):
        world.write(f"{number}.md", f"---\nkind: kind-{number:02}\n---\nTea.\n")
    world.write("affair.md", "---\nkind: affair\nprivate: true\n---\nTea.\n")
    world.write("fact.md", "---\nkind: Fact\n---\nTea.\n")
    async with world.engine() as engine:
        with pytest.raises(InvalidInput, match=r"commitment, kind-00, .*kind-19 and 3 more") as refused:
            await engine.search("tea", kinds=["zzz"])
        assert "affair" not in str(refused.value) and "Fact" not in str(refused.value)


async def test_an_empty_memory_says_so(world: World) -> None:
    async with world.engine() as engine:
        for filters in ({}, {"kinds": "fact"}, {"project": "mill"}, {"since": "today"}, {"include_archived": True}):
            answer = await engine.perform("search", {"query": "kettle", **filters})
            assert answer["note"] == "nothing is stored yet"
        for filters in ({}, {"kinds": "fact"}, {"project": "mill"}, {"since": "today"}):
            assert (await engine.perform("list", filters))["nothing_stored"]
        assert "nothing is stored yet" in await engine.recall("kettle")
        note = await engine.append("The kettle is red.", kind="fact")
        assert "stored yet" not in ((await engine.search("zeppelin")).note or "")
        assert not (await engine.perform("list", {"kinds": "decision"}))["nothing_stored"]
        await engine.forget(note.id)
        assert (await engine.search("kettle")).note == "nothing is stored yet"


async def test_an_index_that_is_being_rebuilt_proves_nothing(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    async with world.engine() as engine:
        assert (await engine.perform("list", {}))["nothing_stored"]
        monkeypatch.setattr(Reconciler, "replaced", property(lambda _: True))
        result = await engine.search("kettle")
        assert result.note is None and "being rebuilt" in (result.degraded or "")
        for text in (await engine.recall("kettle"), await engine.recall()):
            assert "being rebuilt" in text and "stored yet" not in text
        assert not (await engine.perform("list", {}))["nothing_stored"]
