"""Extracts lessons from a session: a problem, the attempts in order, and what was said and done when it was solved,
verbatim."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import partial
from itertools import groupby, pairwise

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
PATIENCE, MOST_PRINTED = 2, 400
"""The number of your messages without an attempt after which a problem is dropped, and the most lines of outputs that
are read for an error of no known form."""
MOST_SENTENCES, MOST_LINES = 3, 16
"""The most sentences of a message of yours, and lines of a message of the assistant, that are quoted."""
LEAST_WORDS = 4
"""The least content words of a sentence or error that names a problem."""
LEAST_SHARED, MOST_EXPLAINING = 2, 2
"""The least words of an open problem that a message and its work take up, and the most messages before the solution
that explain it."""
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

    @property
    def answer(self) -> list[TranscriptMessage]:
        """The assistant's messages before it does something."""
        first = next((at for at, one in enumerate(self.work) if one.is_call), len(self.work))
        return self.work[:first]


class Trouble:
    """A problem, from the message or failure that shows it to what is said after its solution. The attempts begin at
    the places `begins` of the `messages`; the last one may solve it. `vain` has the calls that failed, were refused,
    taken back or measured again; `redone` those that the assistant ran otherwise later. `former` is the lesson that
    turned out to be wrong."""

    def __init__(self, opening: TranscriptMessage | None = None) -> None:
        text = opening.text if opening else ""
        self.asked, self.pasted = _own(text, LEAST_WORDS), list(pasted_errors(text))
        self.opened_at = opening.offset if opening else None
        self.said = {self.opened_at}
        self.is_reported = bool(self.pasted) or _has("complains", text)
        self.messages, self.begins = Attempt(), [0]
        self.failed, self.vain, self.redone = Attempt(), Attempt(), Attempt()
        self.solved: TranscriptMessage | None = None
        self.former: Candidate | None = None
        self.is_confirmed = self.is_own = False
        self.silent_turns = 0

    @property
    def last(self) -> Attempt:
        return self.messages[self.begins[-1] :]

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
        redone = [] if self.solved or self.is_problem else self._redone_by(turn)
        is_talk = not self.changes and not turn.acting and self._shares(turn, 1)
        is_open = not self.solved and (redone or is_talk or self._is_taken_up_in(turn))
        if works and (self.is_problem or self.last):
            self.is_confirmed, self.solved = True, message
            self.messages += [message, *turn.answer]
        elif is_refuted:
            self.former, self.solved = next(self.lesson(), self.former), None
            self.vain += self.changes
        elif not is_open:
            self._settle(message)
            self.messages += [one for one in turn.answer if not turn.acting and self.shared_words(one)]
        if works or is_refuted or is_open or not turn.acting:
            self.said.add(message.offset)
        if not works and (is_refuted or is_open):
            self._answer(message, ends=bool(is_refuted or redone or is_talk))
            self.redone += redone
        return not works and bool(is_refuted or is_open)

    def _answer(self, message: TranscriptMessage, *, ends: bool) -> None:
        """Take up a message of the person, which may end an attempt. A message after a failure belongs to it."""
        if not self.last and self.begins[1:]:
            self.begins.pop()
            ends = True
        self.messages.append(message)
        self.silent_turns += 1
        if ends:
            self.begins.append(len(self.messages))

    def close(self) -> None:
        """Regard the last attempt as the solution if the person said something after it."""
        if self.changes and not self.last[-1].is_call:
            said = [one for one in self.last[self.last.index(self.changes[0]) :] if one.is_persons]
            self._settle(said[-1] if said else None)

    def _settle(self, message: TranscriptMessage | None) -> None:
        if self.changes and not self.solved:
            self.solved = message

    def _is_taken_up_in(self, turn: _Turn) -> bool:
        """Return whether a turn goes on with what isn't solved yet."""
        is_silent = self.is_problem and not turn.acting and self.silent_turns < PATIENCE
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
        return len(self._words([*self.redone, *self.changes]) & content_words(message.text))

    def _redone_by(self, turn: _Turn) -> Attempt:
        """Return the commands of the last attempt that a turn runs otherwise."""
        return [
            old for old in self.changes if command_of(old) and any(_is_at_same_place(one, old) for one in turn.acting)
        ]

    def _is_refuted_by(self, turn: _Turn) -> bool:
        """Return whether the person's message says that it doesn't work, or leads the assistant to do anew what the
        last attempt did."""
        text = turn.said.text if turn.said else ""
        if self.changes and (_has("wrong", text) or pasted_errors(text)):
            return True
        pairs = [(one, old) for one in turn.acting for old in self.changes if _is_at_same_place(one, old)]
        is_refused = denies(text) or _has("refuses", text)
        return any(_takes_back(*pair) or (is_refused and not _extends(*pair)) for pair in pairs)

    def hear(self, message: TranscriptMessage) -> None:
        """Take up what the assistant says."""
        self.messages.append(message)

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
        self.begins.append(len(self.messages))
        self.silent_turns = 0

    def follow(self, message: TranscriptMessage) -> bool:
        """Take up a call that didn't fail; return whether a failure went away by itself."""
        if self.solved:
            self.messages += [message] if acts(message) and self.messages[-1].is_call else []
            return False
        for at, one in enumerate(self.messages, 1):
            is_measured = self.is_problem and command_of(one) and is_same_call(message, one)
            if one.is_call and one not in self.vain and (is_measured or _takes_back(message, one)):
                self.vain.append(one)
                ends = max(end for end, call in enumerate(self.messages, 1) if call.is_call) if is_edit(one) else at
                self.begins += [ends] if ends > self.begins[-1] else []
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
        if found.offset not in self.said or found.score >= OUTRIGHT:
            return False
        if found.offset == self.opened_at:
            return self.is_reported or any(self.lesson())
        is_later = self.solved is not None and found.offset >= self.solved.offset
        return self.is_problem and not (_has("lasts", found.said) or (found.outright and is_later))

    def lesson(self) -> Iterator[Candidate]:
        """Yield the lesson, unless the problem is open, was a slip or went away, or nothing was said about it."""
        told = [one for one in self.last if one.is_assistants]
        is_problem = self.is_problem or self.is_confirmed or self._names_what_was_redone(told)
        is_first = self.is_own and len(self.failed) == 1
        is_known = self.is_confirmed or (told and not is_first) or (not is_first and len(self.vain) > 1)
        if self.solved is None or not is_problem or not is_known or self._is_slip():
            return
        worked = self._solution()
        error = self._telling_error(worked)
        tried = list(filter(None, (self._quoted(one, worked) for one in self._attempts())))
        parts = [
            ("The error:\n> ", f"`{error}`" if error and "`" not in error else error),
            ("What was asked:\n> ", self.asked),
            ("What worked:\n", "\n".join(_shown(worked))),
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

    def _attempts(self) -> Sequence[Attempt]:
        """Return the attempts before the last one."""
        return [self.messages[begin:end] for begin, end in pairwise(self.begins)]

    def _solution(self) -> Attempt:
        """Return the changes that were kept, with the commands after them, and the messages that explain them best."""
        kept = [one for one in self.messages if is_edit(one) and one not in self.vain]
        found = [one for one in self.messages if one in self.last or one in kept]
        vain, last = [*self.vain, *self.redone], self.last
        turning = self.changes[-1:] or [one for one in last if one.is_persons]
        done = last.index(turning[0]) if turning else 0
        before, after = list[TranscriptMessage](), last[done:]
        for attempt in [*(one for one in self._attempts() if any(each.is_call for each in one)), last[:done]]:
            calls = [next((one for one in attempt[at:] if one.is_call), None) for at in range(len(attempt))]
            before += [one for one, call in zip(attempt, calls, strict=True) if call not in vain]
        best = sorted((one for one in before if one.is_assistants), key=self.shared_words)[-MOST_EXPLAINING:]
        best = [one for one in best if 2 * self.shared_words(one) >= self.shared_words(best[-1])]
        best += sorted((one for one in after if one.is_assistants), key=self.shared_words)[-1:]
        first = found.index(kept[0]) if kept else 0
        calls = [one for at, one in enumerate(found) if one.is_call and (at >= first or one in kept)]
        said = [one for one in self.last if one.is_persons]
        return [one for one in self.messages if one in calls or one in said or one in best]

    def _quoted(self, attempt: Attempt, worked: Attempt) -> str:
        """Return an attempt as a quotation: its calls, or what was advised, and how it ended. The first look at the
        problem, checks that are run again in what `worked`, and steps on the way to it, are no attempts."""
        calls = [one for one in attempt if one.is_call]
        is_kept = any(is_edit(one) and one not in self.vain for one in calls)
        if is_kept or not (
            self._is_wrong(calls, worked) if calls else not self.failed and not any(map(call_text, worked))
        ):
            return ""
        said = attempt[: attempt.index(calls[0])] if calls and not calls[-1].failed else []
        ended = attempt[attempt.index(calls[-1]) + 1 :] if calls else attempt
        answers = [one for one in ended if one.is_persons] if calls else ended
        lines = "\n".join(_shown([*[one for one in said if one.is_assistants][-1:], *calls, *answers])).splitlines()
        return "\n".join(line if line.startswith("> ") else f"> {line}" for line in lines)

    def _is_wrong(self, calls: Attempt, worked: Attempt) -> bool:
        """Return whether the calls of an attempt were a wrong way, rather than a look or a check."""
        if not any(one.failed for one in calls):
            return any(one in self.vain or one in self.redone for one in calls)
        is_changed, known = any(map(is_edit, worked)), {name for one in worked for name in programs(one)}
        if is_changed and calls[-1] == self.failed[0] and not any(map(is_edit, calls)):
            return False
        looks = [one for one in calls if not acts(one) and "\n" not in call_text(one)]
        new = [one for one in calls if one not in looks and call_text(one) not in map(call_text, worked)]
        return any(is_edit(one) or not is_changed or not programs(one) or not programs(one) <= known for one in new)

    def _names_what_was_redone(self, told: Attempt) -> bool:
        """Return whether the assistant names, at the end, what a command was run without."""
        run = content_words("\n".join([self.asked, *map(call_text, self.changes)]))
        dropped = content_words("\n".join(map(call_text, self.redone))) - run
        return bool(told and dropped & content_words(told[-1].text))

    def _telling_error(self, worked: Attempt) -> str:
        """Return the line that shares most with what was asked, told and changed, from the first output and those of
        the programs that `worked` at last. A word that several lines have says less about one of them."""
        first = [*self.pasted, *(line for one in self.failed[:1] for line in error_lines(one.text))]
        names = {name for one in worked for name in programs(one)}
        later = [line for one in self.failed[1:] if programs(one) & names for line in error_lines(one.text)]
        if not first and not later:
            asked = content_words(self.asked) - content_words("\n".join(map(call_text, self.failed[:1])))
            printed = [line.strip() for one in self.failed[:1] for line in one.text.splitlines()][:MOST_PRINTED]
            first = [line for line in printed if len(content_words(line) & asked) >= LEAST_SHARED]
        about = content_words("\n".join([self.asked, *map(_text, worked)]))
        words = {line: content_words(line) for line in [*first, *later]}
        count = Counter(word for each in words.values() for word in each)
        shares = {line: sum(1 / count[word] for word in words[line] & about) for line in words}
        best = max(shares.values(), default=0)
        likely = [line for line in first if 2 * shares[line] >= best] or later
        return max(likely, key=lambda line: shares[line], default="")

    def _is_slip(self) -> bool:
        """Return whether the failure was a mistyped word."""
        if edits := list(filter(is_edit, self.changes)):
            return all(_is_respelled(*_texts(one)) for one in edits)
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
                hearing = [*solved, trouble] if trouble.solved else [trouble]
                max(reversed(hearing), key=lambda one: one.shared_words(message)).hear(message)
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
    """Return whether two lessons have the same error, except for numbers and paths, and the same solution."""
    first, other = ((_VOLATILE.sub("#", text.partition("\n\n")[0]), _FENCED.findall(text)) for text in (new, known))
    return first == other and bool(first[1])


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


def _extends(call: TranscriptMessage, before: TranscriptMessage) -> bool:
    """Return whether an edit only adds to words that another one added."""
    removed, added = _changed_words(call)
    written = _changed_words(before)[1]
    return bool(added) and not removed and any(word in written for word in _WORD.findall(_texts(call)[0]))


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


def _nearest(attempt: Attempt) -> Iterator[TranscriptMessage]:
    """Yield an attempt with only the last message of the assistant before each call."""
    for at, one in enumerate(attempt):
        if not one.is_assistants or not any(other.is_assistants for other in attempt[at + 1 : at + 2]):
            yield one


def _shown(messages: Iterable[TranscriptMessage]) -> Iterator[str]:
    """Yield what was said, as quotations, and the calls, as code."""
    for is_call, group in groupby(messages, key=lambda one: one.is_call):
        some = list(group)[-MOST_SHOWN:]
        if is_call:
            yield _fenced(dict.fromkeys(map(call_text, some)))
            yield from ["It failed."] if some[-1].failed else []
            continue
        for one in some:
            lines = list(filter(str.strip, one.text.splitlines()))[:MOST_LINES]
            said = _own(one.text) if one.is_persons else "\n> ".join(lines)
            yield f"> {'Person' if one.is_persons else 'Agent'}: {said}"


def _fenced(calls: Iterable[str]) -> str:
    code = "\n".join(filter(None, calls))
    mark = "`" * max(3, *(len(run) + 1 for run in re.findall(r"`{3,}", code)), 3)
    return f"{mark}\n{code}\n{mark}" if code else ""
