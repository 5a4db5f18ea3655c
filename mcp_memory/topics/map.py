"""Renders `_index.md`, the index of topics: a line for each topic, within a budget. Pure."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from mcp_memory.models import NoteId, NotePath
from mcp_memory.text.language.sentences import sentences
from mcp_memory.text.markdown import frontmatter
from mcp_memory.text.markdown.link_targets import unlinked
from mcp_memory.text.pluralize import counted
from mcp_memory.text.tokens import CHARS_PER_TOKEN
from mcp_memory.topics.page import link, span

SUMMARY_CHARS = 140
"""The most characters of each topic's summary."""

HEADING = "# Topics\n\nWhat is remembered, by topic. Each link leads to a page that says more, and on to its notes."

_MARKUP = re.compile(r"[\[<`]")


@dataclass(frozen=True, slots=True)
class MapEntry:
    """A topic. `page` is the path of its page, None without a readable page; `level` is 0 at the top."""

    id: NoteId | None
    title: str
    page: NotePath | None
    level: int
    notes: int
    earliest: datetime | None = None
    latest: datetime | None = None


def render_map(
    map_id: NoteId,
    path: NotePath,
    entries: Sequence[MapEntry],
    summary_of: Callable[[MapEntry], str],
    budget_tokens: int,
    created: datetime,
    updated: datetime,
) -> str:
    """Return the file's text. `entries` are in the order of the tree; top levels come first, and topics beyond the
    budget are only counted. `summary_of` returns the summary of a topic that fits."""
    room = budget_tokens * CHARS_PER_TOKEN - len(HEADING) - len(_rest(len(entries))) - 4
    lines: dict[int, str] = {}
    for number in sorted(range(len(entries)), key=lambda at: entries[at].level):
        line = _line(path, entries[number], summary_of(entries[number]))
        room -= len(line) + 1
        if room < 0:
            break
        lines[number] = line
    shown = sorted(lines)
    parts = [HEADING, "\n".join(lines[number] for number in shown)]
    if len(shown) < len(entries):
        parts.append(_rest(len(entries) - len(shown)))
    meta = {
        "id": map_id,
        "title": "Topics",
        "created": created,
        "updated": updated,
        "source": "mcp-memory",
        "derived_from": [topic_id for number in shown if (topic_id := entries[number].id)],
        "node_kind": "map",
        "descendant_count": sum(entry.notes for entry in entries if not entry.level),
    }
    return frontmatter.render(meta, "\n\n".join(part for part in parts if part))


def short_summary(summary: str) -> str:
    """Return the first sentence of a summary in one line of at most SUMMARY_CHARS, without links."""
    text = next((sentence.text for sentence in sentences(unlinked(summary))), "")
    if len(text) > SUMMARY_CHARS:
        text = text[: SUMMARY_CHARS - 1].rsplit(" ", 1)[0] + "…"
    return _MARKUP.sub(lambda mark: chr(92) + mark[0], text)


def _line(path: NotePath, entry: MapEntry, summary: str) -> str:
    name = link(path, entry.title, entry.page) if entry.page else entry.title
    parts = [name, counted(entry.notes, "note"), span(entry.earliest, entry.latest)]
    line = f"{'  ' * entry.level}- {' · '.join(filter(None, parts))}"
    return f"{line} — {short}" if (short := short_summary(summary)) else line


def _rest(count: int) -> str:
    return f"… and {counted(count, 'topic')} more, found by the links above."
