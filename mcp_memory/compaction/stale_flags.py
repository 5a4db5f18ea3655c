"""Marking: `stale: true` in the pages that do not say what is in their topic now, for people and other devices."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime

from mcp_memory.errors import NotFound, PreconditionFailed
from mcp_memory.indexing.writer import IndexWriter
from mcp_memory.runtime.threads import in_thread
from mcp_memory.topics.page import marked
from mcp_memory.topics.plan import FRESH
from mcp_memory.topics.topic_tree import Topic
from mcp_memory.vault.note_file import NoteFile
from mcp_memory.vault.vault import Vault


class StaleFlags:
    """Looks at the tree only where a file of it has changed since the last time, or the day has: notes expire."""

    def __init__(
        self,
        vault: Vault,
        writer: IndexWriter,
        root: str,
        look: Callable[[], Sequence[Topic]],
        clock: Callable[[], datetime],
    ) -> None:
        """`root` is the folder of all topics; `look` reads the index."""
        self._vault = vault
        self._writer = writer
        self._root = root
        self._look = look
        self._clock = clock
        self._seen: int | None = None

    async def mark(self) -> None:
        """Pages of ours that are out of date get the mark, and those above them; others lose it. Raises StorageFailed,
        IndexUnavailable."""
        state = self._state()
        if state == self._seen:
            return
        for file in await in_thread(lambda: list(self._changed()), what="marking pages"):
            await self._writer.index_note(file)
        self._seen = state  # what has changed since is for the next sweep, our own marks with it

    def _state(self) -> int:
        """Of all filed notes and their pages; what is fresh belongs to no page."""
        inside, fresh = f"{self._root}/", f"{self._root}/{FRESH}/"
        standing = self._writer.indexed_etags.items()
        filed = frozenset(each for each in standing if each[0].startswith(inside) and not each[0].startswith(fresh))
        return hash((self._clock().date(), filed))

    def _changed(self) -> Iterator[NoteFile]:
        if self._vault.read_only:
            return
        for topic in (topic for top in self._look() for topic in top.walk()):
            page = topic.page
            if page is None or topic.edited or topic.outdated == page.meta.get("stale", False):
                continue
            try:
                file = self._vault.read(page.path)
                if file.record.etag == page.etag:
                    data = marked(file.text, stale=topic.outdated).encode()
                    yield self._vault.filing.write_page(page.path, data, page.etag)
            except (NotFound, PreconditionFailed):
                continue  # somebody was faster; the next sweep looks again
