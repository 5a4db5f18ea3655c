"""Hashes: a long one is often called by its first digits, as `git log --oneline` does."""

from __future__ import annotations

import re

LEAST_DIGITS = 10
"""Shorter numbers, as registers and the parts of a UUID, are not called by a part of them."""

SHORTEST, LONGEST = 7, 12
"""Digits that Git abbreviates to, by the size of the repository."""

_HASH = re.compile(r"(?=[0-9]*[a-f])(?=[a-f]*[0-9])[0-9a-f]{10,64}")


def abbreviations(word: str) -> list[str]:
    """What stands for a hexadecimal number with both digits and letters, shortest first; none for any other word.
    `word` is in lower case."""
    if len(word) < LEAST_DIGITS or not _HASH.fullmatch(word):
        return []
    return [word[:digits] for digits in range(SHORTEST, min(LONGEST + 1, len(word)))]
