"""Recognize a session's own words, so that no session is shown unasked what it said or stored itself. The
words come from its transcript. Without a readable transcript, only the heads of the notes name the session that stored
them."""

import logging
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from mcp_memory.capture.readers.message import Role
from mcp_memory.capture.session_tail import SessionTail
from mcp_memory.capture.transcript_paths import TranscriptPath, TranscriptPaths
from mcp_memory.comparison.change_words import EXCEPT
from mcp_memory.errors import McpMemoryError
from mcp_memory.models import Passage
from mcp_memory.recall.moments.persons_orders import is_curated
from mcp_memory.runtime.lru_cache import LruCache
from mcp_memory.text.language.denials import ADVISES_AGAINST, DENIES, FORBIDS
from mcp_memory.text.language.facts import FactKind, facts
from mcp_memory.text.language.terms import STOP_WORDS, words
from mcp_memory.text.language.word_overlap import REPEATED
from mcp_memory.vault.ownership import PERSONS_SOURCES
from mcp_memory.vault.succession.entry_marks import note_of

MOST_SESSIONS = 30
MOST_WORDS = 100_000
"""The most words of a session, the latest, at 8 bytes each: some thousand messages."""

MOST_PLACES = 200
"""The most places, the latest, that are compared with a text."""

MOST_CHARS = 20_000
"""The most characters of a message that are read; longer messages are pasted documents."""

FEWEST_WORDS, WORD_CHARS = 3, 3
"""The fewest telling words by which a passage is recognized, and their fewest letters."""

_SENTENCE_BITS, _POSITION_BITS = 20, 12
_LAST_POSITION = (1 << _POSITION_BITS) - 1
_HASH = (1 << 31) - 1
_SENTENCE_END = re.compile(r"(?<=[.!?])\s|\n")
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
"""A date that a note states in place of the words that were said, such as "tomorrow"."""
_DENIES = (ADVISES_AGAINST, DENIES, EXCEPT)
_BEHIND_CHARS = 60

log = logging.getLogger(__name__)


def _no_places() -> NDArray[np.uint64]:
    return np.empty(0, np.uint64)


@dataclass(frozen=True, slots=True, eq=False)
class SaidSentences:
    """The telling words of sentences, immutable. Each place of a word is one number: the word's hash, the sentence, and
    the position in the message, in order."""

    places: NDArray[np.uint64] = field(default_factory=_no_places)
    count: int = 0

    def with_messages(self, messages: Iterable[Sequence[str]]) -> "SaidSentences":
        """Add messages, each as its sentences. Of all, the latest `MOST_WORDS` words are kept."""
        new, sentence = list[int](), self.count
        for message in messages:
            position = 0
            sentence += 1  # the last sentence of a message and the first of the next aren't neighbors
            for text in message:
                sentence += 1
                for word in _telling(text):
                    position = min(position + 1, _LAST_POSITION)
                    new.append(_key(word, sentence) | position)
                new += [_key(denied, sentence) for denied in _denied(text)]
        if not new:
            return self
        places = np.sort(np.concatenate([self.places, np.array(new, np.uint64)]))
        if len(places) > MOST_WORDS:
            numbers = places >> _POSITION_BITS & (1 << _SENTENCE_BITS) - 1
            places = places[numbers > np.sort(numbers)[-MOST_WORDS]]
        return SaidSentences(places, sentence)

    def say(self, text: str) -> bool:
        """Return whether a sentence, or two neighboring ones, say a text. They need most of its telling words, with the
        first and last, and all of its figures, names and identifiers. None may be replaced or denied otherwise."""
        telling = list(dict.fromkeys(_telling(text)))
        if len(telling) < FEWEST_WORDS:
            return False
        needed = {telling[0], telling[-1], *_exact(text)}
        common, *others = sorted((self._sentences(word) for word in needed), key=len)
        common = _pairs(common)
        for sentences in others:
            if not len(common):
                return False
            common = np.intersect1d(common, _pairs(sentences), assume_unique=True)
        denied = set(_denied(text))
        return any(self._says(pair, telling, denied) for pair in reversed(common[-MOST_PLACES:].tolist()))

    def _says(self, pair: int, telling: Sequence[str], denied: set[str]) -> bool:
        found = [self._positions(word, pair) for word in telling]
        if sum(map(bool, found)) < REPEATED * len(telling):
            return False
        if any(bool(self._positions(no, pair)) != (no in denied) for no in map(_not, ["", *telling])):
            return False
        return not any(
            not here and {at + 2 for at in before} & set(after)  # another word stands in its place
            for before, here, after in zip(found, found[1:], found[2:], strict=False)
        )

    def _sentences(self, word: str) -> NDArray[np.uint64]:
        """Return the numbers of the sentences that have the word, once for each of its places."""
        first, end = np.searchsorted(self.places, np.array([_key(word, 0), _key(word, 0) + (1 << 32)], np.uint64))
        numbers = self.places[first:end] >> _POSITION_BITS & (1 << _SENTENCE_BITS) - 1
        return numbers.astype(np.uint64, copy=False)

    def _positions(self, word: str, pair: int) -> list[int]:
        bounds = np.array([_key(word, pair - 1), _key(word, pair + 1)], np.uint64)
        first, end = np.searchsorted(self.places, bounds)
        return (self.places[first:end] & _LAST_POSITION).tolist() if first < end else []


