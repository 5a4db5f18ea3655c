"""Finds, resolves and writes links between notes: `[label](./path.md)` and `[[wikilinks]]` outside code and comments.

A single pass over the characters, after the rules of CommonMark and Obsidian.
"""

import posixpath
import re
from collections import deque
from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import unquote

from mcp_memory.text.markdown.blocks import scan

_SPECIAL = re.compile(r"[\\`\[]|\]|<!--|%%")
_COMMENTS = {"<!--": "-->", "%%": "%%"}
"""Comments of HTML and Obsidian."""
_WIKI_STOP = re.compile(r"[\[\]\n]")
_TICKS = re.compile(r"`+")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:")
_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")
_INDENTED_CODE = re.compile(r"(?:(?: {4}|\t)[^\n]*(?:\n|\Z))+")
_BLANKS = re.compile(r"[ \t\r\n]*")
_ANGLE = re.compile(r"<([^<>\n]*)>")
_BARE_STOP = re.compile(r"[()\x00-\x20\x7f]|\\.")
_UNSAFE = re.compile(r"[\x00-\x20\x7f%#?()<>\[\]\\`*|\"]")
_MAX_LABEL_CHARS = 1000
_MAX_PARENTHESES = 32
"""CommonMark's limit on nested parentheses in a destination; it also keeps the search linear."""


class Link(NamedTuple):
    """A link. `text[start:end]` is the whole link, `text[target_start:target_end]` its target, as written."""

    kind: str
    """`"markdown"` (also images and `[label]: target` definitions) or `"wiki"`."""
    target: str
    """The target as written, without `<>` and title; for a wikilink, without `|label` but with `#heading`."""
    label: str
    """The first 1,000 characters of the visible text; empty for a wikilink without a label."""
    start: int
    end: int
    target_start: int
    target_end: int


def find_links(text: str, start: int = 0) -> list[Link]:
    """Return the links of `text[start:]` in order, without links in code and comments."""
    found: list[Link] = []
    comments = _Comments(text)
    for begin, end in prose(text, start):
        found += _links_in(text, max(begin, comments.end), end, comments)
    return found


def resolve(target: str, from_path: str) -> str | None:
    """Return the path inside the vault (or source) that a Markdown link in the note `from_path` points to.

    Relative targets start at the note's folder, `/…` at the root; a bare `#heading` is the note itself. Return None for
    other places: URLs, and paths that would leave the root."""
    if "\0" in target or _SCHEME.match(target) or target.startswith("//"):
        return None
    bare = unquote(_ESCAPE.sub(r"\1", target.partition("#")[0].partition("?")[0]))
    if not bare:
        return from_path if target else None
    parts = from_path.split("/")[:-1]
    root = 1 if from_path.startswith("@") else 0
    if bare.startswith("/"):
        parts = parts[:root]
    for part in bare.split("/"):
        if part == "..":
            if len(parts) <= root:
                return None
            parts.pop()
        elif part not in {"", "."}:
            parts.append(part)
    path = "/".join(parts)
    return None if "\0" in path or len(parts) <= root else path


def divided(kind: str, target: str) -> tuple[str, str]:
    """Split a target into its path and the rest: `#heading`, `^block`, `?query`."""
    marks = "#?" if kind == "markdown" else "#^"
    at = min((place for mark in marks if (place := target.find(mark)) >= 0), default=len(target))
    return target[:at], target[at:]


def relative_link(from_path: str, to_path: str) -> str:
    """Return the target to write in the note `from_path` so that `resolve` gives `to_path`: `./fix.md`, `../a/b.md`."""
    path = posixpath.relpath("/" + to_path, posixpath.dirname("/" + from_path))
    if not path.startswith("../"):
        path = "./" + path
    return _UNSAFE.sub(lambda match: f"%{ord(match[0]):02X}", path)


def prose(text: str, start: int) -> Iterator[tuple[int, int]]:
    """Yield the ranges that may contain a link, a tag or a code span: blocks without their fences."""
    for block in scan(text, start):
        if block.kind in {"fence", "rule"}:
            continue
        begin = block.start
        if block.kind == "html" and not text.startswith("<!--", begin):  # such as `<pre>` or `<script>`
            continue
        if block.kind == "paragraph" and (indented := _INDENTED_CODE.match(text, begin, block.end)):
            begin = indented.end()
        for fence_start, fence_end in block.fences:
            yield begin, fence_start
            begin = fence_end
        yield begin, block.end


