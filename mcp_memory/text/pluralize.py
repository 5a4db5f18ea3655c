"""Formats counts with the right plural (`1 note`, `3 notes`), and lists of words (`A, B and C`, `A, B and 5 more`)."""

from collections.abc import Sequence


def counted(number: int, one: str, many: str = "") -> str:
    """Format a count. `many` is the plural if it isn't `one` with an s."""
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"


def listed(words: Sequence[str]) -> str:
    """Join words as in a sentence."""
    *before, last = words
    return f"{', '.join(before)} and {last}" if before else last


def first_of(words: Sequence[str], most: int) -> str:
    """Join at most this many words, and count the others."""
    return ", ".join(words[:most]) + (f" and {len(words) - most:,} more" if len(words) > most else "")
