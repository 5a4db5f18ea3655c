"""What a person takes back has gone from every file, also where it was indexed before."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcp_memory.capture.config import CaptureConfig
from tests.capture.written import lately, line
from tests.support.world import World

pytestmark = pytest.mark.anyio


async def test_no_byte_of_what_is_taken_back_stays(world: World) -> None:
    folder = world.state.parent / "claude"
    folder.mkdir()
    file = folder / "s-1.jsonl"
    async with world.engine(capture=CaptureConfig(folders={"claude-code": str(folder)})) as engine:
        for number, said in enumerate(["Always call the new office zanzibar.", "Forget what I just said."]):
            with file.open("ab") as transcript:
                transcript.write(lately(line(10 * number, said)))
            await engine.perform("capture", {"files": [str(file)]})
            await engine.sweep()
            held = [one for root in (world.root, world.state) for one in root.rglob("*") if one.is_file()]
            holders = [one.name for one in held if b"zanzibar" in one.read_bytes()]
            assert bool(holders) == (number == 0), holders


@pytest.mark.parametrize("wish", ["Forget what I just said.", "forget what I said about Grubwort"])
async def test_no_question_stays_when_a_transcript_takes_something_back(world: World, wish: str) -> None:
    folder = world.state.parent / "claude"
    folder.mkdir()
    file = folder / "s-1.jsonl"
    async with world.engine(capture=CaptureConfig(folders={"claude-code": str(folder)})) as engine:
        for number, said in enumerate(["Where is the zanzibar office?", wish]):
            with file.open("ab") as transcript:
                transcript.write(lately(line(10 * number, said)))
            await engine.search("where is the zanzibar office?")
            await engine.perform("capture", {"files": [str(file)]})
            asked = (await engine.perform("stats", {"unanswered": True}))["unanswered"]
            assert len(asked) == (1 if number == 0 else 0)
    assert b"zanzibar" not in (world.state / "usage.db").read_bytes()


@pytest.mark.parametrize(("named", "is_found"), [("zanzibar", True), ("Grubwort", False)])
async def test_a_thing_that_nobody_spoke_of_is_said_to_the_person(world: World, named: str, *, is_found: bool) -> None:
    folder = world.state.parent / "claude"
    folder.mkdir()
    file = folder / "s-1.jsonl"
    said = ["Always call the new office zanzibar.", "Always use tabs.", f"forget what I said about {named}"]
    async with world.engine(capture=CaptureConfig(folders={"claude-code": str(folder)})) as engine:
        for number, text in enumerate(said):
            with file.open("ab") as transcript:
                transcript.write(lately(line(10 * number, text)))
            await engine.perform("capture", {"files": [str(file)]})
        asked = {"session": "claude-code/s-1", "prompt": "run the tests"}
        told = [(await engine.perform("brief", asked))["text"] for _ in range(2)]
        held = [one for root in (world.root, world.state) for one in root.rglob("*") if one.is_file()]
        kept = [words for words in (b"zanzibar", b"tabs") if any(words in one.read_bytes() for one in held)]
    assert ["Nothing was taken out" in text for text in told] == [not is_found, False]
    assert kept == ([b"tabs"] if is_found else [b"zanzibar", b"tabs"])


@pytest.mark.parametrize("wish", ["please forget what I just said", "forget what I said about the Zanzibar office"])
@pytest.mark.parametrize("in_the_copy", [True, False])
@pytest.mark.parametrize("words", ["", "word " * 600])
async def test_what_is_taken_back_in_a_copy_of_a_session_goes_from_both(
    world: World, wish: str, words: str, *, in_the_copy: bool
) -> None:
    folder = world.state.parent / "claude"
    folder.mkdir()
    first, copy = folder / "s-1.jsonl", folder / "s-2.jsonl"
    said = [line(1, "Always use tabs."), line(2, f"Noted. {words}", role="assistant")]
    said += [line(10, "Always call the new office zanzibar."), line(11, f"Noted. {words}", role="assistant")]
    copied = b"".join(said).replace(b'"s-1"', b'"s-2"')
    more = [line(12, f"The zanzibar office, then. {words}", role="assistant"), line(13, "Run the kiln tests.")]
    more += [line(at, f"They pass. {words}", role="assistant") for at in range(14, 20)]
    async with world.engine(capture=CaptureConfig(folders={"claude-code": str(folder)})) as engine:

        async def captured(file: Path, data: bytes) -> None:
            with file.open("ab") as transcript:
                transcript.write(lately(data))
            await engine.perform("capture", {"files": [str(file)]})

        await captured(first, b"".join(said))
        asks = line(30, wish).replace(b'"s-1"', b'"s-2"')
        if in_the_copy:
            await captured(first, b"".join(more))
            await captured(copy, copied + asks)
        else:
            await captured(copy, copied + b"".join(more).replace(b'"s-1"', b'"s-2"'))
            await captured(first, line(30, wish))
        await engine.sweep()
        files = [one for root in (world.root, world.state) for one in root.rglob("*") if one.is_file()]
        held = {one.name: one.read_bytes().lower() for one in files}
    assert [name for name, data in held.items() if b"zanzibar" in data] == []
    assert any(b"kiln tests" in data for data in held.values()), "the rest of the other one stays"
    assert any("tabs" in one.read_text() for one in world.root.rglob("*.md"))
