"""Extracts lessons from a session: a problem, the attempts in order, and what was said and done when it was solved,
verbatim. This module is over 300 lines because each step of an episode is judged by the steps around it."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import partial
from itertools import groupby

from mcp_memory.capture.readers.message import Transcript, TranscriptMessage
from mcp_memory.recall.moments.tool_action import (
    acts,
    call_text,
    command_of,
    is_edit,
    is_same_call,
    programs,
    read_action,
    repeats,
)
from mcp_memory.statements.candidate import Candidate, StatementKind
from mcp_memory.statements.error_lines import error_line, error_lines, pasted_errors
from mcp_memory.statements.statement_rules import OUTRIGHT, says_it_works
from mcp_memory.statements.user_sentences import user_sentences
from mcp_memory.text.language.denials import denies
from mcp_memory.text.language.terms import content_words
from mcp_memory.text.language.word_tables import has_cue, read_cues

CONFIRMED, SUCCEEDED = 0.8, 0.5
"""Scores: you confirm that it works, or nothing after the last change shows that it failed."""
MOST_PRINTED = 400
"""The most lines of an output that are read for an error of no known form."""
MOST_SENTENCES, MOST_LINES = 3, 16
"""The most sentences of a message of yours, and lines of a message of the assistant, that are quoted."""
LEAST_WORDS = 4
"""The least content words of a sentence or error that names a problem."""
LEAST_SHARED, MOST_EXPLAINING = 2, 2
"""The least words of an open problem that a message and its work take up, and the most messages before the solution
that explain it."""
MOST_SHOWN = 6
"""The most calls or messages in a row that are quoted, latest last."""
ALIKE = 0.8
"""The least likeness of a mistyped word to the right one."""

_CUES = ("mcp_memory.statements", "lessons.toml")
_has = partial(has_cue, *_CUES)

_VOLATILE = re.compile(r"0x[0-9a-f]+|/\S+|\d+")
_FENCED = re.compile(r"^`{3,}\n.*?^`{3,}$", re.DOTALL | re.MULTILINE)
_TOKEN = re.compile(r"[^\W\d_]+|\d+|[^\s\w]|_")
_WORD = re.compile(r"\w+")
_RESTORES = re.compile(r"\bgit (?:checkout|restore|stash|reset)\b")

Attempt = list[TranscriptMessage]
"""The messages and calls, in order, up to a failure or to your answer."""


@dataclass
class _Turn:
    """A message of the person, and what the assistant says and does until the next one."""

    said: TranscriptMessage | None
    work: list[TranscriptMessage] = field(default_factory=list[TranscriptMessage])

    @property
    def acting(self) -> list[TranscriptMessage]:
        return [one for one in self.work if one.is_call and acts(one)]


class Trouble:
    """A problem, from the message or failure that shows it to what is said after its solution. The last attempt,
    which may solve it, begins at the place `begin` of the `messages`. `vain` has the calls that failed, were refused,
    taken back or measured again. `former` is the lesson that turned out to be wrong."""

    def __init__(self, opening: TranscriptMessage | None = None) -> None:
        text = opening.text if opening else ""
        self.asked, self.pasted = _own(text, LEAST_WORDS), list(pasted_errors(text))
        self.said = {opening.offset: True} if opening else dict[int, bool]()
        self.is_reported = bool(self.pasted) or _has("complains", text)
        self.messages, self.begin = Attempt(), 0
        self.failed, self.vain = Attempt(), Attempt()
        self.solved: TranscriptMessage | None = None
        self.former: Candidate | None = None
        self.is_confirmed = self.is_own = False

    @property
    def last(self) -> Attempt:
        return self.messages[self.begin :]

    @property
    def changes(self) -> Attempt:
        """The calls of the last attempt."""
        return [one for one in self.last if one.is_call]

    @property
    def is_problem(self) -> bool:
        return bool(self.is_reported or self.vain)

    def goes_on_in(self, turn: _Turn) -> bool:
        """Return whether the person's next message and the work after it belong to the problem."""
        message = turn.said
        if message is None:
            return True
        works = any(map(says_it_works, user_sentences(message.text)))
        is_refuted = not works and self._is_refuted_by(turn)
        is_talk = not self.changes and not turn.acting and self._shares(turn, 1)
        is_open = not self.solved and (is_talk or self._is_taken_up_in(turn))
        if works and (self.is_problem or self.last):
            self.is_confirmed, self.solved = True, message
            self.messages += [message, *(one for one in turn.work[:1] if one.is_assistants)]
        elif is_refuted:
            self.former, self.solved = next(self.lesson(), self.former), None
            self.vain += self.changes
        elif not is_open:
            self.solved = self.solved or (message if self.changes else None)
            self.messages += [
                one for one in turn.work if not turn.acting and one.is_assistants and self.shared_words(one)
            ]
        if works or is_refuted or is_open or not turn.acting:
            self.said[message.offset] = is_refuted
        if works or not (is_refuted or is_open):
            return False
        is_verdict = is_refuted or is_talk or not self.last
        self.messages.append(message)
        self.begin = len(self.messages) if is_verdict else self.begin
        return True

    def close(self) -> None:
        """Regard the last attempt as the solution if the person said something after it."""
        changes, last = self.changes, self.last
        said = [one for one in last[last.index(changes[0]) :] if one.is_persons] if changes else []
        if said and not last[-1].is_call:
            self.solved = self.solved or said[-1]

    def _is_taken_up_in(self, turn: _Turn) -> bool:
        """Return whether a turn goes on with what isn't solved yet."""
        is_silent = self.is_problem and not turn.acting
        is_again = any(repeats(one, failed) for one in turn.acting for failed in self.failed)
        return is_silent or is_again or self._shares(turn, LEAST_SHARED)

    def _shares(self, turn: _Turn, least: int) -> bool:
        """Return whether a turn takes up words of what was asked, answered, printed or done."""
        new = [turn.said.text if turn.said else "", *map(call_text, turn.acting)]
        return len(self._words(self.last) & content_words("\n".join(new))) >= least

    def _words(self, messages: Iterable[TranscriptMessage]) -> Set[str]:
        """Return the content words of the problem and of some messages and calls."""
        lines = [*self.pasted, *(line for one in self.failed for line in error_lines(one.text))]
        return content_words("\n".join([self.asked, *lines, *map(_text, [*self.vain, *messages])]))

    def shared_words(self, message: TranscriptMessage) -> int:
        """Return the number of content words that a message shares with the problem and the attempts."""
        return len(self._words(self.changes) & content_words(message.text))

    def _is_refuted_by(self, turn: _Turn) -> bool:
        """Return whether the person's message says that it doesn't work, or leads the assistant to do anew what the
        last attempt did."""
        text = turn.said.text if turn.said else ""
        if self.changes and (_has("wrong", text) or pasted_errors(text)):
            return True
        pairs = [(one, old) for one in turn.acting for old in self.changes if _is_at_same_place(one, old)]
        is_refused = _has("refuses", text) or (self.is_problem and denies(text))
        return any(is_refused or _takes_back(*pair) for pair in pairs)

    def fail(self, message: TranscriptMessage) -> None:
        """Take up a call that failed. A change after which the same error comes again is in vain."""
        edits = list(filter(is_edit, self.changes))
        known = [_VOLATILE.sub("#", line) for one in self.failed for line in error_lines(one.text)]
        if not self.failed:
            self.is_own = not self.is_reported and bool(edits)
        elif _VOLATILE.sub("#", error_line(message)) in ["", *known]:
            self.vain += edits
        self.failed.append(message)
        self.vain.append(message)
        self.messages.append(message)
        self.begin = len(self.messages)

    def follow(self, message: TranscriptMessage) -> bool:
        """Take up a call that didn't fail; return whether a failure went away by itself."""
        if self.solved:
            self.messages += [message] if acts(message) and self.messages[-1].is_call else []
            return False
        for at, one in enumerate(self.messages, 1):
            is_measured = self.is_problem and command_of(one) and is_same_call(message, one)
            if one.is_call and one not in self.vain and (is_measured or _takes_back(message, one)):
                self.vain.append(one)
                self.begin = max(at, self.begin)
        is_again = any(repeats(message, one) for one in self.vain if acts(one) or not call_text(one))
        is_same = is_again and not self.changes and any(is_same_call(message, one) for one in self.failed)
        if is_same and not any(one.is_persons for one in self.last):
            return len(self.failed) == 1
        if acts(message) or (is_again and self.last):
            self.messages.append(message)
            self.solved = message if is_again else None
        return False

    def explains(self, found: Candidate) -> bool:
        """Return whether a statement of the person only describes the problem or the result, and passes with it."""
        is_told_of = found.offset in self.said and (self.vain or any(self.lesson()))
        if not is_told_of or found.score >= OUTRIGHT or (found.outright and not self.said[found.offset]):
            return False
        return found.offset == next(iter(self.said)) or not _has("lasts", found.said)

    def lesson(self) -> Iterator[Candidate]:
        """Yield the lesson, unless the problem is open, was a slip or went away, or nothing was said about it."""
        told = [one for one in self.last if one.is_assistants]
        is_problem = self.is_problem or self.is_confirmed
        is_first = self.is_own and len(self.failed) == 1
        is_known = self.is_confirmed or (told and not is_first) or (not is_first and len(self.vain) > 1)
        if self.solved is None or not is_problem or not is_known or self._is_slip():
            return
        worked = self._solution()
        error = self._telling_error(worked)
        wrong = "\n".join(_shown(self._wrong_ways(worked))).splitlines()
        parts = [
            ("The error:\n> ", f"`{error}`" if error and "`" not in error else error),
            ("What was asked:\n> ", self.asked),
            ("What worked:\n", "\n".join(_shown(worked))),
            ("What didn't work:\n", "\n".join(line if line[:2] == "> " else f"> {line}" for line in wrong)),
        ]
        text = "\n\n".join(f"{head}{body}" for head, body in parts if body)
        forms = read_cues(*_CUES)
        lead = forms["line_lead"].match(error)
        title = error[lead.end() if lead else 0 :]
        if self.asked and (len(content_words(title)) < LEAST_WORDS or forms["line_summary"].search(error)):
            title = self.asked
        score = CONFIRMED if self.is_confirmed else SUCCEEDED
        yield Candidate.from_message(self.solved, StatementKind.FIX, text, score, False, title, "", self.former)

    def _solution(self) -> Attempt:
        """Return the changes that were kept, the commands after them, and the messages that explain them best. Two such
        messages come before the last change, unless they announce a vain change, and another one after it."""
        kept = [one for one in self.messages if is_edit(one) and one not in self.vain]
        first = self.messages.index(kept[0]) if kept else self.begin
        turning = self.changes[-1:] or [one for one in self.last if one.is_persons] or self.last
        done = self.begin + self.last.index(turning[0])
        before, after, announced = Attempt(), Attempt(), True
        for at, one in reversed([*enumerate(self.messages)]):
            announced = one not in self.vain if one.is_call else announced
            if one.is_assistants and announced and (self.changes or one in self.last):
                (before if at < done else after).append(one)
        best = sorted(before, key=self.shared_words)[-MOST_EXPLAINING:]
        best = [one for one in best if 2 * self.shared_words(one) >= self.shared_words(best[-1])]
        best += sorted(after, key=self.shared_words)[-1:]
        calls = [one for one in self.messages[first:] if one in kept or (one.is_call and one in self.last)]
        return [one for one in self.messages if one in best or one in calls or (one.is_persons and one in self.last)]

    def _wrong_ways(self, worked: Attempt) -> Iterator[TranscriptMessage]:
        """Yield the changes and commands in vain, except looks and checks that failed and are run again in what
        `worked`, and what announced those that seemed to succeed."""
        is_changed, known = any(map(is_edit, worked)), {name for one in worked for name in programs(one)}
        for one in self.vain[self.vain[:1] == self.failed[:1] and is_changed :]:
            is_look = not acts(one) and "\n" not in call_text(one)
            is_check = one.failed and is_changed and programs(one) and programs(one) <= known
            if not is_look and not is_check and call_text(one) not in map(call_text, worked):
                said = self.messages[: self.messages.index(one)][-1:]
                yield from (each for each in said if each.is_assistants and command_of(one) and not one.failed)
                yield one

    def _telling_error(self, worked: Attempt) -> str:
        """Return the line that shares most with the question, the explanation and the change. Lines are from the first
        output, or from the outputs of the programs that `worked` at last. A word in several lines weighs less."""
        names = {name for one in worked for name in programs(one)}
        later = [line for one in self.failed[1:] if programs(one) & names for line in error_lines(one.text)]
        lines = [*self.pasted, *(line for one in self.failed[:1] for line in error_lines(one.text))] or later
        if not lines:
            asked = content_words(self.asked) - content_words("\n".join(map(call_text, self.failed[:1])))
            printed = [line.strip() for one in self.failed[:1] for line in one.text.splitlines()][:MOST_PRINTED]
            lines = [line for line in printed if len(content_words(line) & asked) >= LEAST_SHARED]
        about, words = content_words("\n".join([self.asked, *map(_text, worked)])), [*map(content_words, lines)]
        count = Counter(word for each in words for word in each)
        shares = [sum(1 / count[word] for word in each & about) for each in words]
        return lines[shares.index(max(shares))] if lines else ""

    def _is_slip(self) -> bool:
        """Return whether the failure was a mistyped word."""
        edits = [_texts(one) for one in self.changes if is_edit(one)]
        commands = [(command_of(one), command_of(other)) for one in self.failed[-1:] for other in self.changes]
        return all(_is_respelled(*one) for one in edits) if edits else any(_is_respelled(*one) for one in commands)


