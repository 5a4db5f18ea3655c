"""Extracts from a session what was asked, decided, changed and left open, in 200 words. Pure."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import zip_longest
from typing import NamedTuple

from mcp_memory.capture.readers.message import Role, TranscriptMessage
from mcp_memory.capture.session_reader import CapturedMessages
from mcp_memory.models import NoteId
from mcp_memory.projects.repository_facts import name_in
from mcp_memory.recall.moments.tool_action import read_action
from mcp_memory.statements.agreements import find_agreement
from mcp_memory.statements.candidate import Candidate, StatementKind, id_of, make_title
from mcp_memory.statements.cues import is_not_to_be_kept
from mcp_memory.statements.extractor import extract_candidates
from mcp_memory.statements.proposals import is_own_proposal
from mcp_memory.statements.spoken import SpokenSentence, spoken_sentences
from mcp_memory.statements.statement_rules import says_it_works
from mcp_memory.statements.user_sentences import UserSentence, assistant_sentences, user_sentences
from mcp_memory.summaries.command_runs import command_runs, outcome_of, runs_command
from mcp_memory.text.conversation.own_words import lowered
from mcp_memory.text.language.facts import facts
from mcp_memory.text.language.sentences import sentences
from mcp_memory.text.language.terms import content_words, coverage, jaccard
from mcp_memory.text.language.word_tables import has_cue, read_cues
from mcp_memory.text.pluralize import first_of

ASKED, DECIDED, CHANGED, LEFT_OPEN = "Asked", "Decided", "Changed", "Left open"
MOST_WORDS_IN_ALL, MOST_WORDS, MOST_FILES = 184, 30, 8
"""The most words of a summary's points, so that its page has 200; words of a single point; files in a list."""
LEAST_WORDS = 3
"""The minimum number of content words of a sentence that names the task, or a decision without the proposal."""
LEAST_ASKED = 3
"""The minimum number of questions for a summary of a session that only answered questions."""
SHARED, SHARED_SHARE, COMMAND_SHARE = 2, 0.6, 0.5
"""The minimum number of common words, and their minimum share of an open point's words, of a statement that closes it;
the minimum share of a failing command's words."""
SAME_POINT = 0.6
"""The share of common content words (Jaccard) from which two points are the same."""

_CUES = ("mcp_memory.summaries", "cues.toml")
_has = partial(has_cue, *_CUES)

_COMMAND = re.compile(r"`(.*)` fails: ")


class Point(NamedTuple):
    """A point of a summary. `offset` is the offset of its message, -1 for several messages. `note` is the id of the
    note that was made from the point, if any."""

    text: str
    offset: int = -1
    note: NoteId | None = None


Parts = Mapping[str, Sequence[Point]]


def find_session_facts(captured: CapturedMessages) -> Parts:
    """Return the points of each part in order, files and commands last. Messages of sub-agents are skipped."""
    own = [message for message in captured.messages if message.turn.session == captured.messages[0].turn.session]
    parts: dict[str, list[Point]] = {ASKED: [], DECIDED: [], CHANGED: [], LEFT_OPEN: []}

    def add(part: str, text: str, offset: int, note: NoteId | None = None) -> None:
        new, plain = content_words(text), text.split()
        known = [content_words(point.text) for points in parts.values() for point in points]
        if new and not any(jaccard(new, words) >= SAME_POINT or new <= words for words in known):
            short = plain if len(plain) <= MOST_WORDS else [*plain[:MOST_WORDS], "…"]
            parts[part].append(Point(" ".join(short), offset, note))

    asked = (
        one.offset for one in own if one.role is Role.USER and any(map(_is_worth_noting, user_sentences(one.turn.text)))
    )
    opening = next(asked, -1)
    acted = max([opening, *(one.offset for one in own if _has("edits", one.tool) or runs_command(one))])
    candidates = {(one.offset, one.said): one for one in extract_candidates(own, material=captured.material)}
    corrected = {(was.offset, was.said) for one in candidates.values() if (was := one.instead_of)}
    for one in _replies(own):
        if (one.message.offset, one.sentence.text) in corrected:
            continue
        stated = candidates.get((one.message.offset, one.sentence.text))
        note = id_of(stated, captured) if stated else None
        for part, text in _sorted(one, opening, acted, stated):
            add(part, text, one.message.offset, note)
    if parts[DECIDED] or parts[LEFT_OPEN]:
        parts[ASKED] = [point for point in parts[ASKED] if point.offset == opening or not point.text.endswith("?")]
    for part, text, offset in _told_by_assistant(own, acted):
        add(part, text, offset)
    parts[LEFT_OPEN] = [point for point in parts[LEFT_OPEN] if not _is_closed(point, own)]
    for points in parts.values():
        points.sort(key=lambda point: point.offset)
    parts[CHANGED] += _files(own, captured.project)
    for runs in command_runs(own):
        point = Point(outcome_of(runs), runs[-1].offset)
        if not runs[-1].failed or not _is_closed(point, own):
            parts[LEFT_OPEN if runs[-1].failed else CHANGED].append(point)
    return parts


