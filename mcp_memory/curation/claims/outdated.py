"""Finds what a newer statement about a name replaces in an older one, and what is left of that. Pure."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from mcp_memory.comparison.sentence import are_apart, parse_statement
from mcp_memory.comparison.values import COUNTED, TITLES, Token, tokens, words_of_change
from mcp_memory.curation.claims.subjects import Name, cues
from mcp_memory.text.language.terms import content_words, fold, telling_words

MOST_WORDS_BEFORE = 3
"""The most words before a name with which a statement begins."""
LEAST_REST = 2
"""The fewest content words of what is left of a statement."""
_TYPES = COUNTED | {"time", "weekday", "version", "identifier"}
_WORD = re.compile(r"[^\W\d_][\w-]*")
_END = re.compile(r"(?<=[.!?])\s+(?=[^\W\d_a-z])|(?<=[,;:])\s+(?!\d)|(?<=;)(?=\S)")


class _Value(NamedTuple):
    token: Token
    before: str
    """The word before it."""

    @property
    def labels(self) -> set[str]:
        """The words that say what it counts."""
        return {fold(word.lower()) for word in (self.token.unit, self.before) if word}


def replaced_value(older: str, newer: str, name: Name) -> str:
    """Return the first value of the older statement that the newer one replaces; empty without any. The newer one
    begins with the name, both have another word in common, and no other names. It tells of a change or has the same
    word before its value."""
    begins = name.pattern.search(newer)
    if begins is None or len(newer[: begins.start()].split()) > MOST_WORDS_BEFORE:
        return ""
    if not telling_words(older) & telling_words(newer) - telling_words(f"{name.own} {' '.join(TITLES)}"):
        return ""
    if any(are_apart(old, new) for old in parse_statement(older, "") for new in parse_statement(newer, "")):
        return ""
    is_change = bool(words_of_change(newer) or cues()["changed"].search(newer))
    news = list(_values(newer))
    kept = {(value.token.type, value.token.key) for value in news}
    types = {new.token.type for new in news}
    olds = [value for value in _values(older) if value.token.type in types]
    for old in olds:
        if kept & {(other.token.type, other.token.key) for other in olds if other.token.type == old.token.type}:
            continue
        alike = [new for new in news if _count_the_same(old, new)]
        if alike and (is_change or any(old.before and old.before == new.before for new in alike)):
            return old.token.text
    return ""


def _values(text: str) -> Iterator[_Value]:
    for token in tokens(text):
        if token.type in _TYPES:
            yield _Value(token, next(iter(reversed(_WORD.findall(text[: token.start]))), ""))


def _count_the_same(old: _Value, new: _Value) -> bool:
    if old.token.type != new.token.type:
        return False
    if old.token.type in {"number", "identifier"}:
        are_addresses = old.before[:1].isupper() and new.before[:1].isupper()
        return are_addresses or bool(old.labels & new.labels)
    return old.token.unit[:3] == new.token.unit[:3]


def without_value(text: str, value: str) -> str:
    """Return what a statement says besides a value that was replaced: the clauses before it, and later sentences and
    clauses with a subject of their own. Empty if that isn't enough."""
    rest, before, is_gone = list[str](), "", False
    for piece in _END.split(text):
        if value in piece:
            is_gone = True
        elif not is_gone or before[-1:] in ".!?" or cues()["goes_on"].match(piece):
            rest.append(piece)
        before = piece
    left = " ".join(rest if is_gone else ()).rstrip(" ,;:")
    return left if len(content_words(left)) >= LEAST_REST else ""
