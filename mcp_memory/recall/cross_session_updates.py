"""Track what other sessions stored since a session began, so that the session learns who wrote its passages. Updates
are ordered by a counter, not a clock. They cover the running daemon only: earlier notes are recalled like everything
else."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from mcp_memory.models import NoteId, Passage
from mcp_memory.runtime.lru_cache import LruCache
from mcp_memory.text.escape_invisible import in_line, in_quotes
from mcp_memory.text.markdown import logs

MOST_STORED = 1000
MOST_SESSIONS = 1000

MOST_TOLD = 3
"""The most notes in one line; further notes are among the passages anyway."""

ROOM_TOKENS = 100
"""The tokens of a prompt's budget that are reserved if there may be such a line."""

TITLE_CHARS = 80
SESSION_CHARS = 24


@dataclass(frozen=True, slots=True)
class StoredNote:
    """A note that was just stored. `source`: the client that wrote it, by its token; `session`: its session, if the
    client named it."""

    number: int
    source: str | None
    session: str | None

    def is_by(self, session: str) -> bool:
        """Return whether this session, `client/id`, may have written the note. If the same client wrote it without
        naming a session, it may be this session."""
        if self.session:
            return session == f"{self.source}/{self.session}" or (not self.source and session.endswith(self.session))
        return not self.source or session.startswith(f"{self.source}/")

    @property
    def author(self) -> str:
        session = _cut(self.session or "", SESSION_CHARS)
        return ", session ".join(filter(None, (self.source or "another client", session)))


@dataclass(slots=True)
class _Reader:
    began: int
    seen: set[NoteId] = field(default_factory=set[NoteId])


class CrossSessionUpdates:
    """The updates of all sessions; only for the event loop. A session is named `client/id`."""

    def __init__(self) -> None:
        self._count = 0
        self._stored: deque[tuple[NoteId, StoredNote]] = deque(maxlen=MOST_STORED)
        self._readers: LruCache[str, _Reader] = LruCache(MOST_SESSIONS)

    def add(self, note: NoteId, source: str | None, session: str | None) -> None:
        """Record a note or log entry that was just stored."""
        self._count += 1
        self._stored.append((note, StoredNote(self._count, source, session)))

    def begin(self, session: str) -> None:
        """Begin a session. Notes stored so far are not news to it."""
        self._readers.store(session, _Reader(self._count))

    def unseen_by(self, session: str) -> dict[NoteId, StoredNote]:
        """Return the notes that others stored since the session began and that it hasn't seen. An unknown session
        begins now."""
        reader = self._readers.get(session) or self._readers.store(session, _Reader(self._count))
        return {
            note: stored
            for note, stored in self._stored
            if stored.number > reader.began and note not in reader.seen and not stored.is_by(session)
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


def _named(passage: Passage, stored: StoredNote) -> str:
    note = passage.note
    title = logs.without_author(passage.chunk.headings[-1]) if note.is_log and passage.chunk.headings else note.title
    day = f"{note.day}, " if note.day else ""
    return f"{in_quotes(_cut(title, TITLE_CHARS))} ({day}by {in_line(stored.author)})"


def _cut(text: str, chars: int) -> str:
    return text if len(text) <= chars else f"{text[:chars]}…"
