"""The recovery journal: every entry that we add to a shared file, kept apart from it for a while.

An editor or a sync client that had loaded a daily log before an append and saves it afterwards takes our entry away,
long after we have answered. What it took is here. One file a day, one JSON object a line: the entry, on disk before
the log is written, then what became of it.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any, cast

from mcp_memory.errors import StorageFailed
from mcp_memory.models import Etag, NotePath
from mcp_memory.runtime.private_files import append_line, replace_file

KEPT_DAYS = 30
"""The last so many days on which anything was added: counted, since a wrong clock must not let anything go early."""

MOST_BYTES = 64_000_000
"""Of the whole journal; beyond it the oldest day goes first."""


class AppendOutcome(StrEnum):
    """What became of an entry, as far as we know."""

    ANNOUNCED = "announced"
    """About to be written."""
    CUT_SHORT = "cut short"
    """It never got further in the process that announced it, so nobody was answered."""
    LANDED = "landed"
    OVERWRITTEN = "overwritten"
    """The file was seen again as it had been before."""
    DISMISSED = "dismissed"
    """Taken back by us, or gone for good as a person said."""


@dataclass(frozen=True, slots=True)
class JournaledAppend:
    """`entry` is the entry's hash, `before` the file that it was added to (None: there was none), `at` in seconds since
    the epoch, `content` the hash of what was to be remembered."""

    path: NotePath
    entry: str
    before: Etag | None
    at: float
    content: str
    project: str | None = None
    session: str | None = None
    fate: AppendOutcome = AppendOutcome.ANNOUNCED


class AppendJournal:
    """Knows all entries, and reads their texts from disk when somebody asks. Thread-safe."""

    def __init__(self, folder: Path, *, most_bytes: int = MOST_BYTES) -> None:
        """Raises StorageFailed for a journal that cannot be read."""
        self._folder = folder
        self._most_bytes = most_bytes
        self._lock = threading.Lock()
        self._added: dict[NotePath, dict[str, JournaledAppend]] = {}
        self._by_content: dict[str, set[tuple[NotePath, str]]] = {}
        self._load()

    def announce(self, added: JournaledAppend, text: str) -> None:
        """To be called before the entry is published. Raises StorageFailed; then nothing was recorded.

        It is synced: the power may fail seconds after a stale save, and that save is then on disk.
        """
        facts = {name: getattr(added, name) for name in ("path", "entry", "before", "at", "content")}
        more = {name: value for name in ("project", "session") if (value := getattr(added, name))}
        with self._lock:
            self._append({**facts, **more, "text": text}, added.at, synced=True)
            self._remember(added)

    def mark(self, added: JournaledAppend, fate: AppendOutcome) -> None:
        """Not synced: what a power cut takes is that an entry is listed although it needs nobody. Raises StorageFailed
        where it cannot be written at all."""
        with self._lock:
            known = self._added.get(added.path, {}).get(added.entry, added)
            if known.fate is not fate:
                self._append({"path": added.path, "entry": added.entry, "fate": fate}, added.at, synced=False)
                self._remember(replace(known, fate=fate))

    def paths(self) -> list[NotePath]:
        with self._lock:
            return list(self._added)

    def entries_of(self, path: NotePath) -> list[JournaledAppend]:
        """What was added to this file, oldest first."""
        with self._lock:
            return list(self._added.get(path, {}).values())

    def recent(self, content: str, since: float) -> list[JournaledAppend]:
        """What was added with this content from then on (seconds since the epoch), in any file."""
        with self._lock:
            places = self._by_content.get(content, set())
            found = [known for path, entry in places if (known := self._added.get(path, {}).get(entry))]
            return sorted((known for known in found if known.at >= since), key=lambda known: known.at)

    def texts(self, path: NotePath) -> dict[str, str]:
        """The entries of this file by their hash. Raises StorageFailed."""
        with self._lock:
            return {line["entry"]: line["text"] for line in self._lines() if line["path"] == path and "text" in line}

    def erase(self, path: NotePath, entry: str | None = None) -> int:
        """Take out an entry, or all of a file, for good; returns how many. Raises StorageFailed."""

        def stays(line: dict[str, Any]) -> bool:
            return line["path"] != path or (entry is not None and line["entry"] != entry)

        with self._lock:
            known = self._added.get(path, {})
            gone = [each for each in known if entry in {None, each}]
            try:
                for file in self._files():
                    lines = list(_lines_of(file))
                    kept = [line for line in lines if stays(line)]
                    if len(kept) != len(lines):
                        replace_file(file, b"".join(_encoded(line) + b"\n" for line in kept))
            except OSError as error:
                raise _failed(error, self._folder) from error
            self._added[path] = {each: added for each, added in known.items() if each not in gone}
            return len(gone)

    def _append(self, line: dict[str, Any], at: float, *, synced: bool) -> None:
        file = self._folder / f"{datetime.fromtimestamp(at, UTC).date()}.jsonl"
        try:
            is_new = not file.exists()
            append_line(file, _encoded(line), synced=synced)
            if is_new:
                self._prune()
        except OSError as error:
            raise _failed(error, self._folder) from error

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
                    self._remember(JournaledAppend(path, entry, **line))
                elif known := self._added.get(path, {}).get(entry):
                    self._remember(replace(known, fate=AppendOutcome(line["fate"])))
            except (ValueError, TypeError, KeyError):
                continue  # a later version's line; the others count
        for added in [each for known in self._added.values() for each in known.values()]:
            if added.fate is AppendOutcome.ANNOUNCED:
                self._remember(replace(added, fate=AppendOutcome.CUT_SHORT))

    def _remember(self, added: JournaledAppend) -> None:
        self._added.setdefault(added.path, {})[added.entry] = added
        self._by_content.setdefault(added.content, set()).add((added.path, added.entry))

    def _lines(self) -> Iterator[dict[str, Any]]:
        try:
            for file in self._files():
                yield from _lines_of(file)
        except OSError as error:
            raise _failed(error, self._folder) from error

    def _files(self) -> list[Path]:
        return sorted(self._folder.glob("*.jsonl"))


def _lines_of(file: Path) -> Iterator[dict[str, Any]]:
    """The lines that are whole: a crash may have left half a one. Raises OSError."""
    with file.open(encoding="utf-8", errors="replace") as lines:
        for text in lines:
            try:
                line: Any = json.loads(text)
            except ValueError:
                continue
            if isinstance(line, dict) and {"path", "entry"} <= cast("dict[str, Any]", line).keys():
                yield cast("dict[str, Any]", line)


def _encoded(line: Mapping[str, Any]) -> bytes:
    return json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode()


def _failed(error: OSError, folder: Path) -> StorageFailed:
    return StorageFailed(f"cannot use the recovery journal: {error.strerror}", hint=str(folder))
