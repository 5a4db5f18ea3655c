"""Compare a failing tool's output with the errors that notes quote. Pure. Numbers, paths and hashes differ each time
and are ignored, as are the words that every error has."""

import re
from functools import cached_property

from mcp_memory.recall.moments import WORD_SETS

MOST_CHARS, MOST_LINES, WINDOW_LINES = 12_000, 200, 3
"""The most characters of an output, half from its beginning and half from its end; the most lines of an output; and the
most lines of a message."""

ENOUGH = 0.6
"""The share of a message's distinctive words that must be there, in their order."""

_QUOTE = re.compile(
    r"``(.+?)``|`([^`\n]+)`|[\"“„»«]([^\"“”„»«\n]{12,})[\"“”»«]|"
    r"(?<!\w)['‘‚]((?:[^'‘’‚\n]|(?<=\s)['‘][^'‘’‚\n]+['’]){12,})['’‘](?!\w)|"
    r"^(?!.*`)[ \t]*(.*\b\w+(?:Error|Exception)\b.*)$",
    re.M,
)
_GAP = re.compile(r"…|\.\.\.|<[^<>]*>")
_VOLATILE = re.compile(
    r"0x[0-9a-f]+|(?:\b[a-z]{1,9}://|~?/|\b[a-z]:\\)[^\s'\"`)\]]*|\b\d[\d.:,_-]*[a-z]{0,2}\b", re.IGNORECASE
)
_WORD = re.compile(r"[^\W_]+(?:[_-]+[^\W_]+)*")
_NAME = re.compile(
    r"\b(?:[A-Z][a-z]*\d{3,}|[A-Z]{2,}[-_]\d{2,}|[A-Z]{3,}(?:_[A-Z\d]+)+|OOMKilled|"
    r"(?<=(?i:sqlstate)[ :=\[])[\dA-Z]{5}(?=\b)|"
    r"[A-Z]\w{1,80}(?:Error|Exception|Fault|Failure|Warning|Killed|Timeout|BackOff|Invalid|Expired|NotFound)\b|"
    r"(?:(?<=\w\.)|^)[A-Z][a-z]+[A-Z]\w*(?=:\s))",
    re.M,
)
"""`E4021`, `SUP-4290`, `ERR_PNPM_OUTDATED_LOCKFILE`, `ArrowInvalid`, `errors.VaultLocked: …`."""
_MODULE = re.compile(r"\b(?:\w+\.)+(?=[A-Z]\w*[a-z])")
"""Matches the modules before a name, which not every program prints: `sqlalchemy.exc.OperationalError`."""
_COMMON = frozenset(map(str.lower, WORD_SETS["common_errors"]))
_CLAUSE = re.compile(r"[.:;]\s+|\n|\s[–—-]\s")
_CODE = re.compile(r"\bE(?:CONN|TIMED|ADDR|HOST|NET|NO|ACCES|PERM|EXIST|RESOLVE)[A-Z]*\b")
_PLACE = re.compile(r"\b(?:[\w-]+\.)+[a-z]{2,}\b")
"""`ECONNREFUSED`, `registry.npmjs.org`."""


class ErrorOutput:
    """The output of a failing tool."""

    def __init__(self, text: str) -> None:
        half = MOST_CHARS // 2
        self._text = text if len(text) <= MOST_CHARS else f"{text[:half]}\n{text[-half:]}"
        self._names = frozenset(_NAME.findall(self._text)) - WORD_SETS["common_errors"]

    @cached_property
    def _lines(self) -> list[list[str]]:
        found = [words for line in self._text.splitlines() if (words := _words(line))]
        return found if len(found) <= MOST_LINES else [*found[: MOST_LINES // 2], *found[-MOST_LINES // 2 :]]

    @property
    def telling(self) -> list[str]:
        """The words and names to look notes up by."""
        written = _WORD.findall(_VOLATILE.sub(" ", self._text).lower())
        return [*self._names, *dict.fromkeys(word for word in written if _tells(_masked(word)))]

    def likeness(self, note: str, *, is_learned: bool) -> float:
        """Return how surely a note's text quotes this error, 0 to 1: the best of its quotes. A fix or lesson
        (`is_learned`) may also name the error in plain words."""
        if is_learned:
            patterns = _CODE, _PLACE
            is_at_place = all({*pattern.findall(note)} & {*pattern.findall(self._text)} for pattern in patterns)
            if is_at_place or any(re.search(rf"\b{name}\b", note) for name in self._names):
                return 1.0
        # in code, in quotation marks, or on a line of their own with an error's name
        parts = (part for found in _QUOTE.findall(note) for part in _GAP.split("".join(found)))
        found = max(map(self._likeness, parts), default=0.0)
        if found or not is_learned:
            return found
        repeats = any(self._likeness(clause) == 1.0 for clause in _CLAUSE.split(note))
        return ENOUGH if repeats or any(map(self._is_about, note.splitlines())) else 0.0

    def _is_about(self, line: str) -> bool:
        """Return whether a line of a note names an error that has many causes, and shares what tells them apart."""
        words = {*_words(line)}
        printed = {word for found in self._lines if not words.isdisjoint(_COMMON.intersection(found)) for word in found}
        return any(_tells(word) or word in WORD_SETS["symptoms"] for word in words & printed - _COMMON)

    def _likeness(self, quote: str) -> float:
        if self._names & set(_NAME.findall(quote)):
            return 1.0
        words = _words(quote)
        telling = [word for word in words if _tells(word)]
        if len(words) < 3 or not telling:
            return 0.0
        best, phrase = 0.0, f" {' '.join(words)} "
        for at in range(len(self._lines)):
            window = [word for line in self._lines[at : at + WINDOW_LINES] for word in line]
            if phrase in f" {' '.join(window)} ":
                return 1.0
            rest = iter(window)
            best = max(best, sum(word in window and word in rest for word in telling) / len(telling))
        return best if best >= ENOUGH and best * len(telling) >= 2 else 0.0


def _words(text: str) -> list[str]:
    return [_masked(word) for word in _WORD.findall(_VOLATILE.sub(" ", _MODULE.sub("", text)))]


def _masked(word: str) -> str:
    return re.sub(r"\d+", "#", word).lower()


def _tells(word: str) -> bool:
    return len(word) > 2 and word not in WORD_SETS["common_in_errors"]
