"""The soak in a few seconds, and whether its judge sees what is wrong."""

from __future__ import annotations

import asyncio
import hashlib
from pathlib import Path

import pytest

from mcp_memory.text.markdown import logs
from tests.soak import judge
from tests.soak.book import Book, Told
from tests.soak.options import options_from
from tests.soak.run import soak
from tests.support.world import World

SHORT = [
    "--minutes=0.15", "--sessions=6", "--vault-notes=100", "--no-model", "--no-full-disk", "--quiet=0.5",
]  # fmt: skip


def test_a_soak_of_seconds(tmp_path: Path) -> None:
    report = soak(options_from(SHORT), tmp_path, tmp_path / "models", print)
    assert report.is_well, report.markdown()
    assert report.troubles == {"kill": 1, "reindex": 1, "stop": 1}
    assert report.answered_appends > 0
    assert report.editor_saves > 0
    assert report.checkouts > 0
    assert "memory_append" in {name.split()[0] for name in report.payload()["calls"]}
    assert "all is well" in report.markdown()


def test_what_is_lost_torn_or_doubled_is_seen(tmp_path: Path) -> None:
    note, entry, gone = (Told(f"zz1x{n}z", "some words", kind, "s") for n, kind in enumerate(("fact", "log", "fact")))
    text = logs.append_entry(logs.new_log(logs.is_log_path("memory/2026-11-21.md")), f"## 12:00\n\n{entry.content}\n")
    (tmp_path / "memory").mkdir()
    file, log = tmp_path / "note.md", tmp_path / "memory" / "2026-11-21.md"
    file.write_text(f"---\nid: x\n---\n{note.content}\n")
    log.write_text(text)
    book = Book([note, entry], ["## 12:00 by hand"], {"page.md": b"a save"})
    (tmp_path / "page.md").write_bytes(b"a save")
    (tmp_path / "other.md").write_text("## 12:00 by hand\n")
    book.appended(note, {"id": "x", "path": "note.md", "etag": hashlib.sha256(file.read_bytes()).hexdigest()})
    book.appended(
        entry, {"id": f"memory/2026-11-21.md#{logs.entries(text)[0].hash}", "path": "memory/2026-11-21.md", "etag": ""}
    )
    assert judge.lost(book, tmp_path) == judge.torn_or_doubled(tmp_path) == []

    file.write_text(f"---\nid: x\nstatus: deleted\n---\n{note.content}\n")
    assert "bytes of its receipt" in judge.lost(book, tmp_path)[0]
    note.etag = None
    assert "is retired" in judge.lost(book, tmp_path)[0]
    note.sure = False
    assert judge.lost(book, tmp_path) == []
    log.write_text(text.replace("words", ""))
    (tmp_path / "page.md").write_bytes(b"another save")
    (tmp_path / "other.md").write_text("")
    assert len(judge.lost(book, tmp_path)) == 3
    file.unlink()
    assert "is not there" in judge.lost(book, tmp_path)[0]

    file.write_text(f"{gone.content[:-4]}\n")
    assert judge.torn_or_doubled(tmp_path) == [f"{gone.word} is torn"]
    file.write_text(gone.content)
    (tmp_path / "again.md").write_text(gone.content)
    assert judge.torn_or_doubled(tmp_path) == [f"{gone.word} is there 2 times"]


@pytest.mark.anyio
async def test_a_stale_index_is_seen(world: World, tmp_path: Path) -> None:
    world.write("kept.md", "kept")
    world.write("changed.md", "before")
    world.write("deleted.md", "gone soon")
    async with world.engine():
        pass
    index = world.state / "index"
    assert judge.stale(index, world.root, tmp_path / "scratch") == []
    assert await judge.unlike_rebuilt(index, world.root, tmp_path / "scratch") == []
    world.write("changed.md", "after")
    world.write("new.md", "new")
    (world.root / "deleted.md").unlink()
    faults = await asyncio.to_thread(judge.stale, index, world.root, tmp_path / "scratch")
    assert sorted(fault.split()[-1] if "older" in fault else fault.split()[0] for fault in faults) == [
        "changed.md", "deleted.md", "new.md",
    ]  # fmt: skip
    assert len(await judge.unlike_rebuilt(index, world.root, tmp_path / "scratch")) == 3
