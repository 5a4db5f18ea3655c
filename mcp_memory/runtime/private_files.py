"""Writes private files whole, and turns the file system's refusals into errors with a remedy."""

import errno
import os
from collections.abc import Generator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from secrets import token_hex

from mcp_memory.errors import StorageFailed
from mcp_memory.runtime.atomic_rename import REFUSALS, KernelRenames, publish_free, sync
from mcp_memory.text.escape_invisible import printable
from mcp_memory.text.language.word_tables import read_table

_CAUSES = {getattr(errno, name): told for name, told in read_table("mcp_memory.runtime", "file_errors.toml").items()}


@contextmanager
def naming_the_cause(path: str) -> Generator[None]:
    """Turn every OSError of the block into StorageFailed."""
    try:
        yield
    except OSError as error:
        raise failed(error, path) from error


def failed(error: OSError, path: str) -> StorageFailed:
    """Return the error to raise for a refusal at `path`."""
    _, hint = _CAUSES.get(error.errno or 0, ("", "see the system log"))
    name = errno.errorcode.get(error.errno or 0, "unknown")
    return StorageFailed(f"{printable(path)}: {reason(error)} [{name}]", hint=hint)


def reason(error: OSError) -> str:
    """Return only the cause, for a `Problem`."""
    code = error.errno or 0
    cause, _ = _CAUSES.get(code, (os.strerror(code) if code else str(error), ""))
    return cause


_RENAMES = KernelRenames()


def append_line(file: Path, line: bytes, *, synced: bool) -> None:
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
