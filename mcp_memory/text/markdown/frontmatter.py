"""Reads, patches and writes frontmatter, the YAML head between `---` lines at the start of a note.

The head begins with a line `---` (after a byte order mark, if any) and ends with the next line `---` or, as in YAML
itself, `...`. A text of this form with plain prose between the lines isn't a head, but Markdown with two rules.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from mcp_memory.errors import InvalidInput

if TYPE_CHECKING:
    from mcp_memory.text.markdown.yaml_head import YamlEntry

    Edit = tuple[int, int, str]
    """Start, end, and the new text for that range."""

BOM = "\ufeff"

_FIELDS = """
id title kind project status created updated tags when always_load supersedes superseded_by superseded_at deleted_at
deleted_by deleted_in deleted_because expires_at source session derived_from forgotten superseded depth node_kind
descendant_count earliest_at latest_at stale provisional token_count
"""
FIELD_ORDER = tuple(_FIELDS.split())
"""The order of a note's keys; unknown keys follow."""

Value = str | int | float | bool | datetime | date | list[str]
"""The values that `patch` can write."""

_RANK = {name: rank for rank, name in enumerate(FIELD_ORDER)}
_NUL_SHARE_OF_BINARY = 0.01


class DecodedNote(NamedTuple):
    """A decoded file. `text` is None for bytes that aren't UTF-8 at all. Don't write a text with a problem back: the
    replaced bytes would be lost."""

    text: str | None
    problem: str | None


class Document(NamedTuple):
    """A parsed note with `body == text[body_start:]`. With a problem, `meta` is empty, except that the last value of a
    repeated key is used."""

    meta: dict[str, Any]
    body: str
    body_start: int
    """The offset in characters; 1 after a byte order mark without frontmatter."""
    problem: str | None


class Head(NamedTuple):
    """The location of the head: `text[start:end]` is the YAML between the two delimiter lines."""

    start: int
    end: int
    body_start: int
    newline: str
    """The first line's ending, for new lines."""
    exists: bool


def decode(data: bytes) -> DecodedNote:
    """Decode a file's bytes as UTF-8. Invalid bytes are replaced with U+FFFD and reported. A byte order mark stays as
    U+FEFF, so that encoding gives the same bytes again."""
    if data.startswith((b"\xff\xfe\0\0", b"\0\0\xfe\xff")):
        return DecodedNote(None, "the file is UTF-32; save it as UTF-8")
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return DecodedNote(None, "the file is UTF-16; save it as UTF-8")
    nuls = data.count(0)
    if nuls > len(data) * _NUL_SHARE_OF_BINARY:
        return DecodedNote(None, f"the file is binary or damaged: {nuls} of {len(data)} bytes are NUL")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        return DecodedNote(data.decode("utf-8", "replace"), f"invalid UTF-8 at byte {error.start}")
    return DecodedNote(text, f"NUL at byte {data.index(0)}" if nuls else None)


def split_head(text: str) -> Head:
    """Find the head by its delimiter lines, without parsing its YAML."""
    start = len(BOM) if text.startswith(BOM) else 0
    line_end = text.find("\n", start)
    opening = text[start : line_end if line_end >= 0 else len(text)]
    newline = "\r\n" if opening.endswith("\r") else "\n"
    absent = Head(start, start, start, newline_of(text), exists=False)
    if line_end < 0 or opening.rstrip() != "---":
        return absent
    head_start = at = line_end + 1
    while at < len(text):
        line_end = text.find("\n", at)
        after = line_end + 1 if line_end >= 0 else len(text)
        if text.startswith(("---", "..."), at) and text[at:after].rstrip() in {"---", "..."}:
            return Head(head_start, at, after, newline, exists=True)
        at = after
    return absent