def find_troubles(messages: Transcript) -> Iterator[Trouble]:
    """Yield each task of the person that may be a problem, up to its solution."""
    trouble = Trouble()
    for turn in _turns(messages):
        if not trouble.goes_on_in(turn):
            yield trouble
            trouble = Trouble(turn.said)
        solved = list[Trouble]()
        for message in turn.work:
            if message.is_assistants:
                hearing = [*solved, trouble] if trouble.solved else [trouble]
                max(reversed(hearing), key=lambda one: one.shared_words(message)).messages.append(message)
            elif message.failed and (acts(message) or error_line(message)):
                if trouble.solved:
                    solved.append(trouble)
                    trouble = Trouble()
                trouble.fail(message)
            elif not message.failed and trouble.follow(message):
                yield trouble
                trouble = Trouble()
        yield from solved
    trouble.close()
    yield trouble


def _turns(messages: Transcript) -> Iterator[_Turn]:
    turn = _Turn(None)
    for message in messages:
        if message.is_persons:
            yield turn
            turn = _Turn(message)
        else:
            turn.work.append(message)
    yield turn


def same_lesson(new: str, known: str) -> bool:
    """Return whether two lessons have the same solution."""
    return _FENCED.findall(new) == _FENCED.findall(known) != []


def _own(text: str, least: int = 0) -> str:
    """Return the beginning of what a person says in own words, from a sentence with the `least` content words."""
    own = [one.text for one in user_sentences(text)]
    first = next((at for at, one in enumerate(own) if len(content_words(one)) >= least), 0)
    return " ".join(own[first : first + MOST_SENTENCES])


