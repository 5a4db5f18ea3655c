"""Invariant 3 from outside: an editor saves a file every few milliseconds while the daemon writes it too, log entries
and marks of forgetting. No save of either side vanishes, unless the editor itself put an older version over it."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from mcp_memory.runtime.atomic_rename import KernelRenames
from tests.daemon.place import Place
from tests.daemon.wire import Wire
from tests.support.world import EXHAUSTIVE, World

ROUNDS = 160 if EXHAUSTIVE else 4
PAUSE_S = 0.004
SETTLED_S = 60.0


@dataclass
class Editor:
    """Reads its file, adds a line at the end and saves all of it, again and again. `own_doing` holds what it replaced
    without having read it."""

    file: Path
    save: Callable[[Editor, bytes], None]
    lines: list[str] = field(default_factory=list)
    own_doing: list[bytes] = field(default_factory=list)

    def step(self) -> None:
        line = f"## 12:00 by hand {self.file.stem[:10]} {len(self.lines)}"
        self.save(self, f"\n{line}\n".encode())
        self.lines.append(line)


def by_rename(editor: Editor, more: bytes) -> None:
    """Everybody else sees a rename; by exchange, since that tells this test what was replaced."""
    before = editor.file.read_bytes()
    draft = editor.file.with_name(f".{editor.file.name}.swp")
    draft.write_bytes(before + more)
    folder = os.open(editor.file.parent, os.O_RDONLY)
    try:
        KernelRenames().exchange(folder, draft.name, editor.file.name)
    finally:
        os.close(folder)
    if (replaced := draft.read_bytes()) != before:
        editor.own_doing.append(replaced)


def in_place(editor: Editor, more: bytes) -> None:
    """Cut to nothing and written anew, through one descriptor: what it overwrites is what it has read."""
    descriptor = os.open(editor.file, os.O_RDWR)
    try:
        before = os.pread(descriptor, 1 << 24, 0)
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, before + more, 0)
    finally:
        os.close(descriptor)


@pytest.mark.skipif(sys.platform not in {"linux", "darwin"}, reason="this system has no exchange of two names")
@pytest.mark.parametrize(("of_log", "of_note"), [(in_place, by_rename), (by_rename, in_place)])
def test_no_save_of_either_side_vanishes(place: Place, of_log: Callable, of_note: Callable) -> None:
    place = replace(place, more={**place.more, "MCP_MEMORY_WATCH_ACTIVE_SWEEP_S": "1"})
    with place.serving() as daemon, Wire(daemon) as wire:
        log = place.vault / wire.api("append", {"content": "the first entry", "kind": "log"}).json["path"]
        note = wire.api("append", {"content": "The kettle is in the attic", "kind": "fact"}).json
        editors = [Editor(log, of_log), Editor(place.vault / note["path"], of_note)]
        said: list[str] = []
        with saving(editors):
            for number in range(ROUNDS):
                answer = wire.api("append", {"content": f"daemon entry {number}.", "kind": "log"})
                if answer.status == 200 and answer.json["outcome"] == "created":  # not `unknown`, at its deadline
                    said.append(f"daemon entry {number}.")
                wire.api(("forget", "restore")[number % 2], {"target": note["id"]})
        assert len(said) > ROUNDS / 3
        until_settled(place.vault)
    kept = "\n".join(file.read_text() for file in place.vault.rglob("*.md"))
    for editor in editors:
        assert len(editor.lines) > ROUNDS / 4
        assert [line for line in editor.lines if f"{line}\n" not in kept] == []
    undone = b"\n".join(editors[0].own_doing).decode()
    assert [entry for entry in said if entry not in kept and entry not in undone] == []
    assert f"id: {note['id']}\n" in kept
    assert "\nThe kettle is in the attic\n" in kept


@contextmanager
def saving(editors: list[Editor]) -> Iterator[None]:
    done = threading.Event()
    failures: list[BaseException] = []

    def work(editor: Editor) -> None:
        try:
            while not done.wait(PAUSE_S):
                editor.step()
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=work, args=(editor,)) for editor in editors]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        done.set()
        for thread in threads:
            thread.join()
    assert failures == []


def until_settled(vault: Path) -> None:
    """Until the daemon has looked again at everything that its writes displaced."""
    deadline = time.monotonic() + SETTLED_S
    while list(vault.rglob(".*.mcpm")):
        assert time.monotonic() < deadline, "displaced files are still held"
        threading.Event().wait(0.05)


@pytest.mark.anyio
async def test_a_conflict_copy_does_not_stand_in_for_the_note(world: World) -> None:
    """It has the same id, and its name comes first in the alphabet."""
    async with world.engine() as engine:
        note = await engine.append("The kettle is in the attic", kind="fact")
        copy = f"{note.path.removesuffix('.md')} (conflict 2026-11-21 12.00.00).md"
        world.write(copy, world.read(note.path))
        await engine.sweep()
        assert (await engine.forget(note.id)).path == note.path
        assert b"deleted" in world.read(note.path)
        assert b"deleted" not in world.read(copy)
