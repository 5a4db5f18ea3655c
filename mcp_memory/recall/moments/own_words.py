"""Recognize a session's own words, so that no session is shown unasked what it said or stored itself. The
words come from its transcript. Without a readable transcript, only the heads of the notes name the session that stored
them."""

import logging
import re
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, field
from datetime import datetime
from sys import intern
from typing import NamedTuple

from mcp_memory.capture.readers.message import Role
from mcp_memory.capture.session_reader import SessionTail
from mcp_memory.capture.transcript_paths import TranscriptPath, TranscriptPaths
from mcp_memory.comparison.values import EXCEPT
from mcp_memory.errors import McpMemoryError
from mcp_memory.models import Clock, Passage
from mcp_memory.recall.moments.persons_orders import is_curated
from mcp_memory.runtime.lru_cache import LruCache
from mcp_memory.text.language.denials import ADVISES_AGAINST, DENIES, FORBIDS
from mcp_memory.text.language.facts import facts
from mcp_memory.text.language.sentences import quick_sentences
from mcp_memory.text.language.terms import REPEATED, words
from mcp_memory.text.language.word_lists import STOP_WORDS
from mcp_memory.vault.ownership import PERSONS_SOURCES
from mcp_memory.vault.succession.entry_marks import note_of

MOST_SESSIONS = 30
MOST_SENTENCES = 10_000
"""The most sentences of a session; beyond them, the older half is dropped."""

MOST_PLACES = 500
"""The most places of a text's rarest word, the latest, that are compared with the text."""

MOST_CHARS = 20_000
"""The most characters of a message that are read; longer messages are pasted documents."""

FEWEST_WORDS, WORD_CHARS = 3, 3
"""The fewest telling words by which a passage is recognized, and their fewest letters."""

_DAY = re.compile(r"\d{4}-\d\d-\d\d")
"""A date that a note states in place of the words that were said, such as "tomorrow"."""
_DENIES = (ADVISES_AGAINST, DENIES, EXCEPT)
_BEHIND_CHARS = 60

log = logging.getLogger(__name__)


class SaidSentence(NamedTuple):
    """The telling words of a sentence, in order, and the marks of what it denies."""

    words: Sequence[str]
    denied: Set[str]


