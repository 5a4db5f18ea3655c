"""Invariant 2: no note's bytes change but by the call that names it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from mcp_memory.models import NotePath
from tests.support.keyword_engine import KeywordEngine
from tests.support.world import World

pytestmark = pytest.mark.anyio

ODD = {
    "diary.md": b"\xef\xbb\xbf---\r\nid: mine\r\ntags:   [ a ,b ]   # why\r\n---\r\n\r\nDear diary \xff  \r\n\r\n",
    "a/broken.md": b"---\nid: [\n---\nno final newline",
    "a/empty.md": b"",
    "MEMORY.md": b"# Curated\n\n- by hand\n",
    "memory/2026-11-20.md": b"# yesterday\n\n## 9:05 am Standup\n- said things\n",
    "_always-load/rules.md": b"Be kind.\n",
    "Agent/notes/fact/linked.md": b"See [the diary](../../../diary.md) and [[a/broken]].\n",
}

CALLS: dict[str, Callable[[KeywordEngine], Awaitable[object]]] = {
    "search": lambda e: e.search("diary standup"),
    "recall": lambda e: e.recall("diary"),
    "session start": lambda e: e.recall(),
    "recall by path": lambda e: e.recall(path="diary.md"),
    "reindex": lambda e: e.perform("reindex", {}),
    "sweep": lambda e: e.sweep(),
    "doctor": lambda e: e.perform("doctor", {}),
    "adopt": lambda e: e.adopt(),
    "append": lambda e: e.append("A new fact", kind="fact"),
    "append a log entry": lambda e: e.append("Something happened", kind="log"),
    "forget a missing note": lambda e: e.forget("a/none.md"),
    "forget somebody's": lambda e: e.forget("diary.md"),
    "supersede somebody's": lambda e: e.append("A new fact", kind="fact", supersedes="a/broken.md"),
    "append over a file": lambda e: e.append("A new fact", path="Agent/notes/fact/linked.md"),
}


@pytest.mark.parametrize("name", CALLS)
async def test_a_call_leaves_what_it_does_not_name(toy_world: World, name: str) -> None:
    toy_world.with_home("Agent")
    for path, content in ODD.items():
        toy_world.write(path, content)
    stats = {path: (toy_world.root / path).stat() for path in ODD}
    async with toy_world.engine(watching=True) as engine:
        try:
            await CALLS[name](engine)
        except Exception as error:
            assert "missing" in name or "somebody's" in name or "over" in name, error
        await engine.sweep()
    after = toy_world.files()
    for path, content in ODD.items():
        assert after[path] == content
        now = (toy_world.root / path).stat()
        assert (now.st_ino, now.st_mtime_ns, now.st_mode) == (
            stats[path].st_ino,
            stats[path].st_mtime_ns,
            stats[path].st_mode,
        )
    assert len(after) <= len(ODD) + 1


async def test_a_change_names_its_note_and_no_other(world: World) -> None:
    async with world.engine() as engine:
        receipts = [await engine.append(f"Fact number {n}", kind="fact") for n in range(4)]
        for call, named in (
            (lambda: engine.forget(receipts[0].id), {receipts[0].path}),
            (lambda: engine.forget(receipts[0].id, restore=True), {receipts[0].path}),
            (
                lambda: engine.append("Newer", kind="fact", supersedes=receipts[1].id),
                {receipts[1].path, "notes/fact/newer.md"},
            ),
            (lambda: engine.append("Entry", kind="log"), {"memory/2026-11-21.md"}),
            (lambda: engine.append("Entry two", kind="log"), {"memory/2026-11-21.md"}),
        ):
            before = world.files()
            await call()
            after = world.files()
            assert {path for path in after.keys() | before.keys() if before.get(path) != after.get(path)} == named


async def test_frontmatter_that_a_person_formatted_stays_formatted(world: World) -> None:
    async with world.engine() as engine:
        receipt = await engine.append("Tea at four", kind="fact")
        odd = (
            b"---\r\n# mine\r\nid:   '"
            + receipt.id.encode()
            + b"'   # keep\r\nmy key: [ 1,2 ]\r\n---\r\n\r\nTea at four \r\n"
        )
        world.write(receipt.path, odd)
        await engine.sweep()
        await engine.append("Tea at five", kind="fact", supersedes=receipt.id)
        changed = world.read(receipt.path)
        kept = [line for line in odd.split(b"\r\n") if line in changed.split(b"\r\n")]
        assert kept == odd.split(b"\r\n")
        assert changed.count(b"\n") == changed.count(b"\r\n")
        assert world.vault().read(NotePath(receipt.path)).record.id == receipt.id
