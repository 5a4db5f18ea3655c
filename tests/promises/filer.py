"""Agents that append, forget and compact until something dies. For each order on standard input, a JSON object a line,
a child is forked that opens an engine on the vault, or asks the daemon that serves it; it prints what was answered,
a JSON object a line, after `READY`.

Usage: filer.py ROOT
"""

from __future__ import annotations

import json
import os
import random
import sys
import traceback
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from http.client import HTTPException
from pathlib import Path
from typing import Any, Protocol

import anyio

from mcp_memory.client.connection import Address
from mcp_memory.errors import McpMemoryError
from mcp_memory.topics.config import TopicsConfig
from tests.daemon.place import Place, Running
from tests.daemon.wire import Wire
from tests.support.keyword_engine import KeywordEngine
from tests.support.world import NOON, World

TOPICS = TopicsConfig(
    leaf_cosine=0.3,
    by_subject=False,
    topic_cosine=0.2,
    min_leaves=3,
    max_leaves=4,
    condensed_min_fanout=3,
)
"""Many small jobs, topics of topics among them."""

SUBJECTS = [
    "green tea from Uji", "the night train to Vienna", "a bicycle with a dynamo", "sourdough bread at dawn",
    "the roof of the barn", "piano lessons for Ada", "snow in the high Alps", "a kernel that would not boot",
]  # fmt: skip


class Door(Protocol):
    async def ask(self, operation: str, **arguments: Any) -> Mapping[str, Any]: ...


class EngineDoor:
    def __init__(self, engine: KeywordEngine) -> None:
        self._engine = engine

    async def ask(self, operation: str, **arguments: Any) -> Mapping[str, Any]:
        return await self._engine.perform(operation, arguments)


class DaemonDoor:
    """A connection a call: calls overlap."""

    def __init__(self, place: Place) -> None:
        self._running = Running(place, Address.read(place.state.daemon))

    async def ask(self, operation: str, **arguments: Any) -> Mapping[str, Any]:
        def call() -> Mapping[str, Any]:
            try:
                with Wire(self._running, client="cli") as wire:
                    answer = wire.api(operation, arguments)
            except (OSError, HTTPException):
                os._exit(0)  # the daemon is dead, as it should
            if answer.status != 200:
                raise McpMemoryError(answer.text)
            return answer.json

        return await anyio.to_thread.run_sync(call, abandon_on_cancel=True)


def content(subject: str, word: str) -> str:
    return f"{subject} {subject} {subject}, told as {word}."


async def live(place: Place, order: Mapping[str, Any]) -> None:
    async with opened(place, order) as door:
        for subject, word in order["notes"]:
            await append(door, subject, word)
        if order["way"] != "daemon":
            await door.ask("reindex")
        say("READY")
        async with anyio.create_task_group() as tasks:
            for agent in range(order["agents"]):
                tasks.start_soon(
                    be_an_agent, door, f"{order['name']}a{agent}", order["known"][agent :: order["agents"]]
                )
            for run in order["undo"]:
                await door.ask("undo", target=run, sure=True)
            if not order["undo"] and order["compacts"]:
                await door.ask("compact")
            tasks.cancel_scope.cancel()
        say("DONE")


@asynccontextmanager
async def opened(place: Place, order: Mapping[str, Any]) -> AsyncGenerator[Door]:
    if order["way"] == "daemon":
        yield DaemonDoor(place)
        return
    world = World(place.vault, place.state.root, place.models, "toy", NOON + timedelta(minutes=order["minutes"]))
    async with world.engine(watching=True, topics=TOPICS) as engine:
        yield EngineDoor(engine)


async def be_an_agent(door: Door, name: str, known: Sequence[tuple[str, str]]) -> None:
    """Appends, and now and then forgets one of the notes it knows."""
    chance = random.Random(name)
    known = list(known)
    for number in range(1000):
        await append(door, chance.choice(SUBJECTS), f"w{name}n{number}x")
        if known and number % 2:
            word, target = known.pop(chance.randrange(len(known)))
            say({"asked": word})
            try:
                await door.ask("forget", target=target)
            except McpMemoryError as error:
                say({"fault": f"forget: {error}"})
            else:
                say({"forgot": word})
        await anyio.sleep(0.02)  # fifty a second: a flood would leave no time to file


async def append(door: Door, subject: str, word: str) -> None:
    receipt = await door.ask("append", content=content(subject, word))
    say({"appended": word, "id": receipt["id"], "etag": receipt["etag"]})


def say(what: str | Mapping[str, Any]) -> None:
    os.write(1, (what if isinstance(what, str) else json.dumps(what)).encode() + b"\n")


def main(place: Place) -> None:
    for asked in sys.stdin:
        child = os.fork()
        if child == 0:
            code = 1
            try:
                anyio.run(live, place, json.loads(asked))
                code = 0
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(code)
        say(f"PID {child}")
        say(f"DEAD {os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])}")


if __name__ == "__main__":
    main(Place(Path(sys.argv[1]), Path(sys.argv[1]) / "models"))
