"""Probe the vault's file system with hidden files that are gone afterwards."""

import os
from contextlib import suppress

from mcp_memory.models import etag_of
from mcp_memory.runtime.atomic_rename import KernelRenames, is_supported
from mcp_memory.storage.leftovers import TempName

_EMPTY = TempName.for_etags(etag_of(b""), None)


def missing_guarantees(folder: int, renames: KernelRenames) -> list[str]:
    """Try each strict call in an open, writable folder; return a line for each guarantee that a missing call costs.

    Empty on ext4, xfs, btrfs and APFS. Raises OSError if not even a file can be made."""
    one, two, three = (_EMPTY.fresh() for _ in range(3))
    try:
        for name in (one, two):
            os.close(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=folder))
        exchange = is_supported(lambda: renames.exchange(folder, one, two))
        link = is_supported(lambda: renames.link(folder, one, three))
        if link:
            os.unlink(three, dir_fd=folder)
        rename_free = is_supported(lambda: renames.rename_free(folder, two, folder, three))
    finally:
        for name in (one, two, three):
            with suppress(FileNotFoundError):
                os.unlink(name, dir_fd=folder)
    lines: list[str] = []
    if not exchange:
        lines.append(
            "this file system cannot exchange two files: while a note is replaced its name is free for a moment, "
            "in which other programs do not see it"
        )
    if not rename_free and not link:
        lines.append(
            "this file system has neither links nor renames that spare an existing file: a save that another "
            "program makes under a new note's name at the very same moment can be lost"
        )
    elif not rename_free:
        lines.append(
            "this file system cannot rename without replacing: a note moved onto a name that another program "
            "takes at the very same moment replaces it"
        )
    return lines
