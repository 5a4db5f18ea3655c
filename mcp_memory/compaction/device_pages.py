"""Knows the topics that your other devices made, by the signatures of their pages, and signs pages anew after the key
has changed."""

from collections.abc import Iterator, Sequence
from contextlib import suppress

from mcp_memory.compaction.journal import JobEntry, WriteStep, hash_job
from mcp_memory.errors import McpMemoryError
from mcp_memory.text.pluralize import counted
from mcp_memory.topics.topic_tree import PageState, Topic
from mcp_memory.vault.note_file import NoteFile
from mcp_memory.vault.vault import Vault


def take_over_topics(tree: Sequence[Topic], vault: Vault) -> int:
    """Makes ours, with the notes in them, the topics that another device of yours made or rewrote; returns how many.
    Raises StorageFailed."""
    taken = 0
    for topic, page in signed_elsewhere(tree, vault):
        with suppress(McpMemoryError):  # a note that has just changed: the device that made the page rewrites it
            vault.filing.take_over(page, [vault.read(note.path) for note in topic.leaves])
            taken += 1
    return taken


def signed_elsewhere(tree: Sequence[Topic], vault: Vault) -> Iterator[tuple[Topic, NoteFile]]:
    """Topics with the pages that another device of yours made of just the notes that are there. Reads files."""
    for topic in (topic for top in tree for topic in top.walk()):
        page = topic.page
        if page is None or vault.filing.is_as_written(page) or page.meta.get("covers") != topic.covers:
            continue
        with suppress(McpMemoryError):
            file = vault.read(page.path)
            if file.record.etag == page.etag and vault.filing.is_from_your_device(file):
                yield topic, file


def sign_anew(tree: Sequence[Topic], vault: Vault) -> JobEntry | None:
    """Signs our own pages that have no signature by the present key. Reads files; raises NotFound for one that has just
    gone."""
    steps: list[WriteStep] = []
    for topic in (topic for top in tree for topic in top.walk()):
        if not topic.ours or topic.page is None or topic.is_yours or topic.state != PageState():
            continue
        file, made = vault.read(topic.page_path), vault.filing.parts_made(topic.page.id)
        if made and vault.filing.is_as_we_wrote(file) and not vault.filing.is_signed(file):
            steps.append(WriteStep(file.record.path, vault.filing.signed(file.text), file.text, made[-1]))
    if not steps:
        return None
    key = hash_job("sign", (step.path for step in steps))
    return JobEntry(key, f"signed for your other devices: {counted(len(steps), 'page')}", steps)
