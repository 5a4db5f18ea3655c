"""Captured sessions: what was said in one, read again from its transcript as far as it was captured."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from datetime import tzinfo

from mcp_memory.capture.checkpoint import Bookmark, Bookmarks
from mcp_memory.capture.readers.message import Message
from mcp_memory.capture.reading import read_whole
from mcp_memory.capture.tail import waiting
from mcp_memory.capture.transcript_paths import Place, Places
from mcp_memory.errors import McpMemoryError

MOST_BYTES = 50_000_000
"""Of a transcript: some seconds of reading."""


class Captured:
    """For worker threads."""

    def __init__(self, places: Places, bookmarks: Bookmarks, zone: tzinfo) -> None:
        self._places = places
        self._bookmarks = bookmarks
        self._zone = zone

    def messages(self, client: str, session: str) -> Sequence[Message]:
        """In their order, without those of sub-agents. None where it was not captured, or its transcript is gone, no
        longer to be read, or too long."""
        for bookmark in self._bookmarks.every():
            if bookmark.client == client and bookmark.captured_at:
                with suppress(McpMemoryError):
                    place = self._places.place(client, bookmark.name)
                    if _is_of(place, session):
                        return self._read(place, bookmark)
        return ()

    def _read(self, place: Place, bookmark: Bookmark) -> Sequence[Message]:
        whole = Bookmark(place.client, place.name)
        if waiting(self._places, place, whole).new_bytes > MOST_BYTES:
            return ()
        heard = read_whole(self._places, place, self._zone)
        return [each for each in heard.messages if each.offset < bookmark.offset and each.turn.session == heard.session]


def _is_of(place: Place, session: str) -> bool:
    """Claude Code names a file after its session, Codex adds a time in front."""
    return session in {place.session, place.inner.stem} or place.inner.stem.endswith(f"-{session}")
