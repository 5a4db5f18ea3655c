"""Spelling: the words that a mistyped one may have been meant as."""

from __future__ import annotations

from string import ascii_lowercase

SHORTEST, LONGEST = 5, 24
"""Letters. Nearly any shorter word is one letter away from another one, and longer ones are no words."""


def one_letter_away(word: str) -> list[str]:
    """The words in which one letter is missing, too many, another one, or two have changed places, in alphabetical
    order: some 53 for each letter of `word`. None for what is no lower-case word of English letters, or too short or
    long."""
    if not SHORTEST <= len(word) <= LONGEST or not (word.isascii() and word.isalpha() and word.islower()):
        return []
    splits = [(word[:at], word[at:]) for at in range(len(word) + 1)]
    found = {before + after[1:] for before, after in splits if after}
    found |= {before + after[1] + after[0] + after[2:] for before, after in splits if len(after) > 1}
    found |= {before + letter + after[1:] for before, after in splits if after for letter in ascii_lowercase}
    found |= {before + letter + after for before, after in splits for letter in ascii_lowercase}
    return sorted(found - {word})
