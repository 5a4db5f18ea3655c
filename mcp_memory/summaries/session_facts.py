"""Extracts from a session what was asked, replied, changed and left open, in 330 words. Pure."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from mcp_memory.capture.readers.message import Role, Transcript
from mcp_memory.capture.session_reader import CapturedMessages
from mcp_memory.models import NoteId
from mcp_memory.projects.repository_facts import name_in
from mcp_memory.recall.moments.tool_action import read_action
from mcp_memory.statements.candidate import id_of, make_title
from mcp_memory.statements.extractor import extract_candidates
from mcp_memory.statements.statement_rules import says_it_works
from mcp_memory.statements.user_sentences import user_sentences
from mcp_memory.summaries.command_runs import command_runs, outcome_of, runs_command
from mcp_memory.summaries.replies import cut, quote, replies, words_of
from mcp_memory.text.conversation.own_words import lowered
from mcp_memory.text.language.facts import facts
from mcp_memory.text.language.sentences import sentences
from mcp_memory.text.language.terms import content_words, coverage
from mcp_memory.text.language.word_tables import has_cue, read_cues
from mcp_memory.text.pluralize import counted, first_of

ASKED, REPLIES, CHANGED, LEFT_OPEN = "Asked", "Replies", "Changed", "Left open"
"""The parts of a summary. A list of decisions would repeat the replies, and might misread them."""
MOST_WORDS_IN_ALL, MOST_WORDS, MOST_SAID, MOST_POINTS, MOST_FOUND, MOST_FILES = 330, 24, 99, 4, 2, 8
"""The most words of a page's points, of a change or open point, and of a message of yours. The most changes, and open
points; findings of the assistant among the changes; files in a list."""
LEAST_QUOTED, MOST_QUOTED = 8, 60
"""The least and the most words that are quoted before a reply."""
FEW_REPLIES = 2
"""The minimum number of replies for a summary of a session without changes; the number of last replies whose promises
are open."""
LEAST_WORDS = 3
"""The minimum number of content words of the opening message, an open point, and an assistant's message that counts."""
SHARED, SHARED_SHARE = 2, 0.5
"""The minimum number of common words, and their minimum share of an open point's words, of a statement that closes it;
one word is enough for a command."""

_CUES = ("mcp_memory.summaries", "cues.toml")
_has = partial(has_cue, *_CUES)

_COMMAND = re.compile(r"`(.*)` fails: ")


class Point(NamedTuple):
    """A point of a summary. `offset` is the offset of its message, -1 for several messages. `notes` are the ids of the
    notes that were made from it. `answered` is the message that a reply answers."""

    text: str
    offset: int = -1
    notes: Sequence[NoteId] = ()
    answered: str = ""


Parts = Mapping[str, Sequence[Point]]


def find_session_facts(captured: CapturedMessages, is_forgotten: Callable[[NoteId], bool] = lambda _: False) -> Parts:
    """Return the points of each part in order. Messages of sub-agents and sentences of
    forgotten notes are skipped."""
    own = [message for message in captured.messages if message.turn.session == captured.messages[0].turn.session]
    candidates = extract_candidates(own, material=captured.material)
    made = {(one.offset, one.said): id_of(one, captured) for one in candidates}
    gone = {said for said, note in made.items() if is_forgotten(note)}
    parts: dict[str, list[Point]] = {ASKED: [], REPLIES: []}
    for message, said, answered in replies(own):
        kept = [one for one in said if (message.offset, one.text) not in gone]
        notes = [note for (offset, _), note in made.items() if offset == message.offset]
        text = cut(words_of(message.text, kept), MOST_SAID)
        if parts[ASKED] and kept:
            parts[REPLIES].append(Point(text, message.offset, notes, answered if kept == said else ""))
        elif _is_told(text):
            parts[ASKED].append(Point(text, message.offset, notes))
    opening = parts[ASKED][0].offset if parts[ASKED] else -1
    parts[CHANGED] = [*_files(own, captured.project), *list(_found(own))[-MOST_FOUND:]]
    parts[LEFT_OPEN] = [point for point in _left_open(own, opening) if (point.offset, point.text) not in gone]
    for runs in command_runs(own):
        parts[LEFT_OPEN if runs[-1].failed else CHANGED].append(Point(outcome_of(runs), runs[-1].offset))
    parts[LEFT_OPEN] = [
        one._replace(text=cut(one.text, MOST_WORDS)) for one in parts[LEFT_OPEN] if not _is_closed(one, own)
    ]
    return parts


