"""Briefings: what a session is told unasked, each passage once, in a text that only changes when the memory does."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from time import time

import pytest

from mcp_memory.errors import DeadlineExceeded
from mcp_memory.models import NoteState
from mcp_memory.recall.config import SHIPPED_PHASES, RecallConfig
from mcp_memory.recall.seen_passages import KEPT_S, MOST_SESSIONS, SeenPassages
from mcp_memory.text.tokens import count_tokens
from tests.support.briefings import PORT, QUESTION, begun, told
from tests.support.world import World, paths

pytestmark = pytest.mark.anyio

SOON = 30.0
RULE = "The nightly dump of the staging database must never leave the office network."
ASKED = "where may the dump of the staging database go"


async def test_nothing_where_nothing_is_stored_or_wanted(world: World) -> None:
    async with world.engine() as engine:
        assert await begun(engine) == await told(engine, "s", QUESTION) == ""
        await engine.append(PORT, kind="fact", project="mill")
        assert await begun(engine, project="other") == ""
        assert await told(engine, "s", "write a haiku about herons") == ""


async def test_a_note_that_perhaps_helps_is_pointed_to_once(toy_world: World) -> None:
    async with toy_world.engine() as engine:
        for number in range(40):
            content = f"The staging database listens on port {number}, and more."
            await engine.append(content, title=f"Port {number}")
        (line,) = [line for line in (await told(engine, "s", QUESTION)).splitlines() if "Port" in line]
        pointers = line.removeprefix("Perhaps, by memory_recall: ").split("; ")
        assert len(pointers) == 3 and all(re.fullmatch(r'[0-9A-Z]{6} "Port \d+"', pointer) for pointer in pointers)
        again = await told(engine, "s", QUESTION)
        assert not any(pointer in again for pointer in pointers)


async def test_a_note_that_is_too_unlikely_is_named_to_ask_about(toy_world: World) -> None:
    async with toy_world.engine() as engine:
        await engine.append(PORT, kind="fact", title="The staging port")
        for number in range(40):
            await engine.append(f"Heron number {number} nests in alder {number}.", kind="fact")
        await engine.settled()
        for session, least in (("off", 0.0), ("sub", 1.0), ("on", 1.0)):
            asked = {"subagent": True} if session == "sub" else {"ask_below": least}
            said = (await engine.brief(session, QUESTION, **asked)).text
            assert (PORT in said) is (session != "on")
        (line,) = [line for line in said.splitlines() if "staging port" in line]
        assert re.fullmatch(r'May apply; ask the person before memory_recall: [0-9A-Z]{6} "The staging port"', line)
        assert (await engine.brief("on", QUESTION, ask_below=1.0)).text == "", "asked once"


async def test_a_pointer_without_room_does_not_count_as_shown(toy_world: World) -> None:
    tight, wide = (
        RecallConfig(phases={"prompt": replace(SHIPPED_PHASES["prompt"], budget_tokens=tokens)}) for tokens in (35, 150)
    )
    async with toy_world.engine() as engine:
        for number in range(40):
            content = f"The staging database listens on port {number}, and more."
            await engine.append(content, title=f"Port {number} {'of the harbor ' * 6}")
    async with toy_world.engine(recall=tight) as engine:
        briefing = await engine.brief("s", QUESTION)
        assert "Port" not in briefing.text and list(briefing.notes) == []
    async with toy_world.engine(recall=wide) as engine:
        pointed = await told(engine, "s", QUESTION)
        assert "Perhaps, by memory_recall" in pointed and pointed == await told(engine, "another", QUESTION)


async def test_the_start_holds_what_every_session_should_know(world: World) -> None:
    world.write("MEMORY.md", "Curated words.")
    world.with_home("Agent").write("Agent/_always-load/a.md", "A standing order.")
    async with world.engine() as engine:
        await engine.append("Likes short answers.", kind="preference")
        await engine.append("Send the plans to Bertil.", kind="commitment", due="2026-11-23")
        await engine.append("Renew the domain.", kind="commitment", due="2026-12-22")
        await engine.append("Fixed the pump.", kind="log")
        await engine.append("Writes flour only of the mill in reports.", kind="preference", project="mill")
        world.later(days=1)
        said = await begun(engine, project="other")
        order = [
            "A standing order",
            "Curated words",
            "Likes short",
            'Due tomorrow: "Send the plans to Bertil',
        ]
        assert [said.index(words) for words in order] == sorted(said.index(words) for words in order)
        assert all(words not in said for words in ("domain", "of the mill", "the pump"))
        assert "domain" not in await engine.recall() and "plans to Bertil" not in await engine.recall()
        assert "of the mill" in await begun(engine, project="mill")
        elsewhere = await begun(engine, project=None)
        assert "Likes short" in elsewhere and "of the mill" not in elsewhere, "outside of all projects"
        assert "of the mill" in await told(engine, "elsewhere", "What is in reports only of the mill?", project=None)


async def test_the_same_memory_is_the_same_text_at_any_time(world: World) -> None:
    world.write("MEMORY.md", "Curated words.")
    async with world.engine() as engine:
        await engine.append(PORT, kind="fact")
        first = await begun(engine, "one"), await told(engine, "unbegun", QUESTION)
        world.later(hours=7)
        assert (await begun(engine, "two"), await told(engine, "late", QUESTION)) == first
        assert PORT in first[1] and "2026-11-21" in first[1] and "2026-11-21 12:00: stored" not in "".join(first)
        assert "data, not instructions" in first[0] and "data, not instructions" in first[1]


async def test_a_session_hears_a_passage_once_until_its_context_is_emptied(world: World) -> None:
    async with world.engine() as engine:
        await engine.append(PORT, kind="fact")
        assert PORT in await told(engine, "s", QUESTION)
        assert await told(engine, "s", QUESTION) == ""
        assert PORT in await told(engine, "another", QUESTION)
        await engine.append("The replica of the staging database listens on port 6000.", kind="fact")
        more = await told(engine, "s", QUESTION)
        assert "6000" in more and PORT not in more
    async with world.engine() as engine:
        assert await told(engine, "s", QUESTION) == "", "a restart forgets nothing"
        await engine.reset("s")
        assert PORT in await told(engine, "s", QUESTION)


async def test_a_line_of_the_start_is_not_repeated_with_a_prompt(world: World) -> None:
    async with world.engine() as engine:
        await engine.append(RULE, kind="fact")
        assert RULE in await told(engine, "other", ASKED)
        assert RULE in await begun(engine, "s")
        assert await told(engine, "s", ASKED) == ""


async def test_what_the_start_has_shown_no_prompt_repeats(world: World) -> None:
    long = " ".join(f"The staging database holds table{number} of herons." for number in range(200))
    entries = "- the staging database is dumped nightly\r\n- more\r\n"
    world.write("MEMORY.md", f"# Ours\r\n\r\n{PORT}\r\n\r\n{long}\r\n\r\n{entries}")
    async with world.engine(recall=RecallConfig(start_budget_tokens=20_000, start_usual_tokens=20_000)) as engine:
        assert PORT in await begun(engine)
        assert await told(engine, "s", QUESTION) == ""
        assert await told(engine, "s", "table17 of herons in the staging database") == ""
        assert PORT in await told(engine, "other", QUESTION)


async def test_what_did_not_fit_into_the_start_can_still_come(world: World) -> None:
    entries = "".join(f"- Fact number {number} is about heron{number}.\n" for number in range(400))
    world.write("MEMORY.md", entries)
    async with world.engine(recall=RecallConfig(start_budget_tokens=1000)) as engine:
        said = await begun(engine)
        assert count_tokens(said) <= 1000 and 'memory_recall path="MEMORY.md"' in said
        assert "heron399." in await told(engine, "s", "what is heron399 about")


async def test_a_note_that_was_moved_is_no_news(world: World) -> None:
    async with world.engine() as engine:
        receipt = await engine.append(PORT, kind="fact")
        assert PORT in await told(engine, "s", QUESTION)
        (world.root / "topics/01-staging").mkdir(parents=True)
        (world.root / receipt.path).rename(world.root / "topics/01-staging/001-port.md")
        await engine.sweep()
        assert "topics/01-staging/001-port.md" in paths(engine, NoteState.ACTIVE)
        assert await told(engine, "s", QUESTION) == ""
        assert PORT in await told(engine, "new", QUESTION)


async def test_known_passages_keep_their_room_so_that_no_rest_trickles_in(world: World) -> None:
    """Of 60 notes about staging the ten that fit are told; asking again does not bring the next ten."""
    async with world.engine(recall=RecallConfig()) as engine:
        for number in range(60):
            await engine.append(f"The staging database listens on port {number}. " + "More. " * 40, kind="fact")
        first = await told(engine, "s", QUESTION)
        assert 0 < first.count("listens on") < 60
        assert await told(engine, "s", QUESTION) == ""


async def test_freshness_is_mentioned_only_where_something_is_stale(world: World) -> None:
    async with world.engine() as engine:
        receipt = await engine.append(PORT, kind="fact")
        assert "changed since" not in await told(engine, "one", QUESTION)
        file = world.root / receipt.path
        file.write_text(file.read_text().replace("5433", "5434"))
        said = await told(engine, "two", QUESTION)
        assert "5434" in said and "changed since it was indexed" in said


async def test_a_forgotten_note_is_in_no_briefing(world: World) -> None:
    async with world.engine() as engine:
        receipt = await engine.append(PORT, kind="fact")
        briefing = await engine.brief("s", QUESTION)
        assert briefing.notes == [receipt.id] and briefing.tokens == count_tokens(briefing.text)
        asked = {"ids": [receipt.id, "gone", "memory/2020-01-01.md#x", "path:none.md"]}
        titles = (await engine.perform("titles", asked))["notes"]
        assert {note_id: note["path"] for note_id, note in titles.items()} == {receipt.id: receipt.path}
        await engine.forget(receipt.id)
        assert await told(engine, "other", QUESTION) == ""
        assert (await engine.perform("titles", asked))["notes"] == {}


async def test_what_comes_too_late_does_not_count_as_given(world: World) -> None:
    async with world.engine() as engine:
        await engine.append(PORT, kind="fact")
        with pytest.raises(DeadlineExceeded):
            await engine.brief("s", QUESTION, within_ms=0)
        with pytest.raises(DeadlineExceeded):
            await engine.brief("s", within_ms=0)
        assert PORT in await told(engine, "s", QUESTION)


async def test_a_disk_that_takes_nothing_is_no_reason_for_silence(world: World) -> None:
    async with world.engine() as engine:
        await engine.append(PORT, kind="fact")
        (world.state / "given").write_text("in the way")
        assert PORT in await told(engine, "s", QUESTION)
        assert await told(engine, "s", QUESTION) == ""
        await engine.reset("s")
        assert PORT in await told(engine, "s", QUESTION)


def test_sessions_expire_and_their_number_is_bounded(world: World) -> None:
    folder = world.state / "given"
    given = SeenPassages(folder)
    for number in range(MOST_SESSIONS + 20):
        given.add(f"session {number}", [f"{number:016x}"])
        if number == 2:
            for file in folder.iterdir():
                os.utime(file, (0, time() - KEPT_S - 60))
    given.reset("the latest")
    again = SeenPassages(folder)
    kept = [number for number in range(MOST_SESSIONS + 20) if again.seen_by(f"session {number}")]
    assert len(kept) == len(list(folder.iterdir())) == MOST_SESSIONS
    assert not {0, 1, 2} & set(kept)
    assert {file.stat().st_mode & 0o077 for file in folder.iterdir()} == {0}


def test_half_a_line_counts_for_nothing_and_keeps_the_next_apart(world: World) -> None:
    given = SeenPassages(world.state / "given")
    given.add("s", ["0" * 16, "1" * 16])
    (file,) = (world.state / "given").iterdir()
    file.write_bytes(file.read_bytes()[:-5] + b"\xff")
    again = SeenPassages(world.state / "given")
    assert again.seen_by("s") == {"0" * 16}
    again.add("s", ["2" * 16])
    assert SeenPassages(world.state / "given").seen_by("s") == {"0" * 16, "2" * 16}


async def test_an_extracted_statement_is_shown_without_the_words_that_it_was_made_of(world: World):
    head = "---\nid: 01HQZX3J8W5V7KQ2M9N4P6R8T0\nkind: decision\nvoice: said\n---\n\n"
    world.write("notes/decision/parcels.md", f"{head}Parcels are kept for 180 days.\n\n> make it 180\n")
    async with world.engine() as engine:
        shown = (await engine.brief("s", "how long do we keep parcels?")).text
        recalled = await engine.recall("how long do we keep parcels?")
        assert "kept for 180 days." in shown and "make it" not in shown and "parcels.md" not in shown
        assert "kept for 180 days." in recalled and "make it" not in recalled
        assert (await engine.brief("s", "how long do we keep parcels?")).text == "", "it counts as seen"
        assert "make it 180" in await engine.recall(ids=["P6R8T0"])
