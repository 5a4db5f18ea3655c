"""The digest: what became active at once, told when a session starts, and how to take it back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

from mcp_memory.extraction.candidate_log import AT_ONCE, CandidateLog, CandidateOutcome
from mcp_memory.index.base import Index
from mcp_memory.models import Filters, NoteId, NoteRecord, NoteState

MOST_LINES = 8

NAMED_S = 86_400.0
"""For a day each session that starts is told, and later the first one: what a hook was answered may have come too late
to be put before anybody, and who works with several agents sees it with each."""


class Digest:
    """Looks at the index and writes the register: for worker threads."""

    def __init__(self, index: Index, register: CandidateLog, clock: Callable[[], datetime]) -> None:
        self._index = index
        self._register = register
        self._clock = clock

    def announcements(self, project: str | None) -> list[NoteRecord]:
        """Of what a session of this project may see, at most MOST_LINES notes; the others come next time."""
        filters = Filters(project=project, now=self._clock())
        since = self._clock().timestamp() - NAMED_S
        # What nobody was told of comes first, and of the rest the newest: there is room for a few.
        known = sorted(
            self._register.with_outcomes(AT_ONCE), key=lambda each: (each.fate is CandidateOutcome.TOLD, -each.at)
        )
        fresh = [each.id for each in known if each.fate is CandidateOutcome.ACTIVE or each.at > since]
        return [note for each in fresh for note in self._index.note_by_id(each) if filters.admits(note)][:MOST_LINES]

    def mark_announced(self, ids: Sequence[NoteId]) -> None:
        """Raises StorageFailed."""
        for each in ids:
            if (known := self._register.find(each)) and known.fate is CandidateOutcome.ACTIVE:
                self._register.note(each, CandidateOutcome.TOLD, known.session, known.at)

    def waiting(self) -> int:
        """How many candidates wait for a person."""
        return len(self._index.notes(Filters(states=frozenset({NoteState.INBOX})), limit=10_000))
