"""Reads daily logs, summaries of sessions and the uses of notes, and finds what recurs in them. For worker threads."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import date
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mcp_memory.comparison.comparison import SAME_IN_REVIEW, say_the_same
from mcp_memory.core.core import Core
from mcp_memory.curation.dreams.dream_files import Facts
from mcp_memory.curation.dreams.recurrence import (
    MIN_DAYS,
    MOST_CHARS,
    Recurrence,
    Said,
    find_recurring,
    find_said,
)
from mcp_memory.errors import InvalidInput, McpMemoryError
from mcp_memory.models import Filters, NoteRecord, NoteState, is_channel
from mcp_memory.runtime.health import give_way
from mcp_memory.storage.folder_walk import walk
from mcp_memory.text.markdown import frontmatter, logs
from mcp_memory.text.pluralize import counted
from mcp_memory.vault.marks import privacy
from mcp_memory.vault.succession.entry_marks import private_entries

PROMOTABLE = frozenset({"preference", "decision", "lesson", "fact"})
"""The kinds of notes that may become a line of MEMORY.md when they answer many questions."""


class DreamSources:
    """Finds recurring statements. Raises IndexUnavailable, StorageFailed."""

    def __init__(self, core: Core) -> None:
        self._vault = core.vault
        self._index = core.index
        self._uses = core.recall.uses
        self._conflicts = core.recall.answerer.current.conflicts
        self._private = core.config.recall.private_marks
        self._clock = core.clock
        self._model = core.search.model
        self._vectors: dict[str, NDArray[np.float32]] = {}

    def find(self, backfill: str | None, known: Mapping[str, Facts]) -> tuple[list[Recurrence], str]:
        """Return the recurring statements, best first, and a description of what was read. `backfill` is a folder of
        old daily logs. Raises InvalidInput for a folder without any."""
        notes = [note for note in self._index.notes(self._wanted(), limit=1_000_000) if not is_channel(note.project)]
        said = [*self._said_in(notes), *(_said_in_old_logs(backfill) if backfill else ())]
        staged = [one for facts in known.values() if facts["status"] == "short-term" for one in _staged(facts)]
        found = find_recurring([*said, *staged], self._cosine)
        found += self._recalled(notes, [one.text for one in found])
        seen = f"{counted(len({one.day for one in said}), 'day')} of logs with {counted(len(said), 'statement')}"
        return sorted(found, key=lambda one: (-one.score, one.id)), seen

    def is_over(self, facts: Facts) -> bool:
        """Return whether the note of a proposal is superseded, forgotten, contested or expired."""
        note = facts.get("note")
        return bool(note) and not any(map(self._applies, self._index.note_by_id(note)))

    def _wanted(self) -> Filters:
        states = frozenset({NoteState.ACTIVE, NoteState.SUMMARY})
        return Filters(states, now=self._clock(), private=self._private, foreign=False)

    def _applies(self, note: NoteRecord) -> bool:
        is_outdated = self._conflicts.newer_of(note.id) or self._conflicts.contested.remark_on(note.id)
        return self._wanted().admits(note) and not is_outdated

    def is_known(self, text: str, known: Iterable[str]) -> bool:
        """Return whether a known statement says the same, by words or by meaning."""
        return any(say_the_same(other, text, self._cosine, SAME_IN_REVIEW) for other in known)

    def _said_in(self, notes: Iterable[NoteRecord]) -> Iterator[Said]:
        for note in notes:
            give_way()
            written = note.created.date() if note.created and note.kind == "session" else None
            day = logs.is_log_path(note.path) or written
            if day:
                with suppress(McpMemoryError):  # the note was just moved or removed
                    file = self._vault.read(note.path)
                    unsaid = {*file.forgotten_entries, *private_entries(file, self._private)}
                    yield from find_said(day, note.path, file.body, unsaid)

    def _recalled(self, notes: Iterable[NoteRecord], known: list[str]) -> Iterator[Recurrence]:
        """Yield the notes that were used on enough days and say what no recurring statement says."""
        used, said = self._uses.read(), [*known]
        for note in notes:
            use = used.get(note.id)
            if use is None or note.kind not in PROMOTABLE or note.always_load:
                continue
            if len(use.used_days) < MIN_DAYS or not self._applies(note):
                continue
            lines = self._vault.read(note.path).body.splitlines()
            text = " ".join(word for line in lines if not line.startswith((">", "#")) for word in line.split())
            text = f"{note.project}: {text}" if note.project and note.kind != "preference" else text
            if len(text) <= MOST_CHARS and not self.is_known(text, said):
                said.append(text)
                days, times = tuple(day.isoformat() for day in use.used_days), use.total.found + use.total.told
                yield Recurrence(text, note.kind, days, (note.path,), times, use.questions, note.id)

    def _cosine(self, one: str, other: str) -> float:
        give_way()
        with suppress(McpMemoryError):
            if embedder := self._model.at_hand:
                for text in {one, other} - self._vectors.keys():
                    self._vectors[text] = np.asarray(embedder.embed_query(text))
                return float(self._vectors[one] @ self._vectors[other])
        return 0.0


def _said_in_old_logs(folder: str) -> Iterator[Said]:
    found_in = walk(Path(folder).expanduser())
    names = [Path(within, name) for within, _, files in found_in for name in files if name.endswith(".md")]
    is_empty = True
    for old in sorted(names):
        path = f"memory/{old.name}"
        if day := logs.is_log_path(path):
            is_empty = False
            text = old.read_text("utf-8", "replace")
            marks = privacy.marks(path, text, frontmatter.parse(text), is_curated=False)
            if "private" not in marks:
                yield from find_said(day, path, text, marks.get("private_entries", ()))
    if is_empty:
        raise InvalidInput(f"{folder} has no daily logs", hint="they are named like 2026-11-21.md")


def _staged(facts: Facts) -> Iterator[Said]:
    for day in facts["days"]:
        yield Said(date.fromisoformat(day), facts["sources"][0], facts["text"], facts["kind"])