def parse(text: str) -> Document:
    """Parse a note without ever raising. `problem` describes unreadable parts; the text is a note all the same.

    Uses python-frontmatter's YAML handler with a stricter loader: no aliases, anchors or tags, at most 64 KB and 20
    levels. Keys are strings; dates are `date` or `datetime` if they exist in the calendar, else strings."""
    from mcp_memory.text.markdown import yaml_head

    head = split_head(text)
    if not head.exists:
        return Document({}, text[head.start :], head.start, None)
    try:
        meta, repeated_line = yaml_head.load(text[head.start : head.end])
    except yaml_head.NotAMapping:
        start = len(BOM) if text.startswith(BOM) else 0
        return Document({}, text[start:], start, None)
    except yaml_head.HeadRefused as error:
        return Document({}, text[head.body_start :], head.body_start, f"broken frontmatter: {error}")
    problem = f"frontmatter: line {repeated_line + 1} repeats a key" if repeated_line else None
    return Document(meta, text[head.body_start :], head.body_start, problem)


def patch(text: str, changes: Mapping[str, Value | None]) -> str:
    """Return `text` with these top-level keys set (None removes a key), and every other byte unchanged. A list with a
    line for each item keeps that form. Comments on lines of their own survive the replacement or removal of a value.

    New keys go after the known key that precedes them in `FIELD_ORDER`, unknown keys last. New lines end like the
    head's first line. Frontmatter is added if there is none. Raises InvalidInput if the head cannot be parsed, or if
    the result would differ from the old keys with the changes."""
    from mcp_memory.text.markdown import yaml_head

    head, document = split_head(text), parse(text)
    has_head = head.exists and document.body_start == head.body_start
    if document.problem and not document.meta:
        raise InvalidInput(f"the note's frontmatter cannot be changed: {document.problem}")
    meta = document.meta
    wanted = {
        key: value
        for key, value in changes.items()
        if (key in meta if value is None else not yaml_head.same(value, meta.get(key)))
    }
    if not wanted:
        return text
    if has_head:
        patched = (
            text[: head.start] + _edited(text[head.start : head.end], wanted, meta, head.newline) + text[head.end :]
        )
    else:
        top, newline = document.body_start, head.newline
        patched = f"{text[:top]}---{newline}{_lines(wanted, newline)}---{newline}{text[top:]}"
    kept = {key: value for key, value in meta.items() if key not in wanted}
    expected = kept | {key: value for key, value in wanted.items() if value is not None}
    outcome = parse(patched)
    if outcome.body != document.body or not yaml_head.same(outcome.meta, expected):
        raise InvalidInput("the note's frontmatter cannot be changed without touching other keys")
    return patched


def render(meta: Mapping[str, Any], body: str) -> str:
    """Render a new note: known keys in order, then other keys, without None; a blank line, and the body without blank
    lines around it. Raises InvalidInput for a value that YAML would not give back unchanged."""
    from mcp_memory.text.markdown import yaml_head

    present = {key: value for key, value in meta.items() if value is not None}
    text = "---\n" + _lines(present, "\n") + "---\n"
    if content := body.strip("\r\n"):
        text += f"\n{content}\n"
    if not yaml_head.same(parse(text).meta, present):
        raise InvalidInput("these properties cannot be written as YAML")
    return text


def newline_of(text: str) -> str:
    """Return the most frequent line ending."""
    return "\r\n" if text.count("\r\n") * 2 > text.count("\n") else "\n"


def _lines(meta: Mapping[str, Any], newline: str, indent: str = "") -> str:
    """Format the keys as lines, known keys in order, then other keys."""
    from mcp_memory.text.markdown import yaml_head

    ordered = sorted(meta.items(), key=lambda pair: _rank(pair[0]))
    return "".join(f"{indent}{yaml_head.write(key)}: {yaml_head.write(value)}{newline}" for key, value in ordered)


def _rank(key: str) -> int:
    return _RANK.get(key, len(_RANK))


