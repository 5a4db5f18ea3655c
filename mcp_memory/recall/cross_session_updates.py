"""Tracks what other sessions have stored since a session began, so that it is told who wrote what it gets.

In the order of storing, no clock decides. Of the running daemon alone: what was stored before counts as known, since it
is recalled like everything else.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from mcp_memory.models import NoteId, Passage
from mcp_memory.runtime.lru_cache import LruCache
from mcp_memory.text.escape_invisible import in_line, in_quotes

MOST_STORED = 1000
MOST_SESSIONS = 1000

MOST_TOLD = 3
"""In one line; further ones are in the passages all the same."""

ROOM_TOKENS = 100
"""Of the budget of a prompt, for this line where there may be one."""

TITLE_CHARS = 80
SESSION_CHARS = 24


@dataclass(frozen=True, slots=True)
class StoredNote:
    """`source` is the client that wrote, by its token; `session` its session where it says one."""

    number: int
    source: str | None
    session: str | None

    def is_by(self, session: str) -> bool:
        """Whether this session, `client/id`, may have written it. One of the same client that does not say which of
        its sessions it is may be this one."""
        if self.session:
            return session == f"{self.source}/{self.session}" or (not self.source and session.endswith(self.session))
        return not self.source or session.startswith(f"{self.source}/")

    @property
    def author(self) -> str:
        said = self.session or ""
        short = said if len(said) <= SESSION_CHARS else f"{said[:SESSION_CHARS]}…"
        return ", session ".join(part for part in (self.source or "another client", short) if part)


@dataclass(slots=True)
class _Reader:
    began: int
    told: set[NoteId] = field(default_factory=set[NoteId])


class CrossSessionUpdates:
    """For the event loop alone. A session is named `client/id`."""

    def __init__(self) -> None:
        self._count = 0
        self._stored: deque[tuple[NoteId, StoredNote]] = deque(maxlen=MOST_STORED)
        self._readers: LruCache[str, _Reader] = LruCache(MOST_SESSIONS)

    def add(self, note: NoteId, source: str | None, session: str | None) -> None:
        """A note or log entry was stored just now."""
        self._count += 1
        self._stored.append((note, StoredNote(self._count, source, session)))

    def begin(self, session: str) -> None:
        """What has been stored so far is no news to it."""
        self._readers.store(session, _Reader(self._count))

    def unseen_by(self, session: str) -> dict[NoteId, StoredNote]:
        """What others have stored since it began and it has not been told of. One that nobody began begins now."""
        reader = self._readers.get(session) or self._readers.store(session, _Reader(self._count))
        return {
            note: stored
            for note, stored in self._stored
            if stored.number > reader.began and note not in reader.told and not stored.is_by(session)
        }

    def line(self, session: str, passages: Sequence[Passage]) -> str | None:
        """About those of these passages that are news. None where none are."""
        news = self.unseen_by(session)
        fresh: dict[NoteId, Passage] = {}
        for passage in passages:
            if passage.shown_id in news:
                fresh.setdefault(passage.shown_id, passage)
        named = [_named(passage, news[note]) for note, passage in fresh.items()][:MOST_TOLD]
        return f"New since this session began: {'; '.join(named)}." if named else None

    def mark_seen(self, session: str, passages: Sequence[Passage]) -> None:
        """None of these is news to it any more."""
        if reader := self._readers.get(session):
            reader.told.update(passage.shown_id for passage in passages)


def _named(passage: Passage, stored: StoredNote) -> str:
    note = passage.note
    title = passage.chunk.headings[-1] if note.is_log and passage.chunk.headings else note.title
    short = in_quotes(title if len(title) <= TITLE_CHARS else f"{title[:TITLE_CHARS]}…")
    when = note.updated or note.created
    day = f"{when.date().isoformat()}, " if when else ""
    return f"{short} ({day}by {in_line(stored.author)})"
