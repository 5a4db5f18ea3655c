"""Writes one note in one way, then prints the promise that it is safe. Usage: powercut_writer.py WAY VAULT LOCKS"""

from __future__ import annotations

import hashlib
import os
import sys
from pathlib import Path

from mcp_memory.storage.filesystem import FilesystemBackend
from tests.storage.refusing import RefusingRenames

OLD, NEW = b"old\n" * 500, b"new\n" * 700


def new(files: FilesystemBackend) -> None:
    files.write("a/b/note.md", NEW, None)


def into_a_folder_that_nobody_synced(files: FilesystemBackend) -> None:
    (files.root / "a" / "b").mkdir(parents=True)
    files.write("a/b/note.md", NEW, None)


def over(files: FilesystemBackend) -> None:
    files.write("old/note.md", NEW, hashlib.sha256(OLD).hexdigest())


def move(files: FilesystemBackend) -> None:
    files.move("old/note.md", "c/d/moved.md")


def naive_in_place(files: FilesystemBackend) -> None:
    with (files.root / "old" / "note.md").open("wb", buffering=0) as file:
        file.write(NEW)
        os.fsync(file.fileno())


def naive_without_fsync_of_the_file(files: FilesystemBackend) -> None:
    _by_rename(files.root / "old", sync_file=False)


def naive_without_fsync_of_the_folder(files: FilesystemBackend) -> None:
    _by_rename(files.root / "old", sync_folder=False)


def naive_without_fsync_above_a_new_folder(files: FilesystemBackend) -> None:
    (files.root / "a").mkdir()
    (files.root / "a" / "b").mkdir()
    _by_rename(files.root / "a" / "b")


def naive_move_by_link(files: FilesystemBackend) -> None:
    folder = files.root / "c"
    folder.mkdir()
    _sync(files.root)
    (folder / "moved.md").hardlink_to(files.root / "old" / "note.md")
    (files.root / "old" / "note.md").unlink()
    _sync(files.root / "old")
    _sync(folder)


def _by_rename(folder: Path, *, sync_file: bool = True, sync_folder: bool = True) -> None:
    at = os.open(folder, os.O_RDONLY)
    descriptor = os.open(".temp", os.O_WRONLY | os.O_CREAT, 0o600, dir_fd=at)
    os.write(descriptor, NEW)
    if sync_file:
        os.fsync(descriptor)
    os.close(descriptor)
    os.rename(".temp", "note.md", src_dir_fd=at, dst_dir_fd=at)
    if sync_folder:
        os.fsync(at)
    os.close(at)


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    os.fsync(descriptor)
    os.close(descriptor)


if __name__ == "__main__":
    way, vault, locks, *lacks = sys.argv[1:]
    globals()[way](FilesystemBackend(Path(vault), locks=Path(locks), marker=None, renames=RefusingRenames(*lacks)))
    os.write(1, b"safe\n")
