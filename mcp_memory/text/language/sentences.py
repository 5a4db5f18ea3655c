"""Splits a note into sentences, the smallest pieces that make sense in a summary."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from mcp_memory.text.markdown.blocks import BlockKind, scan

_END = re.compile(r"(?<![.!?…])[.!?…]+[\"'”’)\]*_]*(?=\s+[^\sa-z])|[。！？]+[」』）]*")
"""The end of a sentence; in scripts with spaces only before anything but a lower-case letter."""

_ABBREVIATION = re.compile(
    r"(?:\b(?i:e\.g|i\.e|cf|vs|etc|ca|approx|no|nr|fig|mr|mrs|ms|dr|prof|st|inc|ltd|z\.b|d\.h)|(?:^|\s)[A-Z])\.$"
)
_ABBREVIATION_CHARS = 12
"""The longest abbreviation, with the character before it."""
_MARKER = re.compile(r"\s*(?:>\s*)*(?:[-*+]\s+(?:\[[ xX]\]\s+)?|[0-9]{1,9}[.)]\s+)?")
_FENCE = re.compile(r"\s*(?:```|~~~)")
_MIN_CHARS = 3
_WHOLE_CHARS = 300
"""A shorter list entry stays whole, since its sentences alone don't say whose words they are."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """`text` has no line break and no list mark; `place` counts from 0 in the note."""

    text: str
    place: int


def sentences(text: str, start: int = 0) -> list[Sentence]:
    """The sentences of paragraphs and quotes and the lines of lists and tables in `text[start:]`, in order. Headings,
    code and raw HTML have none."""
    found = (piece for block in scan(text, start) for piece in _pieces(text, block.kind, block.start, block.end))
    worded = (piece for piece in found if sum(c.isalnum() for c in piece) >= _MIN_CHARS)
    return [Sentence(piece, place) for place, piece in enumerate(worded)]


def first_sentence(line: str) -> str:
    """The first sentence of a line of plain text."""
    return _split(line)[0]


def _pieces(text: str, kind: BlockKind, start: int, end: int) -> Iterator[str]:
    if kind in {BlockKind.PARAGRAPH, BlockKind.QUOTE}:
        yield from _split(" ".join(_bare(line) for line in text[start:end].splitlines()))
    elif kind is BlockKind.ITEM:
        yield from _items(text[start:end])
    elif kind is BlockKind.TABLE:
        for row in text[start:end].splitlines():
            cells = [cell.strip() for cell in row.strip().strip("|").split("|")]
            if any(set(cell) - set("-: ") for cell in cells):
                yield " | ".join(cells)


def _items(block: str) -> Iterator[str]:
    """Each entry of a list, nested ones too, with its continuation lines."""
    entry: list[str] = []
    in_fence = False
    for line in block.splitlines():
        if _FENCE.match(line):
            in_fence = not in_fence
            continue
        if in_fence:
            continue
        if _bare(line) != line.strip() and entry:
            yield from _whole_or_split(" ".join(entry))
            entry = []
        entry.append(_bare(line))
    yield from _whole_or_split(" ".join(entry))


def _whole_or_split(entry: str) -> list[str]:
    return [entry.strip()] if len(entry) <= _WHOLE_CHARS else _split(entry)


def _split(text: str) -> list[str]:
    pieces: list[str] = []
    begin = 0
    for end in _END.finditer(text):
        if not _ABBREVIATION.search(text[max(begin, end.end() - _ABBREVIATION_CHARS) : end.end()]):
            pieces.append(text[begin : end.end()].strip())
            begin = end.end()
    return [*pieces, text[begin:].strip()]


def _bare(line: str) -> str:
    """The line without marks of a quote or list."""
    marker = _MARKER.match(line)
    return line[marker.end() if marker else 0 :].strip()
