"""Extracts lessons from a session: a problem, the attempts in order, and what was said and done when it was solved,
verbatim."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import partial
from itertools import groupby

from mcp_memory.capture.readers.message import Transcript, TranscriptMessage
from mcp_memory.recall.moments.tool_action import acts, call_text, command_of, is_same_call, read_action, repeats
from mcp_memory.statements.candidate import Candidate, StatementKind
from mcp_memory.statements.error_lines import error_line, error_lines, pasted_errors
from mcp_memory.statements.statement_rules import OUTRIGHT, says_it_works
from mcp_memory.statements.user_sentences import user_sentences
from mcp_memory.text.language.denials import denies
from mcp_memory.text.language.terms import content_words
from mcp_memory.text.language.word_tables import has_cue, read_cues

CONFIRMED, SUCCEEDED = 0.8, 0.5
"""Scores: you confirm that it works, or nothing after the last change shows that it failed."""
PATIENCE = 2
"""The number of your messages without an attempt after which an error is dropped."""
MOST_SENTENCES, MOST_LINES = 3, 16
"""The most sentences of a message of yours, and lines of a message of the assistant, that are quoted."""
LEAST_WORDS = 4
"""The least content words of a sentence or error that names a problem."""
LEAST_EXPLAINED = 8
"""The least content words of a message that explains a solution."""
MOST_TRIED, MOST_SHOWN = 4, 6
"""The most attempts that are quoted, and calls or messages in a row, latest last."""
LEAST_LETTERS, ALIKE = 3, 0.8
"""The least letters of a mistyped word, and its least likeness to the right one."""

_CUES = ("mcp_memory.statements", "lessons.toml")
_has = partial(has_cue, *_CUES)

_VOLATILE = re.compile(r"0x[0-9a-f]+|/\S+|\d+")
_FENCED = re.compile(r"^`{3,}\n.*?^`{3,}$", re.DOTALL | re.MULTILINE)
_TOKEN = re.compile(r"[^\W\d_]+|\d+|[^\s\w]|_")
_WORD = re.compile(r"\w+")

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

    @property
    def answer(self) -> list[TranscriptMessage]:
        """The assistant's messages before it does something."""
        first = next((at for at, one in enumerate(self.work) if one.is_call), len(self.work))
        return self.work[:first]


