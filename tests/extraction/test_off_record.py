"""What is off the record becomes no note, whichever way a session comes in; and a note of it goes with it."""

from __future__ import annotations

import json

import pytest

from tests.extraction.talks import assistant, person, take
from tests.support.world import World, paths

pytestmark = pytest.mark.anyio

WISH = "Always answer in metric units."


@pytest.mark.parametrize(
    "messages",
    [
        [person(f"Off the record: {WISH}", 1)],
        [person(f"<private>{WISH}</private> ok", 1)],
        [person(f"{WISH}\nBitte nicht speichern.", 1)],
        [person("Can I tell you something off the record?", 1), assistant("Sure.", 2), person(WISH, 3)],
        [person(WISH, 1), assistant("Noted.", 2), person("forget that, it was confidential", 3)],
        [person("what I say next is off the record", 1), person("[Request interrupted by user]", 2), person(WISH, 3)],
        [person(WISH, 1), person("Run the tests.", 2), person("forget what I said about metric units", 3)],
    ],
)
async def test_it_is_not_extracted(world: World, messages: list) -> None:
    async with world.engine() as engine:
        together = await take(engine, messages)
        assert (together.active, together.waiting) == ((), ())
        one_by_one = [await take(engine, [message], "other") for message in messages]
        assert one_by_one[-1].active == ()
    assert b"metric" not in b"".join(
        file.read_bytes() for root in (world.root,) for file in root.rglob("*") if file.is_file()
    )


@pytest.mark.parametrize("text", [WISH, "I think we should go with metric DuckDB."])
async def test_a_note_of_what_is_taken_back_is_erased(world: World, text: str) -> None:
    async with world.engine() as engine:
        await take(engine, [person("Always use tabs.", 1), assistant("Fine.", 2)])
        await take(engine, [person(text, 10), assistant("Noted.", 11)])
        before = len(paths(engine))
        await take(engine, [person("don't remember what I just said", 20)])
        assert len(paths(engine)) == before - 1
        assert [path for path in paths(engine) if "tabs" in path], "what was said before stays"
        assert (await take(engine, [person(text, 10)])).active == ()
    kept = [file for file in world.root.rglob("*") if file.is_file() and b"metric" in file.read_bytes()]
    assert kept == [], json.dumps([str(file) for file in kept])
