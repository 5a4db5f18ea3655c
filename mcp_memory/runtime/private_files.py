"""Write durable files in the state folder, private from their creation."""

import errno
import os
from contextlib import suppress
from functools import partial
from pathlib import Path
from secrets import token_hex

from mcp_memory.runtime.atomic_rename import REFUSALS, KernelRenames, publish_free, sync

_RENAMES = KernelRenames()


def append_line(file: Path, line: bytes, *, synced: bool = True) -> None:
    """Append a line to a file, which is made if missing; on disk when this returns, if `synced`. Raises OSError.

    If a crash left half a line, a line break separates ours from it. A line that fails is removed again."""
    make_private(file.parent)  # the state folder may have been removed
    is_new = not file.exists()
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
                if is_new:
                    sync_folder(file.parent)
        except OSError:
            os.ftruncate(descriptor, size)
            raise
    finally:
        os.close(descriptor)


def replace_file(file: Path, data: bytes, *, only_new: bool = False) -> None:
    """Write these bytes under the name, durably; with `only_new`, only if the file is missing. Raises OSError
    (FileExistsError for `only_new`), and then the old file is still there."""
    draft = file.with_suffix(f".{token_hex(8)}")  # unpredictable: others may be able to write in the folder
    make_private(file.parent)
    folder = os.open(file.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as out:
                out.write(data)
                out.flush()
                sync(out.fileno())
            _put(folder, draft.name, file.name, only_new=only_new)
        except OSError:
            with suppress(OSError):
                draft.unlink(missing_ok=True)
            raise
    finally:
        os.close(folder)


def _put(folder: int, draft: str, name: str, *, only_new: bool) -> None:
    """Rename the synced draft. If that fails or can't be made durable, undo it and raise OSError, so that no caller
    gets an error for a change that took effect."""
    undo = partial(_RENAMES.rename, folder, name, folder, draft)
    old: str | None = None
    try:
        if only_new:
            publish_free(_RENAMES, folder, draft, name)
        else:
            _RENAMES.exchange(folder, draft, name)
            undo, old = partial(_RENAMES.exchange, folder, draft, name), draft
    except OSError as error:
        if only_new or error.errno not in {errno.ENOENT, *REFUSALS}:
            raise
        if error.errno != errno.ENOENT:
            undo = None  # without EXCHANGE the old bytes are gone with the rename
        _RENAMES.rename(folder, draft, folder, name)
    try:
        sync(folder)
        if old:
            os.unlink(old, dir_fd=folder)
    except OSError:
        if undo:
            with suppress(OSError):
                undo()
        raise


def make_private(folder: Path) -> None:
    """Make the folder and its missing parents, for only the user; `mkdir(parents=True)` would open the parents to
    others. Raises OSError."""
    for missing in reversed([level for level in (folder, *folder.parents) if not level.exists()]):
        missing.mkdir(mode=0o700, exist_ok=True)


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable. Raises OSError."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        sync(descriptor)
    finally:
        os.close(descriptor)
