"""Extracts from a session what was asked, decided, changed and left open, in 200 words. Pure."""

import re
from collections.abc import Iterator, Mapping, Sequence, Set
from functools import partial
from typing import NamedTuple

from mcp_memory.capture.readers.message import Role, TranscriptMessage
from mcp_memory.capture.session_reader import CapturedMessages
from mcp_memory.models import NoteId
from mcp_memory.projects.repository_facts import name_in
from mcp_memory.recall.moments.tool_action import read_action
from mcp_memory.statements.candidate import Candidate, StatementKind, id_of
from mcp_memory.statements.cues import is_not_to_be_kept
from mcp_memory.statements.extractor import extract_candidates
from mcp_memory.statements.statement_rules import says_it_works
from mcp_memory.statements.user_sentences import UserSentence, user_sentences
from mcp_memory.text.language.facts import facts
from mcp_memory.text.language.sentences import sentences
from mcp_memory.text.language.terms import content_words, coverage, jaccard
from mcp_memory.text.language.word_tables import has_cue, read_cues
from mcp_memory.text.pluralize import first_of

ASKED, DECIDED, CHANGED, LEFT_OPEN = "Asked", "Decided", "Changed", "Left open"
MOST_WORDS_IN_ALL, MOST_WORDS, MOST_FILES, MOST_CHARS = 184, 30, 8, 90
"""The most words of a summary's points, so that its page has 200; words of a single point; files in a list; characters
of a command."""
LEAST_ASKED = 3
"""The minimum number of questions for a summary of a session that only answered questions."""
SHARED, SHARED_SHARE, COMMAND_SHARE = 2, 0.6, 0.5
"""The minimum number of common words, and their minimum share of an open point's words, of a statement that closes it;
the minimum share of a failing command's words."""
SAME_POINT = 0.6
"""The share of common content words (Jaccard) from which two points are the same."""

_CUES = ("mcp_memory.summaries", "cues.toml")
_has = partial(has_cue, *_CUES)

_NO_WORDS = re.compile(r"\|[^|&;]*|\b\d?>+&?\s*\S+|\bcd \S+|[&;]+|(?<!\S)\w+=\S*|(?<!\S)-\S+")
"""Matches what two runs of a command may differ in: folder, variables, options, and the output's place."""
_PATH = re.compile(r"[/.:]")
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
    said = [(message, user_sentences(message.turn.text)) for message in own if message.role is Role.USER]
    denials = [denial for message, told in said for denial in _denials(message.offset, told)]

    def add(part: str, text: str, offset: int, note: NoteId | None = None) -> None:
        new, plain = content_words(text), text.split()
        is_denied = any(offset <= at and denied <= new for at, denied in denials)
        if part == DECIDED and is_denied and not _has("denial", text):
            return
        known = [content_words(point.text) for points in parts.values() for point in points]
        if new and not any(jaccard(new, words) >= SAME_POINT or new <= words for words in known):
            short = plain if len(plain) <= MOST_WORDS else [*plain[:MOST_WORDS], "…"]
            parts[part].append(Point(" ".join(short), offset, note))

    opening = next((message.offset for message in own if message.role is Role.USER), -1)
    acted = max([opening, *(one.offset for one in own if _has("edits", one.tool) or _runs_command(one))])
    for candidate in extract_candidates(own, material=captured.material):
        if candidate.kind is not StatementKind.FIX:
            part = _part_of(candidate, opening, acted)
            add(part, candidate.statement, candidate.offset, id_of(candidate, captured))
    for message, told in said:
        for sentence in filter(_is_worth_noting, told):
            is_open = not sentence.is_question and _is_left_open(sentence.view, message.offset, acted)
            add(LEFT_OPEN if is_open else ASKED, sentence.text, message.offset)
    answers = [message for message in own if message.role is Role.ASSISTANT]
    for message in answers:
        stated = [sentence.text for sentence in sentences(message.turn.text)]
        if found := [sentence for sentence in stated if _has("found", sentence)]:
            add(CHANGED, max(found, key=lambda sentence: len(facts(sentence))), message.offset)
        for sentence in stated if message is answers[-1] else ():
            if _is_left_open(sentence, message.offset, acted) and not sentence.endswith("?"):
                add(LEFT_OPEN, sentence, message.offset)
    parts[LEFT_OPEN] = [point for point in parts[LEFT_OPEN] if not _is_closed(point, own)]
    for points in parts.values():
        points.sort(key=lambda point: point.offset)
    parts[CHANGED] += _files(own, captured.project)
    for runs in _commands(own):
        point = _outcome(runs)
        if not runs[-1].failed or not _is_closed(point, own):
            parts[LEFT_OPEN if runs[-1].failed else CHANGED].append(point)
    return parts


