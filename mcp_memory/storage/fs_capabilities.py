"""What the vault's file system can do, tried out on two hidden files that are gone afterwards."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from mcp_memory.models import Etag
from mcp_memory.runtime.renames import REFUSALS, KernelRenames
from mcp_memory.storage.temp_names import TempName

_EMPTY = TempName.for_etags(Etag(hashlib.sha256(b"").hexdigest()), None)


@dataclass(frozen=True, slots=True)
class FsCapabilities:
    """Which of the strict calls work here; a missing one costs part of a guarantee, as `warnings` says."""

    exchange: bool
    rename_free: bool
    link: bool

    def warnings(self) -> list[str]:
        """One line a missing guarantee, for a person; empty on ext4, xfs, btrfs and APFS."""
        lines: list[str] = []
        if not self.exchange:
            lines.append(
                "this file system cannot exchange two files: while a note is replaced its name is free for a moment, "
                "in which other programs do not see it"
            )
        if not self.rename_free and not self.link:
            lines.append(
                "this file system has neither links nor renames that spare an existing file: a save that another "
                "program makes under a new note's name at the very same moment can be lost"
            )
        elif not self.rename_free:
            lines.append(
                "this file system cannot rename without replacing: a note moved onto a name that another program "
                "takes at the very same moment replaces it"
            )
        return lines


def probe(folder: int, renames: KernelRenames) -> FsCapabilities:
    """Tries each call in an open, writable folder. Raises OSError where not even a file can be made."""
    one, two, three = (_EMPTY.fresh() for _ in range(3))
    try:
        for name in (one, two):
            os.close(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=folder))
        exchange = _works(lambda: renames.exchange(folder, one, two))
        link = _works(lambda: renames.link(folder, one, three))
        if link:
            os.unlink(three, dir_fd=folder)
        return FsCapabilities(exchange, _works(lambda: renames.rename_free(folder, two, folder, three)), link)
    finally:
        for name in (one, two, three):
            with suppress(FileNotFoundError):
                os.unlink(name, dir_fd=folder)


def _works(call: Callable[[], None]) -> bool:
    try:
        call()
    except OSError as error:
        if error.errno not in REFUSALS:
            raise
        return False
    return True