class _Comments:
    """Finds comments, which may be longer than the block in which they begin. `end` is the end of the last comment."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._endless = set[str]()
        self.end = 0

    def end_of(self, opening: str, after: int) -> int:
        """Return the end of the comment; the end of its opening marks if nothing closes it."""
        closing = _COMMENTS[opening]
        place = -1 if opening in self._endless else self._text.find(closing, after)
        if place < 0:
            self._endless.add(opening)
            return after
        self.end = place + len(closing)
        return self.end


def _links_in(text: str, begin: int, end: int, comments: _Comments) -> list[Link]:
    """Return the links of a block. `open_brackets` may still become labels, innermost last."""
    found: list[Link] = []
    open_brackets: list[int] = []
    code = _CodeSpans(text, begin, end)
    at = begin
    while special := _SPECIAL.search(text, at, end):
        place, at = special.start(), special.end()
        if special[0] == "\\":
            at += 1
        elif special[0] == "`":
            at = code.end_of(place)
        elif special[0] in _COMMENTS:
            at = comments.end_of(special[0], at)
        elif special[0] == "[":
            if wiki := _wiki_link(text, place, end):
                found.append(wiki)
                at = wiki.end
            else:
                open_brackets.append(place)
        elif open_brackets and (link := _markdown_link(text, open_brackets.pop(), place, begin, end)):
            found.append(link)
            at = link.end
            if text[link.start] != "!":
                # A link contains no other link, so open brackets around it are plain text.
                open_brackets.clear()
    return sorted(found, key=lambda link: link.start)


class _CodeSpans:
    """Groups runs of backticks by length, so that each run finds its partner without a search."""

    def __init__(self, text: str, begin: int, end: int) -> None:
        self._text, self._end = text, end
        self._runs: dict[int, deque[int]] = {}
        for run in _TICKS.finditer(text, begin, end):
            self._runs.setdefault(len(run[0]), deque()).append(run.start())

    def end_of(self, place: int) -> int:
        """Return the end of the code span that opens at `place`; the end of the backticks if they have no partner."""
        opening = _TICKS.match(self._text, place, self._end)
        after = opening.end() if opening else place + 1
        partners = self._runs.get(after - place, deque())
        while partners and partners[0] < after:
            partners.popleft()
        return partners[0] + (after - place) if partners else after


def _wiki_link(text: str, place: int, end: int) -> Link | None:
    if not text.startswith("[[", place):
        return None
    stop = _WIKI_STOP.search(text, place + 2, end)
    if stop is None or not text.startswith("]]", stop.start()):
        return None
    inner = text[place + 2 : stop.start()]
    target, _, label = inner.partition("|")
    if not target.strip():
        return None
    start = place + 2 + len(target) - len(target.lstrip())
    target = target.strip()
    return Link("wiki", target, label.strip()[:_MAX_LABEL_CHARS], place, stop.start() + 2, start, start + len(target))


def _markdown_link(text: str, opening: int, closing: int, begin: int, end: int) -> Link | None:
    """Return the link whose label is between the brackets at `opening` and `closing`, if a destination follows."""
    start = opening - 1 if opening > begin and text[opening - 1] == "!" else opening
    if text.startswith("(", closing + 1):
        destination = _destination(text, closing + 2, end)
        after = _closed_parenthesis(text, destination[2], end) if destination else None
    elif text.startswith(":", closing + 1) and _opens_line(text, opening) and text[opening + 1] not in "]^":
        destination = _destination(text, closing + 2, end)
        after = destination[2] if destination else None
    else:
        return None
    if destination is None or after is None or destination[0] == destination[1]:
        return None
    label = text[opening + 1 : min(closing, opening + 1 + _MAX_LABEL_CHARS)]
    target_start, target_end, _ = destination
    return Link("markdown", text[target_start:target_end], label, start, after, target_start, target_end)


def _opens_line(text: str, place: int) -> bool:
    before = text[max(0, place - 4) : place]
    line = before[before.rfind("\n") + 1 :]
    return not line.strip(" ") and (len(line) < 4)


def _destination(text: str, at: int, end: int) -> tuple[int, int, int] | None:
    """Return the start and end of the destination at `at`, and the place to continue; None without a destination."""
    at = _skip_blanks(text, at, end)
    if text.startswith("<", at):
        angle = _ANGLE.match(text, at, end)
        return (angle.start(1), angle.end(1), angle.end()) if angle else None
    depth = 0
    for stop in _BARE_STOP.finditer(text, at, end):
        if stop[0] == "(":
            depth += 1
            if depth > _MAX_PARENTHESES:
                return None
        elif stop[0] == ")" and depth:
            depth -= 1
        elif stop[0][0] != "\\":
            return (at, stop.start(), stop.start()) if depth == 0 else None
    return (at, end, end) if depth == 0 else None


def _closed_parenthesis(text: str, at: int, end: int) -> int | None:
    """Return the place after the `)` that ends a link, past a title if present; None if the link doesn't end."""
    after = _skip_blanks(text, at, end)
    quote = text[after : after + 1] if after < end else ""
    if after > at and quote and quote in "\"'(":
        close = text.find(")" if quote == "(" else quote, after + 1, end)
        if close < 0:
            return None
        after = _skip_blanks(text, close + 1, end)
    return after + 1 if after < end and text[after] == ")" else None


def _skip_blanks(text: str, at: int, end: int) -> int:
    blanks = _BLANKS.match(text, at, end)
    return blanks.end() if blanks else at
