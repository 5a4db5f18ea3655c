"""Reads and writes `DREAMS.md`, which you may edit as you like: your text wins, and no other byte changes. Also
proposes entries of MEMORY.md to move into notes when the file exceeds its budget of lines. Pure."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple
from urllib.parse import quote

from mcp_memory.curation.dreams.recurrence import CONTEXT, SECTIONS, Proposal, Recurrence
from mcp_memory.errors import NotFound
from mcp_memory.text.markdown.frontmatter import newline_of, parse
from mcp_memory.text.markdown.sections import CuratedEntry, add_entry, entries
from mcp_memory.text.pluralize import counted
from mcp_memory.vault.marks import privacy
from mcp_memory.vault.note_file import DREAMS, MEMORY

MOVE_OUT = "Move out of MEMORY.md"
"""The section of DREAMS.md for these proposals."""
MOST_CHARS = 200
_KINDS = {section.casefold(): kind for kind, section in SECTIONS.items()}


def find_demotions(memory: str, used_days: Mapping[str, int], most_lines: int) -> Iterator[Proposal]:
    """Yield the entries used on the fewest days, longest first, until the rest fits the budget. Nested entries and
    their parents are skipped, and so are private entries and entries of a private section. `used_days` is keyed by the
    hash of an entry."""
    lines = len(memory.splitlines())
    over = lines - most_lines
    known = [] if "\n<<<<<<< " in f"\n{memory}" else entries(memory)  # a merge conflict is yours to resolve
    private = privacy.marks(MEMORY, memory, parse(memory), is_curated=True)
    hidden = [(0, lines)] if "private" in private else private.get("private_lines", ())
    nested = [one.mark[:1] in {" ", "\t"} for one in known]
    alone = [one for one, own, below in zip(known, nested, [*nested[1:], False], strict=False) if not own and not below]
    alone = [one for one in alone if not any(first <= one.start_line <= last for first, last in hidden)]
    found = sorted(alone, key=lambda one: (used_days.get(one.hash, 0), _lines(one) * -1, one.start))
    for one in found:
        if over <= 0:
            return
        over -= _lines(one)
        used = used_days.get(one.hash, 0)
        use = f"used on {counted(used, 'day')}" if used else "never found nor told by itself"
        what = f"MEMORY.md has {lines} lines, {lines - most_lines} over its budget"
        why = f"{what}; this is {counted(_lines(one), 'line')}, {use}"
        yield Proposal(f"{MEMORY}#{one.hash}", one.title[:MOST_CHARS], why, MOVE_OUT, (), {"entry": one.hash})


def content_and_kind(memory: str, entry: str) -> tuple[str, str] | None:
    """Return the text of an entry without its list mark, and the kind of its section; None if it is gone."""
    one = next((one for one in entries(memory) if one.hash == entry), None)
    return one and (memory[one.start + len(one.mark) : one.end].strip(), _KINDS.get(one.section.casefold(), "fact"))


def _lines(entry: CuratedEntry) -> int:
    return entry.end_line - entry.start_line + 1


NEW_PAGE = """# Dreams

What your logs and notes say, and what is proposed for them. Tick a box, as in [x], and change the words as you like:
the next `mcp-memory dream` does what is ticked. What you delete, or mark [-], isn't proposed again.
"""
MOST_SOURCES, MOST_TOLD = 5, 30
"""The most links of a proposal, and the most runs in the diary."""

_LINE = re.compile(
    r"(?P<indent>[ \t]*)(?:[-*+][ \t]*)?(?:\[(?P<box>[^\]\[\n]{0,3})\](?!\()[ \t]*)?(?P<text>.*?)[ \t]*"
    r"(?:\^dream-(?P<id>[0-9a-f]{8})[ \t]*)?"
)
_DIARY_END = "<!-- /diary -->"
_DIARY = re.compile(rf"\r?\n<!-- diary -->.*?{_DIARY_END}\r?\n?", re.DOTALL)
_DAY = re.compile(r"\d{4}-\d\d-\d\d")


class PageLine(NamedTuple):
    """A proposal on the page, `page[start:end]` with the lines below it. `id` is empty if you removed it or wrote the
    line yourself. `box` is `x` if the line is ticked, `-` if it is rejected."""

    id: str
    box: str
    text: str
    section: str
    start: int
    end: int


def read_page(page: str) -> Iterator[PageLine]:
    """Yield the proposals, with or without a box, and all other lines with a ticked box."""
    section, lines, at = CONTEXT, page.splitlines(keepends=True), 0
    for number, line in enumerate(lines):
        start, at = at, at + len(line)
        if heading := re.match(r"##+[ \t]+(.*?)[ \t#]*$", line.rstrip()):
            section = heading[1] or CONTEXT
        if line.strip() == _DIARY_END:
            section = CONTEXT
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
        before, after = page[: line.start], page[line.end :]
        is_gap = before.endswith(("\n\n", "\n\r\n")) and after.startswith(("\n", "\r\n"))
        page = before + (after.lstrip("\r").removeprefix("\n") if is_gap else after)
    return page


def with_box(page: str, proposal: str, box: str, text: str | None) -> str:
    """Return the page with this box, and optionally this text, at a proposal. Raises NotFound."""
    for line in read_page(page):
        if line.id == proposal:
            head, newline, below = page[line.start : line.end].partition("\n")
            new = f"- [{box}] {' '.join(text.split()) if text else line.text} ^dream-{proposal}"
            return page[: line.start] + new + "\r" * head.endswith("\r") + newline + below + page[line.end :]
    raise NotFound(f"{DREAMS} has no proposal {proposal}", hint="mcp-memory review lists what waits")


def with_proposals(page: str, proposals: Sequence[Recurrence | Proposal], seen: str) -> str:
    """Return the page with these proposals in their sections, and a diary entry about what the run has `seen`. Raises
    InvalidInput for a page that ends in an open code fence."""
    page = page or NEW_PAGE
    diary = [line for line in (_DIARY.search(page) or [""])[0].splitlines() if line.startswith("- ")]
    page = _DIARY.sub("", page)
    for one in proposals:
        below = [
            one.why,
            *one.facts.get("wordings", ()),
            *one.facts.get("steps", ()),
            *filter(None, [", ".join(map(link_to, one.sources[:MOST_SOURCES]))]),
        ]
        page = add_entry(page, one.section, "\n  - ".join([f"- [ ] {one.text} ^dream-{one.id}", *below]))
    lines = "\n".join([f"- {seen}", *diary][:MOST_TOLD])
    end = f"\n\n<!-- diary -->\n## Diary\n\n{lines}\n{_DIARY_END}\n".replace("\n", newline_of(page))
    return page.rstrip() + end


def link_to(source: str) -> str:
    """Return a link named by the source's day, if it has one: the rest of a session's name means nothing to people."""
    name = source.rpartition("/")[2].removesuffix(".md")
    day = _DAY.match(name)
    return f"[{day[0] if day else name}]({source if '://' in source else quote(source)})"
