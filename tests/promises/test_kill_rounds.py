"""Invariants 1 and 4 under load: the real daemon killed at any moment, again and again, while agents, editors and a
reindex are at it. Four rounds; a hundred with MCP_MEMORY_EXHAUSTIVE=1."""

from __future__ import annotations

import asyncio
import os
import random
import time
from pathlib import Path
from stat import S_ISDIR

import pytest

from mcp_memory.client.credentials import PERSON
from mcp_memory.storage.listing import GRAIN_NS
from tests.daemon.place import Place
from tests.soak import judge
from tests.soak.book import Book
from tests.soak.daemon import Daemon, on_a_port_of_its_own
from tests.soak.line import Line, Unanswered, era
from tests.soak.people import Editor, write_notes
from tests.soak.run import VOCABULARY, ask_again, at_once, until_ready
from tests.soak.sessions import Errors, Mix, Session
from tests.support.world import EXHAUSTIVE, World, eventually, found

ROUNDS = 100 if EXHAUSTIVE else 4
SESSIONS = 6
BUSY = Mix(search=0.25, recall=0.05, append=0.5, retire=0.2)
OLDER = 30
"""So many of the earlier rounds' notes are searched for again."""


@pytest.mark.anyio
@pytest.mark.timeout(60 * ROUNDS)
async def test_whatever_was_answered_is_there_after_each_kill(place: Place) -> None:
    place = on_a_port_of_its_own(place)
    chance, book, errors = random.Random(1), Book(), Errors()
    files = write_notes(place.vault, 40, VOCABULARY, chance)
    daemon, line, seen = Daemon(place), Line(place, PERSON, era(0)), 0
    try:
        await daemon.start()
        for number in range(ROUNDS):
            await until_ready(line)
            await life_under_load(place, daemon, book, errors, files, number, chance)
            await daemon.start()
            await until_ready(line)
            assert judge.lost(book, place.vault) == []
            assert judge.torn_or_doubled(place.vault) == []
            older = chance.sample(book.answered[:seen], min(OLDER, seen))
            assert await judge.unfound([*older, *book.answered[seen:]], line) == []
            await line.api("reconcile")
            assert judge.stale(place.state.index, place.vault, place.root / "scratch") == []
            assert await judge.unlike_rebuilt(place.state.index, place.vault, place.root / "scratch") == []
            seen = len(book.answered)
            await ask_again(book, line)
            assert judge.torn_or_doubled(place.vault) == [], "asked again after no answer"
    finally:
        line.close()
        daemon.kill()
    assert len(book.answered) > 3 * ROUNDS
    assert errors.unexpected == {}, errors.samples


async def life_under_load(
    place: Place, daemon: Daemon, book: Book, errors: Errors, files: list[Path], number: int, chance: random.Random
) -> None:
    """Ends with a kill after some time of everything at once."""
    sessions = [
        Session(
            SESSIONS * number + n, Line(place, f"session-{n}", era(n)), book, errors,
            chance=random.Random(f"{number} {n}"), vocabulary=VOCABULARY, think_s=0.0, mix=BUSY,
            is_up=lambda: daemon.is_up, lives=lambda: daemon.lives,
        )
        for n in range(SESSIONS)
    ]  # fmt: skip
    editors = [
        Editor(
            place.vault, files[n::2], book, by_rename=n == 0, pause_s=0.01, vocabulary=VOCABULARY,
            chance=random.Random(f"{number} editor {n}"),
        )
        for n in range(2)
    ]  # fmt: skip
    async with at_once(
        *(session.run() for session in sessions),
        *(editor.run() for editor in editors),
        reindexing(Line(place, PERSON, era(0))),
    ):
        await asyncio.sleep(chance.uniform(0.1, 0.9))  # the moment is what is random here; nothing waits for it
        daemon.kill()


async def reindexing(line: Line) -> None:
    while True:
        try:
            await line.api("reindex")
        except Unanswered:
            return
        await asyncio.sleep(0.2)  # between two that somebody asks for


@pytest.mark.anyio
async def test_a_save_while_our_own_is_synced_is_known_after_a_restart(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its time is that of the file as we first look at it, so only its bytes tell that there was a save."""
    fsync = os.fsync

    def slowly(descriptor: int) -> None:
        fsync(descriptor)
        for log in world.root.glob("memory/*.md"):
            text = log.read_text()
            if S_ISDIR(os.fstat(descriptor).st_mode) and "teapot" in text and "kettle" not in text:
                log.write_text(f"{text}\n## 12:01 The kettle is in the attic\n")

    monkeypatch.setattr(os, "fsync", slowly)
    async with world.engine() as engine:
        receipt = await engine.append("The teapot is in the cellar", kind="log")
    saved_ns = (world.root / receipt.path).stat().st_mtime_ns
    await eventually(lambda: time.time_ns() - saved_ns > GRAIN_NS)
    async with world.engine() as engine:
        assert await found(engine, "kettle")
