"""Withhold pages that may quote a forgotten note, because they were made from it."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from mcp_memory.errors import McpMemoryError
from mcp_memory.index.base import Index
from mcp_memory.models import NoteId, NotePath, NoteRecord, NoteState
from mcp_memory.text.markdown import frontmatter
from mcp_memory.text.markdown.links import find_links, resolve
from mcp_memory.text.parsed_values import list_at
from mcp_memory.topics.page import CHILDREN, RELATED, link
from mcp_memory.vault.note_file import HISTORIES, NoteFile
from mcp_memory.vault.vault import Vault

WITHHELD = (
    "This page is withheld: it was made from a note that is forgotten, replaced or gone. "
    "It is written again at night; a topic's page also by `mcp-memory topics compact`."
)


def quotes_forgotten(page: str, vault: Vault, index: Index, returning: Mapping[str, str] | None = None) -> bool:
    """Return whether a page's text was made from a note that is forgotten or gone, or from such a page. `returning`:
    texts of pages that are about to be restored, by id. Reads files and the index: for a worker thread."""
    waiting, seen = sources_of(page), set[str]()
    while waiting:
        source = waiting.pop()
        if source in seen:
            continue
        seen.add(source)
        if returning and source in returning:
            waiting += sources_of(returning[source])
            continue
        log, _, entry = source.partition("#")
        of_log = index.note(NotePath(log)) if entry else None
        if of_log and entry not in of_log.meta.get("forgotten", ()):
            continue
        records = [record for record in index.note_by_id(NoteId(source)) if record.state is not NoteState.DELETED]
        if not records:
            return True
        for record in records:
            waiting += sources_of(_text(record, vault)) if record.state is NoteState.SUMMARY else []
    return False


def is_made(note: NoteRecord) -> bool:
    """Return whether a note is a page made from other notes."""
    return note.state is NoteState.SUMMARY or f"/{HISTORIES}" in f"/{note.path}"


def withheld(page: NoteFile, vault: Vault, index: Index) -> NoteFile:
    """Return the page with a remark in place of its text and its folder's name as title. It still links to its notes
    that are not forgotten and to the pages below, by title if that quotes nothing."""
    path = page.record.path
    listed = page.body[at:] if (at := page.body.rfind(f"{CHILDREN}\n")) >= 0 else ""
    lines: list[str] = []
    links = find_links(listed.partition(f"\n{RELATED}\n")[0])
    for target in dict.fromkeys(resolve(found.target, path) for found in links):
        record = index.note(NotePath(target)) if target else None
        if record is None or record.state is NoteState.DELETED:
            continue
        is_safe = record.state is not NoteState.SUMMARY or not quotes_forgotten(_text(record, vault), vault, index)
        title = record.title if is_safe else record.path.split("/")[-2]
        lines.append(f"- {link(path, title, record.path)}")
    text = "\n".join([WITHHELD, *(["", CHILDREN, "", *lines] if lines else []), ""])
    return replace(page, record=replace(page.record, title=path.split("/")[-2]), text=text, body_start=0)


def withheld_among(paths: Iterable[NotePath], vault: Vault, index: Index) -> set[NotePath]:
    """Return those of these notes that are pages and quote a forgotten note. Reads files and the index: for a worker
    thread."""
    pages = {path for path in paths if (note := index.note(path)) and is_made(note)}
    return {path for path in pages if quotes_forgotten(vault.read(path).text, vault, index)}


def sources_of(page: str) -> list[str]:
    """Return the ids of the notes and pages that a page was made from, or a note's places in a transcript."""
    return [str(source) for source in list_at(frontmatter.parse(page).meta, "derived_from")]


def _text(record: NoteRecord, vault: Vault) -> str:
    try:
        return vault.read(record.path).text
    except McpMemoryError:
        return ""
