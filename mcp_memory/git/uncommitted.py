"""Pending: the files that we have changed and no commit holds yet. Local, one JSON string a line.

A line is written before the change is answered, and not synced: that would double what an append takes. It survives
the end of our process, and a power cut unless that comes within seconds; then the file is as safe as ever, and waits
for the person's own commit or for its next change.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Collection, Mapping
from pathlib import Path

from mcp_memory.models import NotePath
from mcp_memory.runtime.private_files import append_line, replace_file

log = logging.getLogger(__name__)


class UncommittedFiles:
    """Thread-safe."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._lock = threading.Lock()
        self._wake: Callable[[], None] = lambda: None
        self._number = 0
        self._paths: dict[NotePath, int] = {}
        """With the number of its latest change."""
        self._load()

    def __len__(self) -> int:
        return len(self._paths)

    def add(self, path: NotePath) -> None:
        """A file has changed. Raises nothing: an answer must not fail for what is done behind it."""
        with self._lock:
            is_new = path not in self._paths
            self._number += 1
            self._paths[path] = self._number
            if is_new:
                try:
                    append_line(self._file, json.dumps(path).encode(), synced=False)
                except OSError as error:
                    log.warning("a change will not be committed after a restart: %s", error.strerror)
        self._wake()

    def snapshot(self) -> Mapping[NotePath, int]:
        """What is pending now, in the order of the first change."""
        with self._lock:
            return dict(self._paths)

    def settle(self, done: Mapping[NotePath, int]) -> None:
        """These need no commit any more, unless they have changed again. Raises OSError."""
        with self._lock:
            self._paths = {path: number for path, number in self._paths.items() if done.get(path) != number}
            self._write(self._paths)

    def on_change(self, wake: Callable[[], None]) -> None:
        """`wake` is called in whatever thread has changed a file."""
        self._wake = wake

    def _write(self, paths: Collection[NotePath]) -> None:
        if paths:
            replace_file(self._file, b"".join(json.dumps(path).encode() + b"\n" for path in paths))
        else:
            self._file.unlink(missing_ok=True)

    def _load(self) -> None:
        try:
            lines = self._file.read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            return
        for line in lines:
            try:
                path = json.loads(line)
            except ValueError:
                continue  # half a line: what it was about was not answered
            if isinstance(path, str):
                self._number += 1
                self._paths[NotePath(path)] = self._number
