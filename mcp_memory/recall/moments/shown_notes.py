"""Judge after each turn whether the agent used the notes that it got unasked.

A note is used if the agent recalls it, or repeats a value of it in an answer or a call, in that turn or the next. A
value is a number, name, path or command that the session hasn't said before. A note goes unused only if its use could
have been seen: not without such a value, not at a session's start, and only if it is a fact (see `may_go_unused`). In
doubt it is neither used nor unused."""

import re
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from operator import sub

from mcp_memory.capture.readers.message import TranscriptMessage
from mcp_memory.capture.session_reader import CapturedMessages
from mcp_memory.models import NoteId, Passage
from mcp_memory.recall.excerpts import shortened
from mcp_memory.recall.moments import WORDS
from mcp_memory.recall.moments.lasting_statements import is_rule
from mcp_memory.recall.moments.persons_orders import is_curated
from mcp_memory.runtime.lru_cache import LruCache
from mcp_memory.runtime.threads import in_thread
from mcp_memory.text.language.denials import ADVISES_AGAINST
from mcp_memory.text.language.facts import facts
from mcp_memory.text.language.sentences import quick_sentences
from mcp_memory.text.language.terms import content_words, words
from mcp_memory.text.language.word_lists import function_words, language_of
from mcp_memory.usage.note_use import ShowingOutcome
from mcp_memory.usage.use_counter import UseCounter

MOST_SESSIONS, MOST_SHOWINGS = 30, 20
MOST_HEARD, MOST_CHARS, MOST_NOTE_CHARS = 500, 50_000, 2000
"""The most messages of a session that are compared, the latest, and the most characters of a message and a note."""

MOST_BYTES = 3_000_000
"""The longest transcript that is searched for what the agent has read, which takes some 400 ms."""

TURNS = 2
"""The turns in which a note counts as used; an agent may act only after a question."""

PROMPT_WORDS = 12
"""The first words by which the transcript's prompt is recognized."""

_YEAR = re.compile(r"(?:19|20)\d\d")
_COMMON = re.compile(r"\d{1,2}|[A-Z]+|[A-Z][a-z]+")
"""Matches the values that occur by chance: short numbers, and names such as UTC."""

_CORRECTS, _DOUBTED, _OBLIGES = (re.compile(WORDS[name], re.I | re.M) for name in ("correcting", "doubted", "obliging"))

_Change = tuple[NoteId, str | None, ShowingOutcome]
"""An amount to add to the counts of a note in a project."""


@dataclass
class _ShownNote:
    """A passage that a session got. `values`: those that the agent has from nowhere else, with the other words of their
    lines. `used_in`: the turn in which it was used, or 0. `read_in`: the turn in which the transcript was searched, or
    0."""

    passage: Passage
    can_go_unused: bool = False
    values: dict[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])
    counted: tuple[int, int] = 0, 0
    used_in: int = 0
    read_in: int = 0


@dataclass
class _Showing:
    """The notes that a session got at once in a `text`, with a `prompt` or at its start. `turn`: 0 until the transcript
    has the prompt."""

    project: str | None
    prompt: list[str] | None
    text: str
    notes: list[_ShownNote]
    turn: int = 0


@dataclass
class _Session:
    showings: list[_Showing] = field(default_factory=list[_Showing])
    heard: deque[str] = field(default_factory=lambda: deque(maxlen=MOST_HEARD))


class ShownNotes:
    """The notes that running sessions got, kept in memory. A session is named `client/id`."""

    def __init__(self, uses: UseCounter) -> None:
        self._uses = uses
        self._sessions: LruCache[str, _Session] = LruCache(MOST_SESSIONS)
        self._lock = threading.Lock()

    def add(self, session: str, project: str | None, prompt: str | None, text: str, shown: Iterable[Passage]) -> None:
        """Add the passages that are in the text, or of which it has the titles, that a session got with a prompt, or at
        its start. Takes microseconds."""
        notes = {passage.shown_id: _ShownNote(passage) for passage in shown}
        begun = None if prompt is None else words(prompt)[:PROMPT_WORDS]
        showings = self._session(session).showings
        showings.append(_Showing(project, begun, text, [*notes.values()]))
        del showings[:-MOST_SHOWINGS]

    async def hear(self, captured: CapturedMessages) -> None:
        """Judge by the new messages of a session."""
        await in_thread(self._hear, captured, what="judging what was shown")

    def forget(self) -> None:
        """Forget all showings, so that nothing of an erased note stays here or is counted later."""
        with self._lock:
            self._sessions.clear()

    def _session(self, session: str) -> _Session:
        return self._sessions.get(session) or self._sessions.store(session, _Session())

    def _hear(self, captured: CapturedMessages) -> None:
        with self._lock:
            session = self._session(f"{captured.client}/{captured.session}")
            changes = [
                change
                for message in captured.messages
                for change in _changes(session, message, partial(captured.material, message.offset))
            ]
            if changes:
                self._uses.count(changes)


