"""Extracts lessons from a session: an error, the attempts, and the command or change that worked, verbatim."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from mcp_memory.capture.readers.message import Role, TranscriptMessage
from mcp_memory.recall.moments.tool_action import read_action
from mcp_memory.statements.candidate import Candidate, StatementKind, make_title
from mcp_memory.statements.statement_rules import says_it_works
from mcp_memory.statements.user_sentences import user_sentences
from mcp_memory.text.language.terms import coverage

CONFIRMED, SUCCEEDED = 0.8, 0.5
"""Scores: you confirm that it works, or the same tool succeeded after a change or a remark."""
PATIENCE = 2
"""The number of your messages without a mention of an error after which the error is dropped."""
REPEATED_CALL = 0.5
"""The share of a failed call's words in another call of the same tool, from which it is the same attempt."""
MAX_ERROR_CHARS, MAX_REMEDY_CHARS, MAX_CHANGE_CHARS = 300, 400, 1200
MOST_CHANGES = 3
"""The most changes before the success that are quoted, latest last."""

_ERROR = re.compile(
    r"\b\w*(?:Error|Exception)\b|\b(?:error|fatal|panic|ERR!|FAILED|E[A-Z_]{4,})\b|\berror:|^E: |"
    r"\b(?:not found|[cC]annot|could not|couldn't|denied|refused|timed out|no such file|failed)\b"
)
"""Programs report errors in English."""
_TESTS = re.compile(
    r"\b(?:pytest|unittest|vitest|jest|tox|rspec|phpunit|ctest|"
    r"(?:npm|yarn|pnpm|make|cargo|go|mix|rake|mvn|dotnet|gradlew?) (?:run )?test)\b"
)
"""Matches a command that runs tests. A test that fails is part of the work, unless you confirm the fix."""
_LOOKS = re.compile(
    r"\S+ (?:\S+ )?(?:get|list|ls|show|view|status|info|version|logs?|describe|inspect|ps|outdated|why|tree|help)\b"
    r"[^&|;\n]*|[^&|;\n]* --(?:version|help)"
)
"""Matches a command of any program that only shows something."""
_VOLATILE = re.compile(r"0x[0-9a-f]+|/\S+|\d+")
_FENCED = re.compile(r"What worked:\n(```+).*?\n\1", re.DOTALL)


@dataclass
class _Trouble:
    error: str
    failed: TranscriptMessage
    remedy: str = ""
    tried: list[str] = field(default_factory=list[str])
    changes: list[str] = field(default_factory=list[str])
    succeeded: TranscriptMessage | None = None
    silent_turns: int = 0


def extract_lessons(messages: Sequence[TranscriptMessage]) -> Iterator[Candidate]:
    """Yield lessons. They are never outright, because most of the words are from a tool and the assistant."""
    trouble: _Trouble | None = None
    for message in messages:
        error = _error(message)
        if trouble and message.role is Role.USER and not error and (trouble.remedy or trouble.changes):
            words = _confirmation(message)
            if words or trouble.succeeded:
                yield _lesson(trouble, message if words else trouble.succeeded or message, words)
                trouble = None
            elif trouble.silent_turns == PATIENCE:
                trouble = None
            else:
                trouble.silent_turns += 1
        elif error and trouble and not trouble.succeeded and message.role is Role.TOOL and _call(message):
            trouble.tried.append(_call(message))  # this call hasn't solved it
            trouble.changes.clear()
        elif error:
            if trouble and trouble.succeeded:
                yield _lesson(trouble, trouble.succeeded)
            trouble = _Trouble(error, message)
        elif trouble and not trouble.succeeded:
            _follow(trouble, message)
    if trouble and trouble.succeeded:
        yield _lesson(trouble, trouble.succeeded)


def same_lesson(new: str, known: str) -> bool:
    """Return whether two lessons have the same error, except for numbers and paths, and the same solution."""
    worked, of_known = _FENCED.search(new), _FENCED.search(known)
    first, other = (_VOLATILE.sub("#", text.partition("\n\n")[0]) for text in (new, known))
    return worked is not None and of_known is not None and worked[0] == of_known[0] and first in other


def _follow(trouble: _Trouble, message: TranscriptMessage) -> None:
    if message.role is Role.ASSISTANT:
        trouble.remedy = message.turn.text
        return
    call, before = _call(message), _call(trouble.failed)
    if _LOOKS.fullmatch(call) and not _LOOKS.fullmatch(before):
        return
    if message.tool == trouble.failed.tool and (not before or _is_like(call, before)):
        if call != before or not call:
            trouble.changes += [call] if call else []
        went_away_by_itself = not trouble.changes and not trouble.remedy
        if not went_away_by_itself and not _TESTS.search(call):
            trouble.succeeded = message
    elif call and (
        not read_action(message.arguments, "", None).only_reads or {"command", "cmd"}.isdisjoint(message.arguments)
    ):
        trouble.changes.append(call)


def _is_like(call: str, before: str) -> bool:
    """Return whether a call repeats a failed call: the same program, or most of its words."""
    new, old = call.split(), before.split()
    return bool(new) and (new[0] == old[0] or coverage({*old}, {*new}) >= REPEATED_CALL)


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


def _error(message: TranscriptMessage) -> str:
    """Return the line that describes the error; from your messages, only pasted or quoted lines."""
    if message.role is Role.ASSISTANT or (message.role is Role.TOOL and not message.failed):
        return ""
    lines = [line.strip() for line in message.turn.text.splitlines() if _ERROR.search(line)]
    if lines and message.role is Role.USER:
        sentences = user_sentences(message.turn.text)
        if any(map(says_it_works, sentences)):
            return ""
        # The line was pasted: in quotation marks, in code, or outside any sentence.
        named = [sentence.text for sentence in sentences if _ERROR.search(sentence.view)]
        lines = [line for line in lines if not any(words in line for words in named)]
    return lines[-1][:MAX_ERROR_CHARS] if lines else ""


def _confirmation(message: TranscriptMessage) -> str:
    sentences = user_sentences(message.turn.text)
    return next((sentence.text for sentence in sentences if says_it_works(sentence)), "")


def _lesson(trouble: _Trouble, message: TranscriptMessage, words: str = "") -> Candidate:
    remedy = " ".join(trouble.remedy.split())
    if len(remedy) > MAX_REMEDY_CHARS:
        remedy = remedy[:MAX_REMEDY_CHARS].rsplit(" ", 1)[0] + " …"
    worked = "\n".join(trouble.changes[-MOST_CHANGES:])
    attempts = dict.fromkeys(filter(None, (_call(trouble.failed), *trouble.tried)))
    parts = [
        ("The error:", f"> `{trouble.error}`" if "`" not in trouble.error else f"> {trouble.error}"),
        ("What failed:", _fenced("\n".join(call for call in attempts if call not in worked.split("\n")))),
        ("What worked:", _fenced(worked)),
        ("What the assistant said to it:", f"> {remedy}" if remedy else ""),
        ("The person:", f"> {words}" if words else ""),
    ]
    text = "\n\n".join(f"{head}\n{body}" for head, body in parts if body)
    score = CONFIRMED if words else SUCCEEDED
    return Candidate.from_message(message, StatementKind.FIX, text, score, False, make_title(trouble.error))


def _fenced(code: str) -> str:
    mark = "`" * max(3, *(len(run) + 1 for run in re.findall(r"`{3,}", code)), 3)
    return f"{mark}\n{code}\n{mark}" if code else ""
