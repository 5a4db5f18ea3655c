"""Show a session where the last session of its project left off, and a person where each project's did."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta

from mcp_memory.errors import McpMemoryError
from mcp_memory.index.base import Index
from mcp_memory.models import Filters, NoteRecord, NoteState
from mcp_memory.recall.excerpts import ID_CHARS
from mcp_memory.recall.moments.lasting_statements import is_whole
from mcp_memory.text.escape_invisible import in_quotes
from mcp_memory.text.tokens import truncate
from mcp_memory.topics.page import SESSIONS
from mcp_memory.vault.note_file import NoteFile
from mcp_memory.vault.vault import Vault
from mcp_memory.vault.withheld_pages import quotes_forgotten

RECENT, MOST_TOKENS = timedelta(days=30), 30
"""The age of sessions that are shown; the most tokens of what a session left open."""
MOST_PAGES = 200
"""The most pages of sessions that are looked at for the last session of each project."""


def where_left_off(vault: Vault, index: Index, wanted: Filters, own: str) -> str:
    """Return one line on what the last session of this project except the `own` one left open; empty if nothing.
    `wanted` selects the notes that may be shown. Reads files: for a worker thread."""
    wanted = replace(wanted, since=vault.clock() - RECENT)

    def latest(state: NoteState, folder: str | None = None) -> NoteRecord | None:
        found = index.notes(replace(wanted, states=frozenset({state}), path_prefix=folder), limit=50)
        others = (one for one in found if one.project in wanted.names and one.session and not own.endswith(one.session))
        return next(others, None)

    page = latest(NoteState.SUMMARY, vault.layout.in_home(SESSIONS)) if wanted.project else None
    last = latest(NoteState.TRANSCRIPT) if page else None
    if page is None or page.updated is None or (last and last.session != page.session):
        return ""  # the last session isn't over yet, or wasn't worth a page
    with suppress(McpMemoryError):
        file = vault.read(page.path)
        left = _left_open(file)
        if is_whole(left) and not quotes_forgotten(file.text, vault, index):
            where = f"Last session here, {page.updated.date()} [{page.id[-ID_CHARS:]}]"
            return f"{where}: left open: {in_quotes(truncate(left, MOST_TOKENS))}"
    return ""


def last_sessions(vault: Vault, index: Index) -> Iterator[tuple[NoteRecord, str]]:
    """Yield the page of each project's last session, the latest first, with what the session left open, if anything.
    Reads files: for a worker thread."""
    pages = Filters(
        states=frozenset({NoteState.SUMMARY}),
        path_prefix=vault.layout.in_home(SESSIONS),
        since=vault.clock() - RECENT,
    )
    latest = dict[str | None, NoteRecord]()
    for page in index.notes(pages, limit=MOST_PAGES):
        if page.session:
            latest.setdefault(page.project, page)
    for page in latest.values():
        with suppress(McpMemoryError):  # it was removed just now
            file = vault.read(page.path)
            yield page, "" if quotes_forgotten(file.text, vault, index) else _left_open(file)


def _left_open(file: NoteFile) -> str:
    return file.body.partition("## Left open\n- ")[2].partition("\n")[0].partition(" (line ")[0]
