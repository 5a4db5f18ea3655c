"""Recognize a session's own words, so that no session is shown unasked what it said or stored itself. What was said is
read from its transcript; if that can't be read, the heads of the notes name the session that stored them."""

import logging
import re
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from mcp_memory.capture.readers.message import Role
from mcp_memory.capture.session_tail import SessionTail
from mcp_memory.capture.transcript_paths import TranscriptPath, TranscriptPaths
from mcp_memory.errors import McpMemoryError
from mcp_memory.models import Passage
from mcp_memory.runtime.lru_cache import LruCache
from mcp_memory.text.language.terms import words
from mcp_memory.text.language.word_overlap import coverage
from mcp_memory.vault.succession.entry_marks import note_of

MOST_SESSIONS = 30
MOST_MESSAGES = 1000
"""The most messages of a session, the latest: some two megabytes of words."""

MOST_CHARS = 20_000
"""The most characters of a message that are read; longer messages are pasted documents."""

SAID = 0.7
"""The least share of a passage's words that one message has, if the message says the passage."""

FEWEST_WORDS, WORD_CHARS = 4, 3
"""The fewest words by which a passage is recognized, and their fewest letters."""

_SENTENCE_END = re.compile(r"(?<=[.!?])\s|\n")
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
"""A date that a note states in place of the words that were said, such as "tomorrow"."""

log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Session:
    tail: SessionTail | None = None
    said: deque[frozenset[str]] = field(default_factory=lambda: deque[frozenset[str]](maxlen=MOST_MESSAGES))
    emptied_at: datetime | None = None
    answer: str = ""


class OwnWords:
    """The words of running sessions. Thread-safe. A session is named `client/id`."""

    def __init__(self, paths: TranscriptPaths, clock: Callable[[], datetime]) -> None:
        self._paths, self._clock = paths, clock
        self._lock = threading.Lock()
        self._sessions: LruCache[str, _Session] = LruCache(MOST_SESSIONS)

    def follow(self, session: str, path: TranscriptPath) -> None:
        """Remember the transcript of a session, without reading it."""
        known = self._session(session)
        if known.tail is None or known.tail.path != path:
            known.tail = SessionTail(self._paths, path)

    def read(self, session: str) -> None:
        """Read what the session said since the last time."""
        with self._lock:
            known = self._session(session)
            try:
                for role, text in known.tail.read() if known.tail else ():
                    known.said.append(_stated(text))
                    known.answer = text if role is Role.ASSISTANT else known.answer
            except McpMemoryError as error:
                log.info("a session's transcript can't be read: %s", error.code)

    def answer_of(self, session: str) -> str:
        """Return the latest message of the agent; empty if none was read."""
        return self._session(session).answer

    def are_in(self, session: str, passage: Passage, prompt: str = "") -> bool:
        """Return whether the session stored this passage, or has said it: a message, or the prompt, states most of its
        words and all of its figures."""
        known, note = self._session(session), note_of(passage)
        is_here = known.emptied_at is None or (note.created is not None and note.created >= known.emptied_at)
        is_as_stored = note.updated in (None, note.created)
        if note.session and session.partition("/")[2] == note.session and is_here and is_as_stored:
            return True
        text = words(_DAY.sub("", passage.chunk.text))
        telling = {word for word in text if len(word) >= WORD_CHARS}
        figures = {word for word in text if any(map(str.isdigit, word))}
        with self._lock:
            messages = [*known.said, _stated(prompt)]
        return len(telling) >= FEWEST_WORDS and any(
            coverage(telling, said) >= SAID and figures <= said for said in messages
        )

    def forget(self, session: str, *, ended: bool) -> None:
        """Forget what the session said: its context was emptied, or it `ended`. If it is resumed, its transcript is
        read again."""
        tail = self._session(session).tail
        if ended or tail is None:
            self._sessions.store(session, _Session(emptied_at=None if ended else self._clock()))
            return
        with self._lock:
            self._sessions.store(session, _Session(tail, emptied_at=self._clock()))
            try:
                tail.skip()
            except McpMemoryError as error:
                log.info("a session's transcript can't be read: %s", error.code)

    def _session(self, session: str) -> _Session:
        return self._sessions.get(session) or self._sessions.store(session, _Session())


def _stated(text: str) -> frozenset[str]:
    """Return the words of a message, without its questions, which state nothing."""
    sentences = _SENTENCE_END.split(text[:MOST_CHARS])
    return frozenset(word for one in sentences if not one.rstrip().endswith("?") for word in words(one))
