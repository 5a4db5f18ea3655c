"""Splits a note into sentences, the smallest pieces that make sense in a summary."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from mcp_memory.text.markdown.blocks import BlockKind, scan

_END = re.compile(
    r"`[^`]+`"  # code, which never ends a sentence
    r"|(?P<end>(?<![.!?…])[.!?…]+[\"'”’)\]*_]*(?=\s+[^\sa-z])|[。！？]+[」』）]*)"
)
"""Matches the end of a sentence; in scripts with spaces, not before a lower-case letter."""

_NO_END = re.compile(
    r"(?:\b(?i:approx|bspw|bzw|ca|cf|co|corp|dept|dr|est|et al|etc|evtl|exkl|ggf|hrsg|inc|ing|inkl|insb|jr|lt|ltd|mio"
    r"|mr|mrd|mrs|ms|mt|prof|resp|sog|sr|st|str|tel|usf|usw|vgl|vs|zzgl|(?:dr|prof)\. (?:h|med|jur|phil|rer))"
    r"|(?:^|[\s(])[A-ZÄÖÜdiosuvz]|\b[^\W\d_]{1,2}\.[^\W\d_]"  # J. R., z. B., p.m., Ph.D.
    # A number in a list; a German date: am 3., vom 24.12.
    r"|^\d{1,3}|\b(?i:am|ab|bis|das|dem|den|der|des|die|im|seit|vom|zum|zur)\s(?:\d{1,2}\.)?\d{1,2})\.$"
    r"|(?:::\w+|_\w+|\b(?:assert|dbg|e?println|format|matches|panic|select|todo|vec|writeln))!$"  # a macro of Rust
)
_NO_END_BEFORE = re.compile(
    r"\(?(?:(?i:abb|abs|apr|art|aug|bd|ch|dec|dez|eq|feb|fig|jan|jul|jun|kap|mar|no|nov|nr|oct|okt|op|pp?|sec|sept?|tab"
    r"|ver|vol)\. \d|\d{1,2}\. (?:Jan|Feb|Mär|Apr|Mai|Jun|Jul|Aug|Sep|Okt|Nov|Dez))"
)
_ABBREVIATION_CHARS = 24
"""The longest abbreviation, including the text before it."""
_MARKER = re.compile(r"\s*(?:>\s*)*(?:[-*+]\s+(?:\[[ xX]\]\s+)?|[0-9]{1,9}[.)]\s+)?")
_FENCE = re.compile(r"\s*(?:```|~~~)")
_QUICK_END = re.compile(r"(?<=[.!?])\s+|\n+")
_MIN_CHARS = 3
_WHOLE_CHARS = 300
"""The length up to which a list entry stays whole, since its later sentences don't name their speaker."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence. `text` has no line break and no list mark; `place` counts from 0 in the note."""

    text: str
    place: int


def sentences(text: str, start: int = 0) -> list[Sentence]:
    """Return the sentences of paragraphs and quotes and the lines of lists and tables in `text[start:]`, in order.
    Headings, code and raw HTML contain no sentences."""
    found = (piece for block in scan(text, start) for piece in _pieces(text, block.kind, block.start, block.end))
    worded = (piece for piece in found if sum(c.isalnum() for c in piece) >= _MIN_CHARS)
    return [Sentence(piece, place) for place, piece in enumerate(worded)]


def quick_sentences(text: str) -> list[str]:
    """Return the lines of a text, split after each mark that may end a sentence; for long texts, and for code."""
    return _QUICK_END.split(text)


def first_sentence(line: str) -> str:
    """Return the first sentence of a line, and the second if the first is a single word."""
    first, *others = _split(line)
    return f"{first} {others[0]}" if others and " " not in first else first


def statement_of(text: str) -> str:
    """Return the first paragraph of a note on one line, without headings and quotations."""
    lines = [line.strip() for line in text.splitlines() if not line.startswith((">", "#"))]
    return " ".join("\n".join(lines).strip().partition("\n\n")[0].split())


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
    """Yield each entry of a list, including nested entries, with its continuation lines."""
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
    for found in _END.finditer(text):
        end = found.end("end")
        earliest = max(begin, end - _ABBREVIATION_CHARS)
        word = text.rfind(" ", earliest, max(end, 0)) + 1
        if end >= 0 and not _NO_END.search(text[earliest:end]) and not _NO_END_BEFORE.match(text, word or earliest):
            pieces.append(text[begin:end].strip())
            begin = end
    return [*pieces, text[begin:].strip()]


def _bare(line: str) -> str:
    """Return the line without marks of a quote or list."""
    marker = _MARKER.match(line)
    return line[marker.end() if marker else 0 :].strip()
