"""A disk of our own that can be filled: ext4 in a file, mounted. Linux as root only."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def can_be_made() -> bool:
    """Whether this user may mount, and has the tools."""
    return sys.platform == "linux" and os.geteuid() == 0 and bool(shutil.which("mkfs.ext4") and shutil.which("mount"))


class Disk:
    """What is mounted at `root`."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._ballast = root / "ballast"

    def fill(self) -> None:
        """Not a block is left."""
        size = 1 << 26
        with self._ballast.open("wb") as out:
            while size >= 1 << 12:
                try:
                    os.posix_fallocate(out.fileno(), out.seek(0, os.SEEK_END), size)
                except OSError as error:
                    if error.errno != errno.ENOSPC:
                        raise
                    size >>= 1

    def free(self) -> None:
        self._ballast.unlink(missing_ok=True)


@contextmanager
def own_disk(folder: Path, megabytes: int) -> Iterator[Disk]:
    """Sparse: takes up only what is written. It is unmounted, and gone, when the block ends."""
    image, root = folder / "disk.img", folder / "disk"
    root.mkdir()
    with image.open("wb") as out:
        out.truncate(megabytes << 20)
    subprocess.run(["mkfs.ext4", "-qF", "-m", "0", image], check=True)
    subprocess.run(["mount", "-o", "loop,noatime", image, root], check=True)
    try:
        yield Disk(root)
    finally:
        with contextlib.suppress(FileNotFoundError):
            subprocess.run(["umount", "-l", root], check=True)
        image.unlink()
