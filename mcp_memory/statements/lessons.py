"""Extracts lessons from a session: a problem, the attempts in order, and what was said and done when it was solved,
verbatim."""

import re
from collections.abc import Iterable, Iterator
from difflib import SequenceMatcher
from functools import partial
from itertools import groupby

from mcp_memory.capture.readers.message import Transcript, TranscriptMessage
from mcp_memory.recall.moments.tool_action import acts, call_text, command_of, is_same_call, repeats
from mcp_memory.statements.candidate import Candidate, StatementKind
from mcp_memory.statements.error_lines import error_line, error_lines, pasted_errors
from mcp_memory.statements.statement_rules import OUTRIGHT, says_it_works
from mcp_memory.statements.user_sentences import user_sentences
from mcp_memory.text.language.sentences import sentences
from mcp_memory.text.language.terms import content_words
from mcp_memory.text.language.word_tables import has_cue, read_cues

CONFIRMED, SUCCEEDED = 0.8, 0.5
"""Scores: you confirm that it works, or the command that failed succeeded after a change."""
PATIENCE = 2
"""The number of your messages without a mention of an error after which the error is dropped."""
MOST_SENTENCES, MOST_LINES = 3, 8
"""The most sentences of a message of yours, and lines of a message of the assistant, that are quoted."""
LEAST_WORDS = 4
"""The least content words of a sentence or error that names a problem."""
MOST_TRIED, MOST_SHOWN = 4, 6
"""The most attempts that are quoted, and calls or messages in a row, latest last."""
LEAST_LETTERS, ALIKE = 5, 0.85
"""The least letters of a mistyped word, and its least likeness to the right one."""

_CUES = ("mcp_memory.statements", "lessons.toml")
_has = partial(has_cue, *_CUES)

_TESTS = re.compile(
    r"\b(?:pytest|unittest|vitest|jest|tox|rspec|phpunit|ctest|"
    r"(?:npm|yarn|pnpm|make|cargo|go|mix|rake|mvn|dotnet|gradlew?) (?:run )?test)\b"
)
"""Matches a command that runs tests. A test that fails after a change is part of the work, unless an attempt to mend it
failed, or you confirm the fix."""
_ANNOUNCED = re.compile(r"(?:[^\n]+\n\n(?=\s*(?:[-*+]|\w{1,2}[.)]) ))?[^\n]+(?:\n[^\n]+)*\Z")
"""Matches the last paragraph of a message, and the one that introduces it if it is a list."""
_VOLATILE = re.compile(r"0x[0-9a-f]+|/\S+|\d+")
_FENCED = re.compile(r"^`{3,}\n.*?^`{3,}$", re.DOTALL | re.MULTILINE)
_TOKEN = re.compile(r"[^\W\d_]+|\d+|[^\s\w]|_")

Attempt = list[TranscriptMessage]
"""The messages and calls, in order, up to a failure or to your answer."""


