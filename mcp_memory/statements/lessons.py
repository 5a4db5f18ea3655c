"""Extracts lessons from a session: a problem, the attempts, and the command or change that solved it, verbatim."""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

from mcp_memory.capture.readers.message import Role, TranscriptMessage
from mcp_memory.recall.moments.tool_action import acts, call_text, command_of, repeats
from mcp_memory.statements.candidate import Candidate, StatementKind
from mcp_memory.statements.statement_rules import OUTRIGHT, says_it_works
from mcp_memory.statements.user_sentences import user_sentences
from mcp_memory.text.conversation.own_words import lowered, pasted_words
from mcp_memory.text.language.sentences import sentences
from mcp_memory.text.language.terms import content_words
from mcp_memory.text.language.word_tables import has_cue, read_cues

CONFIRMED, SUCCEEDED = 0.8, 0.5
"""Scores: you confirm that it works, or the same tool succeeded after a change or a remark."""
PATIENCE = 2
"""The number of your messages without a mention of an error after which the error is dropped."""
MAX_CHARS = 300
"""The most characters of an error or refusal that are quoted."""
LEAST_WORDS, MOST_SHARED = 4, 4
"""The least content words of an explanation, and the most words that it shares with the error and the changes that
make it a better one."""
MOST_CHANGES, MOST_REASONS = 4, 3
"""The most changes before the success that are quoted, latest last, with the command that succeeded; and the most
sentences that explain it."""

_CUES = ("mcp_memory.statements", "lessons.toml")
_has = partial(has_cue, *_CUES)

_WORTH = {
    "causes": 2,
    "explains": 1,
    "passing": 0,
    "wrong": -0.5,
    "leans": -0.5,
    "concludes": -1,
    "intends": -2,
    "reports": -2,
}
"""The worth of such words in a sentence that explains a problem."""
_FORMS = ("line_cause", "line_name", "line_mark", "line_word")
"""The patterns of lines that report an error, the most telling form first."""
_PREFIX = re.compile(r"^(?:[\w.-]+ +\| +|[│|] +|(?:[^\t]+\t){2}\S+Z )")
"""Matches what `docker compose`, Terraform and CI put before each line."""
_TESTS = re.compile(
    r"\b(?:pytest|unittest|vitest|jest|tox|rspec|phpunit|ctest|"
    r"(?:npm|yarn|pnpm|make|cargo|go|mix|rake|mvn|dotnet|gradlew?) (?:run )?test)\b"
)
"""Matches a command that runs tests. A test that fails after a change is part of the work, unless an attempt to mend it
failed, or you confirm the fix."""
_MARK = re.compile(r"^E {2,}")
"""Matches what pytest puts before a line about an error."""
_ITEM = re.compile(r"^ *(?:[-*+]|\w{1,2}[.)]) .*", re.MULTILINE)
_VOLATILE = re.compile(r"0x[0-9a-f]+|/\S+|\d+")
_FENCED = re.compile(r"What worked:\n(```+).*?\n\1", re.DOTALL)


class _Remark(NamedTuple):
    """A sentence about a problem. `asides`: how far it is only a result or an option, said after the success or in a
    list."""

    text: str
    role: Role
    asides: int = 0


