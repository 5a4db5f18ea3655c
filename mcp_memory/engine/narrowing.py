"""Why a search found nothing: which of the caller's filters left no note to look at."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from mcp_memory.index.base import Index
from mcp_memory.models import Filters, Shelf


def emptied_by(index: Index, filters: Filters) -> str:
    """One line for the reader. Asks the index for one note per filter, so only for answers without any hit."""
    if index.notes(filters, limit=1):
        return "no passage has any of these words"
    narrow = [name for name, relaxed in _relaxed(filters) if index.notes(relaxed, limit=1)]
    if narrow:
        return f"no note passes the filter {' or '.join(narrow)}; without it there are some"
    if index.notes(Filters(shelves=filters.shelves, now=filters.now), limit=1):
        return "no note passes these filters together"
    if index.notes(Filters(shelves=frozenset(Shelf) - {Shelf.DELETED, Shelf.INBOX, Shelf.TRANSCRIPT}), limit=1):
        return "only archived or expired notes are there; include_archived=true looks at them"
    return "there are no notes yet"


def _relaxed(filters: Filters) -> Iterator[tuple[str, Filters]]:
    """Each filter that is set, by the name that a caller knows it by, with the filters that remain without it."""
    if filters.path_prefix is not None:
        yield "path", replace(filters, path_prefix=None)
    if filters.kinds is not None:
        yield "kinds", replace(filters, kinds=None)
    if filters.tags is not None:
        yield "tags", replace(filters, tags=None)
    if filters.project is not None:
        yield "project", replace(filters, project=None)
    if filters.since is not None:
        yield "since", replace(filters, since=None)
    if filters.until is not None:
        yield "until", replace(filters, until=None)
    if filters.session is not None:
        yield "session", replace(filters, session=None)
    if Shelf.ARCHIVED not in filters.shelves:
        archived = replace(filters, shelves=filters.shelves | {Shelf.ARCHIVED}, now=None)
        yield "include_archived=false", archived
