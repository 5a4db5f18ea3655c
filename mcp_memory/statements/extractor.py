"""Extracts candidates from the messages of a session: your statements, and errors with their solutions."""

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache

from mcp_memory.capture.readers.message import Role, TranscriptMessage
from mcp_memory.errors import McpMemoryError
from mcp_memory.statements.candidate import Candidate
from mcp_memory.statements.classifier import SentenceModel
from mcp_memory.statements.finder import find_statements
from mcp_memory.statements.lessons import extract_lessons
from mcp_memory.statements.proposals import repeats
from mcp_memory.text.conversation.own_words import pasted_words
from mcp_memory.text.language.facts import EXACT, facts
from mcp_memory.text.language.terms import content_words
from mcp_memory.text.language.word_overlap import coverage
from mcp_memory.tool_names import APPEND

COPIED, COPIED_IN_PART = 0.35, 0.6
"""The share of a statement's words in a stored note from which the note says the same: with each of the statement's
numbers and names in code, and without."""
LEAST_SHARED = 2
"""The minimum number of common words."""

log = logging.getLogger(__name__)


def extract_candidates(
    messages: Sequence[TranscriptMessage],
    model: SentenceModel | None = None,
    before: Sequence[TranscriptMessage] = (),
    material: Callable[[], Iterable[str]] = tuple,
) -> list[Candidate]:
    """Return candidates in the order of the messages, without those that you corrected in them or that the agent stored
    itself. If several have the same text, only the last remains. `model` finds additional candidates. `before` are
    earlier messages, which these messages may answer or retract. `material` is other text that the assistant has read
    in the session."""
    offsets, everything = {message.offset for message in messages}, [*before, *messages]

    @cache
    def has_read(statement: str) -> bool:
        try:
            return repeats(statement, _read_in(everything)) or repeats(statement, material())
        except McpMemoryError as error:
            log.warning("a transcript can't be read again, so nothing counts as agreed to: %s", error.code)
            return True

    found = [*find_statements(everything, model, has_read), *extract_lessons(everything)]
    new = [one for one in found if one.offset in offsets]
    replaced = [one.instead_of for one in new if one.instead_of]
    before_it, stored = appended_texts(before), appended_texts(messages)
    kept = [
        one
        for one in new
        if one not in replaced
        and not is_copy(one.statement, stored)
        and not is_copy(one.statement, before_it, COPIED_IN_PART)
    ]
    once = {(one.kind, one.text.casefold()): one for one in kept}
    return sorted(once.values(), key=lambda candidate: candidate.offset)


def _read_in(messages: Sequence[TranscriptMessage]) -> Iterator[str]:
    """Yield the answers of tools and the text that the person pasted."""
    for message in messages:
        if message.role is Role.TOOL:
            yield message.turn.text
        elif message.role is Role.USER:
            yield pasted_words(message.turn.text)


def appended_texts(messages: Sequence[TranscriptMessage]) -> list[str]:
    """Return the title and content of each note that the agent stored."""
    calls = [one for one in messages if one.role is Role.TOOL and one.tool.endswith(APPEND) and not one.failed]
    return [f"{call.arguments.get('title', '')}\n{call.arguments.get('content', '')}" for call in calls]


def is_copy(statement: str, stored: Iterable[str], share: float = COPIED) -> bool:
    """Return whether one of the stored texts says the same as the statement, perhaps in other words."""
    words, exact = content_words(statement), {fact for fact in facts(statement) if fact.kind in EXACT}
    for text in stored:
        known = content_words(text)
        least = share if exact <= facts(text) else COPIED_IN_PART
        if len(words & known) >= LEAST_SHARED and coverage(words, known) >= least:
            return True
    return False
