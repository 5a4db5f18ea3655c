"""The marker `.mcp-memory/vault.toml`: says that a folder is a vault, who it is and where home is.

A vault whose marker has vanished (an unmounted disk, a half-synced folder) is never taken for an empty one.
"""

from __future__ import annotations

import os
import tomllib
from dataclasses import dataclass
from pathlib import Path

from ulid import ULID

from mcp_memory.errors import ConfigInvalid, StorageFailed

FOLDER, FILE = ".mcp-memory", "vault.toml"
MARKER = f"{FOLDER}/{FILE}"
FORMAT = 1

HOME_IN_A_STRANGERS_FOLDER = "Agent"


@dataclass(frozen=True, slots=True)
class Marker:
    """`made` is true when this call created the vault's marker; `writable` false when it could not be."""

    id: str
    home: str
    made: bool = False
    writable: bool = True


def open_marker(root: Path) -> Marker:
    """Read the marker, or make it: home is the root of a new or empty folder, else `Agent/`.

    Raises ConfigInvalid for a marker of a later format or without sense, StorageFailed when the folder cannot
    be made. A folder that cannot be written gets a marker in memory only.
    """
    file = root / FOLDER / FILE
    try:
        root.mkdir(parents=True, exist_ok=True)
        return _parse(file)
    except FileNotFoundError:
        pass
    except OSError as error:
        raise StorageFailed(f"cannot open the vault {root}: {error.strerror}") from error
    empty = not any(not entry.name.startswith(".") for entry in root.iterdir())
    marker = Marker(str(ULID()), "" if empty else HOME_IN_A_STRANGERS_FOLDER, made=True)
    try:
        _publish(file, marker)
    except FileExistsError:  # another process was first
        return _parse(file)
    except OSError:
        return Marker(marker.id, marker.home, writable=False)
    return marker


def _parse(file: Path) -> Marker:
    try:
        table = tomllib.loads(file.read_text(encoding="utf-8"))
        version, home = int(table["format"]), str(table["home"])
        marker = Marker(str(table["id"]), home.strip("/"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, KeyError, ValueError, TypeError) as error:
        raise ConfigInvalid(f"{file} is damaged: {error}", hint="restore it from a backup, or delete it") from error
    if version > FORMAT:
        raise ConfigInvalid(f"the vault has format {version}, newer than {FORMAT}", hint="upgrade mcp-memory")
    return marker


def _publish(file: Path, marker: Marker) -> None:
    file.parent.mkdir(exist_ok=True)
    text = (
        "# This folder is an mcp-memory vault. Keep this file: without it nothing is pruned from the index.\n"
        f'id = "{marker.id}"\nformat = {FORMAT}\nhome = "{marker.home}"\n'
    )
    draft = file.with_name(f".{FILE}.{os.getpid()}")
    try:
        with draft.open("x", encoding="utf-8") as out:
            out.write(text)
            out.flush()
            os.fsync(out.fileno())
        os.link(draft, file)  # exclusive: two processes make one marker
    finally:
        draft.unlink(missing_ok=True)
    for folder in (file.parent, file.parent.parent):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
