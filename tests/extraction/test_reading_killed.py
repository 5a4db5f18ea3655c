"""The daemon is killed while a language model reads a session: nothing is stored twice, and nothing is lost."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import anyio
import pytest

from mcp_memory.summarizers.config import SummarizerConfig
from tests.capture.written import line
from tests.extraction.session_reader import PARCELS, Reader, finish, made, reader
from tests.support.sessions import Sessions
from tests.support.stub_endpoint import Answer
from tests.support.world import World, python
from tests.support.world import made as world_in

pytestmark = pytest.mark.anyio

TALK = b"".join(line(n, f"Shelf {n} holds the spare parts. " + "Please look it up. " * 60) for n in range(1, 12))
READ = "import sys; from tests.extraction.test_reading_killed import read; read(*sys.argv[1:])"


def sections_of(model: Reader, address: str) -> dict[str, Any]:
    usual = SummarizerConfig(endpoint=address, model="large", timeout_s=60, prompt_tokens=2000)
    return {**model.sections, "summarizer": usual}


def read(folder: str, address: str) -> None:
    """Read a session in a process of its own."""

    async def run() -> None:
        sessions = Sessions(world_in(Path(folder)))
        model = Reader()
        model.endpoint = type("Endpoint", (), {"address": address})()  # type: ignore[assignment]
        async with sessions.engine(**sections_of(model, address)) as engine:
            await finish(sessions, engine, TALK)

    anyio.run(run)


@pytest.mark.parametrize("killed_at", [1, 2])
async def test_killed_while_an_answer_is_outstanding(world: World, tmp_path: Path, killed_at: int):
    with reader() as model:
        notes = [{**PARCELS, "kind": "fact", "text": f"Shelf {n} holds the spare parts.",
                  "quote": f"Shelf {n} holds the spare"} for n in range(1, 12)]  # fmt: skip
        model.say(*notes)
        child = python(READ, tmp_path, model.endpoint.address)

        def killing(_: dict[str, Any]) -> Answer:
            os.kill(child.pid, signal.SIGKILL)
            child.wait()
            return 500, {}, {}

        model.endpoint.script = [*[model.reply] * (killed_at - 1), killing]
        assert await anyio.to_thread.run_sync(child.wait) == -signal.SIGKILL
        asked = len(model.endpoint.requests)
        assert asked == killed_at
        async with Sessions(world).engine(**sections_of(model, model.endpoint.address)) as engine:
            world.later(minutes=40)
            await engine.run_job("reading")
            titles = sorted(one.title for one in made(engine))
            assert titles == sorted(note["text"] for note in notes)
            parts = ["\n".join(m["content"] for m in one["messages"]) for one in model.endpoint.requests]
            assert sum("] person: Shelf 1 holds" in one for one in parts) == (2 if killed_at == 1 else 1)
            assert (await engine.run_job("reading")) and sorted(one.title for one in made(engine)) == titles


async def test_killed_before_the_log_was_written(world: World):
    talk = line(1, "Never push to main.") + line(2, "ok", role="assistant")
    better = {**PARCELS, "kind": "preference", "text": "Never push to main of the app.", "quote": "Never push to main"}
    files = [world.state / "candidates.jsonl", world.state / "read.json"]
    with reader() as model:
        sessions = Sessions(world)
        async with sessions.engine(**model.sections) as engine:
            await sessions.capture(engine, talk)
            before = [file.read_bytes() for file in files]
            (rule,) = made(engine)
            model.say({**better, "do": "replace", "of": rule.id[-6:]})
            await finish(sessions, engine, talk)
            (note,) = made(engine)
            await engine.perform("restore", {"target": rule.id})
        for file, content in zip(files, before, strict=True):
            file.write_bytes(content)
        async with sessions.engine(**model.sections) as engine:
            world.later(minutes=40)
            await engine.run_job("reading")
            assert len(model.endpoint.requests) == 2 and [one.id for one in made(engine)] == [note.id]
            assert note.id in [one.id for one in await engine.inbox()], "review lists it as stored"
