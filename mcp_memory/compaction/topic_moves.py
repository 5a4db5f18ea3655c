"""Turns moves of notes and topics into steps, whoever asked for them: the plan, you, or a folder's outdated name."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from mcp_memory.errors import Refused
from mcp_memory.index.base import Index
from mcp_memory.models import Filters, NotePath, NoteRecord, NoteState
from mcp_memory.runs.journal import MoveStep
from mcp_memory.storage.path_rules import fold
from mcp_memory.text.pluralize import counted
from mcp_memory.topics.page import PAGE, TOPICS, PageChild
from mcp_memory.topics.topic_tree import Topic, note_child, topic_child
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
