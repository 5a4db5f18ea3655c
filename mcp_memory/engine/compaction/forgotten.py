"""What pages may no longer say: one that was made from a note which is forgotten by now may quote it."""

from __future__ import annotations

from collections.abc import Mapping

from mcp_memory.engine.vault import Vault
from mcp_memory.errors import McpMemoryError
from mcp_memory.index.base import Index
from mcp_memory.models import NoteId, NoteRecord, Shelf
from mcp_memory.text import frontmatter


def quotes_forgotten(page: str, vault: Vault, index: Index, returning: Mapping[str, str] | None = None) -> bool:
    """Whether a page's text was made from a note that is forgotten or gone, or from such a page. `returning`: texts of
    pages that are about to come back, by id. Reads files and the index: for a worker thread."""
    waiting, seen = sources_of(page), set[str]()
    while waiting:
        each = waiting.pop()
        if each in seen:
            continue
        seen.add(each)
        if returning and each in returning:
            waiting += sources_of(returning[each])
            continue
        records = [record for record in index.note_by_id(NoteId(each)) if record.shelf is not Shelf.DELETED]
        if not records:
            return True
        for record in records:
            waiting += sources_of(_text(record, vault)) if record.shelf is Shelf.SUMMARY else []
    return False


def sources_of(page: str) -> list[str]:
    """The ids of what a page was made from."""
    return [str(each) for each in frontmatter.parse(page).meta.get("derived_from") or ()]


def _text(record: NoteRecord, vault: Vault) -> str:
    try:
        return vault.read(record.path).text
    except McpMemoryError:
        return ""
