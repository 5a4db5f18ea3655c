"""Turns planned moves and stale pages into jobs. Reads notes and asks the summarizer; writes nothing."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from mcp_memory.compaction.page_writer import PageWriter
from mcp_memory.errors import Refused
from mcp_memory.index.base import Index
from mcp_memory.models import Filters, NoteId, NotePath, NoteRecord, NoteState
from mcp_memory.runs.journal import JobEntry, MoveStep, WriteStep
from mcp_memory.storage.path_rules import fold
from mcp_memory.summarizers.base import Summarizer
from mcp_memory.text.pluralize import counted
from mcp_memory.topics.page import PAGE, TOPICS, PageChild, next_number
from mcp_memory.topics.topic_tree import Topic, common_project, note_child, topic_child
from mcp_memory.vault.note_file import short_slug
from mcp_memory.vault.vault import Vault

MOST = 100_000
"""The most notes of a folder whose names are checked for conflicts."""


@dataclass(frozen=True, slots=True)
class PlannedMove:
    """Notes and whole topics that move into a topic."""

    leaves: Sequence[NoteRecord] = ()
    topics: Sequence[Topic] = ()

    @property
    def notes(self) -> list[NoteRecord]:
        """All notes, also those in the topics."""
        return [*self.leaves, *(note for topic in self.topics for below in topic.walk() for note in below.leaves)]

    @property
    def about(self) -> str:
        counts = {"note": len(self.leaves), "topic": len(self.topics)}
        return " and ".join(counted(number, what) for what, number in counts.items() if number)


@dataclass(frozen=True, slots=True)
class TopicMoves:
    """Reads files and the index, so use it in worker threads. Writes nothing."""

    vault: Vault
    index: Index

    def move_into(
        self, folder: str, moving: PlannedMove, taken: Iterable[str]
    ) -> tuple[list[MoveStep], list[PageChild]]:
        """Return the steps that move notes and topics into a folder with these names in it, and their entries on the
        folder's page. Raises Refused for a note of yours."""
        names = set(map(fold, taken))
        steps: list[MoveStep] = []
        children: list[PageChild] = []
        for topic in moving.topics:
            target = f"{folder}/{free_name(topic.name, names)}"
            steps += self.move_topic(topic, target)
            if topic.page:
                children.append(replace(topic_child(topic), path=NotePath(f"{target}/{PAGE}")))
        for record in moving.leaves:
            path = record.path
            if self.is_inside(record):
                path = NotePath(f"{folder}/{free_name(record.path.rpartition('/')[2], names)}")
                steps.append(MoveStep(record.id, record.path, path))
            children.append(replace(note_child(record), path=path))
        return steps, children

    def move_topic(self, topic: Topic, target: str) -> list[MoveStep]:
        """Move all files of a topic except forgotten notes, which stay where they are. Raises Refused for a note of
        yours."""
        inside = sorted(path for path in self.vault.list().files if path.startswith(f"{topic.folder}/"))
        files = [self.vault.read(path) for path in inside]
        records = [file.record for file in files if file.record.state is not NoteState.DELETED]
        self.check_ours(records)
        return [MoveStep(each.id, each.path, NotePath(f"{target}{each.path[len(topic.folder) :]}")) for each in records]

    def check_ours(self, records: Iterable[NoteRecord]) -> None:
        """Raise Refused for a note of yours."""
        for path, note_id in ((record.path, record.id) for record in records):
            if not self.vault.filing.may_move(path, note_id):
                raise Refused(
                    f"{path} is a note of yours, which no command moves",
                    hint=f"rename or move the folder in a file manager; or hand the note over: mcp-memory adopt {path}",
                )

    def names_in(self, folder: str) -> set[str]:
        """Return the names of notes and folders in the folder, in any state."""
        everything = Filters(states=frozenset(NoteState), path_prefix=NotePath(folder))
        return {note.path[len(folder) + 1 :].partition("/")[0] for note in self.index.notes(everything, MOST)}

    def is_inside(self, record: NoteRecord) -> bool:
        """Return whether the note is below the folder of all topics, so that it moves into a topic."""
        return record.path.startswith(f"{self.vault.layout.in_home(TOPICS)}/")


def free_name(name: str, taken: set[str]) -> str:
    """Return the name, or a variant that isn't taken, and add it to `taken`."""
    stem, dot, ending = name.partition(".")
    number = 2
    free = name
    while fold(free) in taken:
        free = f"{stem}-{number}{dot}{ending}"
        number += 1
    taken.add(fold(free))
    return free


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
