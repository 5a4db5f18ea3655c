"""Builds the jobs due at the end of a run besides topic pages: removals, renames, related topics, the index page."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Collection, Iterator, Sequence

from mcp_memory.compaction.job_builder import JobBuilder, proposal_key
from mcp_memory.compaction.journal import JobEntry, MoveStep, RemoveStep, RunJournal, hash_job
from mcp_memory.compaction.link_rewriter import LinkRewriter
from mcp_memory.compaction.topic_index import TopicIndex, build_related
from mcp_memory.index.base import Index
from mcp_memory.models import NoteId, NotePath, NoteRecord
from mcp_memory.topics.topic_tree import Topic
from mcp_memory.vault.note_file import short_slug
from mcp_memory.vault.vault import Vault


class Housekeeper:
    """Reads files and the index: for one worker thread at a time. Writes nothing; None is nothing to do."""

    def __init__(
        self,
        vault: Vault,
        index: Index,
        drafter: JobBuilder,
        journal: RunJournal,
        linkage: LinkRewriter,
        mapper: TopicIndex,
    ) -> None:
        self._vault = vault
        self._index = index
        self._drafter = drafter
        self._journal = journal
        self._linkage = linkage
        self._mapper = mapper

    def remove_empty_pages(self, tree: Sequence[Topic]) -> JobEntry | None:
        return build_removal(tree, self._vault)

    def propose_page(self, topic: Topic) -> JobEntry | None:
        """Beside a person's own page; None where what we would say stands there already, or a person did not want
        it."""
        if topic.proposal is None:
            is_unwanted = self._journal.has_done(proposal_key(topic))
            return None if is_unwanted else self._drafter.build_proposal(topic)
        is_ours = self._vault.filing.is_as_written(topic.proposal)
        return (
            self._drafter.build_proposal(topic)
            if is_ours and topic.proposal.meta.get("covers") != topic.covers
            else None
        )

    def rename_folder(self, run: str, tree: Sequence[Topic]) -> JobEntry | None:
        """One folder."""
        entry = build_rename(tree, self._journal.pages_written(run), self._vault)
        return self._linkage.follow_moves(entry)[0] if entry else None

    def relate_topics(self, run: str, tree: Sequence[Topic]) -> JobEntry | None:
        return build_related(tree, self._journal.pages_written(run), self._vault, self._index)

    def update_topic_index(self, tree: Sequence[Topic]) -> JobEntry | None:
        return self._mapper.build_job(tree)

    def is_due(self, tree: Sequence[Topic]) -> bool:
        """Whether a list of related topics or the map does not say what there is, though no page is stale."""
        return bool(build_related(tree, (), self._vault, self._index) or self.update_topic_index(tree))


def build_removal(tree: Sequence[Topic], vault: Vault) -> JobEntry | None:
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
    return JobEntry(hash_job("clear", (f"{page.path} {page.etag}" for page in pages)), f"removed: {said}", steps)


def _done_with(topic: Topic, as_written: Callable[[NoteRecord], bool]) -> Iterator[NoteRecord]:
    if topic.page and _is_empty(topic):
        yield topic.page
    if topic.proposal and not (topic.edited and topic.stale) and as_written(topic.proposal):
        yield topic.proposal


def _is_empty(topic: Topic) -> bool:
    return not topic.notes and not topic.edited and all(map(_is_empty, topic.topics))


_WORD = re.compile(r"[^\W_]+")


def build_rename(tree: Sequence[Topic], written: Collection[NoteId], vault: Vault) -> JobEntry | None:
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
            return JobEntry(hash_job(f"rename {folder}", told), f"a topic is {name} now", steps)
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
