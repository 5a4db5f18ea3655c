"""Replace the older of two contradicting notes by the newer one, with a remark on the earlier value."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial

from mcp_memory.client.credentials import PERSON
from mcp_memory.comparison.change_words import HISTORY
from mcp_memory.index.base import Index
from mcp_memory.indexing.conflict_scan import ConflictScan
from mcp_memory.models import Conflict, Filters, NoteId, NotePath, Passage
from mcp_memory.recall.excerpts import named, shortened
from mcp_memory.runtime.threads import in_thread
from mcp_memory.text.language.terms import content_words
from mcp_memory.vault.succession.entry_marks import admits

LOOK_S = 2.0
FEWEST_MORE = 5
"""The minimum number of content words of an older note that the newer note lacks, besides the contradicted words."""
UNDATED = "0001-01-01"
"""The day of a note without a date, or with one in the future."""


@dataclass(frozen=True, slots=True)
class CurrentValues:
    """The choice between contradicting notes, until a person or an agent decides."""

    index: Index
    conflicts: ConflictScan
    remarks: list[Callable[[NoteId], str]] = field(default_factory=list[Callable[[NoteId], str]])
    """Functions from a note to a remark for the reader, such as what became of the code that it names; empty without a
    remark. They only read values in memory."""

    async def replace_older(
        self, passages: Sequence[Passage], filters: Filters, query: str, *, is_prompt: bool
    ) -> list[Passage]:
        """Return the passages in their order, each older statement replaced by the newest statement that contradicts
        it. A query about an earlier state gets both. A question, but not a prompt, also gets both if the older
        statement has more content. An older statement stays if the newer statement is of another project or from after
        `filters.until`. Raises IndexUnavailable."""
        if not any(self.conflicts.concerns(passage.shown_id) for passage in passages):
            return list(map(self._with_remark, passages))
        keeps_older = HISTORY.search(query) is not None
        current = partial(self._current, filters=filters, keeps_older=keeps_older, is_prompt=is_prompt)

        def look() -> list[Passage]:
            found = {one.chunk_id: one for passage in passages for one in current(passage)}
            return list(map(self._with_remark, found.values()))

        return await in_thread(look, deadline_s=LOOK_S, what="comparing notes")

    def note_now(self, path: NotePath, filters: Filters) -> tuple[NotePath, str]:
        """Return the note to show in place of this note, and a remark about it for the reader. Reads the index."""
        note = self.index.note(path)
        if note is None or note.is_log or not self.conflicts.concerns(note.id):
            return path, self.remark_on(note.id) if note else ""
        passages = self.index.passages(path)[:1]
        current = partial(self._current, filters=filters, keeps_older=False, is_prompt=True)
        now = next((one for passage in passages for one in current(passage)), None)
        if now is None:
            return path, self.remark_on(note.id)
        if now.note.is_log:  # a single entry can't take the place of a note
            return path, f"outdated, not confirmed: {shortened(now.shown_id) or now.shown_id}"
        return now.note.path, now.remark

    def remark_on(self, note_id: NoteId) -> str:
        """Return the remark about a note for a reader."""
        return "; ".join(filter(None, (remark(note_id) for remark in self.remarks)))

    def _with_remark(self, passage: Passage) -> Passage:
        remark = self.remark_on(passage.shown_id)
        return replace(passage, remark="; ".join(filter(None, (passage.remark, remark)))) if remark else passage

    def _current(self, passage: Passage, filters: Filters, *, keeps_older: bool, is_prompt: bool) -> Iterator[Passage]:
        conflict = self.conflicts.newer_of(passage.shown_id)
        newest = self._newest(conflict, filters) if conflict else []
        says_more = not is_prompt and bool(conflict and newest and _says_more(passage, conflict, newest[0]))
        if conflict and newest and (keeps_older or says_more):
            what = f"{named(conflict.before.rstrip('.'))} " if says_more else ""
            yield replace(passage, remark=f"{what}{_outdated(conflict)}")
        for one in newest or [passage]:
            older = self.conflicts.older_than(one.shown_id)
            remark = self._remark(older, one, filters) if older else one.remark
            further = self.conflicts.newer_of(one.shown_id) if newest else None
            if further and self._newest(further, filters):
                remark = "; ".join(filter(None, (remark, _outdated(further))))
            yield replace(one, remark=remark)

    def _newest(self, conflict: Conflict, filters: Filters) -> list[Passage]:
        if filters.until and datetime.fromisoformat(conflict.newer_at) >= filters.until:  # a log's note has its day
            return []
        found = self._told(conflict.newer, conflict.newer_path, filters)
        telling = [one for one in found if conflict.after and conflict.after in one.chunk.text]
        return (telling or found)[:1]

    def _remark(self, conflict: Conflict, newer: Passage, filters: Filters) -> str:
        """Return a remark on the older statement; empty if it may not be shown: forgotten since, private, or muted."""
        if not self._told(conflict.older, conflict.older_path, filters):
            return ""
        day = conflict.newer_at[:10]
        until = "" if day == UNDATED else f", until {day}"
        source = "the user" if newer.note.source == PERSON else newer.note.source
        by = f" by {source}" if source else ""
        return f"before: {named(conflict.before.rstrip('.'))}{until}{by}; not confirmed"

    def _told(self, note_id: NoteId, path: NotePath, filters: Filters) -> list[Passage]:
        told = replace(filters, path_prefix=None, kinds=None, tags=None, since=None, until=None, foreign=None)
        return [one for one in self.index.passages(path) if one.shown_id == note_id and admits(told, one)]


def _says_more(older: Passage, conflict: Conflict, newer: Passage) -> bool:
    """Return whether the older passage has `FEWEST_MORE` content words that the newer passage lacks, besides the
    contradicted words."""
    told = content_words(f"{newer.note.title} {newer.chunk.text} {conflict.before}")
    return len(content_words(older.chunk.text) - told) >= FEWEST_MORE


def _outdated(conflict: Conflict) -> str:
    newer = shortened(conflict.newer) or conflict.newer
    return f"outdated since {conflict.newer_at[:10]}, not confirmed: {newer}"
