"""What a restore needs is as durable as the change that it undoes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mcp_memory.engine.undo import Undo
from mcp_memory.errors import StorageFailed
from mcp_memory.models import Etag


def test_the_name_is_synced_after_the_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[tuple[int, list[str]]] = []
    real = os.fsync

    def fsync(descriptor: int) -> None:
        synced.append((os.fstat(descriptor).st_ino, sorted(file.name for file in tmp_path.iterdir())))
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    undo = Undo(tmp_path)
    undo.keep(Etag("after"), b"before")
    inodes = [inode for inode, _ in synced]
    assert inodes == [(tmp_path / "after").stat().st_ino, tmp_path.stat().st_ino]
    assert synced[-1][1] == ["after"]
    assert undo.find(Etag("after")) == b"before"


def test_a_folder_that_is_not_there_is_a_clear_error_and_nothing_to_prune(tmp_path: Path) -> None:
    undo = Undo(tmp_path / "gone")
    with pytest.raises(StorageFailed, match="restore"):
        undo.keep(Etag("after"), b"before")
    assert undo.prune() == 0


@pytest.mark.parametrize("name", ["a" * 64, "a" * 64 + ".123"])
def test_only_what_is_old_goes(tmp_path: Path, name: str) -> None:
    for file, age in ((tmp_path / name, 0), (tmp_path / "young", 10_000)):
        file.write_bytes(b"x")
        moment = 1_000 if not age else file.stat().st_mtime - age
        os.utime(file, (moment, moment))
    assert Undo(tmp_path).prune() == 1
    assert [file.name for file in tmp_path.iterdir()] == ["young"]