def _part_of(candidate: Candidate, opening: int, acted: int) -> str:
    """Return the part that a statement belongs to."""
    is_decided = candidate.outright and candidate.kind is not StatementKind.FACT
    if not is_decided and _is_left_open(candidate.text, candidate.offset, acted):
        return LEFT_OPEN
    # A commitment has its own reminder.
    is_asked = candidate.offset == opening or candidate.kind is StatementKind.COMMITMENT
    return ASKED if is_asked else DECIDED


def _denials(offset: int, told: Sequence[UserSentence]) -> Iterator[tuple[int, Set[str]]]:
    """Yield the words of each value that a message at this offset denies."""
    for sentence in told:
        if denial := read_cues(*_CUES)["denial"].match(sentence.view):
            yield offset, content_words(denial["what"])


def _outcome(runs: Sequence[TranscriptMessage]) -> Point:
    """Return a command's outcome in one line."""
    last, was = runs[-1], "failed, then " if any(run.failed for run in runs) else ""
    why = last.turn.text.replace("`", "'").rpartition("\n")[2].strip()[:MOST_CHARS]
    return Point(f"`{_line(last)}` {f'fails: {why}' if last.failed else f'{was}went well'}", last.offset)


def is_worth_telling(parts: Parts) -> bool:
    return len(parts[ASKED]) >= LEAST_ASKED or any(points for name, points in parts.items() if name != ASKED)


def choose_points(parts: Parts) -> Parts:
    """Choose the first point of each part, then the points with the most information per word (facts weigh more). The
    order within a part stays."""
    ranked: list[tuple[bool, float, str, int, int]] = []
    for name, points in parts.items():
        for at, (text, *_) in enumerate(points):
            cost, worth = len(text.split()) + 2, 3 * len(facts(text)) + len(content_words(text))
            ranked.append((at > 0, -worth / (cost + 3), name, at, cost))
    left, chosen = MOST_WORDS_IN_ALL, set[tuple[str, int]]()
    for _, _, name, at, cost in sorted(ranked):
        if cost <= left:
            left, chosen = left - cost, chosen | {(name, at)}
    shown: Parts = {name: [] for name in parts}
    for name, points in parts.items():
        shown[name] = [point for at, point in enumerate(points) if (name, at) in chosen]
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


def _commands(messages: Sequence[TranscriptMessage]) -> list[list[TranscriptMessage]]:
    """Return the runs of each command that changes something, in the order of the last runs. A success of the same
    command with other options, or for more files, is another run of a command that failed."""
    found: list[list[TranscriptMessage]] = []
    for message in messages:
        if _runs_command(message):
            known = [runs for runs in found if _is_again(message, runs[-1])]
            found = [
                *(runs for runs in found if runs not in known),
                [*(run for runs in known for run in runs), message],
            ]
    return found


def _runs_command(message: TranscriptMessage) -> bool:
    """Return whether a tool runs a command that changes or checks something."""
    given = _given(message)
    is_command = bool(given) and "*** Begin" not in given and _has("acts", given)
    return is_command and not read_action(message.arguments, "", None).only_reads


def _given(message: TranscriptMessage) -> str:
    return message.arguments.get("command") or message.arguments.get("cmd") or ""


def _line(message: TranscriptMessage) -> str:
    """Return a command in one line without backticks."""
    return " ".join(_given(message).replace("`", "'").split())[:MOST_CHARS]


def _is_again(message: TranscriptMessage, before: TranscriptMessage) -> bool:
    if _line(message) == _line(before):
        return True
    words, old = (_words(_given(one)) for one in (message, before))
    only_paths = all(_PATH.search(word) for word in old if word not in words)
    is_again = (bool(words) and {*words} <= {*old} and only_paths) or words[1:] == old[1:] != []
    steps, later = _steps(before), iter(_steps(message))
    # a step is repeated by one with more options, unless more may check less
    repeats_steps = bool(steps) and all(
        any(one == step or ({*one} <= {*step} and not _has("checks", " ".join(one))) for step in later) for one in steps
    )
    return before.failed and not message.failed and (is_again or repeats_steps)


def _words(command: str) -> list[str]:
    return _NO_WORDS.sub(" ", command).split()


def _steps(message: TranscriptMessage) -> list[list[str]]:
    """Return the commands of which each needs the one before. The outcome is that of those after the last semicolon."""
    return list(filter(None, map(_words, _given(message).rpartition(";")[2].split("&&"))))


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
