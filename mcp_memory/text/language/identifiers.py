"""Splits names in code (`retryBookingSync`, `read_file`) into words, and abbreviates hashes."""

import re
from collections.abc import Collection

from mcp_memory.text.language.terms import dotted_names, fold, folded, symbol_names
from mcp_memory.text.language.word_lists import STOP_WORDS

_NAME = re.compile(r"\w+")
_INNER = re.compile(r"[a-z][A-Z]|[A-Z]{2}[a-z]")
_JOINT = re.compile(rf"{_INNER.pattern}|[A-Za-z0-9]_[A-Za-z0-9]")
_CAMEL = re.compile(rf"(?<![A-Za-z])[A-Za-z]*(?:{_INNER.pattern})[A-Za-z]*")
_PARTS = re.compile(r"[A-Za-z0-9]+")
_HAS_INNER = re.compile(r"[A-Z](?:(?<=[a-z].)|[A-Z][a-z])")
"""Matches texts in which `_INNER` can match. It begins with capitals, which are rare, and so takes a third of the
time."""
_HUMPS = re.compile(r"[A-Z]+(?:s\b|(?![a-z]))|[A-Z]?[a-z]+")
_NUMBERED = re.compile(r"[A-Za-z][0-9]")
"""Matches `E4021` and `x86_64`, but not `2nd`, `10am` or `5xx`."""
_CAPITALS = re.compile(r"[A-Z]{2,}")
_TICKET = re.compile(r"(?<![a-z])[a-z]+(?:-[0-9]{2,})+")
_MIN_CHARS, _MIN_CAPITALS = 3, 4

_HASH_DIGITS = 10
_HASH = re.compile(rf"(?=[0-9]*[a-f])(?=[a-f]*[0-9])[0-9a-f]{{{_HASH_DIGITS},64}}")
"""Matches hashes. Shorter numbers, such as registers and parts of a UUID, aren't abbreviated."""
_ABBREVIATED_DIGITS = range(7, 13)
"""The numbers of digits to which Git abbreviates, depending on the size of the repository."""


def humps(text: str) -> list[str]:
    """Return the parts of all camelCase names in a text, in order: `retry`, `booking` and `sync` for
    `retryBookingSync`."""
    if not _HAS_INNER.search(text):  # most texts have no such names
        return []
    return [hump.lower() for name in _CAMEL.findall(text) for hump in _HUMPS.findall(name)]


def abbreviations(word: str) -> list[str]:
    """Return the short forms of a hash (a hexadecimal number with both digits and letters, in lower case), shortest
    first; nothing for any other word."""
    return [word[:digits] for digits in _ABBREVIATED_DIGITS if digits < len(word)] if _HASH.fullmatch(word) else []


def parts_of(text: str) -> dict[str, list[str]]:
    """Map each identifier in a text, as `terms` returns it, to its words in lower case without stop words."""
    signed = {name: parts for name in (*symbol_names(text), *dotted_names(text)) if (parts := _PARTS.findall(name))}
    if not _JOINT.search(text):
        return signed
    found = dict(signed)
    for name in _NAME.findall(text):
        if name.isascii() and _JOINT.search(name):
            found[name.lower()] = [
                part
                for word in _PARTS.findall(name)
                for part in humps(word) or [word.lower()]
                if part not in STOP_WORDS
            ]
    return found


def joined(word: str) -> str:
    """Return a form that is the same for `read_file` and, in lower case, `readFile`."""
    return word.replace("_", "")


def words_and_parts(text: str) -> frozenset[str]:
    """Return the folded words of a text and the parts of its identifiers, which the index also finds. For example,
    `retry_with_pause` has the parts `retry`, `with` and `pause`, and `connectTimeout` has `connect` and `timeout`. A
    long hash has its beginning, such as `9fceb02`."""
    whole = folded(text)
    names = [word for word in whole if "_" in word]
    parts = {fold(part) for name in names for part in (joined(name), *name.split("_")) if part}
    parts.update(map(fold, humps(text)))
    parts.update(short for word in whole if len(word) >= _HASH_DIGITS for short in abbreviations(word))
    parts.update(symbol_names(text))
    return whole | parts if parts else whole


def is_word_in(word: str, known: Collection[str]) -> bool:
    """Return whether a question's word is among a text's `words_and_parts`, whatever the spelling of an identifier or a
    hash."""
    if word[0] != "." and "." in word:  # `node.js`
        return all(fold(part) in known for part in word.split("."))
    return any(form in known for form in (fold(word), fold(joined(word)), *abbreviations(word)))


def tickets(text: str) -> frozenset[str]:
    """Return the ticket numbers of a text (`INC-2231`), in lower case."""
    return frozenset(_TICKET.findall(text.lower()))


def names_known(question: str, text: str) -> int:
    """Count the words of a question that belong to names in code in the text. Such a name contains an underscore, humps
    or a digit after a letter, is in capitals, or is a ticket number (`INC-2231`).

    A word in capitals must be in capitals in the text, too, since `STOP` may be shouted. Several such words in a row
    are shouted, or SQL."""
    found = _NAME.findall(question)
    jointed: list[str] = []
    capitals: list[str] = []
    for before, word, after in zip(["", *found], found, [*found[1:], ""], strict=False):
        if not word.isascii() or len(word) < _MIN_CHARS:
            continue
        if _JOINT.search(word) or _NUMBERED.search(word):
            jointed.append(word.lower())
        elif len(word) >= _MIN_CAPITALS and _CAPITALS.fullmatch(word):
            capitals += [] if _CAPITALS.fullmatch(before) or _CAPITALS.fullmatch(after) else [word]
    numbered = tickets(question)
    if not (jointed or capitals or numbered):
        return 0
    known, written = words_and_parts(text), frozenset(_NAME.findall(text)) | tickets(text)
    count = sum(is_word_in(word, known) for word in jointed) + sum(word in written for word in capitals)
    return count + sum(1 + ticket.count("-") for ticket in numbered if ticket in written)
