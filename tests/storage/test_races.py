"""Invariant 3: writers in several processes and an editor lose no version to us."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from mcp_memory.errors import NotFound, PreconditionFailed
from mcp_memory.runtime.atomic_rename import KernelRenames
from mcp_memory.storage.filesystem import FilesystemBackend
from tests.storage.refusing import RefusingRenames

WRITES = 3000 if os.environ.get("MCP_MEMORY_EXHAUSTIVE") else 300


class Editor(threading.Thread):
    """Saves as fast as it can, reading nothing, as one with a stale buffer does; remembers each save."""

    def __init__(self, save: Callable[[bytes], None]) -> None:
        super().__init__()
        self.saved: list[bytes] = []
        self._save = save
        self._stop_saving = threading.Event()

    def run(self) -> None:
        number = 0
        while not self._stop_saving.is_set():
            number += 1
            data = b"editor %d\n" % number
            self._save(data)
            self.saved.append(data)

    def __enter__(self) -> Editor:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop_saving.set()
        self.join()


class RenamingEditor(Editor):
    """Saves by putting a new file under the name in one step. By exchange, which for everybody else is the same as
    by rename, but tells this test exactly which version it replaced."""

    def __init__(self, plan: Path) -> None:
        super().__init__(self._put)
        self.replaced: set[bytes] = set()
        self._plan, self._temp, self._renames = plan, plan.with_name(".editor.tmp"), KernelRenames()

    def _put(self, data: bytes) -> None:
        self._temp.write_bytes(data)
        folder = os.open(self._plan.parent, os.O_RDONLY)
        try:
            while True:
                try:
                    self._renames.exchange(folder, self._temp.name, self._plan.name)
                    self.replaced.add(self._temp.read_bytes())
                    return
                except FileNotFoundError:
                    pass
                try:
                    self._renames.rename_free(folder, self._temp.name, folder, self._plan.name)
                    return
                except FileExistsError:
                    pass
        finally:
            os.close(folder)


def test_a_writer_that_compares_and_then_renames_is_seen_to_lose_saves(vault: Path) -> None:
    plan = vault / "plan.md"
    plan.write_bytes(b"start\n")
    superseded: set[bytes] = set()
    with RenamingEditor(plan) as editor:
        for number in range(100_000):
            seen = plan.read_bytes()
            (vault / ".writer.tmp").write_bytes(b"writer %d\n" % number)
            if plan.read_bytes() != seen:
                continue
            superseded.add(seen)
            (vault / ".writer.tmp").rename(plan)
            if number % 1000 == 999 and len(set(editor.saved[:-1]) - superseded - editor.replaced) > 5:
                break
    kept = {plan.read_bytes()}
    assert set(editor.saved) - kept - superseded - editor.replaced


@pytest.mark.parametrize("lacks", [(), ("exchange",), ("exchange", "rename_free")], ids="+".join)
def test_no_save_by_rename_vanishes(vault: Path, tmp_path: Path, lacks: tuple[str, ...]) -> None:
    """Every version, the editor's and ours, is in the file, was read by the writer that replaced it, was replaced by
    the editor, or is in a conflict copy."""
    files = FilesystemBackend(vault, locks=tmp_path / "locks", marker=None, renames=RefusingRenames(*lacks))
    plan = vault / "plan.md"
    plan.write_bytes(b"start\n")
    written: set[bytes] = set()
    superseded: set[bytes] = set()
    number = 0
    with RenamingEditor(plan) as editor:
        while len(written) < WRITES:
            number += 1
            data = b"writer %d\n" % number
            try:
                blob = files.read("plan.md")
                files.write("plan.md", data, blob.etag)
            except NotFound:
                continue
            except PreconditionFailed:
                # Without EXCHANGE the file read may have been put aside when the editor took the free name.
                if lacks:
                    superseded.add(blob.data)
                continue
            written.add(data)
            superseded.add(blob.data)
    files.settle(min_age_s=0)
    kept = {path.read_bytes() for path in vault.glob("*.md")}
    lost = (set(editor.saved) | written) - kept - superseded - editor.replaced
    assert not lost, f"{len(lost)} of {len(editor.saved)} saves and {len(written)} writes vanished"
    assert not list(vault.glob(".*.mcpm"))


def test_no_save_in_place_vanishes(vault: Path, tmp_path: Path) -> None:
    """An editor that writes through a descriptor which it may have opened before our publish.

    Its saves overwrite one another in one file, so what must be found again is the last save in each file.
    """
    files = FilesystemBackend(vault, locks=tmp_path / "locks", marker=None)
    plan = vault / "plan.md"
    plan.write_bytes(b"start\n")
    last_in: dict[int, bytes] = {}

    def save(data: bytes) -> None:
        descriptor = os.open(plan, os.O_WRONLY)
        os.pwrite(descriptor, data.ljust(20), 0)
        last_in[os.fstat(descriptor).st_ino] = data.ljust(20)
        os.close(descriptor)

    superseded: set[bytes] = set()
    done = 0
    with Editor(save):
        while done < WRITES:
            try:
                blob = files.read("plan.md")
                files.write("plan.md", blob.data[:20] + b"writer %d\n" % done, blob.etag)
            except PreconditionFailed:
                continue
            superseded.add(blob.data[:20])
            done += 1
    files.settle(min_age_s=0)
    kept = {path.read_bytes()[:20] for path in vault.glob("*.md")}
    assert not set(last_in.values()) - kept - superseded
    assert not list(vault.glob(".*.mcpm"))
