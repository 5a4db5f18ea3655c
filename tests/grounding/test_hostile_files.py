"""Source files of strangers, which notes name: none stalls the program, and none makes a note look wrong."""

from __future__ import annotations

import resource
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace

import pytest

from mcp_memory.grounding import grounder, symbol_reader
from tests.support.shop_repository import Shop
from tests.support.world import World

pytestmark = pytest.mark.anyio

HOSTILE = {
    "templates.cpp": "template<" * 100_000,
    "nested.js": "function a(){" * 5_000,
    "defs.py": "".join(f"def f{n}(): pass\n" for n in range(40_000)),
}


@contextmanager
def longest_stall() -> Generator[list[float]]:
    """How long another thread had to wait for the interpreter."""
    stall, ended = [0.0], threading.Event()

    def watch() -> None:
        while not ended.is_set():
            before = time.monotonic()
            time.sleep(0.005)
            stall[0] = max(stall[0], time.monotonic() - before)

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield stall
    finally:
        ended.set()
        thread.join()


async def test_a_hostile_file_stalls_nothing_and_is_skipped_once_by_name(
    world: World, shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(symbol_reader, "LIMITS", replace(symbol_reader.LIMITS, processor_s=3, memory_bytes=256 << 20))
    async with world.engine() as engine:
        await engine.perform("refs", {"project": "shop", "folder": str(shop.root)})
        for path, text in HOSTILE.items():
            shop.write(path, text)
        shop.commit()
        note = await engine.append(", ".join(f"`{path}:2`" for path in HOSTILE), kind="fact", project="shop")
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        with longest_stall() as stall:
            answer = await engine.perform("refs", {"check": True})
        assert "templates.cpp is skipped: it takes more than 3 s to read" in answer["problems"]["shop"]
        assert "defs.py" not in answer["problems"]["shop"], "long, but harmless"
        assert [one["symbol"] for one in answer["notes"][0]["refs"]] == ["", "", "f1"]
        assert stall[0] < 2 and resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200 << 10
    monkeypatch.setattr(symbol_reader, "LIMITS", replace(symbol_reader.LIMITS, memory_bytes=1))
    async with world.engine() as engine:
        again = await engine.perform("refs", {"check": True, "target": note.id})
        assert "templates.cpp" not in again["problems"].get("shop", ""), "nothing new is to be known of it"
        await engine.append("and `templates.cpp:Tree`", kind="fact", project="shop")
        again = await engine.perform("refs", {"check": True})
        assert "templates.cpp is skipped: it takes more than 3 s" in again["problems"]["shop"], "known by its hash"


async def test_a_file_that_became_unreadable_leaves_the_outcome_as_it_was(
    world: World, shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with world.engine() as engine:
        await engine.perform("refs", {"project": "shop", "folder": str(shop.root)})
        await engine.append("`src/sync.py:backoff` doubles", kind="fact", project="shop")
        await engine.perform("refs", {"check": True})
        shop.change("src/sync.py", ("return delay + 1", "return delay + 2"))
        monkeypatch.setattr(symbol_reader, "LIMITS", replace(symbol_reader.LIMITS, answer_bytes=1))
    async with world.engine() as engine:
        answer = await engine.perform("refs", {"check": True})
        assert [one["outcome"] for one in answer["notes"][0]["refs"]] == ["ok"]
        assert "src/sync.py is skipped" in answer["problems"]["shop"]


async def test_a_repository_has_its_time_and_no_more(world: World, shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grounder, "REPOSITORY_S", 0.0)
    async with world.engine() as engine:
        await engine.perform("refs", {"project": "shop", "folder": str(shop.root)})
        await engine.append("`src/sync.py:backoff` doubles", kind="fact", project="shop")
        answer = await engine.perform("refs", {"check": True})
        assert answer["notes"] == [] and "shop" in answer["problems"]
