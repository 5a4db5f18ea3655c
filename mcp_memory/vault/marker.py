"""The marker `.mcp-memory/vault.toml`: says that a folder is a vault, who it is and where home is.

A vault whose marker has vanished (an unmounted disk, a half-synced folder) is never taken for an empty one: the state
folder keeps a copy, and as long as only that is there nothing is pruned and nothing is written.
"""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from ulid import ULID

from mcp_memory.errors import ConfigInvalid, PathRefused, StorageFailed
from mcp_memory.runtime.os_errors import naming_the_cause
from mcp_memory.runtime.renames import KernelRenames, publish_free, sync
from mcp_memory.storage.path_rules import validate_existing

FOLDER, FILE = ".mcp-memory", "vault.toml"
MARKER = f"{FOLDER}/{FILE}"
FORMAT = 1

HOME_IN_A_STRANGERS_FOLDER = "Agent"

WELCOME = """---
title: About this folder
status: archived
---
# This folder is your agents' memory

Every note is a plain Markdown file. Open, edit, move, diff or sync them with whatever you like: what is on disk is
the memory, and a change is searchable a moment after you save it.

- `memory/YYYY-MM-DD.md` — the daily log, entries are only ever added
- `MEMORY.md` — what every session should know; write it yourself
- `notes/<kind>/` — one fact, decision, fix … a file
- `topics/_fresh/` — new notes of no particular kind
- `_always-load/` — standing orders, loaded into every session; only you write here
- `_archive/` — retired notes

To retire a note, move it to `_archive/` or ask an agent to forget it: nothing is ever deleted for you.
Files and folders named in `.memoryignore` (the syntax of `.gitignore`) are left alone, as is this README.
"""
"""The README that a new vault starts with; its status keeps it out of searches."""

_DAMAGED = "restore it from a backup, or delete it"


@dataclass(frozen=True, slots=True)
class Marker:
    """`made`: this call created the vault's marker. `writable`: the folder can be written. `present`: the vault has
    its marker on disk; false where it could not be written, or where the vault is not there now."""

    id: str
    home: str
    made: bool = False
    writable: bool = True
    present: bool = True


def open_marker(root: Path, copy: Path | None = None) -> Marker:
    """Read the marker, or make it: home is the root of a new or empty folder, else `Agent/`.

    `copy` is our own copy in the state folder; where only that is left, nothing is made. Raises ConfigInvalid for a
    marker of a later format or without sense, StorageFailed when the folder cannot be made. A folder that cannot be
    written gets a marker in memory only.
    """
    try:
        marker = _parse(root / MARKER)
    except FileNotFoundError:
        if copy and (known := _remembered(copy)):
            return replace(known, present=False)
        marker = _made(root)
    except OSError as error:
        raise StorageFailed(f"cannot open the vault {root}: {error.strerror}") from error
    if copy and marker.present:
        _remember(copy, marker)
    return replace(marker, writable=marker.writable and os.access(root, os.W_OK))


def plant(root: Path, data: bytes) -> bool:
    """Make a vault of a new or empty folder with the marker of an exported one, so that home is where it was; False
    where something is in it. Raises ConfigInvalid for a marker that is none, StorageFailed."""
    marker = _parsed(data.decode("utf-8", "replace"), root / MARKER)
    with naming_the_cause(str(root)):
        if root.exists() and any(root.iterdir()):
            return False
        with suppress(FileExistsError):
            _publish(root, marker)
    return True


def home_of(root: Path) -> str:
    """Where home is, or would be once the folder is a vault; nothing is written. Raises ConfigInvalid, OSError."""
    try:
        return _parse(root / MARKER).home
    except FileNotFoundError:
        return _new_home(root)


def home_in(data: bytes) -> str:
    """Where home is, by the bytes of a marker. Raises ConfigInvalid."""
    return _parsed(data.decode("utf-8", "replace"), Path(FILE)).home


