"""Cuts notes into the excerpts that answers quote, joins those that touch and repeats no line. Pure functions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from mcp_memory.errors import InvalidInput, NotFound
from mcp_memory.models import NotePath, NoteRecord, Passage
from mcp_memory.text.markdown import logs
from mcp_memory.text.markdown.frontmatter import BOM
from mcp_memory.vault.note_file import NoteFile, find_entry
from mcp_memory.vault.succession.entry_marks import entry_record

MAX_LABEL_CHARS = 200

PLAIN_KIND = "note"
"""The kind that isn't named, to save room."""

_WORDS = re.compile(r"[^\W_]+")
_ANCHOR = re.compile(r"\s*\{[^{}]*\}$")
"""A heading's anchor, as many tools write it: `## Install { #install }`."""

_WORD = re.compile(r"\w+")
_TIME_AHEAD = re.compile(r"^[#>\s*+-]*[0-9]{1,2}:[0-9]{2}\b")
_FEWEST_WORDS = 4


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A part of one note: `text` is lines `start_line` to `end_line`, both included."""

    path: NotePath
    start_line: int
    end_line: int
    text: str
    heading: str
    """Of the text, or the note's title; empty if the path contains it."""
    about: str = ""
    """Kind and dates of the note."""
    start: int = 0
    """For a passage: its offset in the note, in characters."""
    entries: tuple[int, ...] = ()
    """Of a log: the lines at which entries begin. If it must be cut, the latest are kept."""

    @property
    def end(self) -> int:
        return self.start + len(self.text)

    def quotes(self, passage: Passage) -> bool:
        """Whether this excerpt, made of passages, contains all of that one."""
        return self.path == passage.note.path and self.start <= passage.chunk.start and passage.chunk.end <= self.end


def excerpt_of(passage: Passage) -> Excerpt:
    chunk, note = passage.chunk, passage.note
    heading = heading_of(note, chunk.headings or (note.title,))
    about = " · ".join(fact for fact in (kind_and_dates(note), passage.remark) if fact)
    return Excerpt(note.path, chunk.start_line, chunk.end_line, chunk.text, heading, about, chunk.start)


def heading_of(note: NoteRecord, headings: Sequence[str]) -> str:
    """The closest heading, omitted if the path already contains it, to save budget."""
    nearest = _ANCHOR.sub("", headings[-1]) if headings else ""
    return "" if _plain(nearest) in _plain(note.path) else nearest[:MAX_LABEL_CHARS]


def kind_and_dates(note: NoteRecord) -> str:
    """Kind and dates, as far as the path doesn't contain them."""
    when = note.updated or note.created
    day = when.date().isoformat() if when else ""
    kind = "" if note.is_log or note.kind == PLAIN_KIND or f"/{note.kind}/" in f"/{note.path}" else note.kind
    until = f"until {note.expires_at.date().isoformat()}" if note.expires_at else ""
    parts = (kind, day if day not in note.path else "", until)
    return " · ".join(part[:MAX_LABEL_CHARS] for part in parts if part)


def _plain(text: str) -> str:
    """Words between hyphens, as in file names made from titles."""
    return f"-{'-'.join(_WORDS.findall(text.lower()))}-"


def merge(parts: Sequence[Excerpt]) -> list[Excerpt]:
    """Passages of one note in their order there, joined where they touch or overlap."""
    merged: list[Excerpt] = []
    for part in sorted(parts, key=lambda part: (part.start, part.end)):
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
    """Whether there are as many characters as line breaks in between."""
    return second.start - first.end == second.start_line - first.end_line


def without_repeats(excerpts: Iterable[Excerpt]) -> list[Excerpt]:
    """Excerpts of whole lines, without lines that an earlier one shows."""
    shown: dict[NotePath, set[int]] = {}
    kept: list[Excerpt] = []
    for excerpt in excerpts:
        seen = shown.setdefault(excerpt.path, set())
        lines = dict(enumerate(excerpt.text.split("\n"), excerpt.start_line))
        kept += stretches(excerpt, {number: line for number, line in lines.items() if number not in seen})
        seen.update(lines)
    return kept


def stretches(excerpt: Excerpt, lines: dict[int, str]) -> list[Excerpt]:
    """These lines of an excerpt, by number and in order: one excerpt for each unbroken run, without blank lines at its
    ends."""
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


