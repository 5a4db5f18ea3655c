"""Knows which notes a waiting proposal, or a later note, contests. Agents don't get them unasked: they are probably
outdated."""

from collections.abc import Mapping, Sequence
from datetime import timedelta

from mcp_memory.comparison.other_value import clipped
from mcp_memory.index.base import Index
from mcp_memory.indexing.writer import IndexWriter
from mcp_memory.models import Clock, Filters, NoteId, NotePath, NoteRecord, NoteState, PrivateMarks, is_closed
from mcp_memory.text.escape_invisible import in_quotes
from mcp_memory.text.language.sentences import statement_of

CONTESTS = "contests"
"""The property of a proposal or later note that names the note."""
MOST_PROPOSALS = 10_000
DOUBTED = timedelta(days=30)
"""The time after which a proposal that you haven't decided about contests nothing."""
_LATER = frozenset({NoteState.INBOX, NoteState.ACTIVE})


class ContestedNotes:
    """The contested notes. Thread-safe: the result is replaced as a whole."""

    def __init__(self, index: Index, writer: IndexWriter, clock: Clock) -> None:
        self._index, self._clock = index, clock
        self._remarks: Mapping[NoteId, str] = {}
        self._proposals: Mapping[NoteId, NoteRecord] = {}
        self.is_due = True
        """Whether the next call reads the index."""
        writer.listeners.append(self._notes_changed)

    def remark_on(self, note_id: NoteId) -> str:
        """Return a remark for a reader of a contested note; empty for other notes. Raises IndexUnavailable."""
        return self.remarks().get(note_id, "")

    def remarks(self) -> Mapping[NoteId, str]:
        """Return the remark on each contested note. Raises IndexUnavailable."""
        self.proposals()
        return self._remarks

    def proposals(self) -> Mapping[NoteId, NoteRecord]:
        """Return what contests each contested note. Raises IndexUnavailable."""
        if self.is_due:
            self.is_due = False
            latest = Filters(states=_LATER, since=self._clock() - DOUBTED)
            waiting = self._index.notes(latest, limit=MOST_PROPOSALS)
            self._proposals = {}
            for one in waiting:
                for name in map(NoteId, one.meta.get(CONTESTS, ())):
                    notes, made = self._index.note_by_id(name), one.date
                    if not any(note.updated and made and note.updated > made for note in notes):
                        self._proposals[name] = one
            self._remarks = {name: self._remark(one) for name, one in self._proposals.items()}
        return self._proposals

    def _remark(self, proposal: NoteRecord) -> str:
        may_be_told = Filters(states=_LATER, private=PrivateMarks()).admits(proposal)
        passages = self._index.passages(proposal.path)[:1] if may_be_told and not is_closed(proposal.project) else ()
        words = [in_quotes(clipped(statement_of(passage.chunk.text))) for passage in passages]
        since = "waits for review" if proposal.state is NoteState.INBOX else "was said since"
        return f"perhaps outdated: {words[0] if words else 'a correction'} {since}"

    def _notes_changed(self, _: Sequence[NotePath]) -> None:
        self.is_due = True
