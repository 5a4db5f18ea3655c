"""Reads and writes daily logs: `memory/2026-11-21.md`, whose `## HH:MM title` entries only grow at the end; a long day
continues in `2026-11-21.2.md`.

An entry begins at a second-level heading in the first column that starts with a time (`## 10:30 Deploy`, `## 9:05 AM -
Standup`), outside fences, and ends before the next such heading. The heading may end with percent-encoded labels: its
project, tags, the client that wrote it, and the session (`## 10:30 Deploy (project: infra; tags: db, ops; source:
codex)`). The hash of an entry is permanent: it doesn't change with other entries, nor with line endings.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import NamedTuple
from urllib.parse import quote, unquote

from mcp_memory.errors import InvalidInput
from mcp_memory.text.markdown.blocks import MAX_HEADING_CHARS, Block, scan, split_heading
from mcp_memory.text.markdown.frontmatter import newline_of, parse
from mcp_memory.text.text_hash import text_hash

_TIME = re.compile(
    r"(?P<hour>[0-9]{1,2}):(?P<minute>[0-9]{2})(?::[0-9]{2})?(?!:?[0-9])"
    r"(?:[ \t]?(?P<half>[AaPp])\.?[Mm]\b\.?)?"
    r"(?P<rest>$|[ \t\-–—:|,].*)"
)
_SEPARATOR = re.compile(r"[-–—:|,](?:[ \t]+|$)")
_RENDERED_TIME = re.compile(r"(?:[01][0-9]|2[0-3]):[0-5][0-9]")
_LOG_PATH = re.compile(r"(?:@[^/]+/)?(?:[^/@][^/]*/)?memory/([0-9]{4}-[0-9]{2}-[0-9]{2})(?:\.[1-9][0-9]{0,3})?\.md")
_LABEL_NAMES = ("project", "tags", "source", "session")
_LABELS = re.compile(
    rf"(?:^|[ \t])\((?=(?:{'|'.join(_LABEL_NAMES)}):)"
    + "".join(rf"(?:{name}:[ \t]*(?P<{name}>[^();]+))?(?:;[ \t]*)?" for name in _LABEL_NAMES)
    + r"\)$"
)
PLACE = re.compile(r" [0-9]{2}:[0-9]{2}/[0-9]+/[0-9]+$")
"""Matches the end of an entry's mark: its position among the entries of its minute, and their number."""
_TAGGED = re.compile(r"^##[ \t].*\btags:.*$", re.MULTILINE)
_ENDS_A_NAME = re.compile(r"[%(),;]|[^\S ]|(?<= ) ")
_MAX_TITLE_CHARS = MAX_HEADING_CHARS - len("## 10:30 - ")
_HASH_DIGITS = 16


class LogEntry(NamedTuple):
    """An entry. `text[start:end]` runs from its heading to directly before the next entry."""

    start: int
    """The offset in characters of the decoded file, including frontmatter."""
    end: int
    start_line: int
    """The first and last line, 1-based, inclusive, without blank lines at the end."""
    end_line: int
    time: str
    """`HH:MM`, 24 hours."""
    title: str
    """The title without its author."""
    hash: str
    """The first 16 hexadecimal digits of the sha256 of the entry's text, stripped of outer white space, CRLF as LF."""


@dataclass(frozen=True)
class Labels:
    """The labels in an entry's heading; `source` is the client that wrote the entry."""

    project: str | None = None
    tags: tuple[str, ...] = ()
    source: str | None = None
    session: str | None = None

    def rendered(self) -> str:
        parts = [f"project: {_quoted(self.project)}"] if self.project else []
        parts += [f"tags: {', '.join(map(_quoted, self.tags))}"] if self.tags else []
        parts += [f"source: {_quoted(self.source)}"] if self.source else []
        parts += [f"session: {_quoted(self.session)}"] if self.session else []
        return f"({'; '.join(parts)})" if parts else ""


NONE = Labels()


def labels(headings: Iterable[str]) -> Labels:
    """Return the labels of the entry below these headings, which are outermost first and without marks."""
    return title_and_labels(headings)[1]


def title_and_labels(headings: Iterable[str]) -> tuple[str, Labels]:
    """Return the title of the entry below these headings, without its time, and its labels."""
    for heading in headings:
        if parsed := _parse_heading(f"## {heading}"):
            found = _LABELS.search(parsed[1])
            return (parsed[1][: found.start()].strip(), _labels(found)) if found else (parsed[1], NONE)
    return "", NONE


