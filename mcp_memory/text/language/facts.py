"""Finds facts that a summary must not lose, by their form: numbers, dates, names, identifiers, negations.

No model is needed, and the same text always has the same facts. Names are capitalized words inside a sentence, as in
English; other scripts only have numbers and identifiers.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from mcp_memory.text.dates import MONTHS
from mcp_memory.text.language.terms import fold, terms
from mcp_memory.text.language.word_lists import STOP_WORDS

MAX_FACTS = 5000
"""The limit per text. A table of numbers may contain more."""


FactKind = Literal["number", "date", "name", "identifier", "negation"]


EXACT = frozenset({"number", "date", "identifier"})
"""Kinds with a single spelling, unlike names."""


@dataclass(frozen=True, order=True)
class Fact:
    """A fact. `key` is the same in all texts that state the fact."""

    kind: FactKind
    key: str


_GAP = r"(?:[ \t\u00a0]+|[ \t]*\n[ \t]*)"
"""Matches the space between the parts of a date: anything but an empty line."""
_MONTH = f"(?a:{'|'.join(MONTHS)})"
_DAY = r"(?:0?[1-9]|[12][0-9]|3[01])(?:st|nd|rd|th)?"
_YEAR = rf"(?:,?{_GAP}(?P<year%s>[0-9]{{4}}))?"
_DATE = re.compile(
    r"\b(?P<iso>[0-9]{4}-[0-9]{2}-[0-9]{2})\b"
    rf"|\b(?P<day>{_DAY})\.?{_GAP}(?P<month>{_MONTH})\b\.?{_YEAR % ''}(?!\w)"
    rf"|\b(?P<month2>{_MONTH})\b\.?{_GAP}(?P<day2>{_DAY}){_YEAR % '2'}(?!\w)",
    re.IGNORECASE,
)
_CODE = re.compile(r"`([^`\n]{1,80})`")
_IDENTIFIER = re.compile(
    r"(?<![\w./-])(?:"
    r"--?[a-z][\w-]+"  # --flag
    r"|(?:~|\.{0,2})?/?(?:[\w.-]+/)+[\w.-]*\w"  # path/to/file
    r"|_*[^\W_]+(?:_+[^\W_]+)+"  # snake_case, ERR_42
    r"|[a-z]+[A-Z]\w*|[A-Z][a-z0-9]+[A-Z]\w*"  # camelCase, CamelCase
    r"|[\w-]+(?:\.[A-Za-z]\w+)+"  # file.py, module.name
    r")(?![\w/-])"
)
_NUMBER = re.compile(r"(?<![\w.])(?<![0-9][,:])[0-9]+(?:[.,:][0-9]+)*(?![.,:]?[0-9])(?!\w*_)")
_NAME = re.compile(r"(?<=[a-z0-9,;:)\"'”’] )[A-Z][\w'’-]*[a-z0-9](?: [A-Z][\w'’-]*[a-z0-9])*|\b[A-Z]{2,}[0-9]*\b")
_NEGATION = re.compile(r"\b(?:not|never|no longer|without|cannot|nobody|none|instead of|\w+n['’]t)\b", re.IGNORECASE)
_CLAUSE_END = re.compile(r"[.!?;:\n]")
_NEGATED_WORDS, _NEGATED_CHARS = 2, 60
_HOLE = ")"
"""Replaces a fact that was found. It doesn't end a sentence, so that a name after it is still recognized."""


def facts(text: str) -> frozenset[Fact]:
    """Return the facts in plain text or Markdown, at most MAX_FACTS."""
    found: set[Fact] = set()
    for fact in _all(text):
        found.add(fact)
        if len(found) == MAX_FACTS:
            break
    return frozenset(found)


def _all(text: str) -> Iterator[Fact]:
    for match in _DATE.finditer(text):
        yield Fact("date", _date_key(match))
    rest = _DATE.sub(_HOLE, text)
    for match in _CODE.finditer(rest):
        yield Fact("identifier", " ".join(match[1].split()))
    rest = _CODE.sub(_HOLE, rest)
    for match in _IDENTIFIER.finditer(rest):
        yield Fact("identifier", match[0])
    rest = _IDENTIFIER.sub(_HOLE, rest)
    for match in _NUMBER.finditer(rest):
        yield Fact("number", match[0].replace(",", ""))
    for match in _NAME.finditer(rest):
        for word in match[0].replace("’", "'").removesuffix("'s").split():
            if word.lower() not in STOP_WORDS:
                yield Fact("name", word)
    for match in _NEGATION.finditer(rest):
        near = match.end() + _NEGATED_CHARS
        end = _CLAUSE_END.search(rest, match.end(), near)
        negated = terms(rest[match.end() : end.start() if end else near])[:_NEGATED_WORDS]
        if negated and not STOP_WORDS.issuperset(negated):
            yield Fact("negation", " ".join(fold(word) for word in negated))


def _date_key(match: re.Match[str]) -> str:
    """Return the key of a date: `YYYY-MM-DD`, or `MM-DD` without a year."""
    if match["iso"]:
        return match["iso"]
    month = MONTHS[(match["month"] or match["month2"]).lower()]
    day, year = int((match["day"] or match["day2"]).rstrip("stndrhSTNDRH")), match["year"] or match["year2"]
    return f"{year}-{month:02}-{day:02}" if year else f"{month:02}-{day:02}"
