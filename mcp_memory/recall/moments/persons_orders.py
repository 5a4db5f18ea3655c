"""Decide whether a note is the person's own word. Only such a note may refuse a call: text from an agent, a page or an
import may be shown, but forbids nothing."""

import re

from mcp_memory.errors import McpMemoryError
from mcp_memory.models import Passage
from mcp_memory.recall.moments.note_mentions import find_mention
from mcp_memory.recall.moments.tool_action import ToolAction
from mcp_memory.text.markdown import frontmatter
from mcp_memory.vault.journals.ledger import entry_id
from mcp_memory.vault.note_file import entries_of, is_memory
from mcp_memory.vault.ownership import PERSONS_SOURCES
from mcp_memory.vault.vault import Vault

_OWN_WORDS = frozenset({"said", "wrote"})
"""The voices of notes that were captured from a session or a log; not of a proposal to which the person only agreed."""

_HEADING = re.compile(r"#{1,6}(?:\s|$)")
_LEFT_OUT = "---"
"""A line that replaces another line, so that the sentences around it stay separate."""


def is_curated(passage: Passage) -> bool:
    """Return whether every session of the passage's project gets the passage at its start."""
    return passage.note.always_load or is_memory(passage.note.path)


def is_persons_word(vault: Vault, passage: Passage, action: ToolAction) -> bool:
    """Return whether the person themselves forbids the action in this passage. False also for a note that can't be read
    just now."""
    note = passage.note
    if note.is_foreign:
        return False
    try:
        if is_memory(note.path):
            mention = find_mention(_persons_lines(vault, passage), action)
            return mention is not None and mention.forbids
        if note.source in PERSONS_SOURCES or vault.provenance.is_standing_order(note):
            return True
        head = frontmatter.parse(vault.read(note.path).text).meta
        # A review takes the score out of the head of a note that it accepts.
        return note.meta.get("voice") in _OWN_WORDS or ("speaker" in head and "score" not in head)
    except McpMemoryError:
        return False


def _persons_lines(vault: Vault, passage: Passage) -> str:
    """Return the passage's lines in `MEMORY.md` without the entries that an agent added, and without headings, since an
    agent names the section of its entry."""
    path = passage.note.path
    text = vault.read(path).text
    agents = [entry for entry in entries_of(path, text) if vault.ledger.standings(entry_id(path, entry.hash))]
    left_out = {line for entry in agents for line in range(entry.start_line, entry.end_line + 1)}
    first, last = passage.chunk.start_line, passage.chunk.end_line
    lines = enumerate(text.split("\n")[first - 1 : last], first)
    return "\n".join(_LEFT_OUT if number in left_out or _HEADING.match(line) else line for number, line in lines)