def _told_by_assistant(messages: Sequence[TranscriptMessage], acted: int) -> Iterator[tuple[str, str, int]]:
    """Yield what the assistant found, what it noted as settled, and what its last message leaves open."""
    reply, is_last = "", True
    for message in reversed(messages):
        if message.role is Role.USER:
            reply = message.turn.text
        if message.role is not Role.ASSISTANT:
            continue
        stated = [sentence.text for sentence in sentences(message.turn.text)]
        for sentence in stated:
            if _has("restates", sentence) and not _has("changes", reply):
                yield DECIDED, sentence, message.offset
            is_open = is_last and (_is_left_open(sentence, message.offset, acted) or _has("owed", sentence))
            if is_open and not sentence.endswith("?"):
                yield LEFT_OPEN, sentence, message.offset
        if found := [sentence for sentence in stated if _has("found", sentence)]:
            yield CHANGED, max(found, key=lambda sentence: len(facts(sentence))), message.offset
        is_last = False


def title_of(parts: Parts) -> str:
    """Return the task as a title: the first sentence that asks for something by name, without `could you`."""
    asked = [point.text for point in parts[ASKED]] or [point.text for points in parts.values() for point in points]
    named = [text for text in asked if len(content_words(_without_wish(text))) >= LEAST_WORDS] or asked
    task = next((text for text in named if _has("asks_for", text)), named[0])
    return make_title(_without_wish(task) or task)


def _without_wish(text: str) -> str:
    wish = read_cues(*_CUES)["wish"].match(lowered(text))
    return text[wish.end() if wish else 0 :]


def _replies(messages: Sequence[TranscriptMessage]) -> Sequence[SpokenSentence]:
    """Return the person's sentences, each with the answer before its message, without those that a later sentence
    denies. A sentence is joined with the next words if they put it off: `Add a test. But that after the release.`"""
    answer, found, cues = "", list[SpokenSentence](), read_cues(*_CUES)
    for one in spoken_sentences(messages):
        answer = one.assistant if one.place == 0 else answer
        sentence = one.sentence
        if denial := cues["denial"].match(sentence.view):
            denied = content_words(denial["what"])
            found = [other for other in found if not denied <= content_words(other.sentence.text)]
        elif one.place and found and cues["puts_off"].match(sentence.view):
            text = f"{found.pop().sentence.text.rstrip(' .')}, {sentence.text}"
            sentence = replace(sentence, text=text, view=lowered(text))
        found.append(replace(one, sentence=sentence, assistant=answer))
    return found


