"""Remembers the folders that topics were shared with, so that erasing a note can name the copies outside the vault."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from mcp_memory.errors import McpMemoryError
from mcp_memory.models import NotePath
from mcp_memory.runtime.os_errors import naming_the_cause
from mcp_memory.runtime.private_files import append_line
from mcp_memory.storage import open_storage
from mcp_memory.storage.base import StorageBackend
from mcp_memory.transfer.share.folder import MANIFEST, MOST_BYTES, parse_manifest


class SharedFolders:
    """A list in the state folder, a JSON object a line. Synchronous."""

    def __init__(self, state: Path) -> None:
        self._file = state / "shared.jsonl"

    def add(self, folder: Path) -> None:
        """To be called before the folder is filled. Raises StorageFailed."""
        with naming_the_cause(str(self._file)):
            if folder not in self._folders():
                append_line(self._file, json.dumps({"folder": str(folder)}).encode())

    def telling_of(self, names: Collection[str]) -> Iterator[tuple[Path, str]]:
        """The folders with a file that has one of these names (ids, or hashes of entries) in it, or as the path that
        it had in the vault; and the topics that they were filled with. A folder that cannot be read is among them."""
        for folder in self._folders():
            if not (folder / MANIFEST).exists():
                continue
            backend = open_storage(folder, read_only=True)
            try:
                share = parse_manifest(json.loads((folder / MANIFEST).read_bytes()[:MOST_BYTES]))
            except (OSError, ValueError, KeyError, TypeError, RecursionError):
                yield folder, "a topic"
                continue
            inner = {path for path in share.files if f"{share.topic}/{path}" in names}
            if inner or any(_tells(backend, path, names) for path in share.files):
                yield folder, share.topic

    def _folders(self) -> list[Path]:
        if not self._file.exists():
            return []
        found: list[Path] = []
        for line in self._file.read_text(encoding="utf-8", errors="replace").splitlines():
            try:
                said: Any = json.loads(line)
                found.append(Path(said["folder"]))
            except (ValueError, KeyError, TypeError):
                continue  # half a line, of a crash
        return found


def _tells(backend: StorageBackend, path: str, names: Collection[str]) -> bool:
    try:
        data = backend.read(NotePath(path), limit_bytes=MOST_BYTES).data
    except McpMemoryError:
        return False
    return any(name.encode("utf-8", "surrogateescape") in data for name in names)
