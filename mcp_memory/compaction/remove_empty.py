"""Clearing: pages of topics that no note is left in go, and so do proposals that nobody has to decide on any more."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from mcp_memory.compaction.journal import JobEntry, key_of
from mcp_memory.compaction.steps import RemoveStep
from mcp_memory.models import NoteRecord
from mcp_memory.topics.topic_tree import Topic
from mcp_memory.vault.vault import Vault


def clearing(tree: Sequence[Topic], vault: Vault) -> JobEntry | None:
    """None where there is nothing to clear. What a person wrote stays. Reads files: for a worker thread. Raises
    NotFound where a page has just gone."""
    topics = [topic for top in tree for topic in top.walk() if topic.ours]
    pages = [page for topic in topics for page in _done_with(topic, vault.filing.is_as_written)]
    if not pages:
        return None
    empty = [topic.name for topic in topics if _is_empty(topic) and topic.page in pages]
    said = f"no note is left in {', '.join(empty)}" if empty else "proposals that nobody waits for"
    files = [vault.read(page.path) for page in pages]
    steps = [RemoveStep(file.record.path, file.text) for file in files if vault.filing.is_as_we_wrote(file)]
    if not steps:
        return None
    return JobEntry(key_of("clear", (f"{page.path} {page.etag}" for page in pages)), f"removed: {said}", steps)


def _done_with(topic: Topic, as_written: Callable[[NoteRecord], bool]) -> Iterator[NoteRecord]:
    if topic.page and _is_empty(topic):
        yield topic.page
    if topic.proposal and not (topic.edited and topic.stale) and as_written(topic.proposal):
        yield topic.proposal


def _is_empty(topic: Topic) -> bool:
    return not topic.notes and not topic.edited and all(map(_is_empty, topic.topics))
