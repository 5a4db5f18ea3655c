"""Relating: on the page of a topic, links to the few others that are about nearly the same."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from mcp_memory.compaction.journal import JobEntry, key_of
from mcp_memory.compaction.steps import WriteStep
from mcp_memory.index.base import Index
from mcp_memory.models import NoteId, NotePath
from mcp_memory.text.markdown.links import find_links, resolve
from mcp_memory.text.pluralize import counted
from mcp_memory.topics.page import related_part, render_related, with_related
from mcp_memory.topics.topic_tree import Topic
from mcp_memory.vault.vault import Vault

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST = 3
LEAST_COSINE = 0.65
"""Between the middles of two topics. Folders of one program's documentation are at .45 to .73, those of two programs at
.40 to .62 (all-MiniLM-L6-v2)."""


def relating(tree: Sequence[Topic], written: Collection[NoteId], vault: Vault, index: Index) -> JobEntry | None:
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
        part = related_part(file.text)
        is_due = not part or file.record.id in written or not _holds(topic.page_path, part, titles)
        if is_due and vault.filing.is_as_we_wrote(file):
            texts[topic.page_path] = file.text
    steps = [step for step in _rewritten(topics, texts, index) if step.text != step.before]
    if not steps:
        return None
    told = (f"{step.path} {related_part(step.text)}" for step in steps)
    return JobEntry(key_of("relate", told), f"related topics on {counted(len(steps), 'page')}", steps)


def nearest(at: int, folders: Sequence[str], directions: NDArray[np.float32]) -> list[int]:
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
            near = [(topics[each].title, topics[each].page_path) for each in nearest(at, folders, directions)]
            yield WriteStep(topic.page_path, with_related(text, render_related(topic.page_path, near)), text)


def _direction(topic: Topic, index: Index) -> NDArray[np.float32]:
    """Of the mean of the meanings of its notes."""
    total = index.meanings([note.path for each in topic.walk() for note in each.leaves]).sum(axis=0)
    length = float(np.linalg.norm(total))
    return total / length if length else total


def _holds(page: NotePath, part: str, titles: dict[NotePath, str]) -> bool:
    """Whether each line of a list of related topics leads to a page, and names it as it is called."""
    near = [NotePath(resolve(each.target, page) or "") for each in find_links(part)]
    return titles.keys() >= {*near} and render_related(page, [(titles[each], each) for each in near]) == part


def _are_in_line(folder: str, other: str) -> bool:
    return f"{folder}/".startswith(f"{other}/") or f"{other}/".startswith(f"{folder}/")
