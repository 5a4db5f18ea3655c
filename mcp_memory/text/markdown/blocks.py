"""Splits Markdown into blocks: headings, paragraphs, list items, fences, tables, quotes.

A single pass over the lines in linear time, after CommonMark 0.31 and GitHub's tables. It deliberately differs in these
cases. A list item is a single block with all nested content. An underlined heading has a single line. A comment or
`<pre>` without an end is a paragraph, so that a slip hides nothing. Indented code is a paragraph.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple

MAX_HEADING_CHARS = 300
"""The longest heading. A longer line is a paragraph even with a `#`, since each chunk repeats its headings."""

_BULLETS = "-*+"
_MAX_NESTED_MARKERS = 8
_HTML_ENDS = {"<!--": "-->"} | {f"<{tag}": f"</{tag}>" for tag in ("pre", "script", "style", "textarea")}


BlockKind = Literal["heading", "paragraph", "item", "fence", "table", "quote", "html", "rule"]


class Block(NamedTuple):
    """A block. `text[start:end]` is the block from the start of its first line to the end of its last, without the
    newline."""

    kind: BlockKind
    start: int
    end: int
    level: int = 0
    """The level of a heading, 1 to 6."""
    title: str = ""
    """A heading's words, without its marks."""
    unclosed_fence: str = ""
    """The marks that would close a fence that runs to the end of the text."""
    fences: tuple[tuple[int, int], ...] = ()
    """The start and end of each fence inside a list item."""


def scan(text: str, start: int = 0, *, breaks: Callable[[str], bool] | None = None) -> Iterator[Block]:
    """Yield the blocks of `text[start:]` in order; every nonblank line is in exactly one block. No comment or raw HTML
    contains a line for which `breaks` returns true."""
    return _Scanner(text, start, breaks).blocks()


def split_heading(line: str) -> tuple[int, str] | None:
    """Split `## Words ##` into (2, "Words"); return None for any other line."""
    level = len(line) - len(line.lstrip("#"))
    if not 1 <= level <= 6 or len(line) > MAX_HEADING_CHARS or (line[level:] and line[level] not in " \t"):
        return None
    words = line[level:].strip()
    bare = words.rstrip("#")
    return level, bare.rstrip() if not bare or bare[-1] in " \t" else words


class _Row(NamedTuple):
    """A line: its place, its indentation in columns, and its text without outer white space."""

    start: int
    end: int
    indent: int
    body: str


