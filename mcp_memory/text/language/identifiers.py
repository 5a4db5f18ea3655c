"""Splits names in code (`retryBookingSync`, `read_file`) into words, and abbreviates hashes."""

import re
from collections.abc import Collection

from mcp_memory.text.language.terms import STOP_WORDS, dotted_names, fold, folded, symbol_names

_NAME = re.compile(r"\w+")
_INNER = re.compile(r"[a-z][A-Z]|[A-Z]{2}[a-z]")
_JOINT = re.compile(rf"{_INNER.pattern}|[A-Za-z0-9]_[A-Za-z0-9]")
_CAMEL = re.compile(rf"(?<![A-Za-z])[A-Za-z]*(?:{_INNER.pattern})[A-Za-z]*")
_PARTS = re.compile(r"[A-Za-z0-9]+")
_HAS_INNER = re.compile(r"[A-Z](?:(?<=[a-z].)|[A-Z][a-z])")
"""Where `_INNER` is; it begins at capitals, which are rare, and so takes a third of the time."""
_HUMPS = re.compile(r"[A-Z]+(?:s\b|(?![a-z]))|[A-Z]?[a-z]+")
_NUMBERED = re.compile(r"[A-Za-z][0-9]")
"""`E4021` and `x86_64`, but not `2nd`, `10am` or `5xx`."""
_CAPITALS = re.compile(r"[A-Z]{2,}")
_TICKET = re.compile(r"(?<![a-z])[a-z]+(?:-[0-9]{2,})+")
_MIN_CHARS, _MIN_CAPITALS = 3, 4

_HASH_DIGITS = 10
_HASH = re.compile(rf"(?=[0-9]*[a-f])(?=[a-f]*[0-9])[0-9a-f]{{{_HASH_DIGITS},64}}")
"""Shorter numbers, as registers and the parts of a UUID, are not abbreviated."""
_ABBREVIATED_DIGITS = range(7, 13)
"""Git abbreviates to so many digits, by the size of the repository."""


def humps(text: str) -> list[str]:
    """`retry`, `booking` and `sync` for `retryBookingSync`, in order, for all such names in a text."""
    if not _HAS_INNER.search(text):  # most texts have none
        return []
    return [hump.lower() for name in _CAMEL.findall(text) for hump in _HUMPS.findall(name)]


def abbreviations(word: str) -> list[str]:
    """The short forms of a hash (a hexadecimal number with both digits and letters, in lower case), shortest first;
    none for any other word."""
    return [word[:digits] for digits in _ABBREVIATED_DIGITS if digits < len(word)] if _HASH.fullmatch(word) else []


def parts_of(text: str) -> dict[str, list[str]]:
    """The words of each identifier in a text, in lower case and without stop words; by the identifier as `terms` has
    it."""
    signed = {name: parts for name in (*symbol_names(text), *dotted_names(text)) if (parts := _PARTS.findall(name))}
    if not _JOINT.search(text):
        return signed
    names = [name for name in _NAME.findall(text) if name.isascii() and _JOINT.search(name)]
    return signed | {name.lower(): [part for part in _words(name) if part not in STOP_WORDS] for name in names}


def joined(word: str) -> str:
    """The same for `read_file` and, in lower case, `readFile`."""
    return word.replace("_", "")


def words_and_parts(text: str) -> frozenset[str]:
    """The folded words of a text and the parts of its identifiers, by which the index finds them too: `retry`, `with`
    and `pause` for `retry_with_pause`, `connect` and `timeout` for `connectTimeout`, `9fceb02` for a longer hash."""
    whole = folded(text)
    names = [word for word in whole if "_" in word]
    parts = {fold(part) for name in names for part in (joined(name), *name.split("_")) if part}
    parts.update(map(fold, humps(text)))
    parts.update(short for word in whole if len(word) >= _HASH_DIGITS for short in abbreviations(word))
    parts.update(symbol_names(text))
    return whole | parts if parts else whole


def is_word_in(word: str, known: Collection[str]) -> bool:
    """Whether a question's word is among a text's `words_and_parts`, however an identifier or a hash is written."""
    if word[0] != "." and "." in word:  # `node.js`
        return all(fold(part) in known for part in word.split("."))
    return any(form in known for form in (fold(word), fold(joined(word)), *abbreviations(word)))


def tickets(text: str) -> frozenset[str]:
    """The names of a text that are numbered as tickets are (`INC-2231`), in lower case."""
    return frozenset(_TICKET.findall(text.lower()))


def names_known(question: str, text: str) -> int:
    """How many words of a question belong to names in code that the text has: with an underscore or humps, a digit
    behind a letter, in capitals alone, or numbered as tickets are (`INC-2231`).

    A word in capitals must be written so in the text, since `STOP` may be shouted; several in a row are shouted, or
    SQL.
    """
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


def _words(name: str) -> list[str]:
    return [word for part in _PARTS.findall(name) for word in humps(part) or [part.lower()]]
