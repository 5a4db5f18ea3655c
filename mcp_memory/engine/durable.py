"""Durable files in the state folder, private from their creation."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from secrets import token_hex

from mcp_memory.storage.publish import sync


def append_line(file: Path, line: bytes, *, synced: bool = True) -> None:
    """Add a line to a file, made where there is none; on disk when this returns, unless not `synced`. Raises OSError.

    A crash may have left half a line before it; a line break keeps ours apart. A line that fails is taken back.
    """
    is_new = not file.exists()
    make_private(file.parent)  # somebody may have removed the state folder
    descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    try:
        size = os.fstat(descriptor).st_size
        torn = size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
        data = (b"\n" if torn else b"") + line + b"\n"
        try:
            if os.write(descriptor, data) != len(data):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(file))
            if synced:
                sync(descriptor)
        except OSError:
            os.ftruncate(descriptor, size)
            raise
    finally:
        os.close(descriptor)
    if is_new and synced:
        sync_folder(file.parent)


def replace_file(file: Path, data: bytes) -> None:
    """Put these bytes under the name, whole or not at all. Raises OSError."""
    draft = file.with_suffix(f".{token_hex(8)}")  # others may write where it goes: no name that they can foresee
    make_private(file.parent)
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as out:
            out.write(data)
            out.flush()
            os.fsync(out.fileno())
        draft.replace(file)
    except OSError:
        draft.unlink(missing_ok=True)
        raise
    sync_folder(file.parent)


def make_private(folder: Path) -> None:
    """Make it and those above it that are missing, all for the user alone: `mkdir(parents=True)` would open those to
    others. Raises OSError."""
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    for each in reversed(missing):
        each.mkdir(mode=0o700, exist_ok=True)


def sync_folder(folder: Path) -> None:
    """A new file is no safer than its name. Raises OSError."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        sync(descriptor)
    finally:
        os.close(descriptor)
