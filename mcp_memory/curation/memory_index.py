"""Writes an optional index between marks into MEMORY.md: the latest sessions, active projects, and the most used notes.
Its rows form tables, so that no tool mistakes a row for an entry, and dreaming doesn't move it.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import date, timedelta

from mcp_memory.index.base import Index
from mcp_memory.integrations.config_entries import InstructionBlock
from mcp_memory.models import PAGES, Filters, NoteId, NotePath, NoteRecord, is_closed
from mcp_memory.recall.note_list import MOST_NOTES, date_of
from mcp_memory.topics.page import CONTENTS, ENTITIES, SESSIONS, link
from mcp_memory.usage.note_use import HOT_DAYS, WARM_WITHIN, NoteUse
from mcp_memory.vault.note_file import Layout, slug

MOST_ROWS = 5
"""The most rows of each table: 23 lines in all, of the 200 that MEMORY.md may have."""

_BEGIN = "<!-- mcp-memory index begins: written by `mcp-memory topics organize`; delete it to end that -->"
_END = "<!-- mcp-memory index ends -->"


def with_memory_index(text: str, lines: str, *, anew: bool) -> str:
    """Return MEMORY.md with these lines between the marks; with `anew`, append new marks. A text without marks stays as
    it is. Raises Refused for a lone mark."""
    block = InstructionBlock(lines, begin=_BEGIN, end=_END)
    return block.insert(text) if anew or block.is_in(text) else text


def memory_index(
    index: Index, uses: Mapping[NoteId, NoteUse], wanted: Filters, layout: Layout, today: date
) -> str:  # fmt: skip
    """Return the lines, identical for the same notes and day of use. Reads the index, so call it in a worker thread."""

    def listed(filters: Filters) -> list[NoteRecord]:
        return [note for note in index.notes(filters, MOST_NOTES) if not (note.is_log or is_closed(note.project))]

    notes = listed(wanted)
    sessions = listed(Filters(PAGES, private=wanted.private, path_prefix=layout.in_home(SESSIONS)))
    sessions.sort(key=date_of, reverse=True)
    latest = {note.project: date_of(note).date() for note in sorted([*notes, *sessions], key=date_of) if note.project}
    active = {name: day for name, day in latest.items() if today - day < WARM_WITHIN}
    count = Counter(note.project for note in notes)

    def page_of(project: str) -> str:
        page = NotePath(layout.in_home(f"{ENTITIES}/projects/{slug(project)}.md"))
        return link(layout.memory, project, page) if index.note(page) else project

    def days_of(note: NoteRecord) -> int:
        used = uses[note.id].used_days if note.id in uses else []
        return sum(today - day < timedelta(days=30) for day in used)

    def link_to(note: NoteRecord) -> str:
        return link(layout.memory, note.title, note.path)

    used = sorted(((days_of(note), note) for note in notes), key=lambda one: (-one[0], one[1].id))
    projects = sorted(active.items(), key=lambda one: (-one[1].toordinal(), one[0]))
    parts = [
        _table("Recent activity", ("day", "project", "session"),
               [(str(date_of(one).date()), one.project or "", link_to(one)) for one in sessions]),
        _table("Active projects", ("project", "notes", "latest"),
               [(page_of(name), str(count[name]), str(day)) for name, day in projects]),
        _table("Key facts", ("used on", "note"),
               [(f"{days} days", link_to(note)) for days, note in used if days >= HOT_DAYS]),
    ]  # fmt: skip
    return "\n\n".join(filter(None, parts)) or f"Nothing to list yet; all that is stored: [{CONTENTS}]({CONTENTS})"


def _table(title: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows[:MOST_ROWS]]
    return "\n".join([f"## {title}", "", *(f"| {' | '.join(cells)} |" for cells in lines)]) if rows else ""