class MarkerGuard:
    """Keeps writes out of a folder that is not the vault now. For worker threads.

    A vault that has always been read-only has no marker that could vanish; it is marked by the first write that it
    lets through. `on_marked` is called once there is one to miss.
    """

    def __init__(self, root: Path, marker: Marker, copy: Path, *, on_marked: Callable[[], None]) -> None:
        self._root = root
        self._marker = marker
        self._copy = copy
        self._on_marked = on_marked
        self._marked = marker.present or marker.writable
        if self._marked:
            on_marked()

    @property
    def read_only(self) -> bool:
        """Whether the folder is there and cannot be written now; that may change while we run."""
        return self._root.is_dir() and not os.access(self._root, os.W_OK)

    @property
    def vanished(self) -> bool:
        """Whether the marker that was there is gone: then an absent file proves nothing."""
        return self._marked and not (self._root / MARKER).is_file()

    def must_be_there(self) -> None:
        """A note written below the mount point of a disk that is not there now would be lost when it comes back.

        Raises StorageFailed.
        """
        if not self._marked:
            self._mark()
            _remember(self._copy, replace(self._marker, present=True))
            self._marked = True
            self._on_marked()
        elif self.vanished:
            raise StorageFailed(
                f"the vault is not there: its marker {self._root / MARKER} is missing",
                hint="mount the disk or finish the sync; if this is the vault: mcp-memory doctor --accept",
            )

    def accept(self) -> None:
        """A person says that this folder is the vault, although its marker is gone: it gets the same one again.

        Raises StorageFailed.
        """
        if self._marked:
            self._mark()

    def _mark(self) -> None:
        with naming_the_cause(str(self._root / MARKER)), suppress(FileExistsError):
            _publish(self._root, self._marker)


def _made(root: Path) -> Marker:
    try:
        root.mkdir(parents=True, exist_ok=True)
        marker = Marker(str(ULID()), _new_home(root), made=True)
    except OSError as error:
        raise StorageFailed(f"cannot open the vault {root}: {error.strerror}") from error
    try:
        _publish(root, marker)
    except FileExistsError:  # another process was first
        return _parse(root / MARKER)
    except OSError:
        return replace(marker, made=False, writable=False, present=False)
    return marker


def _new_home(root: Path) -> str:
    is_empty = all(entry.name.startswith(".") for entry in root.iterdir())
    return "" if is_empty else HOME_IN_A_STRANGERS_FOLDER


def _parse(file: Path) -> Marker:
    try:
        text = file.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ConfigInvalid(f"{file} is damaged: {error}", hint=_DAMAGED) from error
    return _parsed(text, file)


def _parsed(text: str, file: Path) -> Marker:
    try:
        table = tomllib.loads(text)
        version, home = int(table["format"]), str(table["home"]).strip("/")
        if home:
            validate_existing(home)
        marker = Marker(str(table["id"]), home)
    except (tomllib.TOMLDecodeError, KeyError, ValueError, TypeError, PathRefused) as error:
        raise ConfigInvalid(f"{file} is damaged: {error}", hint=_DAMAGED) from error
    if version > FORMAT:
        raise ConfigInvalid(f"the vault has format {version}, newer than {FORMAT}", hint="upgrade mcp-memory")
    return marker


def _remembered(copy: Path) -> Marker | None:
    with suppress(FileNotFoundError, ConfigInvalid):  # a damaged copy tells nothing
        return _parse(copy)
    return None


def _remember(copy: Path, marker: Marker) -> None:
    try:
        if _remembered(copy) != replace(marker, made=False):
            draft = copy.with_suffix(f".{ULID()}")
            draft.write_text(_text(marker), encoding="utf-8")
            draft.chmod(0o600)
            draft.replace(copy)
    except OSError as error:
        raise StorageFailed(f"cannot write the state folder {copy.parent}: {error.strerror}") from error


def _publish(root: Path, marker: Marker) -> None:
    """Exclusive, so that two processes make one marker. Raises FileExistsError, OSError."""
    folder = root / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    draft = folder / f".{FILE}.{ULID()}"
    try:
        with draft.open("x", encoding="utf-8") as out:
            out.write(_text(marker))
            out.flush()
            os.fsync(out.fileno())
        opened = [os.open(each, os.O_RDONLY | os.O_DIRECTORY) for each in (folder, root)]
        try:
            publish_free(KernelRenames(), opened[0], draft.name, FILE)
            for descriptor in opened:
                sync(descriptor)
        finally:
            for descriptor in opened:
                os.close(descriptor)
    finally:
        draft.unlink(missing_ok=True)


def _text(marker: Marker) -> str:
    return (
        "# This folder is an mcp-memory vault. Keep this file: without it nothing is pruned from the index.\n"
        f"id = {json.dumps(marker.id)}\nformat = {FORMAT}\nhome = {json.dumps(marker.home, ensure_ascii=False)}\n"
    )
