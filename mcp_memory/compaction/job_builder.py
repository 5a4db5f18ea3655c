"""Builds the jobs of a run: planned moves, stale pages, removals, renames, lists of related topics, the index of
topics. Reads notes and asks the summarizer; writes nothing."""

import re
import unicodedata
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from mcp_memory.compaction.page_writer import PageWriter
from mcp_memory.compaction.topic_index import build_related, build_topic_index
from mcp_memory.errors import Refused
from mcp_memory.index.base import Index
from mcp_memory.models import Clock, Filters, NoteId, NotePath, NoteRecord, NoteState
from mcp_memory.runs.journal import JobEntry, MoveStep, RemoveStep, RunJournal, WriteStep
from mcp_memory.runs.link_rewriter import LinkRewriter
from mcp_memory.storage.path_rules import fold
from mcp_memory.summarizers.base import Summarizer
from mcp_memory.text.language.subjects import is_outgrown, subject_of
from mcp_memory.text.pluralize import counted
from mcp_memory.topics.page import PAGE, TOPICS, PageChild, next_number
from mcp_memory.topics.page_parts import own_text
from mcp_memory.topics.topic_tree import Topic, all_topics, common_project, note_child, topic_child
from mcp_memory.vault.note_file import NoteFile, short_slug
from mcp_memory.vault.vault import Vault

MOST = 100_000
"""The most notes of a folder whose names are checked for conflicts."""


@dataclass(frozen=True)
class PlannedMove:
    """Notes and whole topics that move into a topic."""

    leaves: Sequence[NoteRecord] = ()
    topics: Sequence[Topic] = ()

    @property
    def notes(self) -> list[NoteRecord]:
        """All notes, also those in the topics."""
        return [*self.leaves, *(note for topic in self.topics for note in topic.all_notes)]

    @property
    def about(self) -> str:
        counts = {"note": len(self.leaves), "topic": len(self.topics)}
        return " and ".join(counted(number, what) for what, number in counts.items() if number)


@dataclass(frozen=True)
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

    def __init__(self, vault: Vault, index: Index, summarizer: Summarizer, clock: Clock) -> None:
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
        within = NotePath(f"{parent}/")
        known_title = title or self._pages.project_title(within, project, () if moving.topics else sources)
        depth = 1 + max((topic.depth for topic in moving.topics), default=0)
        above = self._pages.names_above(within, project)
        summary = self._pages.summarize(sources, depth, above, known_title, siblings)
        taken = {sibling.partition("-")[2] for sibling in siblings}
        slugs = [short_slug(phrase) for phrase in summary.title.split(", ")]
        name = f"{next_number(siblings):02}-{next((slug for slug in slugs if slug not in taken), slugs[0])}"
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
        sources = self._pages.read_sources([*topics, *moving.topics], [*leaves, *moving.leaves])
        together = sorted([*topic.children, *children], key=lambda child: child.depth == 0)
        page = self._pages.rewrite(topic, together, sources)
        return JobEntry(about, [*steps, page.step], problem=page.problem)

    def build_refresh(self, topic: Topic) -> JobEntry | None:
        """Rewrite the page of a topic that changed; return None for a page that we never wrote. Your edits of the page
        stay."""
        before = self._vault.read(topic.page_path) if topic.page else None
        if before and not self._vault.ledger.parts(before.record.id):
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


@dataclass(frozen=True)
class Housekeeper:
    """Reads files and the index for a single worker thread at a time. Writes nothing; methods return None if there is
    nothing to do."""

    vault: Vault
    index: Index
    builder: JobBuilder
    journal: RunJournal
    links: LinkRewriter
    root: str
    """The folder of all topics."""
    clock: Clock

    def remove_empty_pages(self, tree: Sequence[Topic]) -> JobEntry | None:
        """Remove pages of empty topics, unless you wrote more of a page than its title. Raises NotFound for a page that
        has just disappeared."""
        topics = [topic for topic in all_topics(tree) if topic.ours and topic.page and not topic.notes]
        gone = list[NoteFile]()
        for topic in topics:
            file = self.vault.read(topic.page_path)
            made = self.vault.ledger.parts(file.record.id)
            if made and not own_text(file.text, made):
                gone.append(file)
        steps = [RemoveStep(file.record.path, file.text) for file in gone]
        if not steps:
            return None
        empty = ", ".join(file.record.path.split("/")[-2] for file in gone)
        return JobEntry(f"removed: no note is left in {empty}", steps)

    def rename_folder(self, run: str, tree: Sequence[Topic]) -> JobEntry | None:
        """Rename a folder after its page's title, keeping the number, if the page was just written and the old name is
        outdated. A folder with a file that can't move, or that a file of yours links to, keeps its name."""
        written = self.journal.pages_written(run)
        moves = self.builder.moves
        for topic in all_topics(tree):
            name = f"{topic.name.partition('-')[0]}-{short_slug(topic.title)}"
            if topic.page is None or topic.page.id not in written or name == topic.name:
                continue
            if not self._is_misnamed(topic) or name in moves.names_in(topic.parent):
                continue
            inside = [path for path in self.vault.list().files if path.startswith(f"{topic.folder}/")]
            with suppress(Refused):
                steps = moves.move_topic(topic, f"{topic.parent}/{name}")
                entry, foreign = self.links.follow_moves(JobEntry(f"{topic.name} is {name} now", steps))
                if len(steps) == len(inside) and not foreign:
                    return entry
        return None

    def _is_misnamed(self, topic: Topic) -> bool:
        """Return whether we named the folder, and the name has a word that none of the notes has, or describes only a
        minority of them. Raises NotFound for a note that has just disappeared."""
        if not topic.ours or topic.state.titled or not topic.page or not self.vault.filing.is_named_by_us(topic.page):
            return False
        name = topic.name.partition("-")[2]
        subjects = [subject_of(note.tags, topic.project) for note in topic.leaves]
        return is_outgrown(name, subjects) or _has_foreign_word(name, topic, self.vault)

    def relate_topics(self, run: str, tree: Sequence[Topic]) -> JobEntry | None:
        return build_related(tree, self.journal.pages_written(run), self.vault, self.index)

    def update_topic_index(self, tree: Sequence[Topic]) -> JobEntry | None:
        return build_topic_index(tree, self.vault, self.index, self.root, self.clock)

    def is_due(self, tree: Sequence[Topic]) -> bool:
        """Return whether a list of related topics or the index of topics is outdated although no page is."""
        return bool(build_related(tree, (), self.vault, self.index) or self.update_topic_index(tree))


_WORD = re.compile(r"[^\W_]+")


def _has_foreign_word(name: str, topic: Topic, vault: Vault) -> bool:
    known = _words(topic.title)
    for note in topic.all_notes:
        known |= _words(f"{note.title} {vault.read(note.path).body}")
    # The last word of a name may be cut off.
    return any(word not in known and not any(other.startswith(word) for other in known) for word in _words(name))


def _words(text: str) -> set[str]:
    return set(_WORD.findall(unicodedata.normalize("NFKC", text).lower()))
