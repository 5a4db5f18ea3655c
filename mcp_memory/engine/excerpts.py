"""Excerpts: stretches of notes as answers quote them, joined where they touch and each line once. Pure functions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from mcp_memory.models import NotePath, NoteRecord, Passage

MAX_LABEL_CHARS = 200


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A stretch of one note: `text` is lines `start_line` to `end_line`, both included."""

    path: NotePath
    start_line: int
    end_line: int
    text: str
    label: str
    """Title, kind and date, for the line above the text."""
    start: int = 0
    """For a passage: where it stands in the note, in characters."""
    entries: tuple[int, ...] = ()
    """Of a log: the lines at which entries begin. Where it has to be cut, the latest ones are what counts."""

    @property
    def end(self) -> int:
        return self.start + len(self.text)

    def holds(self, passage: Passage) -> bool:
        """Whether this, made of passages, quotes all of that one."""
        return self.path == passage.note.path and self.start <= passage.chunk.start and passage.chunk.end <= self.end


def excerpt_of(passage: Passage) -> Excerpt:
    chunk, note = passage.chunk, passage.note
    said = label(note, chunk.headings or (note.title,))
    return Excerpt(note.path, chunk.start_line, chunk.end_line, chunk.text, said, chunk.start)


def label(note: NoteRecord, headings: Sequence[str]) -> str:
    """Headings, kind and dates, but for what the path says already: each character is one less for the notes."""
    when = note.updated or note.created
    day = when.date().isoformat() if when else ""
    kind = "" if note.is_log or f"/{note.kind}/" in f"/{note.path}" else note.kind
    place = " > ".join(each for each in headings if each not in note.path)
    until = f"until {note.expires_at.date().isoformat()}" if note.expires_at else ""
    parts = (place, kind, day if day not in note.path else "", until)
    return " · ".join(part[:MAX_LABEL_CHARS] for part in parts if part)


def merge(parts: Sequence[Excerpt]) -> list[Excerpt]:
    """Passages of one note in the order of their place, joined where they touch or overlap."""
    merged: list[Excerpt] = []
    for part in sorted(parts, key=lambda each: (each.start, each.end)):
        last = merged[-1] if merged else None
        if last is None or part.start_line > last.end_line + 1:
            merged.append(part)
        elif part.start <= last.end:
            if part.end > last.end:
                text = last.text + part.text[last.end - part.start :]
                merged[-1] = replace(last, end_line=part.end_line, text=text)
        elif part.start_line > last.end_line:
            # Only a line break and blanks lie in between; they count, so that offsets stay true.
            gap = "\n".rjust(part.start - last.end)
            merged[-1] = replace(last, end_line=part.end_line, text=last.text + gap + part.text)
        else:
            merged.append(part)  # pieces of one huge line with another piece between them
    return merged


def once(excerpts: Iterable[Excerpt]) -> list[Excerpt]:
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