class Trouble:
    """A task of the person that may be a problem, up to its solution. `was_there`: no change of the session caused it.
    `failed` has the calls that failed or were called wrong, `refuting` the messages that call them wrong, and `changes`
    the calls since then. `earlier` has the remarks up to then, `remarks` those since then. `former` is the lesson that
    turned out to be wrong."""

    def __init__(self, asked: str = "", offset: int = -1) -> None:
        own = (one.text for one in user_sentences(asked))
        self.asked = next((one for one in own if len(content_words(one)) >= LEAST_WORDS), "")
        self.said, self.refuting, self.errors = {offset: asked}, set[int](), _pasted_errors(asked)
        self.was_there = bool(self.errors) or _has("complains", asked)
        self.failed, self.changes = list[TranscriptMessage](), list[TranscriptMessage]()
        self.remarks, self.earlier = list[_Remark](), list[_Remark]()
        self.succeeded: TranscriptMessage | None = None
        self.former: Candidate | None = None
        self.confirmed = self.refused = ""
        self.silent_turns = 0

    def ends_with(self, message: TranscriptMessage, answer: str) -> bool:
        """Take up a message of the person, and the `answer` to it; return whether it ends the problem."""
        text = message.turn.text
        own = user_sentences(text)
        self.said[message.offset] = text
        self.confirmed = next((one.text for one in own if says_it_works(one)), "")
        is_wrong = _has("wrong", text) or _has("wrong", answer) or _pasted_errors(text)
        if self.changes and is_wrong and not self.confirmed:
            self.refuting.add(message.offset)
            self._reject()
        elif self.confirmed or self.succeeded or (self.changes and _has("thanks", text)):
            self.succeeded = message if self.confirmed else self.succeeded or message
            return True
        elif not (self.errors or self.failed) or self.silent_turns == PATIENCE:
            return True
        elif _has("refuses", text) and self.remarks:
            self.refused = f"{self.remarks[-1].text}\n> {' '.join(text.split())[:MAX_CHARS]}"
            self.remarks = []
        self.silent_turns += 1
        self.remarks += [_Remark(one.text, message.role) for one in own]
        return False

    def hear(self, message: TranscriptMessage) -> None:
        """Take up what the assistant says."""
        told = [one.text for one in sentences(message.turn.text)]
        if self.changes and not self.succeeded and any(_has("wrong", one) for one in told):
            self._reject()
        if not (self.remarks or self.failed) and all(map(command_of, self.changes)):
            self.changes = []  # the commands before the first word only look
        items, late = "\n".join(_ITEM.findall(message.turn.text)), self.succeeded is not None
        self.remarks += [_Remark(one, message.role, late + (one in items)) for one in told]

    def fail(self, message: TranscriptMessage) -> None:
        """Take up a call that failed, so that the changes before it haven't solved the problem."""
        if self.errors or self.failed:
            self._reject()
        else:
            self.errors, self.was_there = _error_lines(message.turn.text), self.was_there and not self.changes
            self.changes = []
        self.failed.append(message)

    def follow(self, message: TranscriptMessage) -> None:
        """Take up a call that didn't fail."""
        call = call_text(message)
        is_again = any(repeats(message, one) for one in self.failed)
        if self.succeeded or not (acts(message) or (is_again and (self.changes or self.remarks))):
            return
        self.changes.append(message)
        is_other = len(self.changes) > 1 or self.remarks or call not in map(call_text, self.failed)
        if is_again and is_other and (self.was_there or len(self.failed) > 1 or not _TESTS.search(call)):
            self.succeeded = message

    def _reject(self) -> None:
        """Note that the changes haven't solved the problem."""
        self.former = next(self.lesson(), self.former)
        self.was_there |= not self.errors
        self.earlier, self.remarks = self.remarks or self.earlier, []
        self.failed += self.changes
        self.changes, self.succeeded = [], None

    def explains(self, found: Candidate) -> bool:
        """Return whether a statement of the person only describes the problem or the result, and passes with it."""
        text = self.said.get(found.offset)
        if text is None or found.score >= OUTRIGHT or not (self.errors or self.failed):
            return False
        if found.offset == next(iter(self.said)):
            return not self.errors or _has("complains", text)
        is_aside = not found.outright and any(_has(cue, text) for cue in ("wrong", "refuses", "thanks"))
        return (is_aside or found.offset in self.refuting) and not _has("lasts", found.said)

    def lesson(self) -> Iterator[Candidate]:
        """Yield the lesson, unless the problem is open, was a slip or went away, or has no explanation."""
        heard = [*self.earlier, *self.remarks]
        said = self._explaining(self.remarks) or self._explaining(heard)
        reason, known = said[0].text if said else "", [call_text(one) for one in self.failed]
        edits = [one for one in self.changes if not command_of(one)]
        is_known = reason or self.confirmed or (self.errors and len(known) > 1)
        went_away = not edits and any(_has("line_passing", one.turn.text) for one in self.failed[:1])
        if self.succeeded is None or went_away or not is_known or _has("passing", reason):
            return
        worked = [*map(call_text, [*edits, *self.changes[-1:]] if edits else self.changes)][-MOST_CHANGES:]
        shown = {*worked, *known[: bool(edits and self.errors)]}  # an edit mends what the first command checks
        tried = [call_text(one) for one in self.failed if acts(one) and call_text(one) not in shown]
        about = content_words("\n".join([reason, *worked]))
        error = max(self.errors, key=lambda line: len(content_words(line) & about), default="")
        told = [one for one in heard if one in said and one.text not in self.refused]
        own = [one.text for one in told if one.role is Role.USER]
        parts = [
            ("The error:\n> ", f"`{error}`" if error and "`" not in error else error),
            ("The problem:\n> ", "" if error else self.asked),
            ("What failed:\n", _fenced(dict.fromkeys(tried))),
            ("What the person refused:\n> ", self.refused),
            ("What worked:\n", _fenced(dict.fromkeys(worked))),
            ("What the assistant said to it:\n> ", " ".join(one.text for one in told if one.role is Role.ASSISTANT)),
            ("The person:\n> ", " ".join(filter(None, [*own, self.confirmed]))),
        ]
        text = "\n\n".join(f"{head}{body}" for head, body in parts if body)
        forms, score = read_cues(*_CUES), CONFIRMED if self.confirmed else SUCCEEDED
        lead, before = forms["lead"].match(lowered(reason)), forms["line_lead"].match(error)
        title = reason[lead.end() if lead else 0 :]
        if not title or _has("leans", title):
            title = error[before.end() if before else 0 :] or self.asked
        yield Candidate.from_message(self.succeeded, StatementKind.FIX, text, score, False, title, "", self.former)

    def _explaining(self, said: Sequence[_Remark]) -> list[_Remark]:
        """Return the sentences that explain the problem best, the best first."""
        about, is_announced = content_words("\n".join([*self.errors, *map(call_text, self.changes)])), False
        found = list[tuple[float, _Remark]]()
        for remark in said:
            words, has = content_words(remark.text), {cue for cue in _WORTH if _has(cue, remark.text)}
            shared = min(len(words & about), MOST_SHARED) / 2
            worth = sum(_WORTH[cue] for cue in has) + shared + is_announced + len(words) / 40
            worth -= remark.asides + (remark.role is Role.USER) * (1 if shared else 3)
            is_announced = "causes" in has and len(words) < LEAST_WORDS
            if worth > 0 and not is_announced:
                found.append((worth, remark))
        found.sort(key=lambda one: -one[0])
        return [remark for worth, remark in found[:MOST_REASONS] if worth >= min(1, found[0][0])]


