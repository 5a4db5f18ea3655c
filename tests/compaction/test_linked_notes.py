"""Notes of a kind with a folder of its own stay there: a topic's page links to them, and its head says so."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from mcp_memory.recall.config import RecallConfig
from mcp_memory.text.markdown.links import find_links, resolve
from mcp_memory.topics.page import PAGE
from tests.support.keyword_engine import KeywordEngine
from tests.support.topics import ALL_AT_ONCE, RAIL, TEA, tree_of
from tests.support.world import World, embedded, found, records

pytestmark = pytest.mark.anyio
KINDS = ("decision", "fix", "fact", "note")


async def told(
    engine: KeywordEngine, texts: Sequence[str], kinds: Sequence[str] = KINDS, project: str = "*"
) -> list[str]:
    """Their ids; the kinds take turns."""
    stored = [await engine.append(text, kind=kinds[at % len(kinds)], project=project) for at, text in enumerate(texts)]
    await embedded(engine)
    return [str(receipt.id) for receipt in stored]


def linked(world: World) -> list[str]:
    """Where the links of all pages lead to, but those to other pages."""
    pages = [path for path in world.files() if path.endswith(PAGE)]
    targets = [resolve(link.target, path) or "" for path in pages for link in find_links(world.read(path).decode())]
    return sorted(target for target in targets if not target.endswith(PAGE))


async def test_notes_of_all_kinds_are_in_topics_and_those_with_a_folder_stay_in_it(toy_world: World) -> None:
    async with toy_world.engine(topics=ALL_AT_ONCE) as engine:
        await told(engine, TEA + RAIL)
        before = toy_world.files()
        report = await engine.compact()
        after = toy_world.files()
        kept = {path: data for path, data in before.items() if path.startswith("notes/")}
        assert len(kept) == 6 and kept.items() <= after.items(), "neither moved nor changed"
        assert sorted(map(len, (topic.leaves for topic in await tree_of(engine)))) == [4, 4]
        assert linked(toy_world) == sorted(note.path for topic in await tree_of(engine) for note in topic.leaves)
        assert (await found(engine, "night train", path="notes/fix"))[0].startswith("notes/fix/")
        undone = await engine.undo_run(report.run)
        assert toy_world.files() == before and not undone.left


async def test_a_later_note_joins_and_a_replaced_one_leaves(toy_world: World) -> None:
    async with toy_world.engine(topics=ALL_AT_ONCE) as engine:
        ids = await told(engine, TEA, ["decision"])
        await engine.compact()
        (new,) = await told(engine, [f"{TEA[0]} Says Ada."], ["fact"])
        report = await engine.compact()
        assert new in {note.id for note in (await tree_of(engine))[0].leaves} and len(linked(toy_world)) == 5
        await engine.append(
            "Green tea from Uji needs water of 55 degrees and a warm pot.", kind="decision", supersedes=ids[0]
        )
        await embedded(engine)
        await engine.compact()
        (topic,) = await tree_of(engine)
        page = toy_world.read(topic.page_path).decode()
        assert "55 degrees" in page and ids[0] not in page and len(topic.leaves) == 5
        assert report.run in await engine.runs()


async def test_a_forgotten_note_makes_its_page_stale_and_a_missing_page_lets_its_notes_go(toy_world: World) -> None:
    async with toy_world.engine(topics=ALL_AT_ONCE) as engine:
        ids = await told(engine, [*TEA, "Green tea from Uji needs water, and Bob pays the secret invoice."], ["fact"])
        await engine.compact()
        await engine.forget(ids[-1])
        (topic,) = await tree_of(engine)
        assert topic.stale and len(topic.leaves) == 4
        await engine.compact()
        assert "invoice" not in toy_world.read(topic.page_path).decode()
        (toy_world.root / topic.page_path).unlink()
        await engine.sweep()
        shown = await engine.perform("tree", {})
        assert (shown["topics"], shown["waiting"]) == ([], 4)


async def test_projects_have_topics_of_their_own_and_are_never_mixed(toy_world: World) -> None:
    async with toy_world.engine(topics=ALL_AT_ONCE) as engine:
        await told(engine, TEA, ["decision", "note"], "harbor")
        await told(engine, [f"{text} Twice." for text in TEA], ["fix"], "lantern")
        await told(engine, [f"{text} At home." for text in TEA], ["fact"])
        await engine.compact()
        known = {record.path: record.project for record in records(engine)}
        projects = [
            {known[note.path] for below in topic.walk() for note in below.leaves} for topic in await tree_of(engine)
        ]
        assert sorted(map(str, projects)) == sorted(map(str, [{"harbor"}, {"lantern"}, {None}]))
        assert {"harbor", "lantern"} <= {topic.title for topic in await tree_of(engine)}


async def test_a_large_project_has_topics_below_its_own(toy_world: World) -> None:
    async with toy_world.engine(topics=ALL_AT_ONCE) as engine:
        tea = [f"Green tea from Uji needs water of {60 + n} degrees and a warm pot." for n in range(5)]
        rail = [f"The night train to Vienna leaves from platform {n} with a sleeping car." for n in range(5)]
        await told(engine, [*tea, *rail, "A lonely remark about kettles."], project="harbor")
        await engine.compact()
        (project,) = await tree_of(engine)
        assert project.title == "harbor" and [len(topic.leaves) for topic in project.topics] == [5, 5]
        assert [note.title for note in project.leaves] == ["A lonely remark about kettles."]
        assert len(linked(toy_world)) == len(set(linked(toy_world))) == 11, "each note is led to once"
        assert not (await engine.compact()).done


async def test_private_notes_and_those_that_pass_are_in_no_topic(toy_world: World) -> None:
    async with toy_world.engine(topics=ALL_AT_ONCE, recall=RecallConfig(private=("tag:health",))) as engine:
        await told(engine, TEA, ["fact"])
        await engine.append(f"{TEA[0]} For my heart.", kind="fact", tags=["health"], project="*")
        await told(engine, [f"{TEA[0]} Tomorrow.", f"{TEA[1]} Tomorrow."], ["task"])
        await engine.compact()
        assert len(linked(toy_world)) == 4


async def test_what_you_wrote_on_a_page_stays_when_it_links_to_more(toy_world: World) -> None:
    async with toy_world.engine(topics=ALL_AT_ONCE) as engine:
        await told(engine, TEA, ["fact"])
        await engine.compact()
        page = toy_world.root / (await tree_of(engine))[0].page_path
        page.write_text(page.read_text().replace("## Children", "My own words.\n\n## Children"))
        await engine.sweep()
        (new,) = await told(engine, [f"{TEA[0]} Says Ada."], ["fact"])
        await engine.compact()
        assert "\nMy own words.\n" in page.read_text() and new in page.read_text() and len(linked(toy_world)) == 5


async def test_a_topic_whose_notes_are_about_something_else_by_now_is_named_anew(toy_world: World) -> None:
    async def stored(engine: KeywordEngine, subject: str, texts: Sequence[str]) -> None:
        for text in texts:
            await engine.append(text, kind="fact", tags=[subject])
        await embedded(engine)
        await engine.compact()

    async with toy_world.engine(topics=ALL_AT_ONCE) as engine:
        await stored(engine, "kettles", TEA[:3])
        assert [(topic.name, topic.title) for topic in await tree_of(engine)] == [("01-kettles", "Kettles")]
        await stored(engine, "brewing", [f"{text} Says Ada." for text in TEA[:3]])
        assert [topic.title for topic in await tree_of(engine)] == ["Kettles"], "as many are about them"
        await stored(engine, "brewing", [f"{text} Says Bob." for text in TEA[:3]])
        assert [(topic.name, topic.title) for topic in await tree_of(engine)] == [("01-brewing", "Brewing")]
        page = toy_world.root / (await tree_of(engine))[0].page_path
        page.write_text(page.read_text().replace("title: Brewing", "title: Our kitchen"))
        await stored(engine, "cups", [f"{text} Says {name}." for text in TEA[:3] for name in ("Cy", "Di", "Ed", "Flo")])
        assert [topic.title for topic in await tree_of(engine)] == ["Our kitchen", "Cups"], "a person's title stays"
