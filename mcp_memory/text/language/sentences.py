"""Sentences: the smallest pieces of a note that can stand alone in a summary, each an exact slice of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from mcp_memory.text.markdown.blocks import BlockKind, scan

_END = re.compile(r"(?<![.!?…])[.!?…]+[\"'”’)\]*_]*(?=\s+[^\sa-z])|[。！？]+[」』）]*")
"""What ends a sentence: in scripts with blanks only before something that is no small letter."""

_ABBREVIATION = re.compile(
    r"(?:\b(?i:e\.g|i\.e|cf|vs|etc|ca|approx|no|nr|fig|mr|mrs|ms|dr|prof|st|inc|ltd|z\.b|d\.h)|(?:^|\s)[A-Z])\.$"
)
_ABBREVIATION_CHARS = 12
"""So far back one can begin, with what stands before it."""
_MARKER = re.compile(r"\s*(?:>\s*)*(?:[-*+]\s+(?:\[[ xX]\]\s+)?|[0-9]{1,9}[.)]\s+)?")
_FENCE = re.compile(r"\s*(?:```|~~~)")
_WORTH_CHARS = 3
_WHOLE_CHARS = 300
"""A shorter entry of a list stays whole: cut, its sentences no longer say whose words they are."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """`text` has no line break and no list mark; `place` counts from 0 in its note."""

    text: str
    place: int


def sentences(text: str, start: int = 0) -> list[Sentence]:
    """Of `text[start:]`, in order: sentences of paragraphs and quotes, lines of lists and tables. Headings, code and
    raw HTML hold none."""
    found = (piece for block in scan(text, start) for piece in _pieces(text, block.kind, block.start, block.end))
    told = (piece for piece in found if sum(c.isalnum() for c in piece) >= _WORTH_CHARS)
    return [Sentence(piece, place) for place, piece in enumerate(told)]


def first_sentence(line: str) -> str:
    """Of a line of plain text."""
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
    """Each entry of a list, nested ones too, with the lines that it goes on in."""
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
    """Without the marks of a quote or list in front."""
    marker = _MARKER.match(line)
    return line[marker.end() if marker else 0 :].strip()
