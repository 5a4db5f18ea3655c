"""What a caller means by an id or path."""

from __future__ import annotations

from mcp_memory.errors import InvalidInput
from mcp_memory.models import NoteId, NotePath
from mcp_memory.text.logs import is_log_path


def named_by(target: str) -> tuple[NotePath, str | None] | NoteId:
    """A note's path, with the hash of an entry where it is a log's; or an id that the index has to look for.

    Raises InvalidInput.
    """
    plain = target.strip()
    if not plain or len(plain) > 5000:
        raise InvalidInput("id is empty or too long", hint="pass an id or path from memory_search")
    whole, _, entry = plain.rpartition("#")
    if is_log_path(whole):
        return NotePath(whole), entry
    if plain.startswith("path:"):
        return NotePath(plain.removeprefix("path:")), None
    if "/" in plain or plain.lower().endswith(".md"):
        return NotePath(plain.removeprefix("./")), None
    return NoteId(plain)
