"""Shows the newer of two contradicting notes first, and says beside each what held before or holds now."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial

from mcp_memory.comparison.other_value import clipped
from mcp_memory.comparison.values import HISTORY
from mcp_memory.index.base import Index
from mcp_memory.indexing.conflict_scan import ConflictScan
from mcp_memory.models import Clock, Conflict, Filters, NoteId, NotePath, Passage
from mcp_memory.recall.excerpts import named
from mcp_memory.runtime.threads import in_thread
from mcp_memory.text.escape_invisible import in_quotes
from mcp_memory.text.language.sentences import statement_of
from mcp_memory.text.language.terms import content_words, coverage
from mcp_memory.vault.draft import past
from mcp_memory.vault.succession.entry_marks import admits, note_of

LOOK_S = 2.0
FEWEST_MORE = 5
"""The minimum number of content words of an older note that the newer note lacks, besides the contradicted words."""
MOST_ORDERED_CHARS = 400
"""The longest passage that is a statement about one subject."""
LEAST_ASKED = 0.5
"""The share of the query's words that notes about the same subject have in common with it."""
UNDATED = "0001-01-01"
"""The day of a note without a date, or with one in the future."""


@dataclass(frozen=True)
class CurrentValues:
    """The choice between contradicting notes, until a person or an agent decides."""

    index: Index
    conflicts: ConflictScan
    clock: Clock
    remarks: list[Callable[[NoteId], str]] = field(default_factory=list[Callable[[NoteId], str]])
    """Functions from a note to a remark for the reader, such as what became of the code that it names; empty without a
    remark. They only read values in memory."""

    async def replace_older(self, passages: Sequence[Passage], filters: Filters, query: str) -> list[Passage]:
        """Return the passages in their order, the newer of those about one subject first, and each older statement
        replaced by the newest statement that contradicts it. Both are shown for a query about an earlier state, or if
        the older statement has more content. An older statement stays if the newer statement is from after
        `filters.until`. Raises IndexUnavailable."""
        ordered = _newest_first(passages, content_words(query), self.clock())
        is_known = not self.conflicts.contested.is_due  # otherwise remarks read the index
        if is_known and not any(self.conflicts.concerns(passage.shown_id) for passage in ordered):
            return list(map(self._with_remark, ordered))
        current = partial(self._current, filters=filters, keeps_older=HISTORY.search(query) is not None)

        def look() -> list[Passage]:
            found = dict[int, Passage]()
            for passage in ordered:
                for one in current(passage):
                    found.setdefault(one.chunk_id, one)
            return list(map(self._with_remark, found.values()))

        return await in_thread(look, deadline_s=LOOK_S, what="comparing notes")

    async def marks(self, ids: Sequence[NoteId], filters: Filters) -> Mapping[NoteId, str]:
        """Return, for each of these notes that is outdated or contested, since when, and what holds now. Raises
        IndexUnavailable."""
        found = [conflict for one in ids if (conflict := self.conflicts.newer_of(one))]

        def look() -> dict[NoteId, str]:
            newest = ((conflict, self._newest(conflict, filters)) for conflict in found)
            contested = {one: remark for one in ids if (remark := self.conflicts.contested.remark_on(one))}
            return contested | {conflict.older: _outdated(conflict, newer[0]) for conflict, newer in newest if newer}

        return await in_thread(look, deadline_s=LOOK_S, what="comparing notes")

    def note_now(self, path: NotePath, filters: Filters) -> tuple[NotePath, str]:
        """Return the note to show in place of this note, and a remark about it for the reader. Reads the index."""
        note = self.index.note(path)
        if note is None or note.is_log or not self.conflicts.concerns(note.id):
            return path, self.remark_on(note.id) if note else ""
        passages = self.index.passages(path)[:1]
        current = partial(self._current, filters=filters, keeps_older=False)
        now = next((one for passage in passages for one in current(passage)), None)
        if now is None:
            return path, self.remark_on(note.id)
        if now.note.is_log:  # a single entry can't take the place of a note
            return path, f"outdated: now {in_quotes(clipped(statement_of(now.chunk.text)))}"
        return now.note.path, now.remark

    def remark_on(self, note_id: NoteId) -> str:
        """Return the remark about a note for a reader."""
        remarks = (self.conflicts.contested.remark_on, *self.remarks)
        return "; ".join(filter(None, (remark(note_id) for remark in remarks)))

    def _with_remark(self, passage: Passage) -> Passage:
        status = note_of(passage).status(self.clock())
        remarks = ("" if status == "active" else status, passage.remark, self.remark_on(passage.shown_id))
        return replace(passage, remark="; ".join(filter(None, remarks)))

    def _current(self, passage: Passage, filters: Filters, *, keeps_older: bool) -> Iterator[Passage]:
        conflict = self.conflicts.newer_of(passage.shown_id)
        newest = self._newest(conflict, filters) if conflict else []
        for one in newest or [passage]:
            older = self.conflicts.older_than(one.shown_id)
            remark = self._remark(older, filters) if older else one.remark
            yield replace(one, remark=remark)
        if conflict and newest and (keeps_older or _says_more(passage, conflict, newest[0])):
            yield replace(passage, remark=_outdated(conflict, newest[0]))

    def _newest(self, conflict: Conflict, filters: Filters) -> list[Passage]:
        if filters.until and conflict.since >= filters.until:  # a log's note has its day
            return []
        found = self._told(conflict.newer, conflict.newer_path, filters)
        telling = [one for one in found if conflict.after and conflict.after in one.chunk.text]
        return (telling or found)[:1]

    def _remark(self, conflict: Conflict, filters: Filters) -> str:
        """Return a remark on the older statement; empty if it may not be shown: forgotten since, private, or muted."""
        if not self._told(conflict.older, conflict.older_path, filters):
            return ""
        day = conflict.newer_at[:10]
        return f"was {named(conflict.before.rstrip('.'))}{'' if day == UNDATED else f' until {day}'}"

    def _told(self, note_id: NoteId, path: NotePath, filters: Filters) -> list[Passage]:
        told = replace(filters, path_prefix=None, kinds=None, tags=None, since=None, until=None, foreign=None)
        return [one for one in self.index.passages(path) if one.shown_id == note_id and admits(told, one)]


