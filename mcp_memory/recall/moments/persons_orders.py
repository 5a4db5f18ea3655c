"""Decide whether a note is the person's own word. Only such a note may refuse a call: text from an agent, a page or an
import may be shown, but forbids nothing."""

from mcp_memory.client.credentials import PERSON
from mcp_memory.errors import McpMemoryError
from mcp_memory.models import NoteRecord
from mcp_memory.recall.moments.note_mentions import Mention
from mcp_memory.text.markdown import frontmatter
from mcp_memory.vault.journals.change_journal import DISK, DREAM
from mcp_memory.vault.note_file import MEMORY, entries_of
from mcp_memory.vault.vault import Vault

_THEIRS = frozenset({None, PERSON, DISK, DREAM})
"""The sources that write for the person: an edit by hand, a terminal, and dreaming with their ticks."""

_OWN_WORDS = frozenset({"said", "wrote"})
"""The voices of what was captured from a session or a log; not of a proposal to which they only agreed."""


def is_persons_word(vault: Vault, note: NoteRecord, mention: Mention) -> bool:
    """Return whether the mention in this note is the person's own word. False also for a note that can't be read just
    now."""
    if note.is_foreign:
        return False
    try:
        if note.path == MEMORY:
            return not _THEIRS.isdisjoint(_who_added(vault, mention))
        return note.source in _THEIRS or vault.provenance.is_standing_order(note) or _was_said(vault, note)
    except McpMemoryError:
        return False


def _who_added(vault: Vault, mention: Mention) -> set[str | None]:
    """Return the clients that added entries of `MEMORY.md` with the mention; None for an entry that the journal of
    changes lacks, or a mention outside of entries."""
    text = vault.read(MEMORY).text
    named = [entry.hash for entry in entries_of(MEMORY, text) if mention.is_in(text[entry.start : entry.end])]
    added = {one.entry: one.client for one in reversed(vault.changes.changes()) if one.path == MEMORY}
    return {added.get(entry) for entry in named} or {None}


def _was_said(vault: Vault, note: NoteRecord) -> bool:
    """Return whether the note was captured as the person's own words, or accepted in a review, which takes the score
    out of its head."""
    if note.meta.get("voice") in _OWN_WORDS:
        return True
    head = frontmatter.parse(vault.read(note.path).text).meta
    return "speaker" in head and "score" not in head