def without_author(text: str) -> str:
    """Return an entry, or its heading, without the labels unrelated to its subject: the client and the session."""
    heading, newline, rest = text.partition("\n")
    found = _LABELS.search(heading.rstrip())
    if not found or not (found["source"] or found["session"]):
        return text
    own = replace(_labels(found), source=None, session=None).rendered()
    return f"{heading[: found.start()]} {own}".rstrip() + newline + rest


def tags_in(text: str) -> list[str]:
    """Return the tags of all entries of a log, to preselect files. Lines that only resemble an entry may be
    included."""
    lines = (line.group().rstrip()[2:].strip() for line in _TAGGED.finditer(text))
    return sorted({tag for line in lines for tag in labels([line]).tags})


def is_log_path(path: str) -> date | None:
    """Return the day of `memory/YYYY-MM-DD.md` or `YYYY-MM-DD.2.md`, at the root of the vault or a source, or a folder
    below (`Agent/memory/…`); None for any other path."""
    match = _LOG_PATH.fullmatch(path)
    try:
        return date.fromisoformat(match[1]) if match else None
    except ValueError:
        return None


def entries(text: str, body_start: int = 0) -> list[LogEntry]:
    """Return the entries of a log in order."""
    return entries_in(text, list(scan(text, body_start, breaks=starts_entry)))


def places(found: Iterable[LogEntry]) -> dict[str, str]:
    """Map the place of each entry to its hash. The place, such as `09:15/2/3`, is the second of three entries of that
    minute; it finds an entry whose text, and so its hash, was edited."""
    of_minute: dict[str, list[str]] = {}
    for entry in found:
        of_minute.setdefault(entry.time, []).append(entry.hash)
    return {
        f"{time}/{number}/{len(hashes)}": entry
        for time, hashes in of_minute.items()
        for number, entry in enumerate(hashes, 1)
    }


def follow_edits(marks: Sequence[str], found: Sequence[LogEntry]) -> list[str]:
    """Update marks of entries (`hash … place`). A mark whose hash no longer exists gets the hash of the unmarked entry
    in its place."""
    hashes, marked = {entry.hash for entry in found}, {mark.partition(" ")[0] for mark in marks}
    at = {place: entry for place, entry in places(found).items() if entry not in marked}
    pairs = ((mark, *mark.partition(" ")[::2]) for mark in marks)
    return [
        f"{now} {rest}" if entry not in hashes and (now := at.get(rest.rpartition(" ")[2])) else mark
        for mark, entry, rest in pairs
    ]


def entries_in(text: str, blocks: Sequence[Block]) -> list[LogEntry]:
    """Return the entries of a log with these blocks, scanned with `starts_entry` as breaks."""
    heads = [(block, head) for block in blocks if (head := _head_of(text, block))]
    ends = [block.start for block, _ in heads[1:]] + [len(text)]
    closer = _closing_fence(blocks)
    found: list[LogEntry] = []
    line, counted_to = 1, 0
    for (block, (time, title)), end in zip(heads, ends, strict=False):
        line += text.count("\n", counted_to, block.start)
        counted_to = block.start
        content = text[block.start : end]
        last_line = line + content.rstrip().count("\n")
        # The next append closes an open fence; the hash must not change.
        identity = _closed(content, closer) if end == len(text) else content
        hash_ = text_hash(identity.strip().replace("\r\n", "\n"), _HASH_DIGITS)
        found.append(LogEntry(block.start, end, line, last_line, time, without_author(title).strip(), hash_))
    return found


def starts_entry(line: str) -> bool:
    """Return whether a line (without its ending) is an entry's heading."""
    return _parse_heading(line) is not None


def new_log(day: date) -> str:
    """Return the text of a log without entries."""
    return f"# {day.isoformat()}\n"