class SaidSentences:
    """The sentences of a session. They are added by one thread, while others may ask."""

    def __init__(self, sentences: Iterable[SaidSentence] = ()) -> None:
        self._sentences: list[SaidSentence] = []
        self._places = defaultdict[str, list[int]](list)
        for sentence in sentences:
            self._add(sentence)

    def with_messages(self, messages: Iterable[Sequence[str]]) -> "SaidSentences":
        """Add messages, each as its sentences. Return the same sentences, or the latest if there are too many."""
        for message in messages:
            self._add(SaidSentence((), frozenset()))  # messages aren't neighbors
            for text in message:
                self._add(SaidSentence(tuple(map(intern, _telling(text))), frozenset(_denied(text))))
        if len(self._sentences) <= MOST_SENTENCES:
            return self
        return SaidSentences(self._sentences[-MOST_SENTENCES // 2 :])

    def _add(self, sentence: SaidSentence) -> None:
        for word in {*sentence.words}:
            self._places[word].append(len(self._sentences))
        self._sentences.append(sentence)

    def say(self, text: str) -> bool:
        """Return whether a sentence, or two neighboring ones, say a text. They need most of its telling words, with the
        first and last, and all of its figures, names and identifiers. None may be replaced or denied otherwise."""
        telling = list(dict.fromkeys(_telling(text)))
        if len(telling) < FEWEST_WORDS:
            return False
        needed = {telling[0], telling[-1], *_exact(text)}
        rarest = min((self._places.get(word, []) for word in needed), key=len)
        latest = dict.fromkeys(place + step for place in rarest[: -MOST_PLACES - 1 : -1] for step in (1, 0))
        denied = {*_denied(text)}
        return any(self._says(place, telling, needed, denied) for place in latest)

    def _says(self, place: int, telling: Sequence[str], needed: Set[str], denied: Set[str]) -> bool:
        """Return whether the sentence at this place, with the one before it, says a text."""
        pair = self._sentences[max(0, place - 1) : place + 1]
        words = [word for sentence in pair for word in sentence.words]
        known = {*words}
        if not needed <= known or sum(word in known for word in telling) < REPEATED * len(telling):
            return False
        denials = set[str]().union(*(sentence.denied for sentence in pair))
        if (denials ^ denied) & {*map(_not, ["", *telling])}:
            return False
        gaps = {*zip(words, words[2:], strict=False)}
        return not any(
            word not in known and (before, after) in gaps  # another word stands in its place
            for before, word, after in zip(telling, telling[1:], telling[2:], strict=False)
        )


@dataclass
class _Session:
    tail: SessionTail | None = None
    said: SaidSentences = field(default_factory=SaidSentences)
    stored: SaidSentences = field(default_factory=SaidSentences)
    emptied_at: datetime | None = None
    answer: str = ""
    reading: threading.Lock = field(default_factory=threading.Lock)


class OwnWords:
    """The words of running sessions. Thread-safe. A session is named `client/id`."""

    def __init__(self, paths: TranscriptPaths, clock: Clock) -> None:
        self._paths, self._clock = paths, clock
        self._lock = threading.Lock()
        self._sessions: LruCache[str, _Session] = LruCache(MOST_SESSIONS)

    def follow(self, session: str, path: TranscriptPath) -> None:
        """Remember the transcript of a session, without reading it."""
        known = self._session(session)
        if known.tail is None or known.tail.path != path:
            known.tail = SessionTail(self._paths, path)

    def known_to(self, session: str, prompt: str = "") -> Callable[[Passage], bool]:
        """Read what the session said since the last time, and return the test whether it stored a passage, or has said
        it, with the prompt at the latest. An order, or what forbids something, is known only to the session that stored
        it: to speak of what it forbids comes before doing it. The test reads nothing."""
        known = self._session(session)
        _read(known)
        said, asking = known.said, SaidSentences().with_messages([_stated(prompt)])
        stored, emptied_at, answers = known.stored, known.emptied_at, dict[int, bool]()

        def is_own(passage: Passage) -> bool:
            if passage.chunk_id not in answers:
                text = _DAY.sub("", passage.chunk.text)
                forbids = is_curated(passage) or FORBIDS.search(text)
                was_said = _states(stored, text) or (not forbids and (said.say(text) or asking.say(text)))
                answers[passage.chunk_id] = _was_stored_by(session, passage, emptied_at) or was_said
            return answers[passage.chunk_id]

        return is_own

    def answer_of(self, session: str) -> str:
        """Return the latest message of the agent; empty if none was read."""
        return self._session(session).answer

    def forget(self, session: str, *, ended: bool) -> None:
        """Forget what the session said: its context was emptied, or it `ended`. If it is resumed, its transcript is
        read again."""
        tail = self._session(session).tail
        if tail is not None and not ended:
            tail = SessionTail(self._paths, tail.path)  # another thread may be reading the old one
            try:
                tail.skip()
            except McpMemoryError as error:
                log.info("a session's transcript can't be read: %s", error.code)
        self._sessions.store(session, _Session() if ended else _Session(tail, emptied_at=self._clock()))

    def _session(self, session: str) -> _Session:
        with self._lock:
            return self._sessions.get(session) or self._sessions.store(session, _Session())


def _read(known: _Session) -> None:
    """Read what is new in the transcript, unless another thread is just reading it."""
    if known.tail is None or not known.reading.acquire(blocking=False):
        return
    said, stored, answer = list[list[str]](), list[list[str]](), known.answer
    try:
        for role, text in known.tail.read():
            (stored if role is Role.TOOL else said).append(_stated(text))
            answer = text if role is Role.ASSISTANT else answer
    except McpMemoryError as error:
        log.info("a session's transcript can't be read: %s", error.code)
    finally:
        known.said, known.stored = known.said.with_messages(said), known.stored.with_messages(stored)
        known.answer = answer
        known.reading.release()


def _states(stored: SaidSentences, text: str) -> bool:
    """Return whether what was stored says a text, or each of its sentences. A sentence that is too short to be
    recognized may be missing, unless it forbids something."""
    told = [one for one in _stated(text) if len(set(_telling(one))) >= FEWEST_WORDS or FORBIDS.search(one)]
    return stored.say(text) or (bool(told) and all(map(stored.say, told)))


def _was_stored_by(session: str, passage: Passage, emptied_at: datetime | None) -> bool:
    """Return whether the note's head names this session, and it has neither changed nor left the context since."""
    note = note_of(passage)
    is_here = emptied_at is None or (note.created is not None and note.created >= emptied_at)
    is_own = bool(note.session) and session.partition("/")[2] == note.session
    is_own = is_own and note.source not in PERSONS_SOURCES  # a command of the person isn't in the agent's context
    return is_own and is_here and note.updated in (None, note.created)


def _stated(text: str) -> list[str]:
    """Return the sentences of a message; a question states nothing."""
    return ["" if one.rstrip().endswith("?") else one for one in quick_sentences(text[:MOST_CHARS])]


def _telling(text: str) -> list[str]:
    return [word for word in words(text) if (len(word) >= WORD_CHARS and word not in STOP_WORDS) or _is_figure(word)]


def _is_figure(word: str) -> bool:
    return any(map(str.isdigit, word))


def _exact(text: str) -> Iterator[str]:
    """Yield the words of figures, names and identifiers, which can't be said in other words."""
    yield from filter(_is_figure, words(text))
    for fact in facts(text):
        if fact.kind in {"name", "identifier"}:
            yield from _telling(fact.key)


def _denied(text: str) -> Iterator[str]:
    """Yield a mark for each word that denies or forbids, with the telling word behind it."""
    for pattern in _DENIES:
        for match in pattern.finditer(text):
            behind = _telling(text[match.end() : match.end() + _BEHIND_CHARS])
            yield _not(behind[0] if behind else "")


def _not(word: str) -> str:
    return f"not {word}"
