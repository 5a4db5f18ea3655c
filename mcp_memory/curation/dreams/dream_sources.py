"""Reads daily logs, summaries of sessions and the uses of notes, and finds what to propose. For worker threads."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

from mcp_memory.comparison.likeness import Likeness, Vector
from mcp_memory.core.core import Core
from mcp_memory.curation.dreams.how_to import FIXES, find_how_tos
from mcp_memory.curation.dreams.recurrence import (
    MIN_DAYS,
    MOST_CHARS,
    Groups,
    Proposal,
    Recurrence,
    Said,
    find_lines,
)
from mcp_memory.curation.dreams.standing_orders import ORDERS, find_change
from mcp_memory.errors import InvalidInput, McpMemoryError
from mcp_memory.models import Filters, NoteRecord, NoteState, is_channel
from mcp_memory.runtime.health import give_way
from mcp_memory.runtime.json_lines import Facts
from mcp_memory.statements.classifier import SentenceModel
from mcp_memory.storage.folder_walk import walk
from mcp_memory.text.language.sentences import statement_of
from mcp_memory.text.language.terms import content_words
from mcp_memory.text.markdown import frontmatter, logs
from mcp_memory.text.pluralize import counted
from mcp_memory.usage.note_use import NoteUse
from mcp_memory.vault.journals.change_journal import DREAM
from mcp_memory.vault.journals.tombstones import Tombstone
from mcp_memory.vault.marks import privacy
from mcp_memory.vault.succession.entry_marks import private_entries

PROMOTABLE = frozenset({"preference", "decision", "lesson", "fact"})
"""The kinds of notes that may become a line of MEMORY.md when they answer many questions."""

MOST_FIXES = 300
"""The most fixes, lessons and sessions that are compared, the newest."""


class DreamSources:
    """Finds what logs say that is worth remembering. Raises IndexUnavailable, StorageFailed."""

    def __init__(self, core: Core) -> None:
        self._vault = core.vault
        self._index = core.index
        self._uses = core.recall.uses
        self._conflicts = core.recall.answerer.current.conflicts
        self._private = core.config.recall.private_marks
        self._clock = core.clock
        self._model = core.search.model
        self._vectors: dict[str, Vector] = {}
        self._read: dict[tuple[str, str, bool], list[Said]] = {}
        self._likeness = Likeness((), self._vector)
        self._over = set[str]()

    def find(self, backfill: str | None, known: Mapping[str, Facts]) -> tuple[list[Recurrence], str]:
        """Return what was said on the most days first, then what is likeliest worth remembering, and a description of
        each phase. `backfill` is a folder of old daily logs. Raises InvalidInput for a folder without any."""
        notes = [note for note in self._index.notes(self._wanted(), limit=1_000_000) if not is_channel(note.project)]
        read = len(self._read)
        said = [*self._said_in(notes), *(self._said_in_old_logs(backfill) if backfill else ())]
        is_new = len(self._read) - read
        staged = [
            Said(date.fromisoformat(day), facts["sources"][0], facts["text"], facts["kind"])
            for facts in known.values()
            if facts["status"] == "short-term"
            for day in facts["days"]
        ]
        self._likeness = Likeness({one.text for one in said}, self._vector)
        groups = Groups([*said, *staged, *self._forgotten()], self._likeness)
        newer = [note for note in notes if note.kind in PROMOTABLE]
        said_now = list(groups.recurring())
        holding = [one for one in said_now if not self._is_contradicted(one, newer)]
        over, said_again = {one.text for one in said if one.forgets}, set[str]()
        for number, group in enumerate(groups.groups):
            (over if number in groups.over else said_again).update(one.text for one in group)
        self._over = (over - said_again) | {one.text for one in said_now if one not in holding}
        found = self._recalled(notes, holding)
        seen = (
            f"{counted(len({one.day for one in said}), 'day')} of logs with {counted(len(said), 'line')}"
            f" ({counted(is_new, 'file')} new or changed)"
            f"; {counted(len(groups.groups), 'subject')}, {len(groups.groups) - len(holding)} replaced or forgotten"
        )
        return sorted(found, key=lambda one: -one.score), seen

    def find_orders(self) -> Iterator[Proposal]:
        """Yield the notes that every session should start with, or no longer."""
        used, now, provenance = self._uses.read(), self._clock(), self._vault.provenance
        for note in self._index.notes(self._wanted(), limit=1_000_000):
            is_loaded, use = note.always_load and provenance.is_standing_order(note), used.get(note.id, NoteUse())
            may_be = note.id in used and note.kind in ORDERS and provenance.vouches(note.path, note.id)
            body = self._body(note) if (is_loaded or may_be) and self._applies(note) else ""
            if body and (found := find_change(note, body, use, now, is_loaded=is_loaded)):
                yield found

    def find_how_tos(self) -> Iterator[Proposal]:
        """Return what several fixes, lessons and sessions did in the same way."""
        notes = self._index.notes(replace(self._wanted(), kinds=FIXES | {"session"}), MOST_FIXES)
        found = [note for note in reversed(notes) if self._applies(note) and not is_channel(note.project)]
        return find_how_tos([(note, self._body(note)) for note in found], self._likeness)

    def is_over(self, facts: Facts) -> bool:
        """Return whether a proposal, or a line or entry that it quotes, was replaced or forgotten, or a note of it is
        superseded, contested, expired or already as proposed."""
        for named in facts.get("notes", ()):
            notes = [one for one in self._index.note_by_id(named) if self._applies(one)]
            if all(one.always_load is facts.get("always_load") for one in notes):
                return True
        if entry := facts.get("entry"):
            memory = self._vault.find(self._vault.layout.memory)
            return not (memory and memory.has_entry(entry))
        quoted = [facts.get("text"), *(wording.partition(": ")[2] for wording in facts.get("wordings", ()))]
        return not self._over.isdisjoint(quoted)

    def _wanted(self) -> Filters:
        states = frozenset({NoteState.ACTIVE, NoteState.SUMMARY})
        return Filters(states, now=self._clock(), private=self._private, foreign=False)

    def _applies(self, note: NoteRecord) -> bool:
        is_outdated = self._conflicts.newer_of(note.id) or self._conflicts.contested.remark_on(note.id)
        return self._wanted().admits(note) and not is_outdated

    def is_known(self, text: str, known: Iterable[str]) -> bool:
        """Return whether a known statement has the same subject, and this isn't a newer state of it."""
        pairs = (self._likeness.compare(other, text) for other in known)
        return any(one.says_the_same or (one.has_one_subject and not one.is_newer_state) for one in pairs)

    def _is_contradicted(self, one: Recurrence, notes: Iterable[NoteRecord]) -> bool:
        """Return whether a newer note states something else."""
        words, last = content_words(one.text), date.fromisoformat(one.days[-1])
        for note in notes:
            is_newer = note.date and note.date.date() >= last and len(words & content_words(note.title)) > 1
            if is_newer and self._likeness.compare(one.text, self._body(note)).other_value:
                return True
        return False

    def _said_in(self, notes: Iterable[NoteRecord]) -> Iterator[Said]:
        for note in notes:
            give_way()
            written = note.created.date() if note.created and note.kind == "session" else None
            if day := logs.is_log_path(note.path) or written:
                key = note.path, note.etag, self._model.at_hand is None
                if key not in self._read:
                    with suppress(McpMemoryError):  # the note was just moved or removed
                        file = self._vault.read(note.path)
                        marks = {**file.record.meta, "private_entries": private_entries(file, self._private)}
                        said = self._judged(day, note.path, file.text, marks)
                        self._read[key] = list(said)
                yield from self._read.get(key, ())

    def _judged(self, day: date, source: str, text: str, marks: Mapping[str, Any]) -> Iterator[Said]:
        model = SentenceModel(embedder) if (embedder := self._model.at_hand) else None
        for one in find_lines(text, marks, model):
            yield Said(day, source, *one)

    def _forgotten(self) -> Iterator[Said]:
        """Yield forgotten notes and entries of MEMORY.md, with the day on which they were forgotten."""
        notes = self._index.notes(Filters(frozenset({NoteState.DELETED})), limit=1_000_000)
        for stone in self._vault.list_tombstones([note.path for note in notes]):
            kept, text = stone.kept, "" if stone.entry else self._body(stone)
            if kept and not kept["replaced_by"] and stone.client != DREAM:  # which moves entries into notes
                text = kept["text"].lstrip("-*+ ").partition(" ([")[0].strip()
            if stone.at and text:
                yield Said(stone.at.astimezone(self._vault.layout.tz).date(), stone.path, text, "", forgets=True)

    def _recalled(self, notes: Iterable[NoteRecord], said: Sequence[Recurrence]) -> list[Recurrence]:
        """Return the statements with the questions that a note of the same subject answered, and other notes that were
        used on enough days."""
        used, found = self._uses.read(), [*said]
        for note in notes:
            use = used.get(note.id)
            if use is None or len(use.used_days) < MIN_DAYS or note.kind not in PROMOTABLE:
                continue
            if note.always_load or not self._applies(note):
                continue
            body = self._body(note)
            if not body or (note.kind in ORDERS and len(body) > MOST_CHARS):
                continue
            text = statement_of(body)
            days, times = tuple(day.isoformat() for day in use.used_days), use.total.found + use.total.told
            same = next((at for at, one in enumerate(found) if self.is_known(text, [one.text])), None)
            if same is not None:
                found[same] = found[same]._replace(recalled=times, questions=use.questions)
                continue
            text = f"{note.project}: {text}" if note.project and note.kind != "preference" else text
            if len(text) <= MOST_CHARS:
                found.append(Recurrence(text, note.kind, days, (note.path,), times, use.questions, (note.id,)))
        return found

    def _body(self, note: NoteRecord | Tombstone) -> str:
        """Return a note's text; empty if it was just moved or removed."""
        with suppress(McpMemoryError):
            return self._vault.read(note.path).body.strip()
        return ""

    def _vector(self, text: str) -> Vector | None:
        give_way()
        if text not in self._vectors and (embedder := self._model.at_hand):
            with suppress(McpMemoryError):
                self._vectors[text] = np.asarray(embedder.embed_query(text))
        return self._vectors.get(text)

    def _said_in_old_logs(self, folder: str) -> Iterator[Said]:
        names = [Path(within, name) for within, _, files in walk(Path(folder).expanduser()) for name in files]
        old_logs = [one for one in sorted(names) if logs.is_log_path(f"memory/{one.name}")]
        if not old_logs:
            raise InvalidInput(f"{folder} has no daily logs", hint="they are named like 2026-11-21.md")
        for old in old_logs:
            text, day = old.read_text("utf-8", "replace"), date.fromisoformat(old.name[:10])
            marks = privacy.marks(f"memory/{old.name}", text, frontmatter.parse(text), is_curated=False)
            if "private" not in marks:
                yield from self._judged(day, old.resolve().as_uri(), text, marks)
