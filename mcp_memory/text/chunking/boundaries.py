"""Finds the place to cut a text: at a line end, after a sentence, between words, or as a last resort inside a word."""

import unicodedata
from itertools import takewhile

_SENTENCE_ENDS = (". ", "! ", "? ", "; ", "。", "！", "？", "；", "… ")
_WORD_ENDS = (" ", "\t", "\u3000", "、", "，")
_LONGEST_CLUSTER_CHARS = 64
"""The most characters that a cut moves back; a longer run of combining marks is noise."""


def best_cut(text: str, start: int, limit: int) -> int:
    """Return the best place in `(start, limit]` to end a piece that begins at `start`.

    Only the second half is searched, so that pieces stay large: for the end of a line, then of a sentence, then of a
    word. Otherwise, the cut comes before a whole character with its combining marks. `limit` must be inside the text
    and after `start`."""
    half = start + (limit - start) // 2
    line_end = text.rfind("\n", half, limit)
    if line_end >= 0:
        return line_end + 1
    for ends in (_SENTENCE_ENDS, _WORD_ENDS):
        cut = max(found + len(end) if (found := text.rfind(end, half, limit)) >= 0 else -1 for end in ends)
        if cut > start:
            return cut
    return cluster_start(text, start, limit)


def cluster_start(text: str, start: int, cut: int) -> int:
    """Return `cut`, or a place shortly before it that splits no grapheme cluster; always after `start`.

    Approximates Unicode's text segmentation (UAX 29): marks, joiners, emoji modifiers, flags, surrogate pairs and CRLF.
    A cluster that would leave nothing before the cut is split."""
    floor = max(start, cut - _LONGEST_CLUSTER_CHARS)
    place = cut
    while place > floor and _joined(text, place):
        place -= 1
    return place if place > floor else cut


def _joined(text: str, place: int) -> bool:
    """Return whether the characters before and at `place` belong together."""
    if not 0 < place < len(text):
        return False
    before, after = text[place - 1], text[place]
    if after.isascii() and before.isascii():
        return before == "\r" and after == "\n"
    if unicodedata.category(after) in {"Mn", "Me", "Mc"} or after == "\u200d" or before == "\u200d":
        return True
    if "\U0001f3fb" <= after <= "\U0001f3ff" or "\U000e0020" <= after <= "\U000e007f":
        return True
    if _is_flag_half(before) and _is_flag_half(after):
        halves = takewhile(_is_flag_half, reversed(text[max(0, place - _LONGEST_CLUSTER_CHARS) : place]))
        return sum(1 for _ in halves) % 2 == 1
    return "\ud800" <= before <= "\udbff" and "\udc00" <= after <= "\udfff"


def _is_flag_half(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"
