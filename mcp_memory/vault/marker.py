"""Read and write the marker `.mcp-memory/vault.toml`, with a vault's id and managed folder (`home`).

A vault without its marker (an unmounted disk, a half-synced folder) is never taken for an empty vault. The state folder
keeps a copy; while only that exists, nothing is pruned or written.
"""

import json
import os
import tomllib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from secrets import token_hex

from mcp_memory.errors import ConfigInvalid, PathRefused, StorageFailed
from mcp_memory.runtime.atomic_rename import KernelRenames, publish_free, sync
from mcp_memory.runtime.private_files import make_private, naming_the_cause, replace_file, sync_folder
from mcp_memory.storage.folders import opened_root
from mcp_memory.storage.path_rules import validate_existing

FOLDER, FILE = ".mcp-memory", "vault.toml"
MARKER = f"{FOLDER}/{FILE}"
FORMAT = 1

HOME_IN_A_STRANGERS_FOLDER = "Agent"
ELSEWHERE = "choose a folder that you can write: --vault DIR, or MCP_MEMORY_VAULT"

README = "README.txt"
WELCOME = """This folder is your agents' memory

Every note is a plain Markdown file. Open, edit, move, diff or sync them with whatever you like: what is on disk is
the memory, and a change is searchable a moment after you save it.

- `memory/YYYY-MM-DD.md` — the daily log, entries are only ever added
- `MEMORY.md` — what every session should know; you and your agents write it
- `notes/<kind>/` — one fact, decision, fix … a file
- `topics/_fresh/` — new notes of no particular kind
- `_always-load/` — standing orders, loaded into every session; only you write here
- `_archive/` — retired notes

To retire a note, move it to `_archive/` or ask an agent to forget it: nothing is ever deleted for you.
Files and folders named in `.memoryignore` (the syntax of `.gitignore`) are left alone.
"""
"""The README of a new vault. By its name it isn't a note."""

_DAMAGED = "restore it from a backup, or delete it"


@dataclass(frozen=True)
class Marker:
    """The contents of the marker, and its state."""

    id: str
    home: str
    made: bool = False  # by this call
    writable: bool = True  # the folder
    present: bool = True  # whether it is on disk: not if it couldn't be written, or if the vault is away


def open_marker(root: Path, copy: Path | None = None) -> Marker:
    """Read the marker, or make it.

    The managed folder is the root of a new or empty folder, else `Agent/`. `copy` is our own copy in the state folder;
    if only that is left, nothing is made. A folder that can't be written gets a marker in memory only. Raises
    ConfigInvalid for a damaged marker or one of a later format, StorageFailed."""
    try:
        marker = _parse(root / MARKER)
    except FileNotFoundError:
        if copy and (known := _remembered(copy)):
            return replace(known, present=False)
        marker = _made(root)
    except OSError as error:
        raise StorageFailed(f"cannot open the vault {root}: {error.strerror}", hint=ELSEWHERE) from error
    if copy and marker.present:
        _remember(copy, marker)
    return replace(marker, writable=marker.writable and os.access(root, os.W_OK))


def write_readme(root: Path, home: str) -> None:
    """Explain a new vault in its managed folder, unless there is such a file. Raises StorageFailed."""
    file = root / home / README
    with naming_the_cause(str(file)), suppress(FileExistsError):
        replace_file(file, WELCOME.encode(), only_new=True)


def home_of(root: Path) -> str:
    """Return the managed folder, as it is or would be once this folder is a vault. Raises ConfigInvalid, OSError."""
    try:
        return _parse(root / MARKER).home
    except FileNotFoundError:
        return _new_home(root)


class MarkerGuard:
    """A guard against writes to a folder that is not the vault now. For worker threads.

    A vault that has always been read-only has no marker; the first write that succeeds adds one. `on_marked` is called
    once there is a marker that could vanish."""

    def __init__(self, root: Path, marker: Marker, copy: Path, *, on_marked: Callable[[], None]) -> None:
        self._root = root
        self.marker = marker
        self._copy = copy
        self._on_marked = on_marked
        self._marked = marker.present or marker.writable
        if self._marked:
            on_marked()

    @property
    def read_only(self) -> bool:
        """Return whether the folder exists and can't be written now; that may change while we run."""
        return os.path.isdir(self._root) and not os.access(self._root, os.W_OK)  # noqa: PTH112 -- False on any error

    @property
    def vanished(self) -> bool:
        """Return whether the marker has gone or can't be looked at: then an absent file proves nothing."""
        return self._marked and not os.path.isfile(self._root / MARKER)  # noqa: PTH113 -- False on any error

    def must_be_there(self) -> None:
        """Raise StorageFailed if the vault is away: a note written into an empty mount point would be lost later."""
        if not self._marked:
            self._mark()
            _remember(self._copy, replace(self.marker, present=True))
            self._marked = True
            self._on_marked()
        elif self.vanished:
            with naming_the_cause(str(self._root)), suppress(FileNotFoundError):
                (self._root / MARKER).stat()
            raise StorageFailed(
                f"the vault is not there: its marker {self._root / MARKER} is missing",
                hint="mount the disk or finish the sync; if this is the vault: mcp-memory doctor --accept",
            )

    def accept(self) -> None:
        """Write the same marker again: you confirm that this folder is the vault. Raises StorageFailed."""
        if self._marked:
            self._mark()

    def _mark(self) -> None:
        with naming_the_cause(str(self._root / MARKER)), suppress(FileExistsError):
            _publish(self._root, self.marker)


def _made(root: Path) -> Marker:
    try:
        make_private(root)
        from ulid import ULID  # slow, and only a new vault needs it

        marker = Marker(str(ULID()), _new_home(root), made=True)
    except OSError as error:
        raise StorageFailed(f"cannot open the vault {root}: {error.strerror}", hint=ELSEWHERE) from error
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
    with suppress(FileNotFoundError, ConfigInvalid):  # a damaged copy counts as missing
        return _parse(copy)
    return None


def _remember(copy: Path, marker: Marker) -> None:
    with naming_the_cause(str(copy)):
        if _remembered(copy) != replace(marker, made=False):
            replace_file(copy, _text(marker).encode())


def _publish(root: Path, marker: Marker) -> None:
    """Publish a marker, but never replace one, so that two processes make one. Others may read it, to search a vault
    that isn't theirs; only its owner may write it. Raises FileExistsError, OSError."""
    folder = root / FOLDER
    make_private(root)
    folder.mkdir(mode=0o755, exist_ok=True)
    draft = folder / f".{FILE}.{token_hex(8)}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        with os.fdopen(os.open(draft, flags, 0o644), "w", encoding="utf-8") as out:
            out.write(_text(marker))
            out.flush()
            sync(out.fileno())
        with opened_root(folder) as opened:
            publish_free(KernelRenames(), opened, draft.name, FILE)
        sync_folder(folder)
        sync_folder(root)
    finally:
        draft.unlink(missing_ok=True)


def _text(marker: Marker) -> str:
    return (
        "# This folder is an mcp-memory vault. Keep this file: without it nothing is pruned from the index.\n"
        f"id = {json.dumps(marker.id)}\nformat = {FORMAT}\nhome = {json.dumps(marker.home, ensure_ascii=False)}\n"
    )
