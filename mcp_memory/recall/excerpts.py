"""Cuts the stretches of notes that answers quote, joins those that touch and repeats no line. Pure functions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from mcp_memory.models import NotePath, NoteRecord, Passage

MAX_LABEL_CHARS = 200

PLAIN_KIND = "note"
"""Of no particular kind, which is not worth a word."""

_WORDS = re.compile(r"[^\W_]+")
_ANCHOR = re.compile(r"\s*\{[^{}]*\}$")
"""The name that links to a heading use, as many tools write it: `## Install { #install }`."""


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A stretch of one note: `text` is lines `start_line` to `end_line`, both included."""

    path: NotePath
    start_line: int
    end_line: int
    text: str
    heading: str
    """Of the text, or the note's title; empty where the path says it."""
    about: str = ""
    """Kind and dates of the note."""
    start: int = 0
    """For a passage: where it stands in the note, in characters."""
    entries: tuple[int, ...] = ()
    """Of a log: the lines at which entries begin. Where it has to be cut, the latest ones are what counts."""

    @property
    def end(self) -> int:
        return self.start + len(self.text)

    def quotes(self, passage: Passage) -> bool:
        """Whether this, made of passages, quotes all of that one."""
        return self.path == passage.note.path and self.start <= passage.chunk.start and passage.chunk.end <= self.end


def excerpt_of(passage: Passage) -> Excerpt:
    chunk, note = passage.chunk, passage.note
    heading = heading_of(note, chunk.headings or (note.title,))
    return Excerpt(note.path, chunk.start_line, chunk.end_line, chunk.text, heading, kind_and_dates(note), chunk.start)


def heading_of(note: NoteRecord, headings: Sequence[str]) -> str:
    """The nearest heading above a text, but for what the path says: each character is one less for the notes."""
    nearest = _ANCHOR.sub("", headings[-1]) if headings else ""
    return "" if _plain(nearest) in _plain(note.path) else nearest[:MAX_LABEL_CHARS]


def kind_and_dates(note: NoteRecord) -> str:
    """Kind and dates, likewise."""
    when = note.updated or note.created
    day = when.date().isoformat() if when else ""
    kind = "" if note.is_log or note.kind == PLAIN_KIND or f"/{note.kind}/" in f"/{note.path}" else note.kind
    until = f"until {note.expires_at.date().isoformat()}" if note.expires_at else ""
    parts = (kind, day if day not in note.path else "", until)
    return " · ".join(part[:MAX_LABEL_CHARS] for part in parts if part)


def _plain(text: str) -> str:
    """As file names are made of titles, in marks that keep words apart."""
    return f"-{'-'.join(_WORDS.findall(text.lower()))}-"


def merge(parts: Sequence[Excerpt]) -> list[Excerpt]:
    """Passages of one note in the order of their place, joined where they touch or overlap."""
    merged: list[Excerpt] = []
    for part in sorted(parts, key=lambda each: (each.start, each.end)):
        last = merged[-1] if merged else None
        if last is None or (part.start_line > last.end_line + 1 and not _only_breaks_between(last, part)):
            merged.append(part)
        elif part.start <= last.end:
            if part.end > last.end:
                text = last.text + part.text[last.end - part.start :]
                merged[-1] = replace(last, end_line=part.end_line, text=text)
        elif part.start_line > last.end_line:
            # Only line breaks and blanks lie in between; they count, so that offsets stay true.
            gap = ("\n" * (part.start_line - last.end_line)).rjust(part.start - last.end)
            merged[-1] = replace(last, end_line=part.end_line, text=last.text + gap + part.text)
        else:
            merged.append(part)  # pieces of one huge line with another piece between them
    return merged


def _only_breaks_between(first: Excerpt, second: Excerpt) -> bool:
    """As many characters as line breaks, so that there is nothing else."""
    return second.start - first.end == second.start_line - first.end_line


def without_repeats(excerpts: Iterable[Excerpt]) -> list[Excerpt]:
    """Excerpts of whole lines without those lines that an earlier one shows."""
    shown: dict[NotePath, set[int]] = {}
    kept: list[Excerpt] = []
    for excerpt in excerpts:
        seen = shown.setdefault(excerpt.path, set())
        lines = dict(enumerate(excerpt.text.split("\n"), excerpt.start_line))
        kept += stretches(excerpt, {number: line for number, line in lines.items() if number not in seen})
        seen.update(lines)
    return kept


def stretches(excerpt: Excerpt, lines: dict[int, str]) -> list[Excerpt]:
    """Of an excerpt only these lines, by number and in order: one excerpt for each unbroken row of them, without blank
    lines at its ends."""
    rows: list[list[int]] = []
    for number in lines:
        if rows and rows[-1][-1] == number - 1:
            rows[-1].append(number)
        else:
            rows.append([number])
    kept: list[Excerpt] = []
    for row in rows:
        filled = [number for number in row if lines[number].strip()]
        if filled:
            text = "\n".join(lines[number] for number in range(filled[0], filled[-1] + 1))
            kept.append(replace(excerpt, start_line=filled[0], end_line=filled[-1], text=text))
    return kept
