"""Puts the words of notes into a line of a page that we make. Pure."""

import re

_MARKS = re.compile(r"[\[\]\\`*_<>]")
_HIDES = re.compile(r"<[A-Za-z/!]|%%|!\[")


def escaped(text: str) -> str:
    """On one line, with no character that Markdown gives a meaning within a line."""
    return _MARKS.sub(lambda mark: chr(92) + mark[0], " ".join(text.split()))


def is_harmless(text: str) -> bool:
    """Whether nothing in it could hide the rest of a page, or load something."""
    return not _HIDES.search(text) and text.count("`") % 2 == 0
