"""Show a session where the last session of its project left off."""

from contextlib import suppress
from dataclasses import replace
from datetime import timedelta

from mcp_memory.errors import McpMemoryError
from mcp_memory.index.base import Index
from mcp_memory.models import Filters, NoteState
from mcp_memory.recall.excerpts import ID_CHARS
from mcp_memory.recall.moments.lasting_statements import is_lasting
from mcp_memory.text.escape_invisible import in_quotes
from mcp_memory.text.tokens import truncate
from mcp_memory.topics.page import SESSIONS
from mcp_memory.vault.vault import Vault
from mcp_memory.vault.withheld_pages import quotes_forgotten

RECENT, MOST_TOKENS = timedelta(days=30), 30
"""The age of sessions that are shown; the most tokens of what a session was about."""


def where_left_off(vault: Vault, index: Index, wanted: Filters, own: str) -> str:
    """Return one line on the latest session of this project except the `own` one: its open work, else its task. Empty
    without a project, or if neither is a sentence that still makes sense. `wanted` selects the notes that may be shown.
    Reads files: for a worker thread."""
    folder, since = vault.layout.in_home(SESSIONS), vault.clock() - RECENT
    among = replace(wanted, states=frozenset({NoteState.SUMMARY}), path_prefix=folder, since=since)
    for note in index.notes(among, limit=10) if wanted.project else ():
        if note.project not in wanted.names or not note.updated or (note.session and own.endswith(note.session)):
            continue
        with suppress(McpMemoryError):
            file = vault.read(note.path)
            if not quotes_forgotten(file.text, vault, index):
                left = file.body.partition("## Left open\n- ")[2].partition("\n")[0].partition(" (line ")[0]
                said = [
                    f"{name}: {in_quotes(truncate(text, MOST_TOKENS))}"
                    for name, text in (("left open", left), ("task", note.title))
                    if is_lasting(text)
                ]
                where = f"Last session here, {note.updated.date()} [{note.id[-ID_CHARS:]}]"
                return f"{where}: {said[0]}" if said else ""
    return ""
