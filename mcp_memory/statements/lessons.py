"""Extracts lessons from a session: an error, the attempts, and the command or change that worked, verbatim."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

from mcp_memory.capture.readers.message import Role, TranscriptMessage
from mcp_memory.recall.moments.tool_action import read_action
from mcp_memory.statements.candidate import Candidate, StatementKind, make_title
from mcp_memory.statements.statement_rules import says_it_works
from mcp_memory.statements.user_sentences import user_sentences
from mcp_memory.text.conversation.own_words import lowered
from mcp_memory.text.language.sentences import sentences
from mcp_memory.text.language.terms import content_words
from mcp_memory.text.language.word_tables import has_cue, read_cues

CONFIRMED, SUCCEEDED = 0.8, 0.5
"""Scores: you confirm that it works, or the same tool succeeded after a change or a remark."""
PATIENCE = 2
"""The number of your messages without a mention of an error after which the error is dropped."""
MAX_ERROR_CHARS, MAX_REMEDY_CHARS, MAX_CHANGE_CHARS = 300, 400, 1200
LEAST_REASON, LEAST_AFTERWARDS = 2, 4
"""The minimum number of content words of an explanation without a word such as `because`, and of a message or remark
that explains an error after the success."""
MOST_CHANGES = 4
"""The most changes before the success that are quoted, latest last, with the command that succeeded."""

_CUES = ("mcp_memory.statements", "lessons.toml")
_has = partial(has_cue, *_CUES)

_FORMS = ("line_cause", "line_name", "line_mark", "line_word")
"""The patterns of lines that report an error, the most telling form first."""
_PREFIX = re.compile(r"^(?:[\w.-]+ +\| +|E {2,}|(?:[^\t]+\t){2}\S+Z )")
"""Matches what pytest, `docker compose` and CI put before each line."""
_TESTS = re.compile(
    r"\b(?:pytest|unittest|vitest|jest|tox|rspec|phpunit|ctest|"
    r"(?:npm|yarn|pnpm|make|cargo|go|mix|rake|mvn|dotnet|gradlew?) (?:run )?test)\b"
)
"""Matches a command that runs tests. A test that fails is part of the work, unless an attempt to mend it
failed, or you confirm the fix."""
_LOOKS = re.compile(
    r"\S+ (?:\S+ )?(?:get|list|ls|show|view|status|info|version|logs?|describe|inspect|ps|outdated|why|tree|help)\b"
    r"[^&|;\n]*|[^&|;\n]* --(?:version|help)"
)
"""Matches a command of any program that only shows something."""
_PROGRAM = re.compile(
    r"\A(?:.*&&)?\s*(?:\w+=\S*\s+|(?:sudo|npx|bunx|uvx|(?:uv|poetry) run|p?npm exec|(?:p?npm|yarn|bun) run|"
    r"python[\d.]* -m)\s+)*(?:\S*/)?(\S*).*",
    re.DOTALL,
)
"""Matches a command line and its last program."""
_VOLATILE = re.compile(r"0x[0-9a-f]+|/\S+|\d+")
_FENCED = re.compile(r"What worked:\n(```+).*?\n\1", re.DOTALL)


@dataclass
class _Trouble:
    """A problem. `error`: its line, or the person's words if nothing failed. `remarks`: what the assistant said since
    the last failure; `earlier`: before it."""

    error: str
    failed: TranscriptMessage
    tried: list[str]
    remarks: list[str] = field(default_factory=list[str])
    earlier: list[str] = field(default_factory=list[str])
    changes: list[str] = field(default_factory=list[str])
    succeeded: TranscriptMessage | None = None
    silent_turns: int = 0


def extract_lessons(messages: Sequence[TranscriptMessage]) -> Iterator[Candidate]:
    """Yield lessons. They are never outright, because most of the words are from a tool and the assistant."""
    trouble: _Trouble | None = None
    wrong_ways = dict(_wrong_ways(messages))
    for at, message in enumerate(messages):
        error = error_line(message)
        if trouble and message.role is Role.USER and not error and (trouble.remarks or trouble.changes):
            words = _confirmation(message)
            if words or trouble.succeeded:
                yield from _lesson(trouble, message if words else trouble.succeeded or message, words)
                trouble = None
            elif trouble.silent_turns == PATIENCE:
                trouble = None
            else:
                trouble.silent_turns += 1
                if _has("refuses", message.turn.text):
                    trouble.remarks.clear()
        elif error and trouble and not trouble.succeeded and message.role is Role.TOOL and _call(message):
            trouble.tried += [*trouble.changes, _call(message)]  # this call hasn't solved it
            trouble.changes.clear()
            trouble.earlier, trouble.remarks = trouble.remarks or trouble.earlier, []
        elif error:
            if trouble and trouble.succeeded:
                yield from _lesson(trouble, trouble.succeeded)
            trouble = _Trouble(error, message, [_call(message)])
        elif trouble:
            _follow(trouble, message)
        else:
            trouble = wrong_ways.get(at)
    if trouble and trouble.succeeded:
        yield from _lesson(trouble, trouble.succeeded)


def same_lesson(new: str, known: str) -> bool:
    """Return whether two lessons have the same error, except for numbers and paths, and the same solution."""
    worked, of_known = _FENCED.search(new), _FENCED.search(known)
    first, other = (_VOLATILE.sub("#", text.partition("\n\n")[0]) for text in (new, known))
    return worked is not None and of_known is not None and worked[0] == of_known[0] and first in other


def _wrong_ways(messages: Sequence[TranscriptMessage]) -> Iterator[tuple[int, _Trouble]]:
    """Yield the places at which the assistant calls its last attempts wrong and says why, each with the problem."""
    asked, attempts = "", list[TranscriptMessage]()
    for at, message in enumerate(messages):
        if message.role is Role.ASSISTANT:
            told = _sentences(message)
            if attempts and asked and any(_has("wrong", one) for one in told) and _reason(told):
                yield at, _Trouble(asked, attempts[-1], [*map(_call, attempts)], told)
            attempts = []
        elif message.role is Role.TOOL:
            attempts += [message] if _acts(message) else []
        elif len(content_words(message.turn.text)) >= LEAST_AFTERWARDS:
            asked = make_title(message.turn.text)


def _sentences(message: TranscriptMessage) -> list[str]:
    return [sentence.text for sentence in sentences(message.turn.text)]


def _acts(message: TranscriptMessage) -> bool:
    """Return whether a tool changed something, or ran a command that does more than show something."""
    call, is_command = _call(message), not {"command", "cmd"}.isdisjoint(message.arguments)
    reads = is_command and read_action(message.arguments, "", None).only_reads
    return bool(call) and not reads and not _LOOKS.fullmatch(call)


def _follow(trouble: _Trouble, message: TranscriptMessage) -> None:
    if message.role is Role.ASSISTANT:
        least = LEAST_AFTERWARDS if trouble.succeeded else 0
        trouble.remarks += [told for told in _sentences(message) if len(content_words(told)) >= least]
        return
    call, before = _call(message), _call(trouble.failed)
    if trouble.succeeded or (_LOOKS.fullmatch(call) and not _LOOKS.fullmatch(before)):
        return
    if message.tool == trouble.failed.tool and (not before or _is_like(call, before)):
        if call != before or trouble.changes or trouble.remarks:
            trouble.changes.append(call)
            if len(trouble.tried) > 1 or not _TESTS.search(call):
                trouble.succeeded = message
    elif _acts(message):
        trouble.changes.append(call)


def _is_like(call: str, before: str) -> bool:
    """Return whether a call repeats a failed call: the last program, or most of its words."""
    return _PROGRAM.sub(r"\1", call) == _PROGRAM.sub(r"\1", before)


def _call(message: TranscriptMessage) -> str:
    """Return the command or change, as it was called; empty if the transcript lacks it."""
    given = message.arguments
    if command := given.get("command") or given.get("cmd") or given.get("input"):
        return command.strip()[:MAX_CHANGE_CHARS]
    if path := given.get("file_path") or given.get("path"):
        old, new = given.get("old_string", ""), given.get("new_string") or given.get("content", "")
        lines = [*(f"- {line}" for line in old.splitlines()), *(f"+ {line}" for line in new.splitlines())]
        return "\n".join([path, *lines])[:MAX_CHANGE_CHARS] if lines else ""
    return ""


def error_line(message: TranscriptMessage) -> str:
    """Return the line that says most about an error, with the next line if it announces that; from your messages, only
    pasted or quoted lines."""
    if message.role is Role.ASSISTANT or (message.role is Role.TOOL and not message.failed):
        return ""
    forms, lines = read_cues(*_CUES), [_PREFIX.sub("", line).strip() for line in message.turn.text.splitlines()]
    if message.role is Role.USER:
        own = user_sentences(message.turn.text)
        if any(map(says_it_works, own)):
            return ""
        # The line was pasted: in quotation marks, in code, or outside any sentence.
        named = [sentence.text for sentence in own if forms["line_word"].search(sentence.view)]
        lines = [line for line in lines if not any(words in line for words in named)]
    for told in ([line for line in lines if not forms["line_summary"].search(line)], lines):
        for form in _FORMS:
            if found := [at for at, line in enumerate(told) if forms[form].search(line)]:
                at = found[-1] if form == _FORMS[0] else found[0]
                behind = told[at + 1 : at + 2] if told[at].endswith(":") else []
                return " ".join((told[at], *behind))[:MAX_ERROR_CHARS]
    return ""


def _confirmation(message: TranscriptMessage) -> str:
    own = user_sentences(message.turn.text)
    return next((sentence.text for sentence in own if says_it_works(sentence)), "")


def _lesson(trouble: _Trouble, message: TranscriptMessage, words: str = "") -> Iterator[Candidate]:
    """Yield the lesson, unless the failure was a slip or has no explanation."""
    said = [told for told in trouble.remarks or trouble.earlier if not _has("reports", told)]
    reason, was_retried = _reason(said), len(trouble.tried) > 1
    if not (reason or words or was_retried) or (not was_retried and any(_has("passing", told) for told in said)):
        return
    explained = [told for told in said if not _has("intends", told) or told == reason] or said
    remedy = " ".join(" ".join(explained).split())
    if len(remedy) > MAX_REMEDY_CHARS:
        remedy = remedy[:MAX_REMEDY_CHARS].rsplit(" ", 1)[0] + " …"
    worked = list(filter(None, trouble.changes))[-MOST_CHANGES:]
    parts = [
        ("The error:", f"> `{trouble.error}`" if "`" not in trouble.error else f"> {trouble.error}"),
        ("What failed:", _fenced([call for call in dict.fromkeys(trouble.tried) if call not in worked])),
        ("What worked:", _fenced(worked)),
        ("What the assistant said to it:", f"> {remedy}" if remedy else ""),
        ("The person:", f"> {words}" if words else ""),
    ]
    text = "\n\n".join(f"{head}\n{body}" for head, body in parts if body)
    cues, score = read_cues(*_CUES), CONFIRMED if words else SUCCEEDED
    lead, before = cues["lead"].match(lowered(reason)), cues["line_lead"].match(trouble.error)
    title = reason[lead.end() if lead else 0 :]
    if not title or _has("leans", title):
        title = trouble.error[before.end() if before else 0 :]
    yield Candidate.from_message(message, StatementKind.FIX, text, score, False, make_title(title))


def _reason(said: Sequence[str]) -> str:
    """Return the sentence that explains an error best; empty if none does."""
    best, reason = 0.0, ""
    for told in said:
        count, is_cause = len(content_words(told)), _has("causes", told)
        worth = 2 * is_cause - _has("wrong", told) - 2 * _has("intends", told) + count / 100
        if worth > best and (is_cause or count >= LEAST_REASON):
            best, reason = worth, told
    return reason


def _fenced(calls: Sequence[str]) -> str:
    code = "\n".join(filter(None, calls))
    mark = "`" * max(3, *(len(run) + 1 for run in re.findall(r"`{3,}", code)), 3)
    return f"{mark}\n{code}\n{mark}" if code else ""