def _text(message: TranscriptMessage) -> str:
    return call_text(message) if message.is_call else message.text


def _texts(call: TranscriptMessage) -> tuple[str, str]:
    """Return the text that an edit replaces, and the text that it writes."""
    given = call.arguments
    return given.get("old_string", ""), given.get("new_string") or given.get("content", "")


def _changed_words(call: TranscriptMessage) -> tuple[Counter[str], Counter[str]]:
    """Return the words that an edit removes, and those that it adds."""
    old, new = _texts(call)
    removed, added = Counter(_WORD.findall(old)), Counter(_WORD.findall(new))
    return removed - added, added - removed


def _takes_back(call: TranscriptMessage, before: TranscriptMessage) -> bool:
    """Return whether an edit removes words that another one added to the same file."""
    files = read_action(before.arguments, "", None).files
    if not command_of(before) and _RESTORES.search(command_of(call)):
        return any(file.rpartition("/")[2] in command_of(call) for file in files)
    if command_of(call) or command_of(before) or not _is_at_same_place(call, before):
        return False
    removed, added = _changed_words(call)[0], _changed_words(before)[1]
    if written := call.arguments.get("content"):
        removed = added - Counter(_WORD.findall(written))
    return bool(removed & added)


def _is_at_same_place(call: TranscriptMessage, before: TranscriptMessage) -> bool:
    """Return whether two calls edit the same file, or run the same program otherwise."""
    if command_of(call) and command_of(before):
        return call_text(call) != call_text(before) and repeats(call, before)
    files, others = (read_action(one.arguments, "", None).files for one in (call, before))
    return not command_of(call) and not command_of(before) and not {*files}.isdisjoint(others)