def _edited(head: str, changes: Mapping[str, Value | None], meta: Mapping[str, Any], newline: str) -> str:
    from mcp_memory.text.markdown import yaml_head

    entries = yaml_head.survey(head)
    indent = head[entries[0].line_start : entries[0].key_start] if entries else ""
    edits: list[Edit] = []
    for key in sorted(changes, key=_rank):
        value = changes[key]
        places = [entry for entry in entries if entry.key == key]
        if len(places) > 1 or any(head[entry.line_start : entry.key_start].strip() for entry in places):
            raise InvalidInput("the note's frontmatter repeats the key to change, or has no line for it alone")
        if not places:
            at = _place_for(key, entries, head)
            edits.append((at, at, _lines({key: value}, newline, indent)))
        elif value is None:
            start, end = places[0].line_start, _end_of(places[0], head)
            kept = yaml_head.comments(head[start:end])
            edits.append((start, end, "".join(f"{indent}{comment}{newline}" for comment in kept)))
        elif isinstance(value, list) and (lines := _item_edits(head, places[0], meta[key], value, newline)):
            edits += lines
        else:
            edits.append(_replacement(head, places[0], yaml_head.write(value), f"{newline}{indent}"))
    return _applied(head, edits)


def _replacement(head: str, entry: YamlEntry, value: str, line: str) -> Edit:
    """Replace only the value if it is on a single line, so that a comment after it stays; replace a longer value as a
    whole. `line` is a complete new line."""
    from mcp_memory.text.markdown import yaml_head

    if entry.is_empty:
        return entry.after_colon, entry.after_colon, f" {value}"
    if "\n" in head[entry.after_colon : entry.value_end]:
        kept = yaml_head.comments(head[entry.line_start : entry.content_end])
        return entry.after_colon, entry.content_end, f" {value}{''.join(f'{line}{comment}' for comment in kept)}"
    return entry.value_start, entry.value_end, value


def _item_edits(head: str, entry: YamlEntry, old: Any, new: list[str], newline: str) -> list[Edit]:
    """Return edits that remove and append items of a list with a line for each item; nothing for any other list or
    change."""
    from mcp_memory.text.markdown import yaml_head

    _, *places = yaml_head.scalars(head[entry.line_start : entry.value_end])
    spans = [(entry.line_start + start, entry.line_start + end) for start, end in places]
    lines = [(head.rfind("\n", 0, start) + 1, _next_line(head, end)) for start, end in spans]
    pairs = zip(lines, spans, strict=True)
    is_plain = all(head[line:start].strip() == "-" and "\n" not in head[start:end] for (line, _), (start, end) in pairs)
    known = cast("list[object]", old) if isinstance(old, list) else []
    kept = [item for item in known if item in new]
    if not kept or not is_plain or len(known) != len(spans) or new[: len(kept)] != kept:
        return []
    edits: list[Edit] = []
    for item, (line, after), (start, end) in zip(known, lines, spans, strict=True):
        if item not in new:
            comment = head[end:after].lstrip()
            edits.append((line, after, f"{head[line:start].partition('-')[0]}{comment}" if comment else ""))
    mark, at = head[lines[-1][0] : spans[-1][0]], lines[-1][1]
    return [*edits, (at, at, "".join(f"{mark}{yaml_head.write(item)}{newline}" for item in new[len(kept) :]))]


def _place_for(key: str, entries: list[YamlEntry], head: str) -> int:
    """Return the place after the known key that precedes `key`; the start if only later keys are known; else the
    end."""
    if key not in _RANK or not any(entry.key in _RANK for entry in entries):
        return len(head)
    before = [entry for entry in entries if _rank(entry.key) < _RANK[key]]
    if not before:
        return 0
    last = max(before, key=lambda entry: _rank(entry.key))
    # A block scalar may include the blank lines after it.
    return max(_next_line(head, last.content_end), last.value_end)


def _end_of(entry: YamlEntry, head: str) -> int:
    """Return the place after the value and the comments indented below it, which would otherwise belong to the value
    above."""
    end = _next_line(head, entry.content_end)
    while end < len(head) and head[end] in " \t" and head[end : _next_line(head, end)].lstrip().startswith("#"):
        end = _next_line(head, end)
    return end


def _next_line(head: str, at: int) -> int:
    return head.find("\n", at) + 1 or len(head)


def _applied(head: str, edits: list[Edit]) -> str:
    pieces: list[str] = []
    done = 0
    for start, end, replacement in sorted(edits, key=lambda edit: edit[:2]):
        pieces += [head[done:start], replacement]
        done = max(done, end)
    return "".join([*pieces, head[done:]])
