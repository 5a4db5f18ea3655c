"""Track what other sessions stored since a session began, so that the session learns who wrote its passages. Updates
are counted in the journal of changes, without a clock. They cover the running daemon only: earlier notes are recalled
like everything else."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from mcp_memory.models import NoteId, Passage
from mcp_memory.runtime.lru_cache import LruCache
from mcp_memory.text.escape_invisible import in_line, in_quotes
from mcp_memory.text.language.sentences import beginning
from mcp_memory.text.markdown import logs
from mcp_memory.vault.journals.change_journal import DISK, ChangeJournal, ChangeKind, NoteChange

MOST_SESSIONS = 1000

MOST_TOLD = 3
"""The most notes in one line; further notes are among the passages anyway."""

ROOM_TOKENS = 100
"""The tokens of a prompt's budget that are reserved if there may be such a line."""

SESSION_CHARS = 24


def is_by(change: NoteChange, session: str) -> bool:
    """Return whether this session, `client/id`, may have made the change. If the same client made it without naming a
    session, it may be this session."""
    if change.session:
        return session == f"{change.client}/{change.session}" or (
            not change.client and session.endswith(change.session)
        )
    return not change.client or session.startswith(f"{change.client}/")


@dataclass
class _Reader:
    began: int
    seen: set[NoteId] = field(default_factory=set[NoteId])


class CrossSessionUpdates:
    """The updates of all sessions; only for the event loop. A session is named `client/id`."""

    def __init__(self, changes: ChangeJournal) -> None:
        self._changes = changes
        self._readers: LruCache[str, _Reader] = LruCache(MOST_SESSIONS)

    def begin(self, session: str) -> None:
        """Begin a session. Notes stored so far are not news to it."""
        self._readers.store(session, _Reader(self._changes.count))

    def unseen_by(self, session: str) -> dict[NoteId, NoteChange]:
        """Return how others stored notes since the session began that it hasn't seen. An unknown session begins
        now."""
        reader = self._readers.get(session) or self._readers.store(session, _Reader(self._changes.count))
        return {
            NoteId(change.target): change
            for change in self._changes.since(reader.began)
            if change.kind is ChangeKind.STORED and change.client != DISK
            if change.target not in reader.seen and not is_by(change, session)
        }

    def line(self, session: str, passages: Sequence[Passage]) -> str | None:
        """Return a line about the passages that are news, or None."""
        news = self.unseen_by(session)
        fresh: dict[NoteId, Passage] = {}
        for passage in passages:
            if passage.shown_id in news:
                fresh.setdefault(passage.shown_id, passage)
        named = [_named(passage, news[note]) for note, passage in fresh.items()][:MOST_TOLD]
        return f"New since this session began: {'; '.join(named)}." if named else None

    def mark_seen(self, session: str, passages: Sequence[Passage]) -> None:
        """Record that these passages are no longer news to the session."""
        if reader := self._readers.get(session):
            reader.seen.update(passage.shown_id for passage in passages)


def _named(passage: Passage, stored: NoteChange) -> str:
    note = passage.note
    title = logs.without_author(passage.chunk.headings[-1]) if note.is_log and passage.chunk.headings else note.title
    day = f"{note.day}, " if note.day else ""
    session = f", session {stored.session[:SESSION_CHARS]}" if stored.session else ""
    author = in_line(f"{stored.client or 'another client'}{session}")
    return f"{in_quotes(beginning(title))} ({day}by {author})"
