"""Judge after each turn whether the agent used the notes that it got unasked.

A note is used if the agent recalls it, or if a value of it (a number, name, path or command) that the session hadn't
said before occurs in the agent's answer or calls, in that turn or the next. It goes unused only if its use could have
been seen: not without such a value, not at a session's start, and never if it is an order, a preference, a commitment
or a prohibition, which may leave no trace when the agent follows it."""

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial

from mcp_memory.capture.readers.message import Role, TranscriptMessage
from mcp_memory.capture.session_reader import CapturedMessages
from mcp_memory.models import NoteId, Passage
from mcp_memory.recall.excerpts import shortened
from mcp_memory.recall.moments import WORD_SETS
from mcp_memory.recall.moments.lasting_statements import PREFERENCE, is_rule
from mcp_memory.recall.moments.persons_orders import is_curated
from mcp_memory.runtime.lru_cache import LruCache
from mcp_memory.runtime.threads import in_thread
from mcp_memory.text.language.denials import ADVISES_AGAINST
from mcp_memory.text.language.facts import FactKind, facts
from mcp_memory.text.language.sentences import quick_sentences, statement_of
from mcp_memory.text.language.terms import content_words, words
from mcp_memory.text.language.word_lists import function_words, language_of
from mcp_memory.usage.note_use import ShowingOutcome
from mcp_memory.usage.use_counter import UseCounter
from mcp_memory.vault.config import COMMITMENT

MOST_SESSIONS, MOST_SHOWINGS = 30, 20
MOST_HEARD, MOST_CHARS, MOST_NOTE_CHARS = 500, 4000, 2000
"""The most messages of a session that are compared, the latest, and the most characters of a message and a note."""

TURNS = 2
"""The turns in which a note counts as used; an agent may act only after a question."""

PROMPT_WORDS = 12
"""The first words by which the transcript's prompt is recognized."""

_YEAR = re.compile(r"(?:19|20)\d\d")
_COMMON = re.compile(r"\d{1,2}|[A-Z]+|[A-Z][a-z]+")
"""Matches the values that occur by chance: short numbers, and names such as UTC."""

_REPLACED = "old_string"
"""The argument of an edit that repeats the file."""

_Change = tuple[NoteId, str | None, ShowingOutcome]
"""What is to be added to the counts of a note in a project."""


@dataclass
class _ShownNote:
    """`values`: the values that only this note can have told the agent so far, with the other words of their lines;
    `used_in`: the turn, 0 if unused."""

    passage: Passage
    is_named: bool
    can_go_unused: bool = False
    values: dict[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])
    is_counted: bool = False
    used_in: int = 0


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

    def add(
        self, session: str, project: str | None, prompt: str | None, text: str, shown: Iterable[Passage],
        named: Iterable[Passage],
    ) -> None:  # fmt: skip
        """Add the passages in the text that a session got with a prompt, or at its start, and those of which it got the
        titles. Takes microseconds."""
        notes = {passage.shown_id: _ShownNote(passage, is_named=True) for passage in named}
        notes |= {passage.shown_id: _ShownNote(passage, is_named=False) for passage in shown}
        begun = None if prompt is None else words(prompt)[:PROMPT_WORDS]
        showings = self._session(session).showings
        showings.append(_Showing(project, begun, text, [*notes.values()]))
        del showings[:-MOST_SHOWINGS]

    async def hear(self, captured: CapturedMessages) -> None:
        """Judge by the new messages of a session."""
        await in_thread(self._hear, captured, what="judging what was shown")

    def _session(self, session: str) -> _Session:
        return self._sessions.get(session) or self._sessions.store(session, _Session())

    def _hear(self, captured: CapturedMessages) -> None:
        session = self._session(f"{captured.client}/{captured.session}")
        changes = [
            change
            for message in captured.messages
            for change in _changes(session, message, partial(captured.material, message.offset))
        ]
        if changes:
            self._uses.count(changes)