def _sorted(one: SpokenSentence, opening: int, acted: int, stated: Candidate | None) -> Iterator[tuple[str, str]]:
    """Yield the parts that a sentence of the person belongs to, each with its text: none for a refusal, a musing, an
    aside or a chat. `stated`: what was made of the sentence."""
    sentence, offset = one.sentence, one.message.offset
    text, view, told = sentence.text, sentence.view, content_words(sentence.text)
    decided = stated.statement if stated and stated.outright and stated.kind is not StatementKind.FACT else ""
    is_noteworthy, cues = _is_worth_noting(sentence), read_cues(*_CUES)
    is_chat = cues["chat"].fullmatch(view.strip()) and not told & content_words(one.assistant)
    if offset <= opening or sentence.is_question:
        if is_noteworthy and offset >= opening:
            yield ASKED, text
        return
    if decided and stated and stated.instead_of:
        yield DECIDED, decided
        return
    if not told or _has("refused", view) or sentence.may_be_pasted or is_not_to_be_kept(sentence):
        return
    owed, is_musing = cues["owed"].search(view), _has("musing", view)
    if owed or _has("puts_off", view) or _is_left_open(view, offset, acted):
        head = text[: owed.start()].rstrip() if owed else ""
        if head[-1:] in {",", ";"} and not is_musing:
            yield DECIDED, head.rstrip(",;")
            text = text[len(head) :].strip()
        if len(told) > 1:
            yield LEFT_OPEN, _with_proposal(one, text)
    elif decided:
        yield DECIDED, f"{decided} {text}" if len(told - content_words(decided)) > 1 else decided
    elif not (is_chat or is_musing or _has("aside", view)):
        is_answer = _has("offers", one.assistant) and (_has("or", one.assistant) or not _has("inquires", one.assistant))
        explains = one.place > 0 and _has("explains", view.partition(",")[0])
        if _has("settles", view) or (is_answer and not explains):
            found = find_agreement(one) if len(told) < LEAST_WORDS else None
            yield DECIDED, found.statement if found else _with_proposal(one, text) if _has("answers", view) else text
        elif is_noteworthy and not is_answer:
            yield ASKED, text


def _with_proposal(one: SpokenSentence, text: str) -> str:
    """Return an answer behind the assistant's last proposal, if it has one."""
    said = assistant_sentences(one.assistant) if one.place == 0 else ()
    offered = [sentence.text for at, sentence in enumerate(said) if is_own_proposal(said, at)]
    return f"{offered[-1]} {text}" if offered else text


def is_worth_telling(parts: Parts) -> bool:
    return len(parts[ASKED]) >= LEAST_ASKED or any(points for name, points in parts.items() if name != ASKED)


def choose_points(parts: Parts) -> Parts:
    """Choose the first point of each part, then the second, as far as there is room."""
    left, shown = MOST_WORDS_IN_ALL, {name: list[Point]() for name in parts}
    for row in zip_longest(*parts.values()):
        for name, point in zip(parts, row, strict=True):
            if point and (cost := len(point.text.split()) + 2) <= left:
                left -= cost
                shown[name].append(point)
    return shown


def _is_left_open(text: str, offset: int, acted: int) -> bool:
    """Return whether a text puts something off, or names what is to be done after the agent last `acted`."""
    return _has("later", text) or (offset > acted and _has("open", text))


def _is_worth_noting(sentence: UserSentence) -> bool:
    """Return whether a sentence is neither chat nor a joke nor text that you may have pasted."""
    least = 1 if facts(sentence.text) else 3
    is_chat = len(content_words(sentence.text)) < least or read_cues(*_CUES)["chat"].fullmatch(sentence.view.strip())
    return not is_chat and not sentence.may_be_pasted and not is_not_to_be_kept(sentence)


def _is_closed(point: Point, messages: Sequence[TranscriptMessage]) -> bool:
    """Return whether a later statement says that an open point is done. That a failing command works now is only
    believed from the person."""
    command = _COMMAND.match(point.text)
    text = command[1] if command else read_cues(*_CUES)["open"].sub(" ", point.text.lower().replace("'", "’"))
    words = content_words(text)
    least, share = (1, COMMAND_SHARE) if command else (SHARED, SHARED_SHARE)
    for message in messages:
        if message.offset <= point.offset or message.role is Role.TOOL or (command and message.role is not Role.USER):
            continue
        split = user_sentences if message.role is Role.USER else sentences
        for sentence in split(message.turn.text):
            shared = words & content_words(sentence.text)
            if command and isinstance(sentence, UserSentence) and says_it_works(sentence):
                return True
            is_done = _has("done", sentence.text) and not any(
                _has(cue, sentence.text) for cue in ("open", "later", "undone")
            )
            if is_done and len(shared) >= least and coverage(words, shared) >= share:
                return True
    return False


def _files(messages: Sequence[TranscriptMessage], project: str | None) -> Iterator[Point]:
    """Yield a single point that lists the files changed by tools."""
    edits = [each for each in messages if each.role is Role.TOOL and not each.failed and _has("edits", each.tool)]
    names = {
        name.rpartition(f"/{name_in(project or '')}/")[2]
        for each in edits
        for name in read_action(each.arguments, "", None).files
    }
    if names:
        yield Point(f"Files: {first_of([f'`{name}`' for name in sorted(names)], MOST_FILES)}")
