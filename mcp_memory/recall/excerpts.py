"""Cut notes into the excerpts that answers quote, name the source of each, and join neighbors. Pure."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import time

from mcp_memory.errors import InvalidInput, NotFound
from mcp_memory.models import SESSION, Filters, NoteId, NotePath, NoteRecord, Passage, PrivateMarks
from mcp_memory.text.escape_invisible import in_line, in_quotes
from mcp_memory.text.language.sentences import statement_of
from mcp_memory.text.language.terms import content_words, coverage
from mcp_memory.text.markdown import logs
from mcp_memory.text.markdown.frontmatter import BOM
from mcp_memory.vault.journals.change_journal import current_caller
from mcp_memory.vault.note_file import NoteFile, find_entry, is_whole
from mcp_memory.vault.ownership import author_of
from mcp_memory.vault.succession.entry_marks import entry_record, has_private_lines, private_entries

MAX_LABEL_CHARS = 100

TITLE_KNOWN = 0.5
"""The share of a title's words in text and path from which the title isn't repeated: paths are made of titles."""

ID_CHARS, ENTRY_CHARS = 6, 8
"""The number of characters at the end of an id, or of a log entry's hash, that answers show."""

VOICE = "voice"
"""The key in the head of an extracted note, whose body is a statement and below it the words that it was made of."""

_ANCHOR = re.compile(r"\s*\{[^{}]*\}$")
"""A heading's anchor, as many tools write it: `## Install { #install }`."""

_OWN_ID = re.compile(r"[0-9A-Za-z]{6,}")
_PLAIN = re.compile(r"[\w.@/+-]+")
"""A name that can't be taken for a sentence of ours; other names get quotation marks."""


@dataclass(frozen=True)
class Excerpt:
    """A part of one note: `text` is lines `start_line` to `end_line`, both included."""

    note: NoteRecord
    start_line: int
    end_line: int
    text: str
    headings: tuple[str, ...] = ()
    """The headings above the text, outermost first."""
    start: int = 0
    """The offset of a passage in the note, in characters."""
    entry: str | None = None
    """The hash of the log entry that all of the text belongs to."""
    time: str | None = None
    """The `HH:MM` of that log entry."""
    asking: str | None = None
    """The reader's project: the head names any other."""
    about: str = ""
    """The words of the head that replace date and kind on pages made from notes."""
    remark: str = ""
    """The head's remark in brackets, in our words, such as what the note replaces."""
    is_line: bool = False
    """Whether the text is one line for which the head is only an id."""
    evidence: str = ""
    """The quotation below an extracted statement, which isn't shown with it."""

    @property
    def path(self) -> NotePath:
        return self.note.path

    @property
    def item(self) -> tuple[NotePath, str | None]:
        """The note or log entry that a head names."""
        return self.note.path, self.entry

    @property
    def end(self) -> int:
        return self.start + len(self.text) + len(self.evidence)

    @property
    def is_whole(self) -> bool:
        """Return whether the excerpt is all of its note or log entry, apart from the heading above."""
        return is_whole(self.text + self.evidence, self.headings, self.entry or self.note.content_hash)

    @property
    def shown_id(self) -> NoteId:
        """The id of its note or log entry, like `Passage.shown_id`."""
        return NoteId(f"{self.path}#{self.entry}") if self.entry else self.note.id

    @property
    def short_id(self) -> str:
        """The end of the id; empty for a file without an id."""
        return shortened(NoteId(f"#{self.entry}") if self.entry else self.note.id) or ""

    @property
    def shown_path(self) -> str:
        """The note's path, unless the excerpt is a line or the whole note, and its id is shown."""
        return "" if self.short_id and (self.is_line or self.is_whole) else self.note.path

    def quotes(self, passage: Passage) -> bool:
        """Return whether this excerpt, made of passages, contains all of the passage."""
        return self.path == passage.note.path and self.start <= passage.chunk.start and passage.chunk.end <= self.end

    def tells(self, passage: Passage) -> bool:
        """Return whether this excerpt, made of a whole note, contains all of the passage, or is a line of it."""
        if self.is_line:
            return self.text in statement_of(passage.chunk.text)
        return passage.chunk.text.replace("\r\n", "\n") in self.text + self.evidence

    def day_and_time(self) -> tuple[str, str]:
        """Return the day and time of the note or log entry: `2026-11-03` and `13:20`, or empty where unknown."""
        when = self.note.date
        clock = f"{when:%H:%M}" if when and when.time() != time() else ""
        return self.note.day or "", self.time or clock

    def place(self) -> str:
        """The lines, behind a colon, and their subject if it is named above them."""
        lines = f":{self.start_line}" if self.start_line == self.end_line else f":{self.start_line}-{self.end_line}"
        above = self.headings[-1] if self.headings else ""
        return lines + self._label(logs.title_and_labels([above])[0] or above or self.note.title, self.path)

    def head(self, *, timed: bool) -> str:
        """Return where the text is from: date, kind, project, author if it is another agent, and short id. The path and
        lines are added if the text isn't a whole note or the note has no id, and the title where neither names it. No
        name in it reads as a sentence of ours."""
        remark = f" ({in_line(self.remark)})" if self.remark else ""
        note, path = self.note, self.shown_path
        title, labels = logs.title_and_labels(self.headings) if note.is_log else (note.title, None)
        author = labels.source if labels else author_of(note)
        by = f"by {named(author)}" if author and author != current_caller().client else ""
        if self.is_line:
            return " ".join(filter(None, [self.short_id or named(self.path), by])) + remark
        day, clock = self.day_and_time()
        kind = "" if note.kind == "note" or f"/{note.kind}/" in f"/{path}" or (note.is_log and path) else note.kind
        project = (labels.project if labels else note.project) or ""
        facts = [self.about] if self.about else ["" if day in path else day, clock if timed else "", named(kind)]
        facts += [named(project) if project not in {self.asking, f"{SESSION}{current_caller().session}"} else ""]
        facts += [by, f"until {note.expires_at.date().isoformat()}" if note.expires_at else ""]
        facts += [self.short_id if self.entry or not path else "", named(path)]
        return " ".join(filter(None, facts)) + (self._label(title, path) if self.is_whole else self.place()) + remark

    def _label(self, label: str, path: str) -> str:
        """Return a title or heading, unless the text or path repeats its words."""
        title = _ANCHOR.sub("", label)
        words = content_words(title)
        least = TITLE_KNOWN if path and label == self.note.title else 1.0
        is_known = not words or coverage(words, content_words(f"{self.text} {path}")) >= least
        return "" if is_known else f" {in_quotes(title[:MAX_LABEL_CHARS])}"