class Trouble:
    """A problem, from the message or failure that shows it to what is said after its solution. `tried` has the
    attempts, `last` the one that may solve it, and `after` what was said to it. `failed` has the calls that failed or
    were done anew. `former` is the lesson that turned out to be wrong."""

    def __init__(self, opening: TranscriptMessage | None = None) -> None:
        asked = opening.text if opening else ""
        self.opening, self.asked = opening, _own(asked, LEAST_WORDS)
        self.said, self.errors = dict[int, str](), list(pasted_errors(asked))
        if opening:
            self.said[opening.offset] = asked
        self.is_reported = bool(self.errors) or _has("complains", asked)
        self.failed = list[TranscriptMessage]()
        self.tried, self.last, self.after = list[Attempt](), Attempt(), Attempt()
        self.solved: TranscriptMessage | None = None
        self.former: Candidate | None = None
        self.is_confirmed = self.went_away = self.is_own = False
        self.silent_turns = 0

    @property
    def changes(self) -> Attempt:
        """The calls of the last attempt."""
        return [one for one in self.last if one.is_call]

    @property
    def is_problem(self) -> bool:
        return bool(self.is_reported or self.failed)

    def goes_on_in(self, turn: _Turn) -> bool:
        """Return whether the person's next message and the work after it belong to the problem."""
        message = turn.said
        if message is None:
            return True
        changes = self.changes
        works = any(map(says_it_works, user_sentences(message.text)))
        if works and (self.is_problem or changes):
            self.said[message.offset] = message.text
            self.is_confirmed, self.solved = True, message
            self.after += [message, *turn.answer]
            return False
        if self._is_refuted_by(turn):
            self.said[message.offset] = message.text
            self._refute(message)
            return True
        is_held = bool(self.solved or (changes and turn.work and not self._continues(turn)))
        if is_held or not self.is_problem or self.silent_turns == PATIENCE:
            self.solved = self.solved or (message if is_held and not self._is_open else None)
            if not turn.acting:
                self.after += turn.answer
            return False
        self.said[message.offset] = message.text
        self.silent_turns += 1
        self.last.append(message)
        return True

    @property
    def _is_open(self) -> bool:
        """Whether the call that failed last was neither repeated nor followed by a change."""
        return bool(self.failed) and not self.changes

    def _is_refuted_by(self, turn: _Turn) -> bool:
        """Return whether the person's message says that it doesn't work, or leads the assistant to do anew what the
        last attempt did."""
        text = turn.said.text if turn.said else ""
        if self.changes and (_has("wrong", text) or pasted_errors(text)):
            return True
        pairs = [(one, old) for one in turn.acting for old in self.changes if _is_at_same_place(one, old)]
        if any(_takes_back(one, old) for one, old in pairs):
            return True
        is_about_it = content_words(text) & content_words(self.asked) or denies(text)
        return bool(is_about_it) and any(not _extends(one, old) for one, old in pairs)

    def _continues(self, turn: _Turn) -> bool:
        """Return whether a turn works at the place of the last attempt."""
        return any(_is_at_same_place(one, old) for one in turn.acting for old in self.changes)

    def hear(self, message: TranscriptMessage) -> None:
        """Take up what the assistant says."""
        if self.solved:
            self.after.append(message)
            return
        if not self.tried and all(map(command_of, self.last)):
            self.last = []  # the commands before the first word only look
        self.last.append(message)

    def fail(self, message: TranscriptMessage) -> None:
        """Take up a call that failed, so that the changes before it haven't solved the problem."""
        self.errors += error_lines(message.text)
        if not self.failed:
            self.is_own = not self.is_reported and any(not command_of(one) for one in self.changes)
        self.failed.append(message)
        self._call(message)
        self._end_attempt()
        self.silent_turns = 0

    def follow(self, message: TranscriptMessage) -> bool:
        """Take up a call that didn't fail; return whether a failure went away by itself."""
        if self.solved:
            return False
        is_again = any(repeats(message, one) for one in self.failed)
        is_other = bool(self.changes) or not any(is_same_call(message, one) for one in self.failed)
        is_other = is_other or any(one.is_persons for one in self.last)
        if is_again and not is_other:
            self.went_away = len(self.failed) == 1
            return self.went_away
        if acts(message) or (is_again and self.last):
            self._call(message)
            is_measured = self.is_problem and any(repeats(message, one) for one in self._tried_calls if command_of(one))
            self.solved = message if is_again or (is_measured and command_of(message)) else None
        return False

    @property
    def _tried_calls(self) -> Iterator[TranscriptMessage]:
        """The calls of the attempts before the last one."""
        return (one for attempt in self.tried for one in attempt if one.is_call)

    def _call(self, message: TranscriptMessage) -> None:
        """Take up a call. If something was said since a command, that belongs to a new attempt."""
        commands = [at for at, one in enumerate(self.last, 1) if command_of(one)]
        if commands and not self.last[-1].is_call:
            self.tried.append(self.last[: commands[-1]])
            self.last = self.last[commands[-1] :]
        self.failed += [one for one in self._tried_calls if one not in self.failed and _takes_back(message, one)]
        self.last.append(message)

    def _refute(self, verdict: TranscriptMessage) -> None:
        """Note that the changes haven't solved the problem."""
        self.former = next(self.lesson(), self.former)
        self.failed += self.changes
        self.last += [*self.after, verdict]
        self._end_attempt()
        self.solved, self.silent_turns, self.after = None, 0, []

    def _end_attempt(self) -> None:
        self.tried.append(self.last)
        self.last = []

    def explains(self, found: Candidate) -> bool:
        """Return whether a statement of the person only describes the problem or the result, and passes with it."""
        if found.offset not in self.said or found.score >= OUTRIGHT or _has("lasts", found.said):
            return False
        is_opening = self.opening is not None and found.offset == self.opening.offset
        if is_opening and not self.is_reported and self.solved is None:
            return False
        return self.is_problem and (is_opening or not found.outright)

    def lesson(self) -> Iterator[Candidate]:
        """Yield the lesson, unless the problem is open, was a slip or went away, or nothing was said about it."""
        if self.solved is None or not self.is_problem or self._is_slip():
            return
        about = content_words("\n".join([*self.errors, self.asked, *map(call_text, [*self.changes, *self.failed])]))
        told = [one for one in (*self.last, *self.after) if one.is_assistants]
        recap = max(
            (one for one in self.after if one.is_assistants),
            key=lambda one: (len(content_words(one.text) & about), one.offset),
            default=None,
        )
        if not told and not self.is_confirmed and len(self.failed) < 2:
            return
        words = content_words("\n".join([*(one.text for one in told), *map(call_text, self.changes)]))
        error = max(self.errors, key=lambda line: len(content_words(line) & words), default="")
        if self.is_own and len(self.failed) == 1 and not content_words(error) & content_words(told[-1].text if told else ""):
            return
        shown = [*self.last, *(one for one in self.after if one.is_persons or one is recap)]
        tried = [
            _attempt(one) for one in self.tried if any(each in self.failed or not command_of(each) for each in one)
        ]
        parts = [
            ("The error:\n> ", f"`{error}`" if error and "`" not in error else error),
            ("What was asked:\n> ", self.asked),
            ("What worked:\n", "\n".join(filter(None, _in_order(shown, is_short=False)))),
            ("What happened before:\n", "\n>\n".join([*tried[:1], *tried[1:][-MOST_TRIED:]])),
        ]
        text = "\n\n".join(f"{head}{body}" for head, body in parts if body)
        forms = read_cues(*_CUES)
        lead = forms["line_lead"].match(error)
        title = error[lead.end() if lead else 0 :]
        if self.asked and (len(content_words(title)) < LEAST_WORDS or forms["line_summary"].search(error)):
            title = self.asked
        score = CONFIRMED if self.is_confirmed else SUCCEEDED
        yield Candidate.from_message(self.solved, StatementKind.FIX, text, score, False, title, "", self.former)

    def _is_slip(self) -> bool:
        """Return whether the failure was a mistyped word or a broken connection."""
        edits = [one for one in self.changes if not command_of(one)]
        if edits:
            return all(_is_respelled(one.arguments.get("old_string", ""), one.arguments.get("new_string", "")) for one in edits)
        commands = [command_of(one) for one in self.changes]
        return bool(self.failed) and any(_is_respelled(command_of(self.failed[-1]), one) for one in commands)


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
                trouble.hear(message)
                for one in solved:
                    one.hear(message)
            elif message.failed and (acts(message) or error_line(message)):
                if trouble.solved:
                    solved.append(trouble)
                    trouble = Trouble()
                trouble.fail(message)
            elif not message.failed and trouble.follow(message):
                yield trouble
                trouble = Trouble()
        yield from solved
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
    """Return whether two lessons have the same error, except for numbers and paths, and the same solution."""
    first, other = ((_VOLATILE.sub("#", text.partition("\n\n")[0]), _FENCED.findall(text)) for text in (new, known))
    return first == other and bool(first[1])


