"""Extracts candidates from the messages of a session: your statements, and errors with what resolved them."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from mcp_memory.capture.readers.message import Role, TranscriptMessage
from mcp_memory.extraction.candidate import Candidate, StatementKind, make_title
from mcp_memory.extraction.language import introduces
from mcp_memory.extraction.statement_rules import classify, is_denial, says_it_works
from mcp_memory.extraction.user_sentences import MAX_CHARS, UserSentence, user_sentences

CONFIRMED, SUCCEEDED = 0.8, 0.5
"""Scores: you say that it works, or the same tool succeeded after the assistant had said something."""
PATIENCE = 2
"""An error is dropped after this many of your messages that don't mention it."""
MAX_ERROR_CHARS, MAX_REMEDY_CHARS = 300, 400

_ERROR = re.compile(
    r"\b\w*(?:Error|Exception)\b|\b(?:error|fatal|panic|ERR!|FAILED|E[A-Z]{4,})\b|\berror:|^E: |"
    r"\b(?:not found|cannot|could not|couldn't|denied|refused|timed out|no such file|failed)\b"
)
"""Programs report errors in English."""


def extract_candidates(messages: Sequence[TranscriptMessage]) -> list[Candidate]:
    """Returns candidates in the order of the messages. Of those with the same text, the last one stays."""
    found = [
        *(found for message in messages if message.role is Role.USER for found in _statements(message)),
        *_fixes(messages),
    ]
    once = {(candidate.kind, candidate.text.casefold()): candidate for candidate in found}
    return sorted(once.values(), key=lambda candidate: candidate.offset)


def _statements(message: TranscriptMessage) -> Iterator[Candidate]:
    typed = len(message.turn.text) <= MAX_CHARS
    for sentence in _joined(user_sentences(message.turn.text, introduces)):
        if statement := classify(sentence):
            yield Candidate.from_message(
                message,
                statement.kind,
                sentence.text,
                statement.score,
                statement.outright and typed and not sentence.may_be_pasted,
                make_title(sentence.text[statement.prefix_chars :]),
            )


def _joined(sentences: Sequence[UserSentence]) -> Iterator[UserSentence]:
    """Joins a plain no to the sentence that follows it."""
    denial: UserSentence | None = None
    for sentence in sentences:
        if is_denial(sentence):
            denial = sentence
        elif denial:
            text, view = f"{denial.text} {sentence.text}", f"{denial.view} {sentence.view}"
            yield UserSentence(text, view, sentence.is_question, sentence.may_be_pasted)
            denial = None
        else:
            yield sentence


@dataclass(frozen=True, slots=True)
class _Trouble:
    error: str
    tool: str
    remedy: str = ""
    succeeded: TranscriptMessage | None = None
    silent_turns: int = 0


def _fixes(messages: Sequence[TranscriptMessage]) -> Iterator[Candidate]:
    """None of them is outright: most of the words are a tool's and the assistant's."""
    trouble: _Trouble | None = None
    for message in messages:
        error = _error(message)
        if trouble and message.role is Role.USER and trouble.remedy and not error:
            if words := _confirmation(message):
                yield _fix(trouble, message, CONFIRMED, words)
                trouble = None
            elif trouble.succeeded:
                yield _fix(trouble, trouble.succeeded, SUCCEEDED)
                trouble = None
            elif trouble.silent_turns == PATIENCE:
                trouble = None
            else:
                trouble = replace(trouble, silent_turns=trouble.silent_turns + 1)
        elif error:
            if trouble and trouble.succeeded:
                yield _fix(trouble, trouble.succeeded, SUCCEEDED)
            trouble = _Trouble(error, message.tool)
        elif trouble and message.role is Role.ASSISTANT and not trouble.succeeded:
            trouble = replace(trouble, remedy=message.turn.text)
        elif trouble and message.role is Role.TOOL and trouble.remedy and message.tool == trouble.tool:
            trouble = replace(trouble, succeeded=message)
    if trouble and trouble.succeeded:
        yield _fix(trouble, trouble.succeeded, SUCCEEDED)


def _error(message: TranscriptMessage) -> str:
    """The line that says what is wrong; from you only what you pasted or quoted."""
    if message.role is Role.ASSISTANT or (message.role is Role.TOOL and not message.failed):
        return ""
    lines = [line.strip() for line in message.turn.text.splitlines() if _ERROR.search(line)]
    if lines and message.role is Role.USER:
        sentences = user_sentences(message.turn.text, introduces)
        if any(map(says_it_works, sentences)):
            return ""
        # Pasted: in quotation marks, in code, or outside any sentence.
        named = [sentence.text for sentence in sentences if _ERROR.search(sentence.view)]
        lines = [line for line in lines if not any(words in line for words in named)]
    return lines[-1][:MAX_ERROR_CHARS] if lines else ""


def _confirmation(message: TranscriptMessage) -> str:
    sentences = user_sentences(message.turn.text, introduces)
    return next((sentence.text for sentence in sentences if says_it_works(sentence)), "")


def _fix(trouble: _Trouble, message: TranscriptMessage, score: float, words: str = "") -> Candidate:
    remedy = " ".join(trouble.remedy.split())
    if len(remedy) > MAX_REMEDY_CHARS:
        remedy = remedy[:MAX_REMEDY_CHARS].rsplit(" ", 1)[0] + " …"
    text = f"The error:\n> {trouble.error}\n\nWhat the assistant said to it:\n> {remedy}"
    text += f"\n\nThe person:\n> {words}" if words else ""
    return Candidate.from_message(message, StatementKind.FIX, text, score, False, make_title(trouble.error))
