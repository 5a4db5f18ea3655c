"""Answers a question for a reason with the notes that the found notes link as their reason."""

import re
from collections.abc import Iterable
from dataclasses import replace

from mcp_memory.index.base import Index
from mcp_memory.models import Filters, NoteRecord
from mcp_memory.search.ranking import RankedChunk
from mcp_memory.text.markdown.note_links import REASONS

ASKS_WHY = re.compile(
    r"\b(?:why|how come|reason|warum|wieso|weshalb|weswegen|grund|pourquoi|raison|por ?qu[eé]|motivo|razón)\b",
    re.IGNORECASE,
)
"""Matches a question for a reason."""
MOST_READ = 100
"""The most links of a note that are followed."""


def with_reasons(index: Index, found: Iterable[RankedChunk], filters: Filters) -> list[RankedChunk]:
    """Return the passages, each followed by the notes that its note links as a reason, with its score."""
    ordered: dict[int, RankedChunk] = {}
    for ranked in found:
        note = ranked.passage.note
        ordered.setdefault(ranked.passage.chunk_id, ranked)
        for one in index.links_from(note.path)[:MOST_READ]:
            target = one.targets[0] if one.link.type in REASONS and len(one.targets) == 1 else None
            if target and is_seen_from(note, index.note(target), filters):
                for reason in index.passages(target):
                    ordered.setdefault(reason.chunk_id, replace(ranked, passage=reason, explain=None))
    return list(ordered.values())


def is_seen_from(note: NoteRecord, other: NoteRecord | None, filters: Filters) -> bool:
    """Return whether a linked note may be shown beside `note`: the filters admit it, and it belongs to the project of
    the filters or of `note`, or to none."""
    if other is None or not replace(filters, project=filters.project or note.project).admits(other):
        return False
    return other.project is None or other.project in {filters.project, note.project}
