"""Turns planned moves and stale pages into jobs. Reads notes and asks the summarizer; writes nothing."""

from collections.abc import Callable, Collection
from datetime import datetime

from mcp_memory.compaction.page_writer import PageWriter
from mcp_memory.compaction.topic_moves import PlannedMove, TopicMoves
from mcp_memory.index.base import Index
from mcp_memory.models import NoteId, NotePath
from mcp_memory.runs.journal import JobEntry, WriteStep
from mcp_memory.summarizers.base import Summarizer
from mcp_memory.topics.page import next_number
from mcp_memory.topics.topic_tree import Topic, common_project
from mcp_memory.vault.note_file import short_slug
from mcp_memory.vault.vault import Vault


class JobBuilder:
    """Builds jobs synchronously, for worker threads; outside any lock. Methods raise NotFound for a source that is gone
    or changed, Refused for a note of yours, and the errors of the vault and the summarizer."""

    def __init__(self, vault: Vault, index: Index, summarizer: Summarizer, clock: Callable[[], datetime]) -> None:
        self._vault = vault
        self._pages = PageWriter(vault, index, summarizer, clock)
        self.moves = TopicMoves(vault, index)
        self.asked_in_s = summarizer.asked_in_s

    def build_new_topic(
        self, parent: NotePath, siblings: Collection[str], moving: PlannedMove, title: str = ""
    ) -> JobEntry:
        """Build a topic in the folder `parent` beside these names. A top-level topic of a project has the project's
        name. `title` is your title, if any."""
        sources = self._pages.read_sources(moving.topics, moving.leaves)
        project = common_project(moving.notes)
        known_title = title or self._pages.project_title(NotePath(f"{parent}/"), project)
        depth = 1 + max((topic.depth for topic in moving.topics), default=0)
        summary = self._pages.summarize(sources, depth, project, known_title, siblings)
        name = _folder_name(siblings, summary.title)
        folder = NotePath(f"{parent}/{name}")
        steps, children = self.moves.move_into(folder, moving, taken=())
        page = self._pages.write(folder, summary, children, is_titled=bool(title))
        about = f"{name}: {moving.about} under {summary.title!r}"
        return JobEntry(about, [*steps, page.step], problem=page.problem)

    def build_join(self, topic: Topic, moving: PlannedMove) -> JobEntry:
        """Add notes or topics to a topic. Its page becomes stale and is rewritten with the other stale pages, or in
        this job if it links to notes that don't move."""
        steps, children = self.moves.move_into(topic.folder, moving, self.moves.names_in(topic.folder))
        about = f"{topic.name}: {moving.about} more"
        if all(map(self.moves.is_inside, moving.leaves)):
            return JobEntry(about, steps)
        topics, leaves = topic.sources
        sources = self._pages.read_sources(topics, leaves) + self._pages.read_sources(moving.topics, moving.leaves)
        page = self._pages.rewrite(topic, [*topic.children, *children], sources)
        return JobEntry(about, [*steps, page.step], problem=page.problem)

    def build_refresh(self, topic: Topic) -> JobEntry | None:
        """Rewrite the page of a topic that changed; return None for a page that we never wrote. Your edits of the page
        stay."""
        before = self._vault.read(topic.page_path) if topic.page else None
        if before and not self._vault.filing.parts_made(before.record.id):
            return None
        page = self._pages.rewrite(topic, topic.children)
        about = f"{topic.name}: page {'rewritten' if before else 'written'}"
        return JobEntry(about, [page.step], problem=page.problem)

    def build_rest(self, topic: Topic, gone: Collection[NoteId]) -> WriteStep:
        """Return the topic's page without these notes."""
        topics, leaves = topic.sources
        sources = self._pages.read_sources(topics, [note for note in leaves if note.id not in gone])
        children = [child for child in topic.children if child.id not in gone]
        return self._pages.rewrite(topic, children, sources).step


def _folder_name(siblings: Collection[str], title: str) -> str:
    """Return a new topic's folder name, from the first phrase of its title that no sibling uses."""
    taken = {name.partition("-")[2] for name in siblings}
    slugs = [short_slug(phrase) for phrase in title.split(", ")]
    return f"{next_number(siblings):02}-{next((slug for slug in slugs if slug not in taken), slugs[0])}"
