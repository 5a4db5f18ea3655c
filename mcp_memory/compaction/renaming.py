"""Renaming: a topic's folder whose name has words that nothing in it says any more, as when their note was erased."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterator, Sequence

from mcp_memory.compaction.journal import JobEntry, key_of
from mcp_memory.compaction.steps import MoveStep
from mcp_memory.models import NoteId, NotePath, NoteRecord
from mcp_memory.topics.topic_tree import Topic
from mcp_memory.vault.note_file import short_slug
from mcp_memory.vault.vault import Vault

_WORD = re.compile(r"[^\W_]+")


def renaming(tree: Sequence[Topic], written: Collection[NoteId], vault: Vault) -> JobEntry | None:
    """One folder under the name that its page's title gives it, with its number; None where no name is at fault. Else
    names stay: only topics with a page that was just `written`, and with nothing in them that does not move along.

    Reads files: for a worker thread. Raises NotFound where a note has just gone.
    """
    for topic in (topic for top in tree for topic in top.walk()):
        if not topic.ours or topic.edited or topic.page is None or topic.page.id not in written:
            continue
        if not vault.filing.is_named_by_us(topic.page):
            continue
        number, _, said = topic.name.partition("-")
        name = f"{number}-{short_slug(topic.title)}"
        if name == topic.name or not _has_unsaid(said, topic, vault):
            continue
        records = list(_records(topic))
        files = vault.list().files
        folder = f"{topic.folder.removesuffix(topic.name)}{name}"
        if any(path.startswith(f"{folder}/") for path in files):
            continue
        inside = {path for path in files if path.startswith(f"{topic.folder}/")}
        if inside == {record.path for record in records} and all(vault.filing.may_move(r.path, r.id) for r in records):
            steps = [MoveStep(r.id, r.path, NotePath(folder + r.path[len(topic.folder) :])) for r in records]
            told = (f"{record.id} {record.path}" for record in records)
            return JobEntry(key_of(f"rename {folder}", told), f"a topic is {name} now", steps)
    return None


def _has_unsaid(name: str, topic: Topic, vault: Vault) -> bool:
    said = _words(topic.title)
    for note in (note for each in topic.walk() for note in each.leaves):
        said |= _words(f"{note.title} {vault.read(note.path).body}")
    # The last word of a name may be cut.
    return any(word not in said and not any(each.startswith(word) for each in said) for word in _words(name))


def _records(topic: Topic) -> Iterator[NoteRecord]:
    for each in topic.walk():
        yield from (*each.leaves, *(page for page in (each.page, each.proposal) if page))


def _words(text: str) -> set[str]:
    return set(_WORD.findall(unicodedata.normalize("NFKC", text).lower()))