def _found(messages: Transcript) -> Iterator[Point]:
    """Yield what the assistant found."""
    for message in messages:
        found = [one.text for one in sentences(message.text) if _has("found", one.text)]
        if message.is_assistants and found:
            yield Point(cut(max(found, key=lambda text: len(facts(text))), MOST_WORDS), message.offset)


def _left_open(messages: Transcript, opening: int) -> Iterator[Point]:
    """Yield what your last replies put off or promise, and what the assistant's last message leaves open."""
    acted = max([opening, *(one.offset for one in messages if _has("edits", one.tool) or runs_command(one))])
    said = [one for one in messages if one.is_persons and one.offset > opening]
    told = [one for one in messages if one.is_assistants and _is_told(one.text)]
    for message in (*told[-1:], *said[-FEW_REPLIES:]):
        split = user_sentences if message.is_persons else sentences
        for text in (one.text for one in split(message.text)):
            is_open = _has("owed", text) or (_has("open", text) and message.offset > acted)
            if is_open and _is_told(text) and not text.endswith("?"):
                yield Point(text, message.offset)


def _is_told(text: str) -> bool:
    return len(content_words(text)) >= LEAST_WORDS


def title_of(parts: Parts) -> str:
    """Return the beginning of the opening message as a title, without `could you`."""
    text = next(points[0].text for points in parts.values() if points)
    wish = read_cues(*_CUES)["wish"].match(lowered(text))
    return make_title(text[wish.end() if wish else 0 :] or text)


def is_worth_telling(parts: Parts) -> bool:
    said = parts[REPLIES]
    return len(said) >= FEW_REPLIES or any((parts[CHANGED], parts[LEFT_OPEN], *(one.notes for one in said)))


def choose_points(parts: Parts) -> Parts:
    """Choose the points of the page: the opening message, changes, open points, and the last replies for which there is
    room, each behind what it answers."""
    shown = {name: parts[name][:MOST_POINTS] for name in (ASKED, REPLIES, CHANGED, LEFT_OPEN)}
    said, found = list(parts[REPLIES]), list[Point]()
    left = MOST_WORDS_IN_ALL - sum(_cost(point) for name in shown if name != REPLIES for point in shown[name])
    while sum(map(_cost, said)) > left:
        del said[0]
    missing = len(parts[REPLIES]) - len(said)
    left -= sum(map(_cost, said))
    while said:
        share, one = min(MOST_QUOTED, left // len(said)), said.pop()
        before = quote(one.answered, share) if share >= LEAST_QUOTED else ""
        left -= len(before.split())
        found.append(one._replace(text=f"“{before}” → {one.text}") if before else one)
    if missing:
        found.append(Point(f"… {counted(missing, 'earlier reply', 'earlier replies')}"))
    return {**shown, REPLIES: found[::-1]}


def _cost(point: Point) -> int:
    return len(point.text.split()) + 2


def _is_closed(point: Point, messages: Transcript) -> bool:
    """Return whether a later statement says that an open point is done. That a failing command works now is only
    believed from the person."""
    command = _COMMAND.match(point.text)
    words = content_words(command[1] if command else point.text)
    believed = {Role.USER} if command else {Role.USER, Role.ASSISTANT}
    later = [one for one in messages if one.offset > point.offset and one.role in believed]
    for sentence in (sentence for message in later for sentence in user_sentences(message.text)):
        shared = words & content_words(sentence.text)
        is_about_it = len(shared) >= (1 if command else SHARED) and coverage(words, shared) >= SHARED_SHARE
        is_done = is_about_it and _has("done", sentence.text) and not _has("undone", sentence.text)
        if is_done or (command and says_it_works(sentence)):
            return True
    return False


def _files(messages: Transcript, project: str | None) -> Iterator[Point]:
    """Yield a single point that lists the files changed by tools."""
    edits = [each for each in messages if not each.failed and _has("edits", each.tool)]
    names = {
        name.rpartition(f"/{name_in(project or '')}/")[2]
        for each in edits
        for name in read_action(each.arguments, "", None).files
    }
    if names:
        yield Point(f"Files: {first_of([f'`{name}`' for name in sorted(names)], MOST_FILES)}")
