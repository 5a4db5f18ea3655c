"""Tells a session where the last one in its project left off."""

from contextlib import suppress
from dataclasses import replace
from datetime import timedelta

from mcp_memory.errors import McpMemoryError
from mcp_memory.index.base import Index
from mcp_memory.models import Filters, NoteState
from mcp_memory.text.escape_invisible import in_quotes
from mcp_memory.text.tokens import truncate
from mcp_memory.topics.page import SESSIONS
from mcp_memory.vault.vault import Vault
from mcp_memory.vault.withheld_pages import quotes_forgotten

RECENT, MOST_TOKENS = timedelta(days=30), 30
"""Sessions that are told of; of a title, and of what was left open."""


def where_left_off(vault: Vault, index: Index, wanted: Filters, own: str) -> str | None:
    """One line on the latest session of this project but the `own` one, with what it left open first; None for no
    project. `wanted`: what may be told. Reads files: for a worker thread."""
    folder, since = vault.layout.in_home(SESSIONS), vault.clock() - RECENT
    among = replace(wanted, states=frozenset({NoteState.SUMMARY}), path_prefix=folder, since=since)
    for note in index.notes(among, limit=10) if wanted.project else ():
        if note.project not in wanted.names or not note.updated or (note.session and own.endswith(note.session)):
            continue
        with suppress(McpMemoryError):
            file = vault.read(note.path)
            if not quotes_forgotten(file.text, vault, index):
                task = in_quotes(truncate(note.title, MOST_TOKENS))
                line = f"Last session here ({note.updated.date()}, memory_recall path={in_quotes(note.path)}): {task}"
                left = file.body.partition("## Left open\n- ")[2].partition("\n")[0].partition(" (line ")[0]
                return f"{line}; left open: {in_quotes(truncate(left, MOST_TOKENS))}" if left else line
    return None
