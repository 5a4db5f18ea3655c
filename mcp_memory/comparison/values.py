"""Splits a sentence into words and typed values: numbers with their unit, times, days, versions, identifiers, names.
Also loads the words and patterns that signal a change, for all languages, from `change_words.toml`."""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from mcp_memory.text.language.terms import fold, plain
from mcp_memory.text.language.word_lists import function_words
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
TITLES, EMPTY, WEAK, ORDINALS, BOUNDS, FILLERS = map(
    _words, ("titles", "empty", "weak", "ordinals", "bounds", "fillers")
)
OPPOSITES = [frozenset(group.split()) for group in _TABLE["opposites"]]
SWITCHES = [pair for one, other in _TABLE["switches"].items() for pair in ((one, other), (other, one))]
EVENT, PARTICIPLE, STATES = _pattern(_TABLE["event"]), _pattern(_TABLE["participle"]), _pattern(_TABLE["states"])
CHANGE_VERB, HEAD_ENDS, BEFORE_NAME, CLAUSE, TURNED_DOWN = (
    _pattern(_TABLE[name]) for name in ("change_verb", "head_ends", "before_name", "clause", "turned_down")
)
HISTORY, PAST, AMENDED = (_pattern(_TABLE[name]) for name in ("history", "past", "amended"))
REPORTED = _pattern(_TABLE["reported"])
EXCEPT, SCOPE, SETS, TENTATIVE = (_pattern(_TABLE[name]) for name in ("except", "scope", "sets", "tentative"))
ASIDES, LIMITS, FRAME, LANGUAGES = (_pattern(_TABLE[name]) for name in ("asides", "limits", "frame", "languages"))
_CHANGED, _WHEN = _pattern(_TABLE["changed"]), _pattern(_TABLE["when"])
_REJECTED = [(_pattern(text), name == "change") for name in ("change", "deny") for text in _TABLE[name]]


class Rejection(NamedTuple):
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
    return {match[0].lower() for pattern in (_CHANGED, SETS) for match in pattern.finditer(sentence)}


def when_spans(sentence: str) -> list[tuple[int, int]]:
    """Return the spans that give a start date (`since 1 October`), so that the date isn't read as a value of the
    sentence."""
    return [match.span() for match in _WHEN.finditer(sentence)]


def normal(word: str) -> str:
    return plain(word.replace("’", "'").removesuffix("'s"))


CORRECTING = frozenset(map(normal, _words("correcting")))
"""Words that name no subject in a correction."""


COUNTED = frozenset({"number", "duration", "size", "money", "percent", "speed", "weight", "length"})
WITH_UNIT = COUNTED - {"number"}
STEM = 5
"""The minimum number of letters that two forms of a word share."""
MEASURED = COUNTED | {"time", "weekday", "ordinal", "version"}

_MONTH = "|".join(sorted(MONTHS, key=len, reverse=True))
_TOKEN = re.compile(
    rf"""(?P<code>`[^`\n]+`)
    |(?P<iso>\b[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}\b)
    |(?P<date>\b[0-3]?[0-9](?:st|nd|rd|th)?\.?[ ](?:de[ ]|of[ ])?(?:{_MONTH})\b(?:,?[ ][0-9]{{4}}\b)?
      |\b(?:{_MONTH})\.?[ ][0-3]?[0-9](?:st|nd|rd|th)?\b(?:,?[ ][0-9]{{4}}\b)?)
    |(?P<time>\b[0-2]?[0-9]:[0-5][0-9]\b(?:[ ]?[ap]\.?m\b)?|\b[0-2]?[0-9][ ]?(?:uhr|o['’]clock|[ap]m|h)\b
      (?:[ ]?[0-5][0-9]\b)?)
    |(?P<version>\bv[0-9]+(?:\.[0-9]+)*\b|\b[0-9]+(?:\.[0-9]+){{2,}}\b)
    |(?P<ordinal>\b[0-9]{{1,2}}(?:st|nd|rd|th)\b)
    |(?P<decimal>(?<![\w.])[0-9]+\.[0-9]+(?![\w.@/-]*\w))
    |(?P<identifier>[\w@/~-]*(?:[^\W\d_][0-9]|[0-9][^\W\d_]{{1,2}}\b|_)[\w/.@-]*\w|\b[\w-]+(?:[./@][\w-]+)+
      |\b(?-i:[a-z]+[A-Z])\w*|\b[\w]+-[0-9][\w-]*)
    |(?P<number>(?<![\w.])[0-9]+(?:[.,][0-9]+)*)
    |(?P<unit>[€$£%])
    |(?P<word>[^\W\d_][\w'’-]*)""",
    re.VERBOSE | re.IGNORECASE,
)


class Token(NamedTuple):
    """A word or value. `type` is "word", "name" or a type of value; equal words and values have the same `key`. `start`
    and `end` are offsets in the sentence; `noun` is the word directly after a plain number."""

    type: str
    key: str
    start: int
    end: int
    text: str
    noun: str = ""

    @property
    def is_value(self) -> bool:
        return self.type != "word"

    @property
    def unit(self) -> str:
        """The noun that a value counts; empty for money, percents and bare numbers."""
        return self.noun or (self.key.partition(" ")[2] if self.type in WITH_UNIT else "")


def tokens(sentence: str) -> tuple[Token, ...]:
    """Return the words and values of a sentence in order, without function words."""
    return tuple(_Reader(sentence).read())


