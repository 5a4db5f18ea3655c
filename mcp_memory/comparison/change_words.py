"""Loads the words and patterns that signal a change, for all languages, from `change_words.toml`."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from mcp_memory.text.language.terms import plain
from mcp_memory.text.language.word_tables import read_table

_TABLE = read_table("mcp_memory.comparison", "change_words.toml")
_OLD, _DOT = r"(?P<old>[^,.;:()—–]{1,60}?)", "\u2024"
_END = r"(?=[,.;:()—–]|\s+(?:but|and|or|because|since|from|for|with|so|sondern|und|weil|mais|et|sino|y)\b|$)"
_WITHIN_VALUES = re.compile(r"(?<=\w)[.,:](?=\w)|(?<=\b[DM]r)\.|(?<=\bMrs)\.|(?<=\bProf)\.", re.IGNORECASE)


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text.replace("<old>", _OLD).replace("<end>", _END), re.IGNORECASE | re.VERBOSE | re.MULTILINE)


def _words(name: str) -> frozenset[str]:
    return frozenset(_TABLE[name].split())


def _rows(name: str) -> dict[str, int]:
    return {word: number for number, row in enumerate(_TABLE[name], 1) for word in row.split()}


def _groups(name: str) -> dict[str, str]:
    return {word: group for group, words in _TABLE[name].items() for word in words.split()}


NUMBERS, MONTHS, WEEKDAYS, SAME_UNITS = map(_rows, ("numbers", "months", "weekdays", "same_units"))
"""The number that each word means; for units the row of their other names."""
UNITS, ENVIRONMENTS = _groups("units"), _groups("environments")
"""The group that each word belongs to."""
TITLES, EMPTY, WEAK, ORDINALS, BOUNDS = map(_words, ("titles", "empty", "weak", "ordinals", "bounds"))
OPPOSITES = [frozenset(group.split()) for group in _TABLE["opposites"]]
SWITCHES = [pair for one, other in _TABLE["switches"].items() for pair in ((one, other), (other, one))]
EVENT, PARTICIPLE, STATES = _pattern(_TABLE["event"]), _pattern(_TABLE["participle"]), _pattern(_TABLE["states"])
CHANGE_VERB, HEAD_ENDS, BEFORE_NAME, CLAUSE, TURNED_DOWN = (
    _pattern(_TABLE[name]) for name in ("change_verb", "head_ends", "before_name", "clause", "turned_down")
)
HISTORY = _pattern(_TABLE["history"])
REPORTED = _pattern(_TABLE["reported"])
EXCEPT, TENTATIVE = _pattern(_TABLE["except"]), _pattern(_TABLE["tentative"])
_CHANGED, _WHEN = _pattern(_TABLE["changed"]), _pattern(_TABLE["when"])
_REJECTED = [(_pattern(text), name == "change") for name in ("change", "deny") for text in _TABLE[name]]


@dataclass(frozen=True, slots=True)
class Rejection:
    """The part of a sentence, from `start` to `end`, that is no longer true. `is_change`: the sentence implies that it
    once was."""

    start: int
    end: int
    is_change: bool


def rejections(sentence: str) -> Iterator[Rejection]:
    view = _WITHIN_VALUES.sub(_DOT, sentence)
    for pattern, is_change in _REJECTED:
        for match in pattern.finditer(view):
            yield Rejection(match.start("old"), match.end("old"), is_change)


def words_of_change(sentence: str) -> set[str]:
    """Return the words that signal a change, such as `now` or `moved`."""
    return {match[0].lower() for match in _CHANGED.finditer(sentence)}


def when_spans(sentence: str) -> list[tuple[int, int]]:
    """Return the spans that give a start date (`since 1 October`), so that the date isn't read as a value of the
    sentence."""
    return [match.span() for match in _WHEN.finditer(sentence)]


def normal(word: str) -> str:
    return plain(word.replace("’", "'").removesuffix("'s"))


CORRECTING = frozenset(map(normal, _words("correcting")))
"""Words that name no subject in a correction."""
