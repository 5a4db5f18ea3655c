"""Reads and writes `DREAMS.md`, which you may edit as you like: your text wins, and no other byte is changed. Pure."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple
from urllib.parse import quote

from mcp_memory.curation.dreams.recurrence import CONTEXT, Recurrence
from mcp_memory.text.markdown.frontmatter import newline_of
from mcp_memory.text.markdown.sections import add_entry
from mcp_memory.text.pluralize import counted

NEW_PAGE = """# Dreams

What recurs in your logs and notes, proposed for MEMORY.md. Tick a box, as in [x], and change the words as you like: the
next `mcp-memory dream` stores what is ticked. What you delete, or mark [-], isn't proposed again.
"""
MOST_SOURCES = 5
_LINE = re.compile(
    r"(?P<indent>[ \t]*)(?:[-*+][ \t]*)?(?:\[(?P<box>[^\]\[\n]{0,3})\](?!\()[ \t]*)?(?P<text>.*?)[ \t]*"
    r"(?:\^dream-(?P<id>[0-9a-f]{8})[ \t]*)?"
)
_SEEN = re.compile(r"\r?\n<!-- seen -->.*?<!-- /seen -->\r?\n?", re.DOTALL)


class PageLine(NamedTuple):
    """A proposal as it stands on the page, `page[start:end]` with the lines below it. `id` is empty where you have
    removed it, or wrote the line yourself. `box`: `x` if it is ticked, `-` if it is rejected."""

    id: str
    box: str
    text: str
    section: str
    start: int
    end: int


def read_page(page: str) -> Iterator[PageLine]:
    """The proposals, whatever became of their boxes, and any other line with a ticked box."""
    section, lines, at = CONTEXT, page.splitlines(keepends=True), 0
    for number, line in enumerate(lines):
        start, at = at, at + len(line)
        if heading := re.match(r"##+[ \t]+(.*?)[ \t#]*$", line.rstrip()):
            section = heading[1] or CONTEXT
        if found := _LINE.fullmatch(line.rstrip("\r\n")):
            box, end = (found["box"] or "").strip().lower().replace("✓", "x").replace("✔", "x"), at
            for below in lines[number + 1 :]:
                is_inside = len(below) - len(below.lstrip(" \t")) > len(found["indent"])
                if not below.strip() or not is_inside or "^dream-" in below:
                    break
                end += len(below)
            if found["id"] or box == "x":
                yield PageLine(found["id"] or "", box, found["text"], section, start, end)


def without(page: str, gone: Iterable[PageLine]) -> str:
    for line in sorted(gone, key=lambda line: -line.start):
        page = page[: line.start] + page[line.end :]
    return page


def with_proposals(page: str, proposals: Sequence[Recurrence], seen: str) -> str:
    """Adds proposals to their sections, and at the end what the run has `seen`. Raises InvalidInput for a page that
    ends in an open code fence."""
    page = _SEEN.sub("", page or NEW_PAGE)
    for one in proposals:
        what = (
            f"recalled {one.recalled} × for {counted(one.questions, 'different question')}" if one.recalled else "said"
        )
        why = f"{what} on {counted(len(one.days), 'day')} from {one.days[0]} to {one.days[-1]}; score {one.score:.2f}"
        links = ", ".join(map(link_to, one.sources[:MOST_SOURCES]))
        page = add_entry(page, one.section, f"- [ ] {one.text} ^dream-{one.id}\n  - {why}\n  - {links}")
    return page.rstrip() + f"\n\n<!-- seen -->\n{seen}\n<!-- /seen -->\n".replace("\n", newline_of(page))


def link_to(source: str) -> str:
    return f"[{source.rpartition('/')[2].removesuffix('.md')}]({quote(source)})"
