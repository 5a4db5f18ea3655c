"""What is outstanding: whether a run would have anything to do, as far as that can be seen without planning. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from mcp_memory.models import NotePath, NoteRecord
from mcp_memory.topics.plan import age
from mcp_memory.topics.topic_tree import Topic

Mark = tuple[NotePath, str]
"""A note or topic, and what tells whether it is as it was."""


@dataclass(frozen=True, slots=True)
class PendingWork:
    fresh: int = 0
    """Notes that no run has seen yet, without those of the tail."""
    without_vectors: int = 0
    """The same, but nothing can be done with them now."""
    stale: int = 0
    """Pages."""
    provisional: int = 0
    """Pages that a language model is to write yet."""
    improvable: int = 0
    """The same, as far as it can be asked for them now."""
    is_untidy: bool = False
    """Whether the map, or a list of related topics, is to be made anew."""

    def is_worth_a_run(self, *, enough: int) -> bool:
        return bool(self.stale or self.improvable or self.is_untidy or self.fresh >= enough)


@dataclass(frozen=True, slots=True)
class WorkLeft:
    """What a run has left as it was, and another one would leave too."""

    fresh: Collection[Mark] = field(default_factory=frozenset[Mark])
    stale: Collection[Mark] = field(default_factory=frozenset[Mark])

    @classmethod
    def after_run(cls, fresh: Sequence[NoteRecord], tried: Collection[Mark]) -> WorkLeft:
        return cls(frozenset(map(_note_mark, fresh)), frozenset(tried))

    def new(self, fresh: Sequence[NoteRecord]) -> list[NoteRecord]:
        """Those that it has not seen."""
        return [note for note in fresh if _note_mark(note) not in self.fresh]

    def newly_stale(self, tree: Sequence[Topic]) -> list[Topic]:
        return [topic for topic in _stale(tree) if _topic_mark(topic) not in self.stale]


def beyond_tail(fresh: Sequence[NoteRecord], tail: int) -> list[NoteRecord]:
    """All but the newest, as the plan has it."""
    ordered = sorted(fresh, key=lambda note: age(note.path))
    return ordered[: max(0, len(ordered) - tail)]


def _stale(tree: Sequence[Topic]) -> list[Topic]:
    return [topic for top in tree for topic in top.walk() if topic.stale]


def _note_mark(note: NoteRecord) -> Mark:
    return note.path, note.content_hash


def _topic_mark(topic: Topic) -> Mark:
    return topic.folder, topic.covers
