"""Invariant 1, second half: an entry in a shared file is in the file or in the recovery journal."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from mcp_memory.text.markdown import logs
from tests.support.world import NOON, World, draft, made, more

pytestmark = pytest.mark.anyio

SAVES = more(200)
LOG = f"memory/{NOON.date()}.md"


def save(file: Path, data: bytes, *, by_rename: bool) -> None:
    """As editors do: over the file, or by a new one in its place."""
    if by_rename:
        draft = file.with_name("4913~")
        draft.write_bytes(data)
        draft.replace(file)
    else:
        file.write_bytes(data)


def in_the_file(world: World, path: str = LOG) -> set[str]:
    text = world.read(path).decode() if (world.root / path).exists() else ""
    return {f"{path}#{entry.hash}" for entry in logs.entries(text)}


async def listed(engine) -> set[str]:
    return {each["id"] for each in await engine.lost()}


async def test_stale_saves_make_no_entry_vanish(fast_folder: Path) -> None:
    """An editor that holds the log open saves what it has read, with and without a line of its own, long after we have
    answered; the daemon is restarted now and then."""
    world, chance = made(fast_folder), random.Random(5)
    world.write(LOG, f"# {NOON.date()}\n")
    receipts: list[str] = []
    texts: list[bytes] = []
    buffer = world.read(LOG)
    restarts = 4
    for _ in range(restarts):
        # Not through the index, which would cut the whole log into passages each time.
        vault = world.vault()
        for number in range(SAVES // restarts):
            if chance.random() < 0.4:
                buffer = world.read(LOG)  # the editor notices the change, and loads it
            for _ in range(chance.choice((1, 1, 2))):
                stored = vault.append(draft(f"entry {len(receipts)} of {number}.", "log"))
                receipts.append(f"{stored.file.record.path}#{stored.entry}")
                texts.append(f"entry {len(receipts) - 1} of {number}.".encode())
                world.later(seconds=chance.choice((0, 7, 61)))
            if chance.random() < 0.3:
                buffer += f"\nA line by hand, {number}\n".encode()
            save(world.root / LOG, buffer, by_rename=chance.random() < 0.5)
            if chance.random() < 0.1:
                vault.backend.settle()
                vault.shared.compare()
    async with world.engine() as engine:
        lost = await listed(engine)
        assert len(lost) > SAVES / 4, "the editor has taken away what it could"
        standing = world.read(LOG)
        gone = [text for each, text in zip(receipts, texts, strict=True) if text not in standing and each not in lost]
        assert gone == []
        assert any(finding.what.startswith(f"{LOG} was overwritten") for finding in await engine.doctor())
        await engine.perform("recover", {"ids": [LOG]})
        assert world.read(LOG).startswith(standing), "what stands there is not touched"
        assert lost <= in_the_file(world)
        assert all(world.read(LOG).count(text) == 1 for text in texts)
        assert await listed(engine) == set()
        assert not any(LOG in finding.what for finding in await engine.doctor())
        assert texts[-1].decode() in await engine.recall(ids=[receipts[-1]])


async def test_nothing_comes_back_by_itself(world: World) -> None:
    async with world.engine() as engine:
        for word in ("alpha", "beta", "gamma"):
            await engine.append(f"The {word} was served", kind="log")
        kept = world.read(LOG).replace(b"The beta was served\n", b"")
        world.write(LOG, kept)
        for _ in range(3):
            await engine.sweep()
            world.later(days=1)
        await engine.perform("fix", {})
        assert world.read(LOG) == kept, "a person may have taken it out on purpose"
    async with world.engine() as engine:
        assert world.read(LOG) == kept
        [lost] = await engine.lost()
        assert lost["why"] == "missing"
        assert "beta" in lost["text"]
        await engine.perform("recover", {"ids": [lost["id"]], "dismiss": True})
        assert await listed(engine) == set()
        assert world.read(LOG) == kept


async def test_what_surely_was_overwritten_is_put_back_by_fix(world: World) -> None:
    async with world.engine() as engine:
        await engine.append("Before", kind="log")
        stale = world.read(LOG)
        gone = [(await engine.append(f"Gone {n}", kind="log")).id for n in range(3)]
        world.write(LOG, stale)
        await engine.append("After", kind="log")
        world.write(LOG, world.read(LOG) + b"\nby hand\n")
        done = (await engine.perform("fix", {}))["done"]
        assert len(done) == len(gone)
        assert in_the_file(world) >= set(gone)
        assert world.read(LOG).startswith(stale)


async def test_a_power_cut_right_after_the_answer(world: World) -> None:
    """The journal is on disk before the log is: nothing that was answered depends on a later write."""
    synced: list[str] = []
    real = os.fsync

    def fsync(descriptor: int) -> None:
        real(descriptor)
        synced.append(str(Path(f"/proc/self/fd/{descriptor}").readlink()))

    if not Path("/proc/self/fd").is_dir():
        pytest.skip("needs /proc to name a descriptor")
    async with world.engine() as engine:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(os, "fsync", fsync)
            await engine.append("Deployed", kind="log")
    journal = next(at for at, name in enumerate(synced) if name.endswith(".jsonl"))
    folder = next(at for at, name in enumerate(synced) if name.endswith("/recovery"))
    published = next(at for at, name in enumerate(synced) if name.endswith(".mcpm"))
    assert journal < folder < published