class _Scanner:
    def __init__(self, text: str, start: int, breaks: Callable[[str], bool] | None) -> None:
        self._rows = list(_rows(text, start))
        self._break_rows = [
            index for index, row in enumerate(self._rows) if breaks and breaks(text[row.start : row.end])
        ]
        self._ends: dict[str, list[int]] = {}
        """Maps a mark of `_HTML_ENDS` to the rows that contain it."""

    def blocks(self) -> Iterator[Block]:
        rows, at = self._rows, 0
        while at < len(rows):
            if not rows[at].body:
                at += 1
                continue
            block, at = self._block(at)
            yield block

    def _block(self, at: int) -> tuple[Block, int]:
        """Return the block that begins at row `at`, and the row after it."""
        row = self._rows[at]
        if row.indent < 4:
            if marks := _fence_marks(row.body):
                return self._fence(at, marks)
            if heading := split_heading(row.body):
                level, title = heading
                return Block("heading", row.start, row.end, level, title), at + 1
            if _is_rule(row.body):
                return self._made("rule", at, at + 1), at + 1
            if _marker_width(row.body):
                return self._item(at)
            if (after := self._html(at)) is not None:
                return self._made("html", at, after), after
        return self._paragraph(at)

    def _made(self, kind: BlockKind, first: int, after: int) -> Block:
        return Block(kind, self._rows[first].start, self._rows[after - 1].end)

    def _fence(self, at: int, marks: str) -> tuple[Block, int]:
        rows = self._rows
        for index in range(at + 1, len(rows)):
            if rows[index].indent < 4 and _closes(rows[index].body, marks):
                return self._made("fence", at, index + 1), index + 1
        return Block("fence", rows[at].start, rows[-1].end, unclosed_fence=marks), len(rows)

    def _html(self, at: int) -> int | None:
        """Return the row after a comment or raw element that begins at `at`. Return None without an end before the next
        break, so that text added after a break never changes the blocks before it."""
        opening = self._rows[at].body[:10].lower()
        mark = next((end for begin, end in _HTML_ENDS.items() if opening.startswith(begin)), None)
        if mark is None:
            return None
        if mark not in self._ends:
            self._ends[mark] = [index for index, row in enumerate(self._rows) if mark in row.body.lower()]
        ends = self._ends[mark]
        end = bisect_left(ends, at)
        following = bisect_left(self._break_rows, at)
        if end == len(ends) or (following < len(self._break_rows) and self._break_rows[following] < ends[end]):
            return None
        return ends[end] + 1

    def _item(self, at: int) -> tuple[Block, int]:
        """Parse a list item with its continuation: lines indented at least as far as its text, and lazy lines."""
        rows = self._rows
        content_indent, inner = _item_content(rows[at])
        fences: list[tuple[int, int]] = []
        marks, opened = _fence_marks(inner), at
        last, index = at, at + 1
        while index < len(rows):
            row = rows[index]
            if row.body:
                inside = row.indent >= content_indent
                lazy = not marks and index == last + 1 and not _marker_width(row.body) and not self._interrupts(index)
                if not (inside or lazy):
                    break
                if not marks:
                    marks, opened = _fence_marks(_without_markers(row.body)) if inside else "", index
                elif _closes(row.body, marks):
                    fences.append((rows[opened].start, row.end))
                    marks = ""
                last = index
            index += 1
        if marks:
            fences.append((rows[opened].start, rows[last].end))
        return Block("item", rows[at].start, rows[last].end, fences=tuple(fences)), last + 1

    def _paragraph(self, at: int) -> tuple[Block, int]:
        """Parse a quote, a table or plain lines, up to a blank line or an interrupting block."""
        rows = self._rows
        kind = "paragraph"
        if rows[at].body.startswith(">") and rows[at].indent < 4:
            kind = "quote"
        elif self._is_table(at):
            kind = "table"
        index = at + 2 if kind == "table" else at + 1
        while index < len(rows) and rows[index].body:
            row = rows[index]
            if kind == "paragraph" and index == at + 1 and rows[at].indent < 4:
                level = _underline_level(row)
                if level and len(rows[at].body) <= MAX_HEADING_CHARS:
                    return Block("heading", rows[at].start, row.end, level, rows[at].body), index + 1
            if kind == "quote" and row.body.startswith(">"):
                index += 1
                continue
            if self._interrupts(index):
                break
            index += 1
        return self._made(kind, at, index), index

    def _interrupts(self, at: int) -> bool:
        """Return whether row `at` begins a block even directly below a paragraph's line."""
        row = self._rows[at]
        if row.indent >= 4:
            return False
        body = row.body
        if body[0] == "#":
            return split_heading(body) is not None
        if body[0] in "`~":
            return bool(_fence_marks(body))
        if body[0] == ">" or _is_rule(body):
            return True
        if width := _marker_width(body):
            return len(body) > width and (body[0] in _BULLETS or body[:2] in {"1.", "1)"})
        return self._is_table(at) or (body[0] == "<" and self._html(at) is not None)

    def _is_table(self, at: int) -> bool:
        if "|" not in self._rows[at].body or at + 1 >= len(self._rows):
            return False
        below = self._rows[at + 1].body
        return "|" in below and "-" in below and not below.strip("|-: \t")


def _rows(text: str, start: int) -> Iterator[_Row]:
    while start < len(text):
        newline = text.find("\n", start)
        end = newline if newline >= 0 else len(text)
        line = text[start:end]
        body = line.lstrip(" \t")
        indent = len(line) - len(body)
        if "\t" in line[:indent]:
            indent = len(line[:indent].expandtabs(4))
        yield _Row(start, end, indent, body.strip())
        start = end + 1


def _fence_marks(body: str) -> str:
    """Return the run of ``` or ~~~ that opens a fence, else the empty string."""
    if not body.startswith(("```", "~~~")):
        return ""
    rest = body.lstrip(body[0])
    return "" if body[0] == "`" and "`" in rest else body[: len(body) - len(rest)]


def _closes(body: str, marks: str) -> bool:
    return body.startswith(marks) and not body.strip(marks[0])


def _is_rule(body: str) -> bool:
    if body[:1] not in {"-", "*", "_"} or body.strip(body[0] + " \t"):
        return False
    return body.count(body[0]) >= 3


def _underline_level(row: _Row) -> int:
    """Return 2 for `---`, 1 for `==`, else 0; single marks are too often slips."""
    if row.indent >= 4:
        return 0
    if len(row.body) >= 2 and not row.body.strip("="):
        return 1
    return 2 if len(row.body) >= 3 and not row.body.strip("-") else 0


def _marker_width(body: str) -> int:
    """Return the length of a list marker (`-`, `12.`, `3)`) before white space or the line's end, else 0."""
    if body[:1] and body[0] in _BULLETS:
        width = 1
    else:
        digits = len(body[:10]) - len(body[:10].lstrip("0123456789"))
        if not 1 <= digits <= 9 or body[digits : digits + 1] not in {".", ")"}:
            return 0
        width = digits + 1
    return width if len(body) == width or body[width] in " \t" else 0


def _item_content(row: _Row) -> tuple[int, str]:
    """Return the column of an item's text, and the text without further markers."""
    width = _marker_width(row.body)
    rest = row.body[width:]
    content = rest.lstrip(" \t")
    gap = len(rest) - len(content)
    return row.indent + width + (gap if content and gap <= 4 else 1), _without_markers(content)


def _without_markers(body: str) -> str:
    for _ in range(_MAX_NESTED_MARKERS):
        width = _marker_width(body)
        if not width:
            break
        body = body[width:].lstrip(" \t")
    return body
