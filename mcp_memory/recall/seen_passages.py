"""Track which passages each session has already seen, so that none is injected twice. A passage is remembered as one
hash of its note's id and its words: compaction moves notes, and texts don't belong here. Each session has a small file
in the state folder, which survives a restart; it isn't synced, since a power cut ends the sessions too."""

import logging
import threading
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from pathlib import Path
from time import time

from mcp_memory.errors import StorageFailed
from mcp_memory.models import Passage
from mcp_memory.runtime.json_lines import Facts, JsonLines
from mcp_memory.runtime.lru_cache import LruCache
from mcp_memory.text.text_hash import text_hash

KEPT_S = 14 * 86_400.0
"""After this long without activity, a session counts as ended."""

MOST_SESSIONS = 1000
"""The most sessions, the newest; each is a file of some kilobytes."""

MOST_PASSAGES = 10_000
"""A number of passages that no context has room for. Beyond it, the session's marks are dropped."""

_IN_MEMORY = 64

log = logging.getLogger(__name__)


def mark_of(passage: Passage) -> str:
    """Return 16 hexadecimal digits for these words of this note."""
    return text_hash(f"{passage.note.id}\0{passage.chunk.text}", 16)


class SeenPassages:
    """The marks by session; any text may name a session. Thread-safe. If the disk fails, marks are kept in memory, and
    a restart may repeat some passages."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._sessions: LruCache[Path, frozenset[str]] = LruCache(_IN_MEMORY)

    def seen_by(self, session: str) -> frozenset[str]:
        """Return the marks that the session has seen since it began, or since its context was last emptied."""
        with self._lock:
            return self._known(self._file(session))

    def add(self, session: str, marks: Iterable[str]) -> bool:
        """Add marks, and return whether any of them is new to the session."""
        file = self._file(session)
        with self._lock:
            known = self._known(file)
            new = dict.fromkeys(mark for mark in marks if mark not in known)
            if not new:
                return False
            if len(known) + len(new) > MOST_PASSAGES:
                self._drop(file)
                known = frozenset[str]()
            self._sessions.store(file, known | new.keys())
            with _in_memory_alone():
                JsonLines(file, synced=False).append(*({"mark": mark} for mark in new))
            return True

    def reset(self, session: str) -> None:
        """Forget a session's marks: its context is empty, or it ended. Also removes sessions that ended long ago."""
        with self._lock:
            self._drop(self._file(session))
            with _in_memory_alone():
                newest = sorted(((file.stat().st_mtime, file) for file in self._folder.glob("*")), reverse=True)
                oldest = time() - KEPT_S
                for number, (written, file) in enumerate(newest):
                    if number >= MOST_SESSIONS or written < oldest:
                        self._drop(file)

    def _known(self, file: Path) -> frozenset[str]:
        known = self._sessions.get(file)
        return self._sessions.store(file, _read(file)) if known is None else known

    def _drop(self, file: Path) -> None:
        self._sessions.store(file, frozenset())
        with _in_memory_alone():
            file.unlink(missing_ok=True)

    def _file(self, session: str) -> Path:
        return self._folder / text_hash(session, 32)


def _read(file: Path) -> frozenset[str]:
    """Read a session's marks; empty without a file."""
    lines: list[Facts] = []
    with _in_memory_alone():
        lines = JsonLines(file, synced=False).read()
    return frozenset(str(line["mark"]) for line in lines if "mark" in line)


@contextmanager
def _in_memory_alone() -> Generator[None]:
    try:
        yield
    except (OSError, StorageFailed) as error:
        log.warning("what sessions have seen is kept only in memory: %s", error)
