"""Reads the numbers of a text, to compare a statement's numbers with the numbers that were said. Pure."""

import re

from mcp_memory.comparison.values import NUMBERS
from mcp_memory.extraction.reading.evidence import WORDS
from mcp_memory.text.dates import MONTHS
from mcp_memory.text.dates.due import WEEKDAYS, in_english
from mcp_memory.text.language.terms import words

_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
WRITTEN_DATE = re.compile(
    r"\d{4}-\d\d-\d\d|(?:(?<![\d.,:])\d{1,2}(?:st|nd|rd|th)?\.? ?(?:to|until|and|-|–|al|au|bis|und|y|et) ?)?"
    rf"(?:(?<![\d.,:])\d{{1,2}}(?:st|nd|rd|th)?\.? (?:(?:of|de) )?)?\b(?:{'|'.join(MONTHS)})\b\.?"
    r"(?: \d{1,2}(?:st|nd|rd|th)?\b)?(?:,? (?:(?:of|de|del) )?\d{4})?"
    rf"|\b(?:{WEEKDAYS})\b"
)
"""Matches a date in the form of `in_english`. Dates are often resolved from words such as `tomorrow`."""
_HOURS = frozenset(map(str, range(1, 13)))


def numbers(text: str) -> set[str]:
    """Return the numbers of a text; `16:00` and `16`, `04:30` and `4:30`, and `9h30` and `9:30` are the same."""
    return _figures("\n".join([text, *map(in_english, text.splitlines())]))


def spoken_numbers(text: str) -> set[str]:
    """Return the numbers of a text, also as `9:30 pm`, `two` and `halb zehn` may be written in figures."""
    found = numbers(text)
    for line in map(in_english, text.splitlines()):
        here = _figures(line) | {str(NUMBERS[word]) for word in words(line) if word in NUMBERS}
        if WORDS["afternoon"].search(line):
            times = [one.partition(":") for one in here]
            here |= {f"{int(hour) + 12}{colon}{rest}" for hour, colon, rest in times if hour in _HOURS}
        if WORDS["part_of_hour"].search(line):
            hours = [int(hour) + more for hour in here & _HOURS for more in (-1, 0, 11, 12)]
            here |= {f"{hour}:{minutes}" for hour in hours for minutes in (15, 30, 45)}
        found |= here
    return found


def _figures(text: str) -> set[str]:
    found = {number.replace(",", "").replace(".", ":") for number in _NUMBER.findall(text)}
    return {number.removesuffix(":00").lstrip("0") or "0" for number in found}
