"""Carries files through an archive whose names none of our tools accepts: names with a backslash, a tab, a line break,
or bytes that aren't UTF-8. In the archive they have a portable name. `NAMES` maps it to the original name, under which
the file is restored."""

import hashlib
import json
import os
import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, cast

from mcp_memory.errors import PathRefused
from mcp_memory.models import NotePath
from mcp_memory.storage.folder_walk import walk
from mcp_memory.storage.folders import FOLDER_MODE, open_child, opened_file, opened_folder, opened_root
from mcp_memory.storage.path_rules import (
    SKIPPED_FOLDERS,
    beside,
    fold,
    is_note,
    portable_path,
    split,
    unnameable,
    validate_existing,
)
from mcp_memory.storage.stable_read import read_stable

NAMES = ".mcp-memory/names.json"

_UNUSABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\\\ud800-\udfff]")


def find_odd(root: Path, taken: Collection[str]) -> dict[str, str]:
    """Return the portable path of each Markdown file with such a name, mapped to its original path. No portable path is
    one of the `taken` paths."""
    used = set(map(fold, taken))
    found: dict[str, str] = {}
    for path in sorted(_odd_files(root)):
        name = portable_path(path)
        if fold(name) in used:
            name = beside(name, f"-{hashlib.sha256(path.encode('utf-8', 'surrogatepass')).hexdigest()[:6]}")
        used.add(fold(name))
        found[name] = path
    return found


def read_odd(root: Path, path: str, most_bytes: int) -> bytes:
    """Return the bytes of a file, following no link. Raises the errors of reading a note, OSError."""
    folder, name = split(path)
    with (
        opened_root(root) as top,
        opened_folder(top, folder) as parent,
        opened_file(parent, name, path) as (descriptor, found),
    ):
        return read_stable(NotePath(path), descriptor, found, most_bytes).data


def restore_odd(root: Path, path: str, data: bytes) -> bool:
    """Create the file under its original name, and return whether it was new; a file is never replaced. Raises
    PathRefused for a link on the way, and OSError if the disk refuses the name, or has another file there."""
    *folders, name = path.split("/")
    with ExitStack() as stack:
        folder = stack.enter_context(opened_root(root))
        for part in folders:
            with suppress(FileExistsError):
                os.mkdir(part, FOLDER_MODE, dir_fd=folder)
            folder = open_child(folder, part, path)
            stack.callback(os.close, folder)
        try:
            descriptor = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600, dir_fd=folder)
        except FileExistsError:
            with opened_file(folder, name, path) as (known, _), os.fdopen(os.dup(known), "rb") as file:
                if file.read(len(data) + 1) == data:
                    return False
            raise
        try:
            with os.fdopen(descriptor, "wb") as out:
                out.write(data)
                out.flush()
                os.fsync(out.fileno())
        except OSError:
            os.unlink(name, dir_fd=folder)
            raise
        return True


def written(names: Mapping[str, str]) -> bytes:
    return json.dumps(names, indent=1, sort_keys=True).encode()


def parse_names(data: bytes) -> dict[str, str]:
    """Parse the original names. Raises ValueError for another form, PathRefused for a path that leads elsewhere or is
    hidden."""
    found: Any = json.loads(data)
    if not isinstance(found, dict):
        raise ValueError(f"{NAMES} is no object")
    names = {str(name): str(path) for name, path in cast("dict[str, Any]", found).items()}
    for path in names.values():
        validate_existing(_UNUSABLE.sub("-", path))
        if not is_note(path) or not _is_odd(path) or "\0" in path:
            raise PathRefused("a name in it is no odd one", hint="export the vault again")
    return names


def _odd_files(root: Path) -> Iterator[str]:
    for folder, folders, files in walk(root):
        folders[:] = [name for name in folders if not name.startswith(".") and name not in SKIPPED_FOLDERS]
        for name in files:
            path = Path(folder, name).relative_to(root).as_posix()
            if is_note(name) and not name.startswith(".") and _is_odd(path):
                yield path


def _is_odd(path: str) -> bool:
    return any(map(unnameable, path.split("/")))
