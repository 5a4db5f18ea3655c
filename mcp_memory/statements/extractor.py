"""Extracts candidates from the messages of a session: your statements, and errors with their solutions."""

import logging
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import cache

from mcp_memory.capture.readers.message import Transcript
from mcp_memory.errors import McpMemoryError
from mcp_memory.statements.candidate import Candidate, Voice
from mcp_memory.statements.classifier import SentenceModel
from mcp_memory.statements.finder import find_statements
from mcp_memory.statements.lessons import find_troubles
from mcp_memory.statements.proposals import find_promises, repeats
from mcp_memory.text.conversation.own_words import pasted_words
from mcp_memory.text.language.denials import denies
from mcp_memory.text.language.facts import EXACT, facts
from mcp_memory.text.language.sentences import sentences
from mcp_memory.text.language.terms import content_words, coverage
from mcp_memory.tool_names import APPEND

RESEMBLES, WITH_FACTS = 0.6, 0.35
"""The least shares of a statement's words that a text of the agent needs to perhaps say the same. The second applies if
the statement has numbers or names in code, and the text has all of them."""
LEAST_SHARED = 2
"""The minimum number of common words."""

log = logging.getLogger(__name__)


def extract_candidates(
    messages: Transcript,
    model: SentenceModel | None = None,
    before: Transcript = (),
    material: Callable[[], Iterable[str]] = tuple,
) -> list[Candidate]:
    """Return candidates in the order of the messages, without those that you corrected in them; what the agent perhaps
    stored itself isn't `outright`. If several have the same text, only the last remains. `model` finds additional
    candidates. `before` are earlier messages, which these messages may answer or retract. `material` is other text that
    the assistant has read in the session."""
    offsets, everything = {message.offset for message in messages}, [*before, *messages]

    @cache
    def has_read(statement: str) -> bool:
        try:
            return repeats(statement, _read_in(everything)) or repeats(statement, material())
        except McpMemoryError as error:
            log.warning("a transcript can't be read again, so nothing counts as agreed to: %s", error.code)
            return True

    troubles = list(find_troubles(everything))
    stated = find_statements(everything, model, has_read)
    found = [one for one in stated if not any(trouble.explains(one) for trouble in troubles)]
    found += [lesson for trouble in troubles for lesson in trouble.lesson()]
    found += find_promises(everything)
    new = [one for one in found if one.offset in offsets]
    replaced = [one.instead_of for one in new if one.instead_of]
    stored = appended_texts(everything)
    kept = [
        replace(one, outright=False) if _is_perhaps_stored(one, stored) else one for one in new if one not in replaced
    ]
    kept = [
        replace(one, instead_of=one.instead_of.instead_of or one.instead_of) if one.instead_of in new else one
        for one in kept
    ]
    once = {one.text.casefold(): one for one in kept}
    return sorted(once.values(), key=lambda candidate: candidate.offset)


def _read_in(messages: Transcript) -> Iterator[str]:
    """Yield the answers of tools and the text that the person pasted."""
    for message in messages:
        if message.is_call:
            yield message.text
        elif message.is_persons:
            yield pasted_words(message.text)


def appended_texts(messages: Transcript) -> list[str]:
    """Return the title and content of each note that the agent stored."""
    calls = [one for one in messages if one.is_call and one.tool.endswith(APPEND) and not one.failed]
    return [f"{call.arguments.get('title', '')}\n{call.arguments.get('content', '')}" for call in calls]


def _is_perhaps_stored(one: Candidate, stored: Iterable[str]) -> bool:
    """Return whether the agent perhaps stored a statement itself. A prohibition in your own words never counts as
    such: the agent's text may deny something else and allow this."""
    forbidden = one.voice is Voice.SAID and denies(one.statement)
    return not forbidden and _resembles(one.statement, stored)


def _resembles(statement: str, stored: Iterable[str]) -> bool:
    """Return whether one of the stored texts may say the same in other words: never one that allows what the statement
    forbids."""
    words = content_words(statement)
    exact = {fact for fact in facts(statement) if fact.kind in EXACT}
    for text in stored:
        least = WITH_FACTS if exact and exact <= facts(text) else RESEMBLES
        for part in (text, *(sentence.text for sentence in sentences(text))):
            known = content_words(part)
            is_near = len(words & known) >= LEAST_SHARED and coverage(words, known) >= least
            if is_near and denies(part) == denies(statement):
                return True
    return False