def _newest_first(passages: Sequence[Passage], asked: frozenset[str], now: datetime) -> list[Passage]:
    """Return the passages with those about one subject in the order of their dates, in the places that they have. They
    are short statements of one project with the same words of the query, at least half of them; imported text has its
    place."""
    alike, dates = defaultdict[object, list[int]](list), dict[int, datetime]()
    for place, passage in enumerate(passages):
        note, text = passage.note, passage.chunk.text
        date = past(note.date, now)
        if date is None or note.is_log or note.is_foreign or len(text) > MOST_ORDERED_CHARS:
            continue
        common = asked & content_words(f"{note.title} {text}")
        if common and coverage(asked, common) >= LEAST_ASKED:
            alike[note.project, common].append(place)
            dates[place] = date
    ordered = list(passages)
    for places in alike.values():
        newest = sorted(places, key=lambda place: (dates[place], -place), reverse=True)
        for place, source in zip(places, newest, strict=True):
            ordered[place] = passages[source]
    return ordered


def _says_more(older: Passage, conflict: Conflict, newer: Passage) -> bool:
    """Return whether the older passage has `FEWEST_MORE` content words that the newer passage lacks, besides the
    contradicted words."""
    told = content_words(f"{newer.note.title} {newer.chunk.text} {conflict.before}")
    return len(content_words(older.chunk.text) - told) >= FEWEST_MORE


def _outdated(conflict: Conflict, newer: Passage) -> str:
    before = f"{named(conflict.before)} " if conflict.after else ""
    now = named(conflict.after) if conflict.after else in_quotes(clipped(statement_of(newer.chunk.text)))
    day = conflict.newer_at[:10]
    return f"{before}outdated{'' if day == UNDATED else f' since {day}'}: now {now}"
