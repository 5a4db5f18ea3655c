"""The words of a question: which of them carry meaning, and when two word forms are the same word."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from mcp_memory.text.language.normalize import ACCENTS, plain

_SOUTH_EAST_ASIAN = r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
_WORD = re.compile(rf"[\w{_SOUTH_EAST_ASIAN}{ACCENTS}]+")
"""With the marks of these scripts and accents written apart, which are no letters and stand within words."""
_EAST_ASIAN = r"\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
_UNSPACED = re.compile(f"[{_EAST_ASIAN}{_SOUTH_EAST_ASIAN}]+")
"""Runs of Chinese, Japanese, Korean, Thai, Lao, Khmer and Burmese, where no blank says where a word ends."""

_GRAMMAR = """
a about all also am an and any are as at be been being both but by can could d did didn do does doesn doing don
done each for from had has hasn have haven having he her here hers him his how i if in into is isn it its just ll
m may me might mine must my no nor not of on only or our ours own re s same shall she should shouldn so some such
t than that the their theirs them then there these they this those to too us ve very was wasn we were weren what
when where which who whom whose why will with would wouldn you your yours
"""
STOP_WORDS = frozenset(_GRAMMAR.split())
"""English words of grammar, and the stumps that contractions leave. Other languages need none: the index drops
words that most chunks contain."""

_SHORTEST_STEM = 3


def words(text: str) -> list[str]:
    """All words in order, in lower case; a run of a script without blanks becomes its overlapping pairs."""
    if text.isascii():
        return _WORD.findall(text.lower())
    return [piece for match in _WORD.finditer(text) for piece in _pieces(match[0])]


def terms(question: str, *, limit_chars: int = 10_000) -> list[str]:
    """The distinct words that a keyword search should look for, in order of appearance.

    Stop words are left out unless nothing else is there. A stop word in capitals is an acronym (IT, US, WHO) and
    stays, unless the whole question shouts. Empty for a question without letter or digit.
    """
    head = question[:limit_chars]
    shouting = head.upper() == head
    everything: dict[str, None] = {}
    meaningful: dict[str, None] = {}
    for match in _WORD.finditer(head):
        word = match[0]
        acronym = len(word) > 1 and word.isupper() and not shouting
        for piece in _pieces(word):
            if not any(character.isalnum() for character in piece):
                continue
            everything[piece] = None
            if acronym or piece not in STOP_WORDS:
                meaningful[piece] = None
    return list(meaningful or everything)


@lru_cache(maxsize=8192)
def meaningful(text: str) -> frozenset[str]:
    """The folded words of a title, heading or name that are neither stop words nor numbers. Remembered, since a
    search asks for the same few headings hundreds of times."""
    return frozenset(fold(word) for word in words(text) if word not in STOP_WORDS and not word.isdigit())


def folded(text: str) -> frozenset[str]:
    """The folded words of a text."""
    return frozenset(map(fold, words(text)))


def telling(text: str) -> frozenset[str]:
    """The folded words of a text but for stop words."""
    return frozenset(fold(word) for word in words(text) if word not in STOP_WORDS)


def overlap(one: frozenset[str], other: frozenset[str]) -> float:
    """How many of the words of two texts are in both (Jaccard), 0 to 1; 0 where there are none."""
    return len(one & other) / len(one | other) if one or other else 0.0


@lru_cache(maxsize=65_536)
def fold(word: str) -> str:
    """A key that forms of an English word share (`paint`, `paints`, `painted`, `painting`), and words that differ in
    accents alone (`Zürich`, `zurich`).

    A light suffix stripper, after the first step of Porter's algorithm (1980): enough to tell whether a passage
    has a word of the question. Ranking does not rest on it; the index's own stemmer does that.
    """
    if not word.isascii():
        word = plain(word)
    if not word.isascii() or not word.isalpha():
        return word
    for suffix, ending in _SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= _SHORTEST_STEM:
            return _plain_ending(word[: len(word) - len(suffix)] + ending)
    return _plain_ending(word)


_SUFFIXES = (
    ("ies", "y"),
    ("ied", "y"),
    ("ings", ""),
    ("ing", ""),
    ("sses", "ss"),
    ("ed", ""),
    ("ss", "ss"),
    ("us", "us"),
    ("s", ""),
)


def _plain_ending(stem: str) -> str:
    """`planned` and `plan`, `dance` and `dancing` meet: a doubled consonant and a final `e` are dropped."""
    if len(stem) > _SHORTEST_STEM and stem[-1] == "e":
        return stem[:-1]
    if len(stem) > _SHORTEST_STEM and stem[-1] == stem[-2] and stem[-1] not in "aeiouls":
        return stem[:-1]
    return stem


def _pieces(word: str) -> Iterable[str]:
    lower = word.lower()
    if lower.isascii():
        return (lower,)
    return _split_unspaced(lower)


def _split_unspaced(word: str) -> Iterable[str]:
    at = 0
    for run in _UNSPACED.finditer(word):
        if run.start() > at:
            yield word[at : run.start()]
        letters = run[0]
        yield from (letters[i : i + 2] for i in range(max(1, len(letters) - 1)))
        at = run.end()
    if at < len(word):
        yield word[at:]