def may_go_unused(passage: Passage) -> bool:
    """Return whether a use of the passage would be seen. An order, a rule or a duty may leave no trace when the agent
    follows it."""
    text = "\n".join((*passage.chunk.headings, passage.chunk.text))
    is_told = passage.note.kind in {"fact", "note"} and not is_curated(passage)
    return is_told and not (is_rule(text) or ADVISES_AGAINST.search(text) or _OBLIGES.search(text))


def odds_of(passage: Passage, outcomes: Mapping[str, ShowingOutcome]) -> float:
    """Return the factor of the odds that the passage helps, below 1 only if it may go unused."""
    odds = outcomes.get(passage.shown_id, ShowingOutcome()).odds
    return odds if odds >= 1 or may_go_unused(passage) else 1.0


def _changes(session: _Session, message: TranscriptMessage, material: Callable[[], Iterable[str]]) -> Iterator[_Change]:
    by_agent, heard = message.text, ""
    if message.is_persons:
        by_agent, heard = "", by_agent
        yield from _begin_turn(session, heard)
    elif message.is_call:
        given = (text for named in message.arguments.items() for text in named)
        by_agent, heard = "\n".join(given), by_agent
    doubted = "\n".join(match[0] for match in _DOUBTED.finditer(by_agent)).lower()
    stated, heard = _DOUBTED.sub("\n", by_agent), f"{doubted}\n{heard}".lower()
    for showing in session.showings:
        for note in showing.notes:
            if by_agent and showing.turn:
                is_clear = message.offset < MOST_BYTES and _unheard(note, doubted) == note.values
                note.can_go_unused &= is_clear
                if is_clear and not note.used_in and _is_used(note, stated, showing.turn, material):
                    note.used_in = showing.turn
                yield from _count(note, showing.project)
            note.values = _unheard(note, heard)
    session.heard.append(f"{by_agent[:MOST_CHARS]}\n{heard[:MOST_CHARS]}")


def _count(note: _ShownNote, project: str | None) -> Iterator[_Change]:
    """Yield what has changed since the note was last counted."""
    before, is_used = note.counted, note.used_in > 0
    note.counted = ShowingOutcome(is_used or note.can_go_unused, is_used)
    if note.counted != before:
        change = ShowingOutcome(*map(sub, note.counted, before))
        yield note.passage.shown_id, project, change


def _unheard(note: _ShownNote, text: str) -> dict[str, frozenset[str]]:
    """Return the values of the note that a text in small letters doesn't have."""
    return {value: line for value, line in note.values.items() if not _has(text, value.lower())}


def _begin_turn(session: _Session, prompt: str) -> Iterator[_Change]:
    """Begin a turn. If its prompt corrects the turn before, the uses in that turn are taken back."""
    begun, heard = words(prompt)[:PROMPT_WORDS], "\n".join([*session.heard, prompt]).lower()
    for showing in session.showings:
        if not showing.turn and showing.prompt not in (None, begun):
            continue
        for note in showing.notes:
            if not showing.turn:
                _read_values(note, showing, heard)
            elif note.used_in == showing.turn and _CORRECTS.match(prompt):
                note.used_in, note.values = 0, {}
                yield from _count(note, showing.project)
        showing.turn += 1
    session.showings = [one for one in session.showings if one.prompt is None or one.turn <= TURNS]


def _read_values(note: _ShownNote, showing: _Showing, heard: str) -> None:
    """Find the values that the session was shown and hasn't heard, which is in small letters."""
    for line in note.passage.chunk.text[:MOST_NOTE_CHARS].splitlines():
        for value in _values(line) if not line.startswith(("#", ">")) else ():
            if _has(showing.text, value) and not _has(heard, value.lower()):
                note.values[value] = content_words(line) - function_words(words(line)) - content_words(value)
    note.can_go_unused = showing.prompt is not None and bool(note.values) and may_go_unused(note.passage)


def _values(text: str) -> Iterator[str]:
    """Yield the numbers, identifiers and names. German nouns have the form of names, so only abbreviations are
    names in German."""
    is_german = language_of(words(text)) == "de"
    for fact in facts(text):
        is_number = fact.kind == "number" and not _YEAR.fullmatch(fact.key)
        is_name = fact.kind == "name" and (fact.key.isupper() or not is_german)
        if is_number or is_name or fact.kind == "identifier":
            yield fact.key


def _is_used(note: _ShownNote, text: str, turn: int, material: Callable[[], Iterable[str]]) -> bool:
    """Return whether the agent names the note or a value of it, which isn't in the `material` that the agent has read.
    A common value must be beside another word of its line."""
    passage = note.passage
    if passage.note.path in text or ((name := shortened(passage.shown_id)) and name in text):
        return True
    said = {
        value
        for sentence in quick_sentences(text)
        for value, line in note.values.items()
        if _has(sentence, value) and (not _COMMON.fullmatch(value) or line & content_words(sentence))
    }
    if not said or note.read_in == turn:  # the material is long, so it isn't read again
        note.can_go_unused &= not said
        return False
    note.read_in = turn
    for read in material():
        note.values = _unheard(note, read.lower())
        if said.isdisjoint(note.values):
            return False
    return True


def _has(text: str, value: str) -> bool:
    return value in text and re.search(rf"(?<![\w.])(?<!\d[-:]){re.escape(value)}(?!\w|[.,:-]\d)", text) is not None