def shortened(note_id: NoteId) -> str | None:
    """Return the end of an id that is shown for it; None if a file has no id of its own."""
    if "#" in note_id:
        return note_id[-ENTRY_CHARS:]
    return note_id[-ID_CHARS:] if _OWN_ID.fullmatch(note_id) else None


def excerpt_of(passage: Passage, asking: str | None = None) -> Excerpt:
    chunk, note = passage.chunk, passage.note
    lines, entry = (chunk.start_line, chunk.end_line), (chunk.entry, chunk.time)
    excerpt = Excerpt(note, *lines, chunk.text, chunk.headings, chunk.start, *entry, asking, remark=passage.remark)
    statement, quote, _ = chunk.text.partition("\n\n> ")
    if VOICE not in note.meta or not quote or not excerpt.is_whole:
        return excerpt
    return replace(excerpt, text=statement, evidence=chunk.text[len(statement) :])


def named(name: str) -> str:
    """Return a name of the person's choice, such as a kind or a path, as it is or in quotation marks."""
    short = in_line(name)
    return short if len(short) <= 4 * MAX_LABEL_CHARS and _PLAIN.fullmatch(short) else in_quotes(name) if name else ""


def merge(parts: Sequence[Excerpt]) -> list[Excerpt]:
    """Return the passages of one note in the note's order, joined where they touch or overlap."""
    merged: list[Excerpt] = []
    for part in sorted(parts, key=lambda part: (part.start, part.end)):
        last = merged[-1] if merged else None
        lines = part.start_line - last.end_line if last else 0
        if last is None or (lines > 1 and part.start - last.end != lines):  # not only line breaks between
            merged.append(part)
        elif part.start <= last.end:
            if part.end > last.end:
                text = last.text + part.text[last.end - part.start :]
                merged[-1] = replace(last, end_line=part.end_line, text=text)
        elif part.start_line > last.end_line:
            # Only line breaks and blanks are in between; they are kept, so that offsets stay correct.
            gap = ("\n" * (part.start_line - last.end_line)).rjust(part.start - last.end)
            merged[-1] = replace(last, end_line=part.end_line, text=last.text + gap + part.text)
        else:
            merged.append(part)  # pieces of one huge line with another piece between them
    return merged