@lru_cache(4096)
def measured_in(text: str) -> frozenset[str]:
    """Return the keys of the values that say how much or when."""
    return frozenset(
        token.key for token in tokens(text) if token.type in WITH_UNIT | {"time", "weekday", "version", "date", "month"}
    )


@dataclass
class _Reader:
    sentence: str
    matches: list[re.Match[str]] = field(init=False)
    lower: list[str] = field(init=False)
    stop: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        self.matches = list(_TOKEN.finditer(self.sentence))
        self.lower = [match[0].lower() for match in self.matches]
        plain_words = (one for match, one in zip(self.matches, self.lower, strict=True) if match.lastgroup == "word")
        self.stop = function_words(plain_words)

    def read(self) -> Iterator[Token]:
        skipped = -1
        for place, match in enumerate(self.matches):
            if place == skipped:
                continue
            kind = str(match.lastgroup)
            if kind in {"number", "decimal"} or (kind == "word" and self._counts(place)):
                token = self._number(place)
                skipped = place + 1 if token.end > match.end() else -1
                yield token
            elif kind == "word":
                if token := self._word(place):
                    yield token
            elif kind != "unit":
                yield _value(kind, match)

    def _follows(self, place: int) -> str:
        """Return the next word, in lower case."""
        if place + 1 == len(self.matches):
            return ""
        between = self.sentence[self.matches[place].end() : self.matches[place + 1].start()]
        return "" if between.strip(" \u00a0-") else self.lower[place + 1]

    def _counts(self, place: int) -> bool:
        return self.lower[place] in NUMBERS and self.lower[place] not in {"one", "once"} and bool(self._follows(place))

    def _number(self, place: int) -> Token:
        match, following = self.matches[place], self._follows(place)
        number = str(NUMBERS.get(self.lower[place], "")) or _plain_number(match[0])
        unit = UNITS.get(following) or UNITS.get(following.removesuffix("s"), "")
        if unit:
            end = self.matches[place + 1].end()
            key = (
                number if unit in {"money", "percent"} else f"{number} {SAME_UNITS.get(following, fold(following)[:3])}"
            )
            return Token(unit, key, match.start(), end, self.sentence[match.start() : end])
        if self.sentence[: match.start()].endswith(tuple("€$£")):
            return Token("money", number, match.start(), match.end(), match[0])
        is_noun = following.replace("/", "").isalpha() and following not in self.stop | EMPTY
        return Token("number", number, match.start(), match.end(), match[0], fold(following) if is_noun else "")

    def _word(self, place: int) -> Token | None:
        match, word = self.matches[place], self.lower[place]
        text, (start, end) = match[0], match.span()
        begins = not (before := self.sentence[:start].rstrip(" \"'“„(*_")) or before[-1] in ".!?"
        if word in WEEKDAYS:
            return Token("weekday", f"weekday {WEEKDAYS[word]}", start, end, text)
        if word in MONTHS and (word != "may" or text[0].isupper()):
            return Token("month", f"month {MONTHS[word]}", start, end, text)
        if word in TITLES:
            return None
        if text.isupper() and not (len(word) == 1 and (begins or word == "i")) and word not in EMPTY:
            return Token("name", word, start, end, text)
        if word in self.stop or len(word) == 1:
            return None
        is_name = text[0].isupper() and "der" not in self.stop and not begins  # German capitalizes every noun
        is_name = is_name or (place > 0 and self.lower[place - 1] in TITLES)
        if word in EMPTY and not is_name:
            return None
        return Token("name" if is_name else "word", fold(normal(word)), start, end, text)


def _value(kind: str, match: re.Match[str]) -> Token:
    text, key = match[0], match[0].lower()
    match kind:
        case "code":
            kind, key = "identifier", key.strip("`")
        case "iso":
            kind, key = "date", text[5:]
        case "date":
            parts = re.findall(r"[0-9]+|[^\W\d_]+", key)
            month = next(MONTHS[part] for part in parts if part in MONTHS)
            key = f"{month:02}-{next(int(part) for part in parts if part.isdigit()):02}"
        case "time":
            hour, *minutes = (int(part) for part in re.findall(r"[0-9]+", text))
            hour += 12 if re.search(r"p\.?m", key) and hour < 12 else 0
            key = f"{hour:02}:{minutes[0] if minutes else 0:02}"
        case "version":
            key = key.removeprefix("v")
        case "ordinal":
            key = f"ordinal {text[:-2]}"
        case _:
            pass
    return Token(kind, key, match.start(), match.end(), text)


def _plain_number(text: str) -> str:
    return text.replace(",", "") if re.fullmatch(r"[0-9]{1,3}(?:,[0-9]{3})+", text) else text.replace(",", ".")


def common_keys(some: Collection[str], known: Collection[str]) -> set[str]:
    found = {key for key in some if key in known}
    if len(found) < len(some) and (stems := {other[:STEM] for other in known if len(other) >= STEM}):
        rest = (key for key in some if key[:STEM] in stems and key not in found)
        found |= {key for key in rest if any(is_same(key, other) for other in known)}
    return found


def is_same(one: str, other: str) -> bool:
    """Return whether two words are equal or forms of each other, such as `deploy` and `deployment`."""
    if one == other:
        return True
    short, long = (one, other) if len(one) < len(other) else (other, one)
    return len(short) >= STEM and len(long) - len(short) <= 5 and short.isalpha() and long.startswith(short)
