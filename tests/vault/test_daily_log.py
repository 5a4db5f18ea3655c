"""The daily log: many writers at once, and nothing but whole entries."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from mcp_memory.errors import InvalidInput, Refused
from mcp_memory.models import Outcome
from mcp_memory.text.markdown import frontmatter, logs
from mcp_memory.vault.config import VaultConfig
from mcp_memory.vault.shared.daily_log import FULL_BYTES
from mcp_memory.vault.succession.entry_marks import note_of
from tests.support.world import EXHAUSTIVE, NOON, World, found, index_of, python

LOG = f"memory/{NOON.date()}.md"

WORDS = 600
WRITERS = f"""
import os, sys
from pathlib import Path
from tests.promises.crowd import fork
from tests.support.world import draft, vault_in

starting, start = os.pipe()

def write(name):
    os.close(start)
    vault = vault_in(Path(sys.argv[1]))
    os.read(starting, 1)  # the end of the pipe: all are there
    for number in range(int(sys.argv[3])):
        said = f"{{name}} says {{number}}\\n" + f"{{name}}{{number}} " * {WORDS}
        stored = vault.append(draft(said, "log", session=name))
        os.write(1, f"{{name}} {{stored.entry}}\\n".encode())

children = [fork(lambda: write(name)) for name in sys.argv[2]]
os.close(start)
sys.exit(max(os.waitpid(child, 0)[1] for child in children) >> 8)
"""


def entries(world: World, path: str = LOG) -> dict[str, str]:
    """hash → text, of a log on disk."""
    text = world.read(path).decode()
    found_in = logs.entries(text, frontmatter.split_head(text).body_start)
    return {entry.hash: text[entry.start : entry.end] for entry in found_in}


def test_processes_that_write_at_once_lose_and_tear_nothing(tmp_path: Path) -> None:
    names, each = "abcdef", 30 if EXHAUSTIVE else 15
    receipts: dict[str, list[str]] = {name: [] for name in names}
    with python(WRITERS, tmp_path, names, each) as writers:
        for line in writers.stdout:
            name, entry = line.split()
            receipts[name].append(entry)
    assert writers.returncode == 0
    world = World(tmp_path / "vault", tmp_path / "state", tmp_path)
    first, second = LOG, LOG.replace(".md", ".2.md")  # the day is long enough for two
    held = entries(world, first) | entries(world, second)
    assert len(held) == len(names) * each
    for name, hashes in receipts.items():
        for number, entry in enumerate(hashes):
            assert held[entry].split().count(f"{name}{number}") == WORDS
            assert f"{name} says {number}\n" in held[entry]
        order = [entry for entry in held if entry in set(hashes)]
        assert order == hashes  # each writer's own entries in its own order
    assert world.files().keys() == {first, second}


@pytest.mark.anyio
class TestEntries:
    async def test_an_entry_is_readable_and_its_id_holds(self, world: World) -> None:
        async with world.engine() as engine:
            first = await engine.append("Deployed the thing", kind="log")
            world.later(minutes=5)
            second = await engine.append("Line one\nLine two", kind="log", title="A title")
            assert world.read(LOG).decode() == (
                "# 2026-11-21\n\n## 12:00\n\nDeployed the thing\n\n## 12:05 A title\n\nLine one\nLine two\n"
            )
            assert [first.id, second.id] == [f"{LOG}#{entry}" for entry in entries(world)]
            assert "Deployed" in await engine.recall(ids=[first.id])
            assert "Deployed" not in await engine.recall(ids=[second.id])
            assert (await engine.search("deployed")).hits[0].id == first.id
            world.write(LOG, b"A new first paragraph.\n\n" + world.read(LOG).replace(b"\n", b"\r\n"))
            await engine.sweep()
            assert "Deployed" in await engine.recall(ids=[first.id])

    async def test_within_a_minute_the_same_session_says_it_once(self, world: World) -> None:
        async with world.engine() as engine:
            first = await engine.append("Deployed", kind="log", session="s")
            world.later(seconds=59)
            again = await engine.append("Deployed", kind="log", session="s")
            assert (again.outcome, again.id) == (Outcome.DUPLICATE, first.id)
            other = await engine.append("Deployed", kind="log", session="t")
            assert other.outcome is Outcome.CREATED
            world.later(seconds=2)
            assert (await engine.append("Deployed", kind="log", session="s")).outcome is Outcome.CREATED
        assert world.read(LOG).count(b"Deployed") == 3

    async def test_also_after_a_restart(self, world: World) -> None:
        async with world.engine() as engine:
            first = await engine.append("Deployed", kind="log", session="s")
        async with world.engine() as engine:
            assert (await engine.append("Deployed", kind="log", session="s")).id == first.id

    async def test_a_slow_clock_tick_makes_no_second_entry(self, world: World) -> None:
        """The minute turns between the reading of the clock and the writing of the ledger."""
        world.now = NOON.replace(second=59, microsecond=999_000)
        moments = iter([world.now + timedelta(milliseconds=n) for n in range(1000)])
        world.clock = lambda: next(moments)
        async with world.engine() as engine:
            first = await engine.append("Deployed", kind="log", session="s")
            again = await engine.append("Deployed", kind="log", session="s")
            assert (again.outcome, again.id) == (Outcome.DUPLICATE, first.id)

    async def test_midnight_begins_a_new_file(self, world: World) -> None:
        async with world.engine() as engine:
            world.now = datetime(2026, 11, 21, 23, 59, 30, tzinfo=UTC)
            late = await engine.append("Late", kind="log")
            world.later(minutes=1)
            early = await engine.append("Early", kind="log")
        assert (late.path, early.path) == ("memory/2026-11-21.md", "memory/2026-11-22.md")

    async def test_a_long_day_goes_on_in_another_file(self, world: World) -> None:
        second, third = (LOG.replace(".md", f".{part}.md") for part in (2, 3))
        async with world.engine() as engine:
            early = await engine.append("Breakfast " + "x" * FULL_BYTES, kind="log", session="s")
            await engine.append("Noon", kind="log", session="s")
            assert (await engine.append("Breakfast " + "x" * FULL_BYTES, kind="log", session="s")).id == early.id
            world.write(second, world.read(second) + b"\nwritten by hand " + b"y" * FULL_BYTES)
            late = await engine.append("Supper", kind="log")
            assert [early.path, late.path] == [LOG, third]
            assert await found(engine, "supper") == [third]
            assert await found(engine, "supper", since=str(NOON.date())) == [third]
            start = await engine.recall(budget_tokens=1000)
            assert 0 < start.find("Supper") < start.find("Noon")
            assert "Supper" in await engine.recall(ids=[late.id])
            await engine.forget(late.id)
            assert await found(engine, "supper") == []
            (world.root / second).unlink()
            assert (await engine.append("Afterwards", kind="log")).path == third
            assert "Afterwards" in await engine.recall(budget_tokens=1000)

    async def test_a_small_limit_of_notes_makes_small_parts(self, world: World) -> None:
        async with world.engine(vault=VaultConfig(max_note_bytes=2000)) as engine:
            written = [await engine.append(f"entry {number} " + "x" * 600, kind="log") for number in range(9)]
        assert all(len(world.read(receipt.path)) <= 2000 for receipt in written)
        assert len({receipt.path for receipt in written}) > 3

    async def test_what_a_person_wrote_there_stays(self, world: World) -> None:
        before = b"\xef\xbb\xbf---\r\nmine: yes\r\n---\r\n# Saturday\r\n\r\n```\r\nan open fence \xff"
        world.write(LOG, before)
        async with world.engine() as engine:
            receipt = await engine.append("Deployed", kind="log")
            assert world.read(LOG).startswith(before)
            assert receipt.id in [hit.id for hit in (await engine.search("deployed")).hits]
            assert "Deployed" in await engine.recall(ids=[receipt.id])

    @pytest.mark.parametrize("content", ["violet".encode("utf-16"), bytes(2000)])
    async def test_a_log_that_is_no_text_is_left_alone(self, world: World, content: bytes) -> None:
        world.write(LOG, content)
        async with world.engine() as engine:
            with pytest.raises(Refused, match="cannot be changed"):
                await engine.append("Deployed", kind="log")
        assert world.read(LOG) == content

    async def test_an_entry_goes_nowhere_else(self, world: World) -> None:
        async with world.engine() as engine:
            with pytest.raises(InvalidInput, match="has no path"):
                await engine.append("Deployed", kind="log", path="notes/x.md")

    async def test_content_that_looks_like_an_entry_stays_inside(self, world: World) -> None:
        async with world.engine() as engine:
            forged = "first\n\n## 10:00 Forged\n\nthe boss said yes\n\n```\n## 11:00 in an open fence"
            receipt = await engine.append(forged, kind="log")
            await engine.append("next", kind="log")
            assert len(entries(world)) == 2
            await engine.forget(receipt.id)
            assert await found(engine, "boss fence") == []
            assert await found(engine, "next") == [LOG]


@pytest.mark.anyio
async def test_an_entry_is_of_its_project_and_has_its_tags(world: World) -> None:
    """In the file, in searches and at the start of a session; entries of no project are everybody's."""
    async with world.engine() as engine:
        infra = await engine.append("Moved the ferry database", kind="log", project="infra", tags=["db", "ops (old)"])
        await engine.append("Painted the ferry", kind="log", title="Hull", project="web", tags=["paint"])
        common = await engine.append("The ferry is blue", kind="log")
        text = world.read(LOG).decode()
        assert "## 12:00 (project: infra; tags: db, ops %28old%29)\n\nMoved" in text
        assert "## 12:00 Hull (project: web; tags: paint)\n" in text

        async def hits(**filters: Any) -> list[str]:
            return [hit.id for hit in (await engine.search("ferry", limit=50, **filters)).hits]

        assert len(await hits()) == 3
        assert set(await hits(project="infra")) == {infra.id, common.id}
        assert await hits(project="elsewhere") == [common.id]
        assert await hits(tags=["ops (old)"]) == [infra.id]
        assert await hits(tags=["db", "paint"]) == []
        told = await engine.recall(project="infra")
        assert "Moved the ferry database" in told
        assert "The ferry is blue" in told
        assert "Painted" not in told
        assert "Painted" in await engine.recall(project="web")
        assert "Painted" in await engine.recall()
        assert "Painted" not in await engine.recall("ferry", project="infra")
        again = await engine.append("Moved the ferry database", kind="log", project="infra", tags=["db"])
        assert again.outcome is Outcome.DUPLICATE
        left = await engine.search("painted ferry", project="infra", explain=True)
        assert [each.filters for each in left.left_out] == [("project",)]
        with pytest.raises(InvalidInput, match="never expires"):
            await engine.append("Soon over", kind="log", expires="2027-01-01")


@pytest.mark.anyio
async def test_an_entry_keeps_what_it_was_given(world: World) -> None:
    async with world.engine() as engine:
        note = await engine.append(
            "Deployed it.", kind="log", title="Deploy", project="shop", tags=["ops"], source="codex", session="s-1"
        )
        assert (
            world.read(note.path)
            .decode()
            .endswith("## 12:00 Deploy (project: shop; tags: ops; source: codex; session: s-1)\n\nDeployed it.\n")
        )
        with index_of(engine) as index:
            (passage,) = index.passages(note.path)
        known = note_of(passage)
        assert (known.kind, known.project, known.tags, known.source, known.session) == (
            "log", "shop", ("ops",), "codex", "s-1",
        )  # fmt: skip
        assert await found(engine, "deployed", kinds=["log"], project="shop", tags=["ops"]) == [note.path]
        assert await found(engine, "deployed", project="bank") == []
        await engine.append("Tea.", kind="log", source="cli")
        assert world.read(note.path).endswith(b"\n\n## 12:00\n\nTea.\n"), "your own commands need no name"
