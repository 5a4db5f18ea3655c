"""Reads a statement as sentences, each with its words, its values, and what it is about."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache

from mcp_memory.conflicts.change_words import (
    BEFORE_NAME,
    CHANGE_VERB,
    CLAUSE,
    ENVIRONMENTS,
    EVENT,
    HEAD_ENDS,
    PARTICIPLE,
    STATES,
    TURNED_DOWN,
    rejections,
    when_spans,
)
from mcp_memory.conflicts.values import MEASURED, Token, tokens
from mcp_memory.text.language.sentences import sentences

MAX_CHARS, MAX_SENTENCES = 1200, 8
"""A longer note is a document, not a statement."""


@dataclass(frozen=True, slots=True)
class ParsedSentence:
    """`keys` are those of its tokens; `head` of those before the verb or the first preposition; `lead` is the first
    that is no verb of change; `words` are all words as written, in lower case; `main` is what stands before
    the reasons."""

    text: str
    tokens: tuple[Token, ...]
    main: tuple[Token, ...]
    keys: frozenset[str]
    head: frozenset[str]
    words: frozenset[str]
    lead: str
    is_title: bool = False

    @property
    def environments(self) -> set[str]:
        return {ENVIRONMENTS[word] for word in self.words if word in ENVIRONMENTS}

    @property
    def months(self) -> set[str]:
        """Those that it is about."""
        return {token.key for token in self.stated(self.tokens) if token.type == "month"}

    @property
    def names(self) -> set[str]:
        return {token.key for token in self.tokens if token.type == "name"}

    @property
    def is_event(self) -> bool:
        """Whether it tells what happened once (`Filter changed at 1,210 hours`), not what holds."""
        return bool(EVENT.search(self.text) or (PARTICIPLE.search(self.text) and not STATES.search(self.text)))

    def stated(self, found: tuple[Token, ...]) -> list[Token]:
        """Without the dates from which it holds."""
        spans = when_spans(self.text)
        return [token for token in found if not any(start <= token.start < end for start, end in spans)]

    def says(self, value: Token) -> bool:
        """Whether a value is what it says, not what it is about: `Table 4 seats six`."""
        before = self.text[: value.start]
        if value.type == "identifier":
            return bool(BEFORE_NAME.search(before))
        return bool(HEAD_ENDS.search(before)) or (len(self.tokens) > 2 and value is self.tokens[-1])

    def between(self, start: int, end: int) -> list[Token]:
        return [token for token in self.tokens if start <= token.start and token.end <= end]

    def rejects(self, keys: set[str]) -> bool:
        return any(
            token.key in keys
            for rejection in rejections(self.text)
            for token in self.between(rejection.start, rejection.end)
        )

    def rest_of_clause(self, start: int) -> set[str]:
        end = CLAUSE.search(self.text, start)
        return {token.key for token in self.between(start, end.start() if end else len(self.text))}


@lru_cache(maxsize=2048)
def parse_statement(text: str, title: str) -> tuple[ParsedSentence, ...]:
    """Its sentences, and the title as the last one if it says something; none for a document."""
    if len(text) > MAX_CHARS:
        return ()
    text = TURNED_DOWN.split(text)[0]
    found = [sentence.text for sentence in sentences(text)] or [text.strip()]
    if len(found) > MAX_SENTENCES:
        return ()
    if title and len(tokens(title)) > 2 and title not in found[0]:
        return (*map(_sentence, found), replace(_sentence(title), is_title=True))
    return tuple(map(_sentence, found))


def _sentence(text: str) -> ParsedSentence:
    found = tokens(text)
    words = [token for token in found if token.type not in MEASURED]
    head_end = HEAD_ENDS.search(text)
    head = [token for token in words if head_end and token.end <= head_end.start()] or words[:2]
    clauses = [end.start() for end in CLAUSE.finditer(text) if not end[0].startswith(":")]
    mains = [tuple(token for token in found if token.end <= end) for end in clauses]
    return ParsedSentence(
        text,
        found,
        next((main for main in mains if len(main) > 1), found),
        frozenset(token.key for token in found),
        frozenset(token.key for token in head),
        frozenset(re.findall(r"[^\W_]+", text.lower())),
        next((token.key for token in words if not CHANGE_VERB.match(token.text)), ""),
    )
