"""Several processes that append at once: a third log entries, a third notes of one title, a third notes that all of
them say alike. Prints a receipt a line, as JSON with `by` and `word`; fails if one of them does.

Usage: crowd.py daemon|engine ROOT COUNT NAME…. `engine`: engines with a state folder of their own each, which have no
lock in common.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from anyio.from_thread import BlockingPortal, start_blocking_portal

from mcp_memory.client.connection import Address
from mcp_memory.errors import DeadlineExceeded
from tests.daemon.place import Place, Running
from tests.daemon.wire import Wire
from tests.support.keyword_engine import KeywordEngine
from tests.support.world import World

Append = Callable[[str, str, str | None], dict[str, Any] | None]
"""Content, kind and title → the receipt; None where the same call has to be made again."""

KINDS = ("log", "note", "note")


def main(way: str, root: Path, count: int, names: list[str]) -> int:
    """Imports are done before the fork, so that eight cost no more than one."""
    starting, start = os.pipe()
    children = [fork(lambda name=name: work(way, root, count, name, starting, start)) for name in names]
    os.close(start)
    return max(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children)


def fork(life: Callable[[], None]) -> int:
    child = os.fork()
    if child == 0:
        code = 1
        try:
            life()
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    return child


def work(way: str, root: Path, count: int, name: str, starting: int, start: int) -> None:
    os.close(start)
    with WAYS[way](root, name) as append:
        os.read(starting, 1)  # the end of the pipe: all are there
        for number in range(count):
            shared = number % 3 == 2
            word = f"all{number}" if shared else f"{name}n{number}"
            while not (receipt := append(f"{word} was here", KINDS[number % 3], None if shared else "One title")):
                pass
            os.write(1, json.dumps({**receipt, "by": name, "word": word}).encode() + b"\n")


@contextmanager
def through_the_daemon(root: Path, name: str) -> Iterator[Append]:
    place = Place(root, root / "models")
    with Wire(Running(place, Address.read(place.state.daemon)), client=name) as wire:

        def append(content: str, kind: str, title: str | None) -> dict[str, Any] | None:
            asked = {"content": content, "kind": kind, "title": title, "session": name}
            receipt = wire.api("append", asked).json
            return None if receipt["outcome"] == "unknown" else receipt

        yield append


@contextmanager
def through_an_engine(root: Path, name: str) -> Iterator[Append]:
    world = World(root / "vault", root / name, root / "models")
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(world.engine()) as engine:
        yield by_calls(portal, engine, name)


def by_calls(portal: BlockingPortal, engine: KeywordEngine, name: str) -> Append:
    def append(content: str, kind: str, title: str | None) -> dict[str, Any] | None:
        try:
            stored = portal.call(partial(engine.append, content, kind=kind, title=title, session=name))
        except DeadlineExceeded:
            return None  # eight wait for one lock
        return {"id": stored.id, "path": stored.path} if stored.id else None

    return append


WAYS: dict[str, Callable[[Path, str], AbstractContextManager[Append]]] = {
    "daemon": through_the_daemon,
    "engine": through_an_engine,
}

if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), sys.argv[4:]))