class Trouble:
    """A task of the person that may be a problem, up to its solution. `was_there`: no change of the session caused it.
    `tried` has the attempts, `last` the one that may solve it, and `after` what was said to it. `failed` has the calls
    that failed or that somebody called wrong. `former` is the lesson that turned out to be wrong."""

    def __init__(self, asked: str = "", offset: int = -1) -> None:
        self.asked = _own(asked, LEAST_WORDS)
        self.said, self.refuting, self.errors = {offset: asked}, set[int](), pasted_errors(asked)
        self.was_there = bool(self.errors) or _has("complains", asked)
        self.failed = list[TranscriptMessage]()
        self.tried, self.last, self.after = list[Attempt](), Attempt(), Attempt()
        self.solved: TranscriptMessage | None = None
        self.former: Candidate | None = None
        self.is_confirmed = self.went_away = self.is_aside = False
        self.silent_turns = 0

    @property
    def changes(self) -> Attempt:
        """The calls of the last attempt."""
        return [one for one in self.last if one.is_call]

    def ends_with(self, message: TranscriptMessage, answer: TranscriptMessage | None) -> bool:
        """Take up a message of the person, and the `answer` to it; return whether it ends the problem."""
        text = message.text
        self.said[message.offset] = text
        said = next((one.text.rstrip() for one in self.last[::-1] if one.is_assistants), "")
        works = any(map(says_it_works, user_sentences(text)))
        thanks = self.changes and not said.endswith("?") and _has("thanks", text)
        told = [one.text for one in sentences(answer.text)][:2] if answer else []
        is_wrong = any(_has("wrong", one) for one in (text, *told)) or pasted_errors(text)
        if self.changes and is_wrong and not works:
            self.refuting.add(message.offset)
            self._reject(message)
        elif works or thanks or self.solved:
            self.is_confirmed = works
            self.solved = message if works else self.solved or message
            answers = [answer] if answer and not self.after else []
            self.after += [message, *answers] if works or thanks else []
            return True
        elif not (self.errors or self.failed or self.was_there) or self.silent_turns == PATIENCE:
            return True
        else:
            self.silent_turns += 1
            self._answer(message)
        return False

    def _answer(self, message: TranscriptMessage) -> None:
        """Take up an answer of the person that doesn't say whether it works."""
        if not self.last and self.tried:
            self.tried[-1].append(message)
            return
        is_verdict = self.last[-1:] == self.changes[-1:] != [] or _has("refuses", message.text)
        self.last.append(message)
        if is_verdict:
            self._end_attempt()

    def hear(self, message: TranscriptMessage) -> None:
        """Take up what the assistant says."""
        if self.solved:
            self.after = self.after or [message]
        elif self.is_aside:
            self.is_aside = False
        else:
            if self.changes and any(_has("wrong", one.text) for one in sentences(message.text)):
                self._reject()
            elif not self.tried and all(map(command_of, self.last)):
                self.last = []  # the commands before the first word only look
            self.last.append(message)

    def fail(self, message: TranscriptMessage) -> None:
        """Take up a call that failed, so that the changes before it haven't solved the problem."""
        if self.failed and _has("line_passing", message.text):
            self.is_aside = True
            return
        if not (self.errors or self.failed):
            self.errors = error_lines(message.text)
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
        if is_again and not is_other:
            self.went_away = len(self.failed) == 1
            return self.went_away
        if acts(message) or (is_again and self.last):
            self._call(message)
            is_work = _TESTS.search(command_of(message)) and len(self.failed) == 1 and not self.was_there
            self.solved = message if is_again and not is_work else None
        return False

    def _call(self, message: TranscriptMessage) -> None:
        """Take up a call. If something was said since a command, that belongs to a new attempt."""
        commands = [at for at, one in enumerate(self.last, 1) if command_of(one)]
        if commands and not self.last[-1].is_call:
            self.tried.append(self.last[: commands[-1]])
            self.last = self.last[commands[-1] :]
        self.last.append(message)

    def _reject(self, verdict: TranscriptMessage | None = None) -> None:
        """Note that the changes haven't solved the problem."""
        self.former = next(self.lesson(), self.former)
        self.failed += self.changes
        self.last += [*self.after, *filter(None, [verdict])]
        self._end_attempt()
        self.solved, self.silent_turns, self.after = None, 0, []

    def _end_attempt(self) -> None:
        self.tried.append(self.last)
        self.last = []

    def explains(self, found: Candidate) -> bool:
        """Return whether a statement of the person only describes the problem or the result, and passes with it."""
        text = self.said.get(found.offset)
        is_problem = self.errors or self.failed or (self.was_there and self.tried)
        if text is None or not is_problem or found.score >= OUTRIGHT or _has("lasts", found.said):
            return False
        is_first = found.offset == next(iter(self.said))
        is_asked = is_first and (self.was_there or (self.solved and found.said in self.asked))
        if found.offset in self.refuting or is_asked:
            return True
        is_aside = not is_first and any(_has(cue, text) for cue in ("wrong", "refuses", "complains", "thanks"))
        return not found.outright and (is_aside or self.went_away or self.solved is not None)

    def lesson(self) -> Iterator[Candidate]:
        """Yield the lesson, unless the problem is open, was a slip or went away, or nothing was said about it."""
        said = [one for one in (*self.last, *self.after) if not one.is_call]
        told = "\n".join(one.text for one in said if one.is_assistants)
        is_known = (self.changes or told) and (told or self.is_confirmed or len(self.failed) > 1)
        edits = [one for one in self.changes if not command_of(one)]
        went_away = not edits and any(_has("line_passing", one.text) for one in self.failed[:1])
        went_away |= any(_has("passing", one.text) for message in said for one in sentences(message.text))
        is_slip = bool(edits) and all(map(_is_respelled, edits))
        if self.solved is None or went_away or not is_known or is_slip:
            return
        about = content_words("\n".join([told, *map(call_text, self.changes)]))
        error = max(self.errors, key=lambda line: len(content_words(line) & about), default="")
        tried = [
            _attempt(one) for one in self.tried if any(each in self.failed or not command_of(each) for each in one)
        ]
        parts = [
            ("The error:\n> ", f"`{error}`" if error and "`" not in error else error),
            ("What was asked:\n> ", self.asked),
            ("What worked:\n", "\n".join(filter(None, _in_order([*self.last, *self.after], is_short=False)))),
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


def find_troubles(messages: Transcript) -> Iterator[Trouble]:
    """Yield each task of the person that may be a problem, up to its solution."""
    trouble = Trouble()
    for at, message in enumerate(messages):
        if message.is_persons:
            answer = next((one for one in messages[at + 1 :] if not one.is_call), None)
            if trouble.ends_with(message, answer if answer and answer.is_assistants else None):
                yield trouble
                trouble = Trouble(message.text, message.offset)
        elif message.is_assistants:
            trouble.hear(message)
        elif message.failed and (acts(message) or error_line(message)):
            if trouble.solved:
                yield trouble
                trouble = Trouble()
            trouble.fail(message)
        elif not message.failed and trouble.follow(message):
            yield trouble
            trouble = Trouble()
    yield trouble


def same_lesson(new: str, known: str) -> bool:
    """Return whether two lessons have the same error, except for numbers and paths, and the same solution."""
    first, other = ((_VOLATILE.sub("#", text.partition("\n\n")[0]), _FENCED.findall(text)) for text in (new, known))
    return first == other and bool(first[1])


def _own(text: str, least: int = 0) -> str:
    """Return the beginning of what a person says in own words, from a sentence with the `least` content words."""
    own = [one.text for one in user_sentences(text)]
    first = next((at for at, one in enumerate(own) if len(content_words(one)) >= least), 0)
    return " ".join(own[first : first + MOST_SENTENCES])


def _is_respelled(call: TranscriptMessage) -> bool:
    """Return whether an edit only corrects the spelling of words."""
    old, new = (_TOKEN.findall(call.arguments.get(name, "")) for name in ("old_string", "new_string"))
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
            *_, end = _ANNOUNCED.findall(text) or [text]
            lines = list(filter(str.strip, (end if is_short else text).splitlines()))
            said = _own(text) if is_person else "\n> ".join(lines[:MOST_LINES])
            yield f"> {'Person' if is_person else 'Agent'}: {said}"


def _attempt(attempt: Attempt) -> str:
    """Return an attempt as a quotation: what announced it, its calls, and how it ended."""
    shown = "\n".join(filter(None, _in_order(attempt, is_short=True)))
    return "\n".join(line if line.startswith("> ") else f"> {line}" for line in shown.splitlines())


def _fenced(calls: Iterable[str]) -> str:
    code = "\n".join(filter(None, calls))
    mark = "`" * max(3, *(len(run) + 1 for run in re.findall(r"`{3,}", code)), 3)
    return f"{mark}\n{code}\n{mark}" if code else ""