@dataclass(slots=True)
class _Session:
    tail: SessionTail | None = None
    said: SaidSentences = field(default_factory=SaidSentences)
    stored: SaidSentences = field(default_factory=SaidSentences)
    emptied_at: datetime | None = None
    answer: str = ""
    reading: threading.Lock = field(default_factory=threading.Lock)


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

    def known_to(self, session: str, prompt: str = "") -> Callable[[Passage], bool]:
        """Read what the session said since the last time, and return the test whether it stored a passage, or has said
        it, with the prompt at the latest. An order, or what forbids something, is known only to the session that stored
        it: to speak of what it forbids comes before doing it. The test reads nothing."""
        known = self._session(session)
        _read(known)
        said = known.said.with_messages([_stated(prompt)])
        stored, emptied_at, answers = known.stored, known.emptied_at, dict[int, bool]()

        def is_own(passage: Passage) -> bool:
            if passage.chunk_id not in answers:
                text = _DAY.sub("", passage.chunk.text)
                forbids = is_curated(passage) or FORBIDS.search(text)
                was_said = _states(stored, text) or (not forbids and said.say(text))
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


def _pairs(sentences: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the pairs of neighbors with one of these sentences, each by the number of its second one, in order."""
    return np.unique(np.concatenate([sentences, sentences + 1]))


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
    return ["" if one.rstrip().endswith("?") else one for one in _SENTENCE_END.split(text[:MOST_CHARS])]


def _telling(text: str) -> list[str]:
    return [word for word in words(text) if (len(word) >= WORD_CHARS and word not in STOP_WORDS) or _is_figure(word)]


def _is_figure(word: str) -> bool:
    return any(map(str.isdigit, word))


def _exact(text: str) -> Iterator[str]:
    """Yield the words of figures, names and identifiers, which can't be said in other words."""
    yield from filter(_is_figure, words(text))
    for fact in facts(text):
        if fact.kind in {FactKind.NAME, FactKind.IDENTIFIER}:
            yield from _telling(fact.key)


def _denied(text: str) -> Iterator[str]:
    """Yield a mark for each word that denies or forbids, with the telling word behind it."""
    for pattern in _DENIES:
        for match in pattern.finditer(text):
            behind = _telling(text[match.end() : match.end() + _BEHIND_CHARS])
            yield _not(behind[0] if behind else "")


def _not(word: str) -> str:
    return f"not {word}"


def _key(word: str, sentence: int) -> int:
    """Return the least place of a word in a sentence."""
    return (hash(word) & _HASH) << 32 | sentence << _POSITION_BITS
