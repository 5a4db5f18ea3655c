"""Remind of commitments: the day before, on the day, at the hour, the day after, and while overdue."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, tzinfo
from typing import Literal, get_args

from mcp_memory.index.base import Index
from mcp_memory.models import Filters, NoteId, NoteRecord, NoteState
from mcp_memory.recall.moments import WORDS
from mcp_memory.recall.moments.follow_ups import asks
from mcp_memory.recall.seen_passages import mark_of
from mcp_memory.search.filters import asks_for_commitments
from mcp_memory.text.dates.due import DueDate, due_from
from mcp_memory.text.escape_invisible import in_line, in_quotes
from mcp_memory.text.language.sentences import beginning, quick_sentences, statement_of
from mcp_memory.text.language.terms import telling_words
from mcp_memory.text.text_hash import text_hash
from mcp_memory.vault.ownership import is_persons

MOST_TOLD, MOST_ANSWERED = 3, 6
"""The most lines unasked, also the most titles of overdue commitments in one line, and the most lines of an answer;
`mcp-memory due` has all."""

TEXT_CHARS, SHORT_CHARS, ID_CHARS = 200, 70, 6
"""The most characters of a task, of a task among several that are shown unasked, and of an id."""

MOST_ASKED_WORDS = 20
"""The most words of a question about what is due; a longer sentence tells something."""

_CLAUSE_END = re.compile(r"[,;:] ")
_OWING = re.compile(WORDS["owing"], re.IGNORECASE)


Stage = Literal["due now", "due today", "due tomorrow", "was due yesterday", "overdue", "this week", "later", "done"]
"""The stages of a commitment, the nearest first. Each session sees it once in each stage."""


AHEAD: frozenset[Stage] = frozenset({"due now", "due today", "was due yesterday"})
"""The stages shown with a prompt; a session's start also shows tomorrow's and overdue commitments."""

TOLD: frozenset[Stage] = frozenset({*AHEAD, "due tomorrow", "overdue"})
_SAID = {"due today", "due tomorrow"}


@dataclass(frozen=True)
class Commitment:
    note: NoteRecord
    due: DueDate
    stage: Stage
    text: str
    """The task."""
    mark: str
    """The mark of the passage with the text."""
    remark: str = ""
    """The correction that waits for review, in a remark."""


@dataclass(frozen=True)
class Reminder:
    """A line, its notes, and the marks by which a session knows that the line has been shown."""

    line: str
    notes: tuple[NoteId, ...]
    marks: tuple[str, ...]


def commitments(
    index: Index,
    wanted: Filters,
    now: datetime,
    zone: tzinfo,
    remark_on: Callable[[NoteId], str] = lambda _: "",
    *,
    done: bool = False,
) -> list[Commitment]:
    """Return the open commitments, the notes with a `due`, or the `done` ones; the earliest first, with remarks. Reads
    the index: for a worker thread."""
    states = frozenset({NoteState.ARCHIVED if done else NoteState.ACTIVE})
    wanted = replace(wanted, states=states, due=True, foreign=False, now=None if done else wanted.now)
    local = now.astimezone(zone)
    found = [
        Commitment(note, due, "done" if done else _stage(due, local), *_text_of(note, index), remark_on(note.id))
        for note in index.notes(wanted)
        if (due := due_from(note.meta["due"], zone)) and (not done or "done_at" in note.meta)
    ]
    return sorted(found, key=lambda one: (one.due.moment(zone), one.note.path))


def reminders(
    found: Sequence[Commitment], stages: frozenset[Stage], session: str, seen: frozenset[str]
) -> list[Reminder]:
    """Return the reminders for a session: a line for each commitment, the nearest first, and one line for all that are
    overdue. Skip commitments that the session has seen. Skip commitments made in the session until the hour or the day
    after."""
    new = [
        one
        for one in found
        if one.stage in stages
        and _mark(one) not in seen
        and not (one.stage in _SAID and one.note.session and f"/{session}".endswith(f"/{one.note.session}"))
    ]
    new.sort(key=lambda one: get_args(Stage).index(one.stage))
    if len(new) > 1:
        new = [
            one if len(one.text) <= SHORT_CHARS else replace(one, text=beginning(one.text, SHORT_CHARS), mark="")
            for one in new
        ]
    overdue = [one for one in new if one.stage == "overdue"]
    lines = [_reminder(_line(one), one) for one in new if one not in overdue]
    if overdue:
        latest = overdue[-MOST_TOLD:]
        named = ", ".join(f"{_title(one)} (since {one.due.day})" for one in latest)
        more = f" and {len(overdue) - MOST_TOLD} more" if latest != overdue else ""
        line = f"Overdue, see mcp-memory due: {named}{more}"
        lines[MOST_TOLD - 1 :] = [Reminder(line, tuple(one.note.id for one in latest), tuple(map(_mark, overdue)))]
    return lines[:MOST_TOLD]


def question_about_due(prompt: str) -> str | None:
    """Return the sentence or clause of a prompt that asks what its author promised, or what is due; None if none
    does."""
    for sentence in quick_sentences(prompt):
        for part in (sentence, *_CLAUSE_END.split(sentence)):
            is_short = len(part.split()) <= MOST_ASKED_WORDS
            if is_short and asks(part) and (_OWING.search(part) or asks_for_commitments(part)):
                return part
    return None


def asked_about(found: Sequence[Commitment], question: str) -> list[Reminder]:
    """Return a line for each commitment that shares a word with the question, such as a name, or else for all."""
    asked = telling_words(question)
    named = [one for one in found if asked & telling_words(one.text)]
    return [_reminder(due_line(one), one) for one in named or found][:MOST_ANSWERED]


def due_line(one: Commitment) -> str:
    """Return when a commitment is due, whatever the day, and its title."""
    return f"{one.due} ({one.stage}): {_title(one)}"


def _stage(due: DueDate, now: datetime) -> Stage:
    days = (due.day - now.date()).days
    if days < -1:
        return "overdue"
    if days in {-1, 1}:
        return "due tomorrow" if days == 1 else "was due yesterday"
    if days:
        return "this week" if days <= 6 - now.weekday() else "later"
    return "due now" if due.at and due.at <= now.time() else "due today"


def _reminder(line: str, one: Commitment) -> Reminder:
    return Reminder(line, (one.note.id,), (_mark(one), one.mark))


def _line(one: Commitment) -> str:
    if one.stage == "was due yesterday":
        return f"Was due yesterday, ask whether it is done: {_title(one)}; if so, memory_forget(id, done=true)"
    at = f", {one.due.at:%H:%M}" if one.due.at else ""
    return f"{one.stage.capitalize()}{at}: {_title(one)}"


def _title(one: Commitment) -> str:
    title = f"{in_quotes(one.text)} [{one.note.id[-ID_CHARS:]}]"
    if not is_persons(one.note):
        title += f" ({'promised' if 'voice' in one.note.meta else 'noted'} by {in_line(str(one.note.source))})"
    return f"{title} ({one.remark})" if one.remark else title


def _text_of(note: NoteRecord, index: Index) -> tuple[str, str]:
    """Return the note's statement, or its title if that says something else, and the mark of a passage that the text
    repeats."""
    for passage in index.passages(note.path)[:1]:
        whole = statement_of(passage.chunk.text)
        if whole.replace("`", "").casefold().startswith(note.title.rstrip(" …").casefold()):
            text = beginning(whole, TEXT_CHARS)
            return text, mark_of(passage) if text == whole else ""
    return note.title, ""


def _mark(one: Commitment) -> str:
    """Return a mark of 16 hexadecimal digits; a postponed commitment gets another one, so that it is shown again."""
    return text_hash(f"{one.note.id}\0{one.stage}\0{one.due}", 16)
