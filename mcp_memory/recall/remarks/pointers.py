"""Point to notes that perhaps help with a prompt. A line of ids and titles costs little if the guess is wrong."""

from collections.abc import Sequence

from mcp_memory.models import Passage
from mcp_memory.recall.excerpts import excerpt_of, named
from mcp_memory.text.escape_invisible import in_quotes
from mcp_memory.text.text_hash import text_hash

MOST_POINTERS, TITLE_CHARS = 3, 90


def pointer_line(passages: Sequence[Passage]) -> str:
    """Return a line that names at most `MOST_POINTERS` notes, each once, by id (or path) and title."""
    first = {passage.shown_id: passage for passage in reversed(passages)}
    chosen = list(reversed(first.values()))[:MOST_POINTERS]
    return f"Perhaps, by memory_recall: {'; '.join(map(_pointer, chosen))}"


def pointer_mark(passage: Passage) -> str:
    """Return the key under which `SeenPassages` records that a session was pointed to this note."""
    return text_hash(f"{passage.shown_id} pointed to", 16)


def _pointer(passage: Passage) -> str:
    excerpt = excerpt_of(passage)
    title = passage.chunk.text.partition("\n")[0] if passage.note.is_log else passage.note.title
    return f"{excerpt.short_id or named(excerpt.path)} {in_quotes(title[:TITLE_CHARS])}"
