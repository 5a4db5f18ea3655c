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

log = logging.getLogger(__name__)


def extract_candidates(
    messages: Sequence[TranscriptMessage],
    model: SentenceModel | None = None,
    before: Sequence[TranscriptMessage] = (),
    material: Callable[[], Iterable[str]] = tuple,
) -> list[Candidate]:
    """Return candidates in the order of the messages. If several have the same text, only the last remains. `model`
    finds additional candidates. `before` are earlier messages, which these messages may answer or retract. `material`
    is other text that the assistant has read in the session."""
    offsets, everything = {message.offset for message in messages}, [*before, *messages]

    @cache
    def has_read(statement: str) -> bool:
        try:
            return repeats(statement, _read_in(everything)) or repeats(statement, material())
        except McpMemoryError as error:
            log.warning("a transcript can't be read again, so nothing counts as agreed to: %s", error.code)
            return True

    found = [*find_statements(everything, model, has_read), *extract_lessons(everything)]
    once = {(one.kind, one.text.casefold()): one for one in found if one.offset in offsets}
    return sorted(once.values(), key=lambda candidate: candidate.offset)


def _read_in(messages: Sequence[TranscriptMessage]) -> Iterator[str]:
    """Yield the answers of tools and the text that the person pasted."""
    for message in messages:
        if message.role is Role.TOOL:
            yield message.turn.text
        elif message.role is Role.USER:
            yield pasted_words(message.turn.text)