def note_excerpts(
    file: NoteFile,
    entry: str | None = None,
    lines: str | None = None,
    project: str | None = None,
    stated: set[str] | None = None,
    private: frozenset[str] = frozenset(),
) -> list[Excerpt]:
    """One note, log entry or range of lines; of a log without forgotten entries, those with a `private` tag and, with
    `project`, those of other projects. Statements in `stated` are left out, and new ones added to it.

    Raises NotFound for an entry that doesn't exist or is forgotten, InvalidInput for lines that the note doesn't have.
    """
    record = file.record
    all_lines = file.text.removeprefix(BOM).replace("\r\n", "\n").split("\n")
    hidden = forgotten_lines(file) | _lines_of_others(file, project, private)
    if stated is not None:  # history that nobody asked for
        hidden |= _superseded_lines(file)
    if entry is not None:
        found = find_entry(record.path, file.text, entry)
        if found is None or found.start_line in hidden:
            raise NotFound(f"no entry {entry} in {record.path}")
        first, last = found.start_line, found.end_line
    elif lines is not None:
        first, last = _line_range(lines, len(all_lines) - (not all_lines[-1]))
    else:
        first, last = file.text.count("\n", 0, file.body_start) + 1, len(all_lines)
    shown = {number: all_lines[number - 1] for number in range(first, last + 1) if number not in hidden}
    if stated is not None:
        statements = {number: _statement(line) for number, line in shown.items()}
        shown = {number: line for number, line in shown.items() if statements[number] not in stated}
        stated.update(filter(None, statements.values()))
    whole = Excerpt(record.path, first, last, "", heading_of(record, [record.title]), kind_and_dates(record))
    return stretches(whole, shown)


def latest_first(file: NoteFile, excerpts: Sequence[Excerpt]) -> list[Excerpt]:
    """The excerpts of a log in the order that a session wants, which has no room for all of it."""
    entries = tuple(entry.start_line for entry in logs.entries(file.text, file.body_start))
    return [replace(excerpt, entries=entries) for excerpt in reversed(excerpts)]


def forgotten_lines(file: NoteFile) -> set[int]:
    """The lines of forgotten entries in a log."""
    forgotten = set(file.record.meta.get("forgotten", []))
    entries = logs.entries(file.text, file.body_start) if forgotten else []
    return _lines_of(entry for entry in entries if entry.hash in forgotten)


def _superseded_lines(file: NoteFile) -> set[int]:
    if not file.record.meta.get("superseded"):
        return set()
    entries = logs.entries(file.text, file.body_start)
    return _lines_of(entry for entry in entries if entry_record(file.record, entry.hash).superseded_at)


def _lines_of_others(file: NoteFile, project: str | None, private: frozenset[str]) -> set[int]:
    if not file.record.is_log or (project is None and private.isdisjoint(file.record.tags)):
        return set()
    entries = logs.entries(file.text, file.body_start)
    labelled = [(entry, logs.labels([f"{entry.time} {entry.title}"])) for entry in entries]
    own = {None, project} if project else {labels.project for _, labels in labelled}
    return _lines_of(e for e, labels in labelled if labels.project not in own or not private.isdisjoint(labels.tags))


def _lines_of(entries: Iterable[logs.LogEntry]) -> set[int]:
    return {number for entry in entries for number in range(entry.start_line, entry.end_line + 1)}


def _statement(line: str) -> str:
    """A line's words, without marks and the time of a log entry; empty for a short one, which may be repeated."""
    words = _WORD.findall(_TIME_AHEAD.sub("", line).lower())
    return " ".join(words) if len(words) >= _FEWEST_WORDS else ""


def _line_range(lines: str, count: int) -> tuple[int, int]:
    match = re.fullmatch(r"\s*(\d{1,9})\s*(?:-\s*(\d{1,9})?\s*)?", lines)
    if not match or int(match[1]) < 1:
        raise InvalidInput(f"lines is {lines[:40]!r}", hint='pass "12", "12-20" or "12-"')
    first = int(match[1])
    last = int(match[2]) if match[2] else (count if "-" in lines else first)
    if first > count or last < first:
        raise InvalidInput(f"lines {lines.strip()} is outside the note", hint=f"it has {count} lines")
    return first, min(last, count)
