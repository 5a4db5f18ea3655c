"""Keep a copy of every entry that we add to a shared file, for a while.

An editor or a sync client that loaded a daily log before an append and saves it afterwards removes our entry, long
after we have answered. One file a day, one JSON object a line: the entry, on disk before the log is written, then its
outcome.
"""

import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, get_args

from mcp_memory.models import Etag, NotePath
from mcp_memory.runtime.json_lines import Facts, JsonLines
from mcp_memory.runtime.private_files import naming_the_cause

KEPT_DAYS = 30  # days with additions: a wrong clock must not remove anything early
MOST_BYTES = 64_000_000  # the bytes of the whole journal; beyond them the oldest day goes first


AppendOutcome = Literal["announced", "cut short", "landed", "overwritten", "dismissed"]
"""The outcome of an append, as far as we know. `cut short`: its process ended before it was written, so the append was
not answered. `overwritten`: the file was found as it had been before. `dismissed`: taken back by us, or removed on
purpose."""


@dataclass(frozen=True)
class JournaledAppend:
    """An entry and its outcome."""

    path: NotePath
    entry: str  # its hash
    before: Etag | None  # the etag of the file that it was added to; None for a new file
    at: float  # seconds since the epoch
    content: str  # the hash of its content
    project: str | None = None
    session: str | None = None
    section: str | None = None  # of `MEMORY.md`
    fate: AppendOutcome = "announced"


class AppendJournal:
    """The journal, with all entries in memory and their texts on disk. Thread-safe."""

    def __init__(self, folder: Path, *, most_bytes: int = MOST_BYTES) -> None:
        """Open the journal. Raises StorageFailed for a journal that cannot be read."""
        self._folder = folder
        self._most_bytes = most_bytes
        self._lock = threading.Lock()
        self._added: dict[NotePath, dict[str, JournaledAppend]] = {}
        self._by_content: dict[str, set[tuple[NotePath, str]]] = {}
        self._load()

    def announce(self, added: JournaledAppend, text: str) -> None:
        """Record an entry before it is published. Raises StorageFailed; then nothing was recorded.

        The line is synced, because the power may fail seconds after a stale save, and that save is on disk then."""
        facts = {name: getattr(added, name) for name in ("path", "entry", "before", "at", "content")}
        more = {name: value for name in ("project", "session", "section") if (value := getattr(added, name))}
        with self._lock:
            self._append({**facts, **more, "text": text}, added.at, synced=True)
            self._remember(added)

    def mark(self, added: JournaledAppend, fate: AppendOutcome) -> None:
        """Record an entry's outcome, without a sync: after a power cut, an entry may be listed needlessly. Raises
        StorageFailed."""
        with self._lock:
            known = self._added.get(added.path, {}).get(added.entry, added)
            if known.fate is not fate:
                self._append({"path": added.path, "entry": added.entry, "fate": fate}, added.at, synced=False)
                self._remember(replace(known, fate=fate))

    def paths(self) -> list[NotePath]:
        with self._lock:
            return list(self._added)

    def entries_of(self, path: NotePath) -> list[JournaledAppend]:
        """Return the entries added to this file, oldest first."""
        with self._lock:
            return list(self._added.get(path, {}).values())

    def recent(self, content: str, since: float) -> list[JournaledAppend]:
        """Return the entries with this content since that time (seconds since the epoch), in any file, oldest first."""
        with self._lock:
            places = self._by_content.get(content, set())
            found = [known for path, entry in places if (known := self._added.get(path, {}).get(entry))]
            return sorted((known for known in found if known.at >= since), key=lambda known: known.at)

    def texts(self, path: NotePath) -> dict[str, str]:
        """Return the entries of this file by their hash. Raises StorageFailed."""
        with self._lock:
            return {line["entry"]: line["text"] for line in self._lines() if line["path"] == path and "text" in line}

    def erase(self, path: NotePath, entry: str | None = None) -> int:
        """Remove an entry, or all of a file, for good; return how many. Raises StorageFailed."""
        with self._lock:
            for file in self._files():
                JsonLines(file).remove(lambda line: line.get("path") == path and entry in {None, line.get("entry")})
            known = self._added.get(path, {})
            self._added[path] = {name: added for name, added in known.items() if entry not in {None, name}}
            return len(known) - len(self._added[path])

    def _append(self, line: dict[str, Any], at: float, *, synced: bool) -> None:
        file = self._folder / f"{datetime.fromtimestamp(at, UTC).date()}.jsonl"
        with naming_the_cause(str(file)):
            is_new = not file.exists()
        JsonLines(file).append(line, synced=synced)
        if is_new:
            with naming_the_cause(str(self._folder)):
                self._prune()

    def _prune(self) -> None:
        files = self._files()
        while len(files) > KEPT_DAYS or (len(files) > 1 and sum(f.stat().st_size for f in files) > self._most_bytes):
            oldest = files.pop(0)
            gone = [(line["path"], line["entry"]) for line in _lines_of(oldest)]
            oldest.unlink()
            for path, entry in gone:
                self._added.get(path, {}).pop(entry, None)

    def _load(self) -> None:
        for line in self._lines():
            path, entry = NotePath(line.pop("path")), line.pop("entry")
            try:
                if line.pop("text", None) is not None:
                    values: dict[str, Any] = {"before": None, **line}
                    self._remember(JournaledAppend(path, entry, **values))
                elif (known := self._added.get(path, {}).get(entry)) and line["fate"] in get_args(AppendOutcome):
                    self._remember(replace(known, fate=line["fate"]))
            except (TypeError, KeyError):
                continue  # a line of a later version; the other lines count
        for added in [line for known in self._added.values() for line in known.values()]:
            if added.fate == "announced":
                self._remember(replace(added, fate="cut short"))

    def _remember(self, added: JournaledAppend) -> None:
        self._added.setdefault(added.path, {})[added.entry] = added
        self._by_content.setdefault(added.content, set()).add((added.path, added.entry))

    def _lines(self) -> Iterator[dict[str, Any]]:
        for file in self._files():
            yield from _lines_of(file)

    def _files(self) -> list[Path]:
        return sorted(self._folder.glob("*.jsonl"))


def _lines_of(file: Path) -> list[Facts]:
    """Return the lines of an entry. Raises StorageFailed."""
    return [line for line in JsonLines(file).read() if {"path", "entry"} <= line.keys()]
