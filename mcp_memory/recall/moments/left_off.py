"""Show a session where the last session of its project left off."""

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
from mcp_memory.vault.vault import Vault
from mcp_memory.vault.withheld_pages import quotes_forgotten

RECENT, MOST_TOKENS = timedelta(days=30), 30
"""The age of sessions that are shown; the most tokens of what a session left open."""


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
        left = file.body.partition("## Left open\n- ")[2].partition("\n")[0].partition(" (line ")[0]
        if is_whole(left) and not quotes_forgotten(file.text, vault, index):
            where = f"Last session here, {page.updated.date()} [{page.id[-ID_CHARS:]}]"
            return f"{where}: left open: {in_quotes(truncate(left, MOST_TOKENS))}"
    return ""
