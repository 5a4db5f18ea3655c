"""Which notes come back in an agent's next words, by transcripts that real clients have written; else nobody knows."""

from __future__ import annotations

import shutil
from collections import Counter
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from mcp_memory.capture.config import CaptureConfig
from mcp_memory.capture.next_answer import answer_after
from mcp_memory.engine.engine import Engine
from mcp_memory.engine.requests import perform
from mcp_memory.errors import InvalidInput
from mcp_memory.recall.echoes import MOST_CHARS
from mcp_memory.text.conversation.messages import Turn
from mcp_memory.text.language.overlap import telling
from tests.capture.written import SAMPLES
from tests.extraction.talks import AT, assistant, person, tool
from tests.support.world import World

pytestmark = pytest.mark.anyio

SESSIONS = {
    "claude-code": ("861705d5-deca-4e9c-984e-9c2ca4b78b28", "2026-11-22T10:46:24Z"),
    "codex": ("01a202dd-91a6-7db1-807f-65a7d56f9cf4", "2026-11-22T10:46:45Z"),
    "openclaw": ("85aece5c-a3c2-4436-9996-3c1d9fbd6ec6", "2026-11-22T10:48:03Z"),
}
"""A session of each in the samples, and when the hook of its first prompt was done."""

SAID, ANSWERED = b"STUB-ANSWER ok", b"The brass barometer of Rya hangs on the pier."


def config(home: Path) -> CaptureConfig:
    """The samples as clients' folders, with an answer that tells something."""
    for client in SESSIONS:
        shutil.copytree(SAMPLES / client, home / client)
        for file in (home / client).rglob("*.jsonl"):
            file.write_bytes(file.read_bytes().replace(SAID, ANSWERED))
    return CaptureConfig(folders={client: str(home / client) for client in SESSIONS})


async def capture(engine: Engine) -> None:
    for place in await engine.capturer.taker.found():
        assert (await engine.capturer.taker.take(place)).at_end


def item(client: str, *notes: str, at: str = "") -> dict[str, object]:
    session, then = SESSIONS[client]
    return {"client": client, "session": session, "at": at or then, "notes": list(notes)}


async def echoed(engine: Engine, *items: dict[str, object]) -> list[dict[str, bool | None]]:
    return (await perform(engine, "echoes", {"items": list(items)}))["echoes"]


async def test_each_clients_answer_is_found(world: World, tmp_path: Path):
    async with world.engine(capture=config(tmp_path / "home")) as engine:
        told = (await engine.append("A brass barometer hangs at the pier.", kind="fact")).id
        other = (await engine.append("The ferry leaves at nine from Landskrona.", kind="fact")).id
        log = (await engine.append("Bought a brass barometer.", kind="log")).id
        items = [item(client, told, other, log) for client in SESSIONS]
        assert await echoed(engine, *items) == [{told: None, other: None, log: None}] * 3, "nothing is captured yet"
        await capture(engine)
        assert await echoed(engine, *items) == [{told: True, other: False, log: True}] * 3


async def test_a_session_is_read_once_for_all_its_prompts(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Else the time for one with 200 prompts goes into minutes."""
    read = Counter[str]()

    def counted(text: str) -> frozenset[str]:
        read[text] += 1
        return telling(text)

    monkeypatch.setattr("mcp_memory.recall.echoes.telling", counted)
    async with world.engine(capture=config(tmp_path / "home")) as engine:
        await capture(engine)
        told = (await engine.append("A brass barometer hangs at the pier.", kind="fact")).id
        other = (await engine.append("The ferry leaves at nine from Landskrona.", kind="fact")).id
        assert await echoed(engine, *[item("codex", told, other)] * 3) == [{told: True, other: False}] * 3
    assert read and set(read.values()) == {1}


async def test_what_is_not_known_is_said_to_be_so(world: World, tmp_path: Path):
    async with world.engine(capture=config(tmp_path / "home")) as engine:
        await capture(engine)
        told = (await engine.append("A brass barometer hangs at the pier.", kind="fact")).id
        known = (await engine.append("The ferry leaves at nine.", kind="fact")).id
        long = (await engine.append("A brass barometer. " * (MOST_CHARS // 19 + 1), kind="fact")).id
        gone = (await engine.append("The brass barometer is old.", kind="fact")).id
        await engine.forget(gone)
        (found,) = await echoed(engine, item("codex", told, known, long, gone, "01ARZ3NDEKTSV4RRFFQ69G5FAV", ""))
        assert found.pop(told) is True
        assert set(found.values()) == {None}, "said before, by a tool; too long; forgotten; never there; no id"
        later = item("codex", told, at="2026-11-22T10:47:00Z")
        stranger = {**item("codex", told), "session": "another"}
        assert await echoed(engine, later, stranger) == [{told: None}] * 2
        shutil.rmtree(tmp_path / "home" / "codex")
        assert await echoed(engine, item("codex", told), item("openclaw", told)) == [{told: None}, {told: True}]
        with pytest.raises(InvalidInput):
            await echoed(engine, {"client": "codex", "notes": []})


async def test_what_was_not_captured_is_not_read(world: World, tmp_path: Path):
    """Somebody switches capture off while a session goes on."""
    settings = config(tmp_path / "home")
    session, at = SESSIONS["codex"]
    (file,) = (tmp_path / "home" / "codex").rglob(f"*{session}.jsonl")
    whole = file.read_bytes()
    file.write_bytes(whole[: whole.rindex(b"\n", 0, whole.index(ANSWERED)) + 1])
    async with world.engine(capture=settings) as engine:
        await capture(engine)
        file.write_bytes(whole)
        note = (await engine.append("A brass barometer hangs at the pier.", kind="fact")).id
        assert await echoed(engine, item("codex", note, at=at)) == [{note: None}]
        await capture(engine)
        assert await echoed(engine, item("codex", note, at=at)) == [{note: True}]


def test_the_answer_goes_up_to_the_next_prompt():
    """The hook's moment is cut to the second: the end of the turn before may lie in it, too."""
    soon, later = AT + timedelta(milliseconds=600), AT + timedelta(minutes=1)
    talk = [
        assistant("first"), person("two", at=soon), tool("found"), assistant("second"), assistant("third"),
        person("four", at=later),
    ]  # fmt: skip
    answer = answer_after(talk, AT)
    assert answer and (answer.text, answer.said) == ("second\n\nthird", ("first", "two", "found"))
    assert answer_after(talk[:3], AT) is None and answer_after(talk, later) is None
    assert answer_after([person("one", at=None), replace(talk[0], turn=Turn("Assistant", "x"))], AT) is None