def _changes(session: _Session, message: TranscriptMessage, material: Callable[[], Iterable[str]]) -> Iterator[_Change]:
    by_agent, by_others = message.turn.text, ""
    if message.role is Role.USER:
        by_agent, by_others = "", by_agent
        yield from _begin_turn(session, by_others)
    elif message.role is Role.TOOL:
        arguments = {**message.arguments}
        by_others = f"{arguments.pop(_REPLACED, '')}\n{by_agent}"
        by_agent = "\n".join(arguments.values())
    by_others = by_others.lower()
    for showing in session.showings:
        for note in showing.notes if showing.turn else ():
            is_used = bool(by_agent) and not note.used_in and _is_used(note, by_agent, material)
            is_first = bool(by_agent) and not note.is_counted and (is_used or note.can_go_unused)
            if is_used or is_first:
                yield note.passage.shown_id, showing.project, ShowingOutcome(int(is_first), int(is_used))
            note.is_counted = note.is_counted or is_first
            note.used_in = showing.turn if is_used else note.used_in
            note.values = {value: line for value, line in note.values.items() if not _has(by_others, value.lower())}
    session.heard.append(f"{by_agent[:MOST_CHARS]}\n{by_others[:MOST_CHARS]}")


def _begin_turn(session: _Session, prompt: str) -> Iterator[_Change]:
    """Begin a turn. If its prompt corrects the turn before, the uses in that turn are taken back."""
    said = words(prompt)
    for showing in session.showings:
        begins = showing.prompt in (None, said[:PROMPT_WORDS])
        if not (showing.turn or begins):
            continue
        heard = "" if showing.turn else "\n".join([*session.heard, prompt]).lower()
        for note in showing.notes:
            if not showing.turn:
                _read_values(note, showing, heard)
            elif note.used_in == showing.turn and said and said[0] in WORD_SETS["correcting"]:
                yield note.passage.shown_id, showing.project, ShowingOutcome(0, -1)
        showing.turn += 1
    session.showings = [one for one in session.showings if one.prompt is None or one.turn <= TURNS]


def _read_values(note: _ShownNote, showing: _Showing, heard: str) -> None:
    """Find the values that the session was shown and hasn't heard, which is in small letters."""
    for line in note.passage.chunk.text[:MOST_NOTE_CHARS].splitlines():
        for value in _values(line) if not line.startswith(("#", ">")) else ():
            if _has(showing.text, value) and not _has(heard, value.lower()):
                note.values[value] = content_words(line) - function_words(words(line)) - content_words(value)
    statement, kind = statement_of(note.passage.chunk.text), note.passage.note.kind
    follows = kind in {PREFERENCE, COMMITMENT} or is_curated(note.passage)
    follows = follows or is_rule(statement) or ADVISES_AGAINST.search(statement)
    note.can_go_unused = showing.prompt is not None and not follows and (note.is_named or bool(note.values))


def _values(text: str) -> Iterator[str]:
    """Yield the numbers, identifiers and names. German nouns have the form of names, so only abbreviations are
    names in German."""
    is_german = language_of(words(text)) == "de"
    for fact in facts(text):
        is_number = fact.kind is FactKind.NUMBER and not _YEAR.fullmatch(fact.key)
        is_name = fact.kind is FactKind.NAME and (fact.key.isupper() or not is_german)
        if is_number or is_name or fact.kind is FactKind.IDENTIFIER:
            yield fact.key


def _is_used(note: _ShownNote, text: str, material: Callable[[], Iterable[str]]) -> bool:
    """Return whether the agent names the note or has one of its values that isn't in the `material` that it has read. A
    common value must be beside another word of its line."""
    passage = note.passage
    if passage.note.path in text or ((name := shortened(passage.shown_id)) and name in text):
        return True
    if found := {value for value in note.values if _has(text, value)}:
        found -= {value for read in material() for value in found if _has(read.lower(), value.lower())}
    if not all(map(_COMMON.fullmatch, found)):
        return True
    return any(
        _has(sentence, value) and note.values[value] & content_words(sentence)
        for sentence in quick_sentences(text)
        for value in found
    )


def _has(text: str, value: str) -> bool:
    return value in text and re.search(rf"(?<![\w.])(?<!\d[-:]){re.escape(value)}(?!\w|[.,:-]\d)", text) is not None
