"""Builds the housekeeping jobs of a run: removals, renames, lists of related topics, the index of topics."""

import re
import unicodedata
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

from mcp_memory.compaction.job_builder import JobBuilder
from mcp_memory.compaction.topic_index import build_related, build_topic_index
from mcp_memory.errors import Refused
from mcp_memory.index.base import Index
from mcp_memory.runs.journal import JobEntry, RemoveStep, RunJournal
from mcp_memory.runs.link_rewriter import LinkRewriter
from mcp_memory.text.language.subjects import is_outgrown, subject_of
from mcp_memory.topics.page_parts import own_text
from mcp_memory.topics.topic_tree import Topic
from mcp_memory.vault.note_file import NoteFile, short_slug
from mcp_memory.vault.vault import Vault


@dataclass(frozen=True, slots=True)
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
    clock: Callable[[], datetime]

    def remove_empty_pages(self, tree: Sequence[Topic]) -> JobEntry | None:
        """Remove pages of empty topics, unless you wrote more of a page than its title. Raises NotFound for a page that
        has just disappeared."""
        topics = [topic for top in tree for topic in top.walk() if topic.ours and topic.page and not topic.notes]
        files = [self.vault.read(topic.page_path) for topic in topics]
        gone = [file for file in files if is_removable(file, self.vault)]
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
        for topic in (topic for top in tree for topic in top.walk()):
            name = f"{topic.name.partition('-')[0]}-{short_slug(topic.title)}"
            if topic.page is None or topic.page.id not in written or name == topic.name:
                continue
            parent = topic.folder.rpartition("/")[0]
            if not self._is_misnamed(topic) or name in moves.names_in(parent):
                continue
            inside = [path for path in self.vault.list().files if path.startswith(f"{topic.folder}/")]
            with suppress(Refused):
                steps = moves.move_topic(topic, f"{parent}/{name}")
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


def is_removable(page: NoteFile, vault: Vault) -> bool:
    """Return whether we made a page and you changed at most its title."""
    made = vault.filing.parts_made(page.record.id)
    return bool(made) and not own_text(page.text, made)


_WORD = re.compile(r"[^\W_]+")


def _has_foreign_word(name: str, topic: Topic, vault: Vault) -> bool:
    known = _words(topic.title)
    for note in (note for below in topic.walk() for note in below.leaves):
        known |= _words(f"{note.title} {vault.read(note.path).body}")
    # The last word of a name may be cut off.
    return any(word not in known and not any(other.startswith(word) for other in known) for word in _words(name))


def _words(text: str) -> set[str]:
    return set(_WORD.findall(unicodedata.normalize("NFKC", text).lower()))
