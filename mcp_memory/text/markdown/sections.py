"""Finds and adds entries of a curated file such as `MEMORY.md`: list items and paragraphs below headings.

A nested item is an entry of its own. The hash of an entry is stable as long as its words are; it doesn't change with
its mark, its line breaks, or other entries.
"""

import re
import textwrap
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from mcp_memory.errors import InvalidInput
from mcp_memory.text.markdown.blocks import Block, scan
from mcp_memory.text.markdown.frontmatter import newline_of, parse
from mcp_memory.text.text_hash import text_hash

_MARK = re.compile(r"[ \t]*(?:[-*+]|[0-9]{1,9}[.)])(?:[ \t]+|$)")
_HASH_DIGITS = 8  # among 200 entries, the probability of a collision is 1 in 200,000


class CuratedEntry(NamedTuple):
    """An entry. `text[start:end]` includes the ending of its last line."""

    start: int
    end: int
    start_line: int
    """The first and last line, 1-based, inclusive."""
    end_line: int
    section: str
    """The heading above it; empty without a heading."""
    mark: str
    """The indentation and list mark; empty for a paragraph."""
    title: str
    """The words without the mark, on one line."""
    hash: str


def entries(text: str, body_start: int = 0) -> list[CuratedEntry]:
    """Return the entries in order. Headings, tables, quotes and comments aren't entries; code is part of the entry
    before it."""
    found: list[CuratedEntry] = []
    section, line, counted_to = "", 1, 0
    for block in _with_their_code(text, scan(text, body_start)):
        section = block.title if block.kind == "heading" else section
        for start, end in _entries_in(text, block):
            line += text.count("\n", counted_to, start)
            counted_to = start
            mark = (_MARK.match(text, start, end) or _NO_MARK)[0] if block.kind == "item" else ""
            title = " ".join(text[start + len(mark) : end].split())
            digest = text_hash(title, _HASH_DIGITS)
            last = line + text[start:end].rstrip().count("\n")
            found.append(CuratedEntry(start, end, line, last, section, mark, title, digest))
    return found


def render_entry(content: str, mark: str = "- ") -> str:
    """Render an entry with LF endings after this mark; a mark in `content` is dropped. Only a plain paragraph can have
    no mark. Raises InvalidInput for several entries, and for content that isn't an entry after a mark."""
    body = content.replace("\r\n", "\n").strip()
    kinds = [block.kind for block in scan(body)]
    # Paragraphs around code form a single entry despite blank lines.
    if len(found := entries(body)) > 1 and {*kinds} != {"paragraph", "fence"}:
        raise InvalidInput(f"this is {len(found)} entries", hint="add one at a time")
    if not mark and kinds != ["paragraph"]:
        mark = "- "
    first, _, rest = body[len(found[0].mark) if found and not found[0].start else 0 :].partition("\n")
    indent = " " * len(mark.expandtabs(4))
    entry = "\n".join([mark + first, *filter(None, [textwrap.indent(textwrap.dedent(rest), indent)])])
    if not _is_one(entry):
        raise InvalidInput("this can't stand as one entry", hint="begin with words, not with a line such as ---")
    return entry


def add_entry(text: str, section: str, entry: str) -> str:
    """Return `text` with an entry at the end of the section of this name, in any case; a missing section is added at
    the end. Every other byte stays. Raises InvalidInput for a file that ends in an open fence."""
    newline, blocks = newline_of(text), list(scan(text, parse(text).body_start))
    if blocks and blocks[-1].unclosed_fence:
        raise InvalidInput("the file ends in a code fence that isn't closed", hint="ask the user to close it")
    wanted = section.casefold()
    heads = [at for at, block in enumerate(blocks) if block.kind == "heading"]
    head = next((at for at in heads if blocks[at].title.casefold() == wanted), None)
    if head is None:
        gap = "" if not text.strip("\ufeff\r\n") else newline if text.endswith("\n") else 2 * newline
        return text + gap + f"## {section}\n\n{entry}\n".replace("\n", newline)
    last = blocks[next((at for at in heads if at > head), len(blocks)) - 1]
    at = text.find("\n", last.end) + 1 or len(text)
    gap = "" if text[:at].endswith("\n") else newline
    if last.kind != "item":
        gap += newline
    elif (bullet := text[last.start : last.end].lstrip()[0]) in "*+" and entry.startswith("- "):
        same = bullet + entry[1:]  # another mark would begin a new list
        entry = same if _is_one(same) else entry
    return text[:at] + gap + entry.replace("\n", newline) + newline + text[at:]


def _is_one(entry: str) -> bool:
    found = entries(entry)
    return len(found) == 1 and not found[0].start and not entry[found[0].end :].strip()


def _with_their_code(text: str, blocks: Iterable[Block]) -> Iterator[Block]:
    """Join a paragraph or item with the fence directly below it, or below its colon, and with the text directly below
    the fence."""
    before: Block | None = None
    for block in blocks:
        if before and _goes_on(text, before, block):
            fences = (*before.fences, *([(block.start, block.end)] if block.kind == "fence" else block.fences))
            before = before._replace(end=block.end, fences=fences)
            continue
        if before:
            yield before
        before = block
    if before:
        yield before


def _goes_on(text: str, before: Block, block: Block) -> bool:
    if before.kind not in {"paragraph", "item"}:
        return False
    is_right_below = text.count("\n", before.end, block.start) == 1
    if block.kind == "fence":
        return not block.unclosed_fence and (is_right_below or text.endswith(":", before.start, before.end))
    has_code = bool(before.fences) and before.fences[-1][1] == before.end
    return has_code and is_right_below and block.kind == "paragraph"


_NO_MARK = ("",)


def _entries_in(text: str, block: Block) -> Iterator[tuple[int, int]]:
    """Yield the start and end of a paragraph, or of an item and its nested items."""
    if block.kind not in {"paragraph", "item"}:
        return
    starts, at = [block.start], text.find("\n", block.start, block.end) + 1
    while at and block.kind == "item":
        if _MARK.match(text, at, block.end) and not any(start <= at < end for start, end in block.fences):
            starts.append(at)
        at = text.find("\n", at, block.end) + 1
    for start, end in zip(starts, [*starts[1:], block.end], strict=True):
        last = start + len(text[start:end].rstrip())
        yield start, text.find("\n", last) + 1 or len(text)
