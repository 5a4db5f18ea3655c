"""Inserts words of notes into a line of a generated page. Pure."""

import re

_MARKS = re.compile(r"[\[\]\\`*_<>]")
_HIDES = re.compile(r"<[A-Za-z/!]|%%|!\[")
_CODE = re.compile(r"(?<![`\\])`[^`]+`(?!`)")


def escaped(text: str) -> str:
    """Return the text on one line, with every character escaped that has a meaning in a line of Markdown."""
    return _MARKS.sub(lambda mark: chr(92) + mark[0], " ".join(text.split()))


def is_harmless(text: str) -> bool:
    """Return whether the text can neither hide the rest of a page nor load anything."""
    return not _HIDES.search(_CODE.sub("", text)) and text.count("`") % 2 == 0
