"""Finds fixes: an error from a tool or pasted by you, and what resolved it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from mcp_memory.capture.readers.message import Role, TranscriptMessage
from mcp_memory.extraction.candidate import Candidate, StatementKind, candidate, titled
from mcp_memory.extraction.language import introduces
from mcp_memory.extraction.statement_rules import says_it_works
from mcp_memory.extraction.user_sentences import spoken

CONFIRMED, SUCCEEDED = 0.8, 0.5
"""Scores: you say that it works, or the same tool succeeded after the assistant had said something."""
PATIENCE = 2
"""An error is dropped after this many of your messages that don't mention it."""
MOST_ERROR_CHARS, MOST_REMEDY_CHARS = 300, 400

_ERROR = re.compile(
    r"\b\w*(?:Error|Exception)\b|\b(?:error|fatal|panic|ERR!|FAILED|E[A-Z]{4,})\b|\berror:|^E: |"
    r"\b(?:not found|cannot|could not|couldn't|denied|refused|timed out|no such file|failed)\b"
)
"""In the languages of programs, which is English."""


@dataclass(frozen=True, slots=True)
class _Trouble:
    error: str
    tool: str
    remedy: str = ""
    went_through: TranscriptMessage | None = None
    silent_turns: int = 0


def fixes(messages: Sequence[TranscriptMessage]) -> list[Candidate]:
    """In their order. None of them is outright: most of the words are a tool's and the assistant's."""
    return list(_fixes(messages))


def _fixes(messages: Sequence[TranscriptMessage]) -> Iterator[Candidate]:
    trouble: _Trouble | None = None
    for message in messages:
        error = _error(message)
        if trouble and message.role is Role.USER and trouble.remedy and not error:
            if words := _confirmation(message):
                yield _candidate(trouble, message, CONFIRMED, words)
                trouble = None
            elif trouble.went_through:
                yield _candidate(trouble, trouble.went_through, SUCCEEDED, "")
                trouble = None
            elif trouble.silent_turns == PATIENCE:
                trouble = None
            else:
                trouble = replace(trouble, silent_turns=trouble.silent_turns + 1)
        elif error:
            if trouble and trouble.went_through:
                yield _candidate(trouble, trouble.went_through, SUCCEEDED, "")
            trouble = _Trouble(error, message.tool)
        elif trouble and message.role is Role.ASSISTANT and not trouble.went_through:
            trouble = replace(trouble, remedy=message.turn.text)
        elif trouble and message.role is Role.TOOL and trouble.remedy and message.tool == trouble.tool:
            trouble = replace(trouble, went_through=message)
    if trouble and trouble.went_through:
        yield _candidate(trouble, trouble.went_through, SUCCEEDED, "")


def _error(message: TranscriptMessage) -> str:
    """The line that says what is wrong; of a person only what they pasted or quoted."""
    if message.role is Role.ASSISTANT or (message.role is Role.TOOL and not message.failed):
        return ""
    lines = [line.strip() for line in message.turn.text.splitlines() if _ERROR.search(line)]
    if lines and message.role is Role.USER:
        said = spoken(message.turn.text, introduces)
        if any(says_it_works(each) for each in said):
            return ""
        # Pasted: in quotation marks, in code, or where nobody speaks.
        named = [each.text for each in said if _ERROR.search(each.view)]
        lines = [line for line in lines if not any(words in line for words in named)]
    return lines[-1][:MOST_ERROR_CHARS] if lines else ""


def _confirmation(message: TranscriptMessage) -> str:
    return next((each.text for each in spoken(message.turn.text, introduces) if says_it_works(each)), "")


def _candidate(trouble: _Trouble, at: TranscriptMessage, score: float, words: str) -> Candidate:
    remedy = " ".join(trouble.remedy.split())
    if len(remedy) > MOST_REMEDY_CHARS:
        remedy = remedy[:MOST_REMEDY_CHARS].rsplit(" ", 1)[0] + " …"
    lines = ["The error:", f"> {trouble.error}", "", "What the assistant said to it:", f"> {remedy}"]
    if words:
        lines += ["", "The person:", f"> {words}"]
    turn = at.turn
    return candidate(
        StatementKind.FIX,
        "\n".join(lines),
        score,
        outright=False,
        offset=at.offset,
        speaker=turn.speaker,
        at=turn.at,
        title=titled(trouble.error),
    )