def _is_respelled(before: str, after: str) -> bool:
    """Return whether a text only corrects the spelling of words of another."""
    old, new = _TOKEN.findall(before), _TOKEN.findall(after)
    changed = [pair for pair in zip(old, new, strict=False) if len({*pair}) > 1]
    alike = [min(map(len, pair)) > 1 and SequenceMatcher(None, *pair).ratio() >= ALIKE for pair in changed]
    return len(old) == len(new) and bool(alike) and all(alike)


def _shown(messages: Iterable[TranscriptMessage]) -> Iterator[str]:
    """Yield what was said, as quotations, and the calls, as code."""
    for is_call, group in groupby(messages, key=lambda one: one.is_call):
        some = list(group)[-MOST_SHOWN:]
        if is_call:
            yield _fenced(dict.fromkeys(map(call_text, some)))
            continue
        for one in some:
            lines = list(filter(str.strip, one.text.splitlines()))[:MOST_LINES]
            said = _own(one.text) if one.is_persons else "\n> ".join(lines)
            yield f"> {'Person' if one.is_persons else 'Agent'}: {said}"


def _fenced(calls: Iterable[str]) -> str:
    code = "\n".join(filter(None, calls))
    mark = "`" * max(3, *(len(run) + 1 for run in re.findall(r"`{3,}", code)), 3)
    return f"{mark}\n{code}\n{mark}" if code else ""
