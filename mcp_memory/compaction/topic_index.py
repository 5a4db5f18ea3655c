"""Builds jobs that update `topics/_index.md` and the lists of related topics on topic pages."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

import numpy as np
from ulid import ULID

from mcp_memory.compaction.journal import JobEntry, RemoveStep, WriteStep, hash_job
from mcp_memory.errors import NotFound
from mcp_memory.index.base import Index
from mcp_memory.models import NoteId, NotePath
from mcp_memory.text.markdown.links import find_links, resolve
from mcp_memory.text.pluralize import counted
from mcp_memory.topics.map import MapEntry, render_map
from mcp_memory.topics.page import MAP, etag_of, related_section, render_related, summary_text, with_related_section
from mcp_memory.topics.topic_tree import Topic
from mcp_memory.vault.note_file import NoteFile
from mcp_memory.vault.vault import Vault
from mcp_memory.vault.withheld_pages import quotes_forgotten

if TYPE_CHECKING:
    from numpy.typing import NDArray


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

    def build_job(self, tree: Sequence[Topic]) -> JobEntry | None:
        """None where the map is right, or a person's own."""
        before = self._standing()
        if before and not self._vault.filing.is_as_we_wrote(before):
            return None
        if not tree:
            return (
                JobEntry(hash_job("unmap", [before.text]), "no topic is left", [RemoveStep(self.path, before.text)])
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
            hash_job("map", [etag_of(text.encode())]),
            said,
            [WriteStep(self.path, text, before.text if before else None)],
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
            return summary_text(self._vault.read(spot.page).body) if spot.page else ""

        return render_map(map_id, self.path, spots, said, self._budget_tokens, created, updated)


MOST = 3
LEAST_COSINE = 0.65
"""Between the middles of two topics. Folders of one program's documentation are at .45 to .73, those of two programs at
.40 to .62 (all-MiniLM-L6-v2)."""


def build_related(tree: Sequence[Topic], written: Collection[NoteId], vault: Vault, index: Index) -> JobEntry | None:
    """The pages whose list is to be made anew: of those just `written`, and of those with a link that leads nowhere or
    does not name its topic as it is called now. A relation alone makes no page stale, so none waits for another.

    None where all lists are right. Reads files and the index: for a worker thread.
    """
    topics = [topic for top in tree for topic in top.walk() if topic.page]
    titles = {topic.page_path: topic.title for topic in topics}
    texts: dict[NotePath, str] = {}
    for topic in topics:
        if not topic.ours or topic.edited:
            continue
        file = vault.read(topic.page_path)
        part = related_section(file.text)
        is_due = not part or file.record.id in written or not _holds(topic.page_path, part, titles)
        if is_due and vault.filing.is_as_we_wrote(file):
            texts[topic.page_path] = file.text
    steps = [step for step in _rewritten(topics, texts, index) if step.text != step.before]
    if not steps:
        return None
    told = (f"{step.path} {related_section(step.text)}" for step in steps)
    return JobEntry(hash_job("relate", told), f"related topics on {counted(len(steps), 'page')}", steps)


def nearest_topics(at: int, folders: Sequence[str], directions: NDArray[np.float32]) -> list[int]:
    """Of the topics with these folders and directions (n, dimension; of length 1, or 0 for one without vectors) the few
    that are nearest to that `at`, the nearest first; none of them above or below it or another one."""
    cosines = directions @ directions[at]
    chosen: list[int] = []
    for other in sorted(range(len(folders)), key=lambda each: (-float(cosines[each]), folders[each])):
        if len(chosen) == MOST or cosines[other] < LEAST_COSINE:
            break
        if not any(_are_in_line(folders[other], folders[each]) for each in (at, *chosen)):
            chosen.append(other)
    return chosen


def _rewritten(topics: Sequence[Topic], texts: dict[NotePath, str], index: Index) -> Iterator[WriteStep]:
    if not texts:
        return
    directions = np.stack([_direction(topic, index) for topic in topics])
    folders = [topic.folder for topic in topics]
    for at, topic in enumerate(topics):
        if (text := texts.get(topic.page_path)) is not None:
            near = [(topics[each].title, topics[each].page_path) for each in nearest_topics(at, folders, directions)]
            yield WriteStep(topic.page_path, with_related_section(text, render_related(topic.page_path, near)), text)


def _direction(topic: Topic, index: Index) -> NDArray[np.float32]:
    """Of the mean of the meanings of its notes."""
    total = index.mean_vectors([note.path for each in topic.walk() for note in each.leaves]).sum(axis=0)
    length = float(np.linalg.norm(total))
    return total / length if length else total


def _holds(page: NotePath, part: str, titles: dict[NotePath, str]) -> bool:
    """Whether each line of a list of related topics leads to a page, and names it as it is called."""
    near = [NotePath(resolve(each.target, page) or "") for each in find_links(part)]
    return titles.keys() >= {*near} and render_related(page, [(titles[each], each) for each in near]) == part


def _are_in_line(folder: str, other: str) -> bool:
    return f"{folder}/".startswith(f"{other}/") or f"{other}/".startswith(f"{folder}/")
