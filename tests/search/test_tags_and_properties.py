"""Tags and heads as people write them, in Obsidian or by hand: found by filters and by their words."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest

from tests.support.world import World, embedded, found

pytestmark = pytest.mark.anyio

KILN = {
    "list": "---\ntags: [kiln]\n---\nx",
    "inline": "It cracked. #kiln",
    "one-text": "---\ntags: kiln, clay\n---\nx",
    "spaces": "---\ntags: clay kiln\n---\nx",
    "hash": '---\ntags: ["#kiln"]\n---\nx',
    "nested": "---\ntags: [kiln/hot]\n---\nx",
    "inline-nested": "Fired. #kiln/hot",
    "case": "---\ntags: [Kiln]\n---\nx",
    "key": "---\nTags:\n- kiln\n---\nx",
    "tag": "---\ntag: kiln\n---\nx",
    "brackets": "It cracked (#kiln).",
    "bold": "**#kiln** cracked",
    "quoted": 'As "#kiln" in the book',
    "wikilink": '---\ntags: ["[[kiln]]"]\n---\nx',
}
OTHERS = {
    "code": "`#kiln` and\n\n```\n#kiln\n```",
    "link": "see [the page](#kiln) and [[Clay#kiln]] and https://clay.org/#kiln",
    "comment": "x <!-- #kiln --> %% #kiln %%",
    "longer": "#kilns and #kiln-dried",
    "heading": "# kiln",
    "escaped": "\\#kiln",
    "hidden-in-html": '<a href="#kiln">x</a>',
}


async def test_a_tag_is_found_in_every_form(world: World) -> None:
    for name, text in (KILN | OTHERS).items():
        world.write(f"notes/{name}.md", f"{text}\n\nPottery {name}.\n")
    world.write("memory/2026-11-21.md", "## 09:00 Pottery\n\nHot. #kiln\n\n## 10:00 Pottery\n\nCold. #clay\n")
    async with world.engine() as engine:
        expected = {*(f"notes/{name}.md" for name in KILN), "memory/2026-11-21.md"}
        assert set(await found(engine, "pottery cracked hot", tags=["kiln"])) == expected
        assert set(await found(engine, "pottery cracked hot", tags=["#KILN"])) == expected
        listed = await engine.perform("list", {"tags": ["kiln"], "limit": 100})
        assert {note["path"] for note in listed["notes"]} == expected
        nested = await found(engine, "pottery hot", tags=["kiln/hot"])
        assert set(nested) == {"notes/nested.md", "notes/inline-nested.md"}
        assert not await found(engine, "pottery", tags=["2026"]), "a number alone is no tag"


async def test_tags_with_commas_are_several_tags(world: World) -> None:
    async with world.engine() as engine:
        stored = await engine.append("Pottery needs a kiln.", tags=["clay, kiln", "hot"])
        assert "tags: [clay, kiln, hot]" in world.read(stored.path).decode()
        assert await found(engine, "pottery", tags=["hot,clay"]) == [stored.path]
        assert not await found(engine, "pottery", tags=["hot,cold"])


HEADS = {
    "description: The board XRAY-78 of the third batch": "XRAY-78",
    "author: Ursula Le Guin": "Le Guin",
    "isbn: 978-0441478125": "978-0441478125",
    "aliases: [Winter planet]": "winter planet",
    "shelf: {room: attic, box: [Zwieback]}": "Zwieback",
}


@pytest.mark.parametrize("mode", ["keyword", "semantic"])
@pytest.mark.parametrize("head", HEADS)
async def test_words_of_the_head_are_found(toy_world: World, head: str, mode: str) -> None:
    toy_world.write("notes/a.md", f"---\n{head}\n---\n# A thing\n\nIt hums when cold, and the fan is loud.\n")
    toy_world.write("notes/b.md", "# Hospital\n\nThe xray machine is in room 78, beside the xray archive of 441.\n")
    toy_world.write("notes/c.md", "xray 78")
    async with toy_world.engine() as engine:
        first, *_ = await found(engine, HEADS[head], mode=mode)
        assert first == "notes/a.md"


@pytest.mark.parametrize("mode", ["keyword", "semantic"])
async def test_a_note_is_found_by_its_phrases_and_no_answer_shows_them(toy_world: World, mode: str) -> None:
    toy_world.write("notes/b.md", "# Hospital\n\nThe xray machine is in room 78, beside the xray archive of 441.\n")
    toy_world.write("notes/c.md", "Rain is likely.")
    async with toy_world.engine() as engine:
        note = await engine.append("Lower case.", kind="preference", when=["wording a commit", "Commit schreiben"])
        await embedded(engine)
        first, *_ = await found(engine, "wording a commit", mode=mode)
        assert first == note.path
        asked = {"query": "wording a commit", "mode": mode, "explain": True}
        answers = [json.dumps(await engine.perform("search", asked)), await engine.recall("wording a commit")]
        answers += [(await engine.brief("s", prompt)).text for prompt in (None, "wording a commit")]
        answers += [await engine.recall(), await engine.recall(ids=[note.id])]
        assert "Lower case." in answers[1] and not any("schreiben" in answer for answer in answers[:-1])
        assert b"Commit schreiben" in toy_world.read(note.path)
        await engine.update(note.id, toy_world.read(note.path).decode().replace("wording a commit", "painting"))
        assert (await found(engine, "painting", mode="keyword")) == [note.path]


async def test_a_note_of_properties_alone_is_found_by_them(world: World) -> None:
    world.write("notes/a.md", "---\nauthor: Olga Tokarczuk\nrating: 5\n---\n")
    async with world.engine() as engine:
        (hit,) = (await engine.search("Tokarczuk")).hits
        assert (hit.path, hit.start_line, hit.end_line) == ("notes/a.md", 2, 3) and "Tokarczuk" in hit.snippet


@pytest.mark.parametrize("key", ["expires", "Expires", "expires_at", "expires-at"])
async def test_the_names_of_our_options_are_properties(world: World, key: str) -> None:
    world.write("notes/a.md", f"---\n{key}: 2026-11-30\n---\nThe voucher is in the drawer.\n")
    async with world.engine() as engine:
        assert await found(engine, "voucher")
        world.later(days=timedelta(days=20).days)
        assert not await found(engine, "voucher")


async def test_a_property_that_is_nearly_ours_is_named(world: World) -> None:
    world.write("notes/a.md", "---\nexpiers: 2026-11-30\nporject: shop\nauthor: Ann\n---\nThe voucher.\n")
    async with world.engine() as engine:
        doctor = json.dumps(await engine.perform("doctor", {}))
        assert all(f"'{name}'" in doctor for name in ("expiers", "expires", "porject", "project"))
        assert "'author'" not in doctor


@pytest.mark.parametrize("written", ["1.1.2026", "next friday", "soon", "[2026]"])
async def test_a_date_that_cannot_be_read_is_named(world: World, written: str) -> None:
    world.write("offer.md", f"---\nexpires: {written}\n---\nThe violet offer.\n")
    async with world.engine() as engine:
        findings = (await engine.perform("doctor", {}))["findings"]
        assert any("offer.md" in one["what"] and "`expires`" in one["what"] for one in findings)
        assert (await engine.search("violet offer")).hits