def find_troubles(messages: Sequence[TranscriptMessage]) -> Iterator[Trouble]:
    """Yield each task of the person that may be a problem, up to its solution."""
    trouble = Trouble()
    for at, message in enumerate(messages):
        if message.role is Role.USER:
            answer = "".join(one.turn.text for one in messages[at + 1 : at + 2] if one.role is Role.ASSISTANT)
            if trouble.ends_with(message, answer):
                yield trouble
                trouble = Trouble(message.turn.text, message.offset)
        elif message.role is Role.ASSISTANT:
            trouble.hear(message)
        elif not message.failed or not (error_line(message) or acts(message)):
            trouble.follow(message)
        elif not (trouble.failed and _has("line_passing", message.turn.text)):
            if trouble.succeeded:
                yield trouble
                trouble = Trouble()
            trouble.fail(message)
    yield trouble


def same_lesson(new: str, known: str) -> bool:
    """Return whether two lessons have the same error, except for numbers and paths, and the same solution."""
    worked = _FENCED.search(new)
    first, other = (_VOLATILE.sub("#", text.partition("\n\n")[0]) for text in (new, known))
    return worked is not None and worked[0] in known and first in other


def error_line(message: TranscriptMessage) -> str:
    """Return the line of a tool's output that says most about an error, with the line that it announces."""
    return next(iter(_error_lines(message.turn.text)), "")


def _pasted_errors(text: str) -> Sequence[str]:
    return () if any(map(says_it_works, user_sentences(text))) else _error_lines(pasted_words(text))


def _error_lines(text: str) -> Sequence[str]:
    """Return the lines that report an error in the most telling form, the most telling first."""
    forms, lines = read_cues(*_CUES), [_PREFIX.sub("", line) for line in text.splitlines()]
    for told in ([line for line in lines if not forms["line_summary"].search(line)], lines):
        for form in _FORMS:
            if places := [at for at, line in enumerate(told) if forms[form].search(line)]:
                parts = [told[at : at + 1 + told[at].rstrip().endswith(":")] for at in places]
                found = [_MARK.sub("", " ".join(map(str.strip, part)))[:MAX_CHARS] for part in parts]
                return found[::-1] if form == _FORMS[0] else found
    return ()


def _fenced(calls: Iterable[str]) -> str:
    code = "\n".join(filter(None, calls))
    mark = "`" * max(3, *(len(run) + 1 for run in re.findall(r"`{3,}", code)), 3)
    return f"{mark}\n{code}\n{mark}" if code else ""
