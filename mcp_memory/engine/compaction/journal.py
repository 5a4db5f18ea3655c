"""The journal of runs: every job is on disk, step by step, before it touches a file; then whether it is done.

One file a run, one JSON object a line. What a crash left half done is finished at the next start, from here alone: the
steps hold all that they write. What is done can be taken back from here, as long as the file is kept.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Any

from mcp_memory.engine.compaction.steps import Move, Step, Write, as_json, from_json
from mcp_memory.engine.durable import append_line
from mcp_memory.errors import NotFound
from mcp_memory.models import NoteId
from mcp_memory.storage.causes import naming_the_cause

_NAME = re.compile(r"([0-9]{8}T[0-9]{6})(?:-([0-9]{1,9}))?")
_ID = re.compile(r"^id: (\S+)$", re.MULTILINE)

KEPT_RUNS = 100
"""Older ones can no longer be undone."""


class Fate(StrEnum):
    ANNOUNCED = "announced"
    DONE = "done"
    ABORTED = "aborted"
    """Given up before its first step: a source had changed."""
    UNDONE = "undone"


@dataclass(frozen=True, slots=True)
class Entry:
    """One job of a run. `key` is made of what the job does, so that the same job has the same key."""

    key: str
    about: str
    """A line for people, with titles and counts, never a note's text."""
    steps: Sequence[Step]
    lost: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """The loss audit of the page that the job writes."""
    fate: Fate = Fate.ANNOUNCED


class RunJournal:
    """The runs of one vault on this device. Thread-safe."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()

    def runs(self) -> list[str]:
        """Their names, oldest first."""
        try:
            names = [file.stem for file in self._folder.glob("*.jsonl") if file.is_file()]
        except OSError:
            return []
        return sorted(names, key=lambda name: (_order(name), name))

    def named(self, now: datetime) -> str:
        """A name for a run that begins now, later than all others, whatever the clock has done since."""
        name = f"{now:%Y%m%dT%H%M%S}"
        latest, number = max(map(_order, self.runs()), default=("", 0))
        return name if name > latest else f"{latest}-{number + 1}"

    def entries(self, run: str) -> list[Entry]:
        """In their order. Raises NotFound. Half a line, which a crash leaves, was never begun."""
        try:
            lines = self._file(run).read_text(encoding="utf-8", errors="replace").split("\n")
        except (OSError, ValueError):
            raise NotFound(
                f"no run {run[:40]!r}", hint=f"the latest: {', '.join(self.runs()[-3:]) or 'none'}"
            ) from None
        found: dict[str, Entry] = {}
        for line in lines:
            try:
                said = json.loads(line)
                key = said["key"]
                if "steps" in said:
                    steps = [from_json(step) for step in said["steps"]]
                    found[key] = Entry(key, said["about"], steps, said["lost"])
                else:
                    known = found[key]
                    found[key] = Entry(key, known.about, known.steps, known.lost, Fate(said["fate"]))
            except (ValueError, KeyError, TypeError, RecursionError):
                continue
        return list(found.values())

    def unfinished(self) -> list[tuple[str, Entry]]:
        """The jobs that were begun and not ended, with their runs."""
        return [(run, entry) for run in self.runs() for entry in self.entries(run) if entry.fate is Fate.ANNOUNCED]

    def announce(self, run: str, entry: Entry) -> None:
        """To be called before the first step. Raises StorageFailed; then nothing may be done."""
        steps = [as_json(step) for step in entry.steps]
        self._append(run, {"key": entry.key, "about": entry.about, "steps": steps, "lost": dict(entry.lost)})

    def end(self, run: str, key: str, fate: Fate) -> None:
        """Raises StorageFailed; then the next start does the job's steps again, which does nothing."""
        self._append(run, {"key": key, "fate": fate})

    def about(self, ids: Collection[NoteId]) -> list[str]:
        """The runs that may hold words of one of these notes: that moved it, wrote a page from it, or a page from such
        a page."""
        entries = {run: self.entries(run) for run in self.runs()}
        pages = [step.text for some in entries.values() for entry in some for step in entry.steps
                 if isinstance(step, Write)]  # fmt: skip
        told: set[str] = set(ids)
        while more := {page_id for text in pages if _names(text, told) and (page_id := _id_of(text))} - told:
            told |= more
        return [run for run, some in entries.items() if any(_mentions(entry, told) for entry in some)]

    def forget(self, runs: Iterable[str]) -> None:
        """These can no longer be undone. Raises StorageFailed."""
        with self._lock, naming_the_cause(str(self._folder)):
            for run in runs:
                self._file(run).unlink(missing_ok=True)

    def prune(self) -> None:
        """Leave the latest `KEPT_RUNS` and those with something unfinished."""
        for run in self.runs()[:-KEPT_RUNS]:
            if all(entry.fate is not Fate.ANNOUNCED for entry in self.entries(run)):
                self._file(run).unlink(missing_ok=True)

    def _append(self, run: str, said: Mapping[str, Any]) -> None:
        file = self._file(run)
        line = json.dumps(said, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")
        with self._lock, naming_the_cause(str(file)):
            append_line(file, line)

    def _file(self, run: str) -> Path:
        return self._folder / f"{Path(run).name}.jsonl"


def _order(run: str) -> tuple[str, int]:
    """Its time, and its number among those of that time; what no run of ours is called comes first."""
    match = _NAME.fullmatch(run)
    return (match[1], int(match[2] or 1)) if match else ("", 0)


def _mentions(entry: Entry, ids: Collection[str]) -> bool:
    texts = (f"{step.id}" if isinstance(step, Move) else f"{step.text}{step.before or ''}" for step in entry.steps)
    return any(_names(text, ids) for text in texts)


def _names(text: str, ids: Collection[str]) -> bool:
    return any(each in text for each in ids)


def _id_of(page: str) -> str | None:
    match = _ID.search(page)
    return match[1] if match else None