def render_entry(time: str, title: str, content: str, own: Labels = NONE) -> str:
    """Render an entry with LF endings, for `append_entry`.

    A line of `content` that would begin an entry gets a backslash, which Markdown doesn't show, and an open fence is
    closed. Raises InvalidInput for a time that isn't `HH:MM` or a title that is too long for a heading."""
    if not _RENDERED_TIME.fullmatch(time):
        raise InvalidInput("the time of a log entry must be HH:MM", hint="pass for example 09:05")
    words = " ".join(title.split())
    if own != NONE and (found := _LABELS.search(words)):  # a heading has a single place for labels
        theirs = _labels(found)
        if own.project or own.tags:
            words = f"{words[: found.start()]} {found.group().strip()[1:-1]}".strip()
        else:
            own, words = replace(own, project=theirs.project, tags=theirs.tags), words[: found.start()]
    if len(words) + len(own.rendered()) >= _MAX_TITLE_CHARS:
        own = replace(own, source=None, session=None)  # the change journal has them
    words = f"{words} {own.rendered()}".strip()
    if len(words) > _MAX_TITLE_CHARS:
        raise InvalidInput(
            f"the title, project and tags of a log entry are longer than {_MAX_TITLE_CHARS} characters together",
            hint="use a shorter title or fewer tags",
        )
    heading = f"## {time} {words}".rstrip()
    if _parse_heading(heading) != (time, words):
        heading = f"## {time} - {words}"
    body = _protected(content.replace("\r\n", "\n").replace("\r", "\n"))
    return f"{heading}\n\n{body}\n" if body else f"{heading}\n"


def append_entry(text: str, entry: str) -> str:
    """Return `text` with `entry` after a blank line, in the line endings of `text`, which is a prefix of the result. An
    open fence is closed first, because it would swallow the entry."""
    newline = newline_of(text)
    addition = entry.replace("\r\n", "\n").replace("\n", newline)
    if not text.lstrip("\ufeff"):
        return text + addition
    glue = "" if text.endswith("\n") else newline
    # Most logs need no scan for each new entry.
    blocks = scan(text, parse(text).body_start, breaks=starts_entry) if "```" in text or "~~~" in text else ()
    if closer := _closing_fence(blocks):
        glue += closer + newline
    whole = text + glue
    if whole[whole.rfind("\n", 0, -1) + 1 :].strip():
        glue += newline
    return text + glue + addition


def _head_of(text: str, block: Block) -> tuple[str, str] | None:
    return _parse_heading(text[block.start : block.end]) if block.kind == "heading" else None


def _parse_heading(line: str) -> tuple[str, str] | None:
    """Parse `## 9:05 PM - Standup` into ("21:05", "Standup"); return None for any other line."""
    if not line.startswith("##"):
        return None
    heading = split_heading(line.rstrip())
    match = _TIME.fullmatch(heading[1]) if heading and heading[0] == 2 else None
    if match is None:
        return None
    hour, minute, half = int(match["hour"]), int(match["minute"]), (match["half"] or "").lower()
    if half and 1 <= hour <= 12:
        hour = hour % 12 + (12 if half == "p" else 0)
    if hour > 23 or minute > 59:
        return None
    title = match["rest"].strip()
    if separator := _SEPARATOR.match(title):
        title = title[separator.end() :]
    return f"{hour:02}:{minute:02}", title


def _labels(found: re.Match[str]) -> Labels:
    project, tags = found["project"], found["tags"]
    names = (unquote(tag.strip()) for tag in (tags or "").split(",") if tag.strip())
    source, session = (unquote(found[name].strip()) if found[name] else None for name in ("source", "session"))
    own = unquote(project.strip()) or None if project else None
    return Labels(own, tuple(dict.fromkeys(names)), source or None, session or None)


def _quoted(name: str) -> str:
    return _ENDS_A_NAME.sub(lambda found: quote(found.group(), safe=""), name)


def _closing_fence(blocks: Iterable[Block]) -> str:
    """Return the marks that close the fence still open at the end; empty without an open fence."""
    last = None
    for block in blocks:
        last = block
    return last.unclosed_fence if last else ""


def _closed(content: str, closer: str) -> str:
    if not closer:
        return content
    return content + closer if content.endswith("\n") else f"{content}\n{closer}"


def _protected(content: str) -> str:
    """Return `content` without outer blank lines, with lines that begin an entry escaped and an open fence closed."""
    words = len(content) - len(content.lstrip())
    body = content[content.rfind("\n", 0, words) + 1 :].rstrip()
    blocks = list(scan(body, breaks=starts_entry))
    pieces: list[str] = []
    done = 0
    for block in blocks:
        if _head_of(body, block):
            pieces += [body[done : block.start], "\\"]
            done = block.start
    return _closed("".join([*pieces, body[done:]]), _closing_fence(blocks))
