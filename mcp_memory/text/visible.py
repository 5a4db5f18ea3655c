"""Showing characters that would hide or reorder a text, or steer a terminal."""

from __future__ import annotations

import re
import unicodedata

SOFT_HYPHEN = "\u00ad"
_PLAIN = re.compile("[\n\t -~\u00a0-\u02ff]*")
"""The letters of most texts, which need no closer look."""

_BLANK = re.compile("[\u115f\u1160\u2800\u3164\uffa0\ufe00-\ufe0e\U000e0100-\U000e01ef]")
"""Letters that show as nothing, and variation selectors, of which text can be made that nobody sees."""


def visible(text: str) -> str:
    """Characters that hide or reorder text (controls, bidi marks, tags, zero-width) written as their code; line ends
    as LF."""
    text = text.replace("\r\n", "\n")
    if _PLAIN.fullmatch(text):
        return text
    hidden = {ord(c): f"\\u{{{ord(c):X}}}" for c in set(text) if not _harmless(c)}
    return text.translate(hidden) if hidden else text


def _harmless(character: str) -> bool:
    if character in "\n\t\u200d\ufe0f":  # joiner and variation selector belong to emoji
        return True
    if character in "\u2028\u2029" or _BLANK.match(character):
        return False
    return unicodedata.category(character) not in {"Cc", "Cf", "Cs", "Co"} or character == SOFT_HYPHEN
