"""Mapping: the map of all topics, written anew when the tree is no longer as it says."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime

from ulid import ULID

from mcp_memory.compaction.journal import JobEntry, key_of
from mcp_memory.compaction.steps import RemoveStep, WriteStep
from mcp_memory.errors import NotFound
from mcp_memory.index.base import Index
from mcp_memory.models import NoteId, NotePath
from mcp_memory.text.pluralize import counted
from mcp_memory.topics.map import MapEntry, render_map
from mcp_memory.topics.page import MAP, etag_of, gist
from mcp_memory.topics.topic_tree import Topic
from mcp_memory.vault.note_file import NoteFile
from mcp_memory.vault.vault import Vault
from mcp_memory.vault.withheld_pages import quotes_forgotten

Clock = Callable[[], datetime]


class TopicIndex:
    """Reads files and the index: for worker threads. Writes nothing."""

    def __init__(self, vault: Vault, index: Index, root: str, budget_tokens: int, clock: Clock) -> None:
        """`root` is the folder of all topics."""
        self._vault = vault
        self._index = index
        self._budget_tokens = budget_tokens
        self._clock = clock
        self.path = NotePath(f"{root}/{MAP}")

    def draft(self, tree: Sequence[Topic]) -> JobEntry | None:
        """None where the map is right, or a person's own."""
        before = self._standing()
        if before and not self._vault.filing.is_as_we_wrote(before):
            return None
        if not tree:
            return (
                JobEntry(key_of("unmap", [before.text]), "no topic is left", [RemoveStep(self.path, before.text)])
                if before
                else None
            )
        now = self._clock().replace(microsecond=0)
        map_id = before.record.id if before else NoteId(str(ULID.from_datetime(now)))
        created = (before.record.created if before else None) or now
        updated = (before.record.updated if before else None) or now
        spots = [spot for topic in tree for spot in self._spots(topic, 0)]
        if before and self._rendered(map_id, spots, created, updated) == before.text:
            return None
        text = self._rendered(map_id, spots, created, now)
        said = f"map of {counted(len(spots), 'topic')}"
        return JobEntry(
            key_of("map", [etag_of(text.encode())]), said, [WriteStep(self.path, text, before.text if before else None)]
        )

    def _standing(self) -> NoteFile | None:
        try:
            return self._vault.read(self.path)
        except NotFound:
            return None

    def _spots(self, topic: Topic, level: int) -> Iterator[MapEntry]:
        """The topic, then those below. Of a page that may quote what was forgotten nothing is told."""
        page = topic.page
        if page and quotes_forgotten(self._vault.read(page.path).text, self._vault, self._index):
            page = None
        title, path = (page.title, page.path) if page else (topic.name, None)
        yield MapEntry(page.id if page else None, title, path, level, topic.notes, *topic.span)
        for each in topic.topics:
            yield from self._spots(each, level + 1)

    def _rendered(self, map_id: NoteId, spots: Sequence[MapEntry], created: datetime, updated: datetime) -> str:
        def said(spot: MapEntry) -> str:
            return gist(self._vault.read(spot.page).body) if spot.page else ""

        return render_map(map_id, self.path, spots, said, self._budget_tokens, created, updated)