def without_repeats(excerpts: Iterable[Excerpt]) -> list[Excerpt]:
    """Yield excerpts of whole lines, without lines that an earlier one shows."""
    shown: dict[NotePath, set[int]] = {}
    kept: list[Excerpt] = []
    for excerpt in excerpts:
        seen = shown.setdefault(excerpt.path, set())
        lines = dict(enumerate(excerpt.text.split("\n"), excerpt.start_line))
        kept += stretches(excerpt, {number: line for number, line in lines.items() if number not in seen})
        seen.update(lines)
    return kept


def stretches(excerpt: Excerpt, lines: dict[int, str]) -> list[Excerpt]:
    """Return these lines of an excerpt, by number and in order: one excerpt for each unbroken run, without blank lines
    at its ends."""
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
    file: NoteFile, entry: str | None = None, lines: str | None = None, own: str | None = None
) -> list[Excerpt]:
    """Return one note, log entry or range of lines, without the `forgotten_lines`. Raises NotFound for an entry that
    doesn't exist or is forgotten, InvalidInput for lines that the note doesn't have."""
    record, all_lines, hidden = file.record, _lines_of(file), forgotten_lines(file, own)
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
    return stretches(Excerpt(record, first, last, "", entry=entry), shown)


def latest_entries(file: NoteFile, wanted: Filters, private: PrivateMarks) -> list[Excerpt]:
    """Return the active entries of a log, the latest first, then the text above them; without private or muted entries,
    and without entries of projects that aren't `wanted`."""
    project = wanted.project
    all_lines, found = _lines_of(file), logs.entries(file.text, file.body_start)
    hidden = {*file.forgotten_entries, *private_entries(file, private)}
    begin = file.text.count("\n", 0, file.body_start) + 1
    starts = [entry.start_line for entry in found]
    kept: list[Excerpt] = []
    for entry in reversed(found):
        heading = all_lines[entry.start_line - 1].lstrip("#").strip()
        record = entry_record(file.record, entry.hash)
        if entry.hash in hidden or record.superseded_at or record.is_muted_in(project):
            continue
        labels = logs.labels([heading])
        if wanted.admits_project(labels.project) and wanted.admits_author(replace(record, source=labels.source)):
            body = range(entry.start_line + 1, entry.end_line + 1) or [entry.start_line]
            whole = Excerpt(
                file.record, entry.start_line, entry.end_line, "", (heading,), entry=entry.hash, time=entry.time,
                asking=project,
            )  # fmt: skip
            kept += stretches(whole, {number: all_lines[number - 1] for number in body})
    ahead = range(begin, min(starts, default=len(all_lines) + 1))
    rest = {number: line for number in ahead if not (line := all_lines[number - 1]).startswith("# ")}
    above = stretches(Excerpt(file.record, begin, begin, ""), rest) if wanted.admits_project(None) else ()
    return [*kept, *without_private_lines(above)]


def without_private_lines(excerpts: Iterable[Excerpt]) -> Iterator[Excerpt]:
    """Yield the excerpts without the private lines of `MEMORY.md` and logs."""
    for excerpt in excerpts:
        lines = dict(enumerate(excerpt.text.split("\n"), excerpt.start_line))
        shown = {at: line for at, line in lines.items() if not has_private_lines(excerpt.note, at, at)}
        yield from [excerpt] if shown == lines else stretches(excerpt, shown)


def forgotten_lines(file: NoteFile, own: str | None = None) -> set[int]:
    """Return the lines of a log's entries that are forgotten, or of a session other than the `own` one."""
    gone, seen, hidden = set(file.forgotten_entries), Filters(own=own), set[int]()
    for entry in logs.entries(file.text, file.body_start) if gone or (own is not None and file.record.is_log) else ():
        if entry.hash in gone or not seen.admits_project(logs.labels([f"{entry.time} {entry.title}"]).project):
            hidden.update(range(entry.start_line, entry.end_line + 1))
    return hidden


def _lines_of(file: NoteFile) -> list[str]:
    return file.text.removeprefix(BOM).replace("\r\n", "\n").split("\n")


def _line_range(lines: str, count: int) -> tuple[int, int]:
    match = re.fullmatch(r"\s*(\d{1,9})\s*(?:-\s*(\d{1,9})?\s*)?", lines)
    if not match or int(match[1]) < 1:
        raise InvalidInput(f"lines is {lines[:40]!r}", hint='pass "12", "12-20" or "12-"')
    first = int(match[1])
    last = int(match[2]) if match[2] else (count if "-" in lines else first)
    if first > count or last < first:
        raise InvalidInput(f"lines {lines.strip()} is outside the note", hint=f"it has {count} lines")
    return first, min(last, count)