def _own(text: str, least: int = 0) -> str:
    """Return the beginning of what a person says in own words, from a sentence with the `least` content words."""
    own = [one.text for one in user_sentences(text)]
    first = next((at for at, one in enumerate(own) if len(content_words(one)) >= least), 0)
    return " ".join(own[first : first + MOST_SENTENCES])


def _changed_words(call: TranscriptMessage) -> tuple[Counter[str], Counter[str]]:
    """Return the words that an edit removes, and those that it adds."""
    given = call.arguments
    old, new = given.get("old_string", ""), given.get("new_string") or given.get("content", "")
    removed, added = Counter(_WORD.findall(old)), Counter(_WORD.findall(new))
    return removed - added, added - removed


def _takes_back(call: TranscriptMessage, before: TranscriptMessage) -> bool:
    """Return whether an edit removes words that another one added to the same file."""
    if command_of(call) or command_of(before) or not _is_at_same_place(call, before):
        return False
    return bool(_changed_words(call)[0] & _changed_words(before)[1])


def _extends(call: TranscriptMessage, before: TranscriptMessage) -> bool:
    """Return whether an edit only adds to words that another one added."""
    removed, added = _changed_words(call)
    old = call.arguments.get("old_string", "")
    return bool(old and added) and not removed and not {*_WORD.findall(old)} - {*_WORD.findall(call_text(before))}


def _is_at_same_place(call: TranscriptMessage, before: TranscriptMessage) -> bool:
    """Return whether two calls edit the same file, or run the same program otherwise."""
    if command_of(call) and command_of(before):
        return call_text(call) != call_text(before) and repeats(call, before)
    files, others = (read_action(one.arguments, "", None).files for one in (call, before))
    return not command_of(call) and not command_of(before) and not {*files}.isdisjoint(others)


def _is_respelled(before: str, after: str) -> bool:
    """Return whether a text only corrects the spelling of words of another."""
    old, new = _TOKEN.findall(before), _TOKEN.findall(after)
    changed = [(one, other) for one, other in zip(old, new, strict=False) if one != other]
    return (
        len(old) == len(new)
        and old != new
        and all(
            len(one) >= LEAST_LETTERS and SequenceMatcher(None, one, other).ratio() >= ALIKE for one, other in changed
        )
    )


def _in_order(messages: Iterable[TranscriptMessage], *, is_short: bool) -> Iterator[str]:
    """Yield what was said, as quotations, and the calls, as code. `is_short`: only the ends of longer messages."""
    for is_call, group in groupby(messages, key=lambda one: one.is_call):
        some = list(group)[-MOST_SHOWN:]
        if is_call:
            yield _fenced(dict.fromkeys(map(call_text, some)))
            yield "It failed." if some[-1].failed else ""
            continue
        for one in some:
            is_person, text = one.is_persons, one.text.strip()
            lines = list(filter(str.strip, text.splitlines()))
            said = _own(text) if is_person else "\n> ".join(lines[-1:] if is_short else lines[:MOST_LINES])
            yield f"> {'Person' if is_person else 'Agent'}: {said}"


def _attempt(attempt: Attempt) -> str:
    """Return an attempt as a quotation: what announced it, its calls, and how it ended."""
    shown = "\n".join(filter(None, _in_order(attempt, is_short=True)))
    return "\n".join(line if line.startswith("> ") else f"> {line}" for line in shown.splitlines())


def _fenced(calls: Iterable[str]) -> str:
    code = "\n".join(filter(None, calls))
    mark = "`" * max(3, *(len(run) + 1 for run in re.findall(r"`{3,}", code)), 3)
    return f"{mark}\n{code}\n{mark}" if code else ""
