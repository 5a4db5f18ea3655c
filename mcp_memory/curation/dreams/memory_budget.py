"""Proposes entries of MEMORY.md to move into notes when the file exceeds its budget of lines. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from mcp_memory.curation.dreams.recurrence import SECTIONS
from mcp_memory.text.markdown.frontmatter import parse
from mcp_memory.text.markdown.sections import CuratedEntry, entries
from mcp_memory.text.pluralize import counted
from mcp_memory.text.text_hash import text_hash
from mcp_memory.vault.marks import privacy
from mcp_memory.vault.note_file import MEMORY

MOVE_OUT = "Move out of MEMORY.md"
"""The section of DREAMS.md for these proposals."""
MOST_CHARS = 200
_KINDS = {section.casefold(): kind for kind, section in SECTIONS.items()}


class Demotion(NamedTuple):
    """An entry to move into a note. `entry` is its hash; `score` orders it among proposals."""

    entry: str
    text: str
    why: str
    section: str = MOVE_OUT
    sources: Sequence[str] = ()
    score: float = 0.0

    @property
    def id(self) -> str:
        """8 hexadecimal digits, the same on every machine."""
        return text_hash(f"{MEMORY}#{self.entry}", 8)


def find_demotions(memory: str, used_days: Mapping[str, int], most_lines: int) -> Iterator[Demotion]:
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
        yield Demotion(one.hash, one.title[:MOST_CHARS], f"{what}; this is {counted(_lines(one), 'line')}, {use}")


def content_and_kind(memory: str, entry: str) -> tuple[str, str] | None:
    """Return the text of an entry without its list mark, and the kind of its section; None if it is gone."""
    one = next((one for one in entries(memory) if one.hash == entry), None)
    return one and (memory[one.start + len(one.mark) : one.end].strip(), _KINDS.get(one.section.casefold(), "fact"))


def _lines(entry: CuratedEntry) -> int:
    return entry.end_line - entry.start_line + 1
