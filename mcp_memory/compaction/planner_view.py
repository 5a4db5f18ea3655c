"""Reads the topic tree and works out what a run would do, without writing anything."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING

import numpy as np

from mcp_memory.compaction.job_builder import JobBuilder
from mcp_memory.compaction.preview import Preview, Sketch
from mcp_memory.errors import NotFound
from mcp_memory.index.base import Index
from mcp_memory.models import Filters, NotePath, NoteRecord, NoteState
from mcp_memory.topics.config import TopicsConfig
from mcp_memory.topics.page import PAGE, TOPICS
from mcp_memory.topics.plan import FRESH, PlanJob, age_key, plan
from mcp_memory.topics.topic_tree import Topic, build_tree, movable
from mcp_memory.vault.vault import Vault

if TYPE_CHECKING:
    from numpy.typing import NDArray


VersionMark = tuple[NotePath, str]
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

    fresh: Collection[VersionMark] = field(default_factory=frozenset[VersionMark])
    stale: Collection[VersionMark] = field(default_factory=frozenset[VersionMark])

    @classmethod
    def after_run(cls, fresh: Sequence[NoteRecord], tried: Collection[VersionMark]) -> WorkLeft:
        return cls(frozenset(map(_note_mark, fresh)), frozenset(tried))

    def unseen_notes(self, fresh: Sequence[NoteRecord]) -> list[NoteRecord]:
        """Those that it has not seen."""
        return [note for note in fresh if _note_mark(note) not in self.fresh]

    def unseen_stale(self, tree: Sequence[Topic]) -> list[Topic]:
        return [topic for topic in _stale(tree) if _topic_mark(topic) not in self.stale]


def without_tail(fresh: Sequence[NoteRecord], tail: int) -> list[NoteRecord]:
    """All but the newest, as the plan has it."""
    ordered = sorted(fresh, key=lambda note: age_key(note.path))
    return ordered[: max(0, len(ordered) - tail)]


def _stale(tree: Sequence[Topic]) -> list[Topic]:
    return [topic for top in tree for topic in top.walk() if topic.stale]


def _note_mark(note: NoteRecord) -> VersionMark:
    return note.path, note.content_hash


def _topic_mark(topic: Topic) -> VersionMark:
    return topic.folder, topic.covers


@dataclass(frozen=True, slots=True)
class RunScope:
    """`folder` is relative to the folder of all topics; empty for all of them."""

    folder: str = ""

    @classmethod
    def from_name(cls, wanted: str, tree: Sequence[Topic], root: str) -> RunScope:
        """What a person names: a topic's folder, as a path in the vault or below that of all topics, or its page.
        Raises NotFound where it is no topic."""
        name = wanted.strip().removeprefix("./").removesuffix(f"/{PAGE}").strip("/")
        below = {topic.folder[len(root) + 1 :] for top in tree for topic in top.walk()}
        for folder in (name.removeprefix(f"{root}/"), name.removeprefix("topics/")):
            if folder in below:
                return cls(folder)
        raise NotFound(f"{wanted[:200]!r} is no topic", hint="mcp-memory tree shows them: pass the path of a folder")

    def includes_topic(self, topic: NotePath, root: str) -> bool:
        """Whether it is this topic, or one in it."""
        return self._has(topic[len(root) + 1 :])

    def includes_job(self, job: PlanJob) -> bool:
        """Whether the job adds to this topic, or to one in it. Where the topic itself is is no affair of its own."""
        return self._has(job.parent) if job.into is None else self._has(job.into)

    def _has(self, folder: str) -> bool:
        return not self.folder or folder == self.folder or folder.startswith(f"{self.folder}/")


MAX_ROUNDS = 20
"""Of one run; more levels than a tree can have."""

MAX_NOTES = 1_000_000


class PlannerView:
    """Synchronous, for worker threads. Each method reads the index, and raises IndexUnavailable."""

    def __init__(
        self, vault: Vault, index: Index, drafter: JobBuilder, config: TopicsConfig, clock: Callable[[], datetime]
    ) -> None:
        self._vault = vault
        self._index = index
        self._drafter = drafter
        self._config = config
        self._clock = clock
        self.root = vault.layout.in_home(TOPICS)

    def read_tree(self) -> tuple[list[Topic], list[NoteRecord]]:
        """The tree, and the fresh notes that may move."""
        records = self._records(self.root)
        tree = build_tree(records, self.root, self._vault.filing.made_by_us, self._vault.filing.is_as_written)
        return tree, self._fresh(records)

    def plan_round(self, tree: Sequence[Topic], fresh: Sequence[NoteRecord]) -> list[PlanJob]:
        """The next round."""
        paths = [note.path for note in movable(tree, fresh)]
        return plan([path[len(self.root) + 1 :] for path in paths], self._meanings(paths), self._config)

    def preview_run(self, topic: str | None) -> Preview:
        """What a run would leave, or one for this topic alone. Raises NotFound where that is none, and for a note that
        changes meanwhile."""
        tree, fresh = self.read_tree()
        scope = RunScope.from_name(topic, tree, self.root) if topic is not None else RunScope()
        sketch = Sketch(self.root, tree, fresh)
        sketch.run_rounds(
            self._meanings(sketch.movable), self._config, self._drafter.name_topic, MAX_ROUNDS, scope.includes_job
        )
        preview = sketch.to_preview(self._vault.filing.made_by_us, self._vault.filing.is_as_written)
        if not scope.folder:
            return preview
        below = [each for top in preview.tree for each in top.walk()]
        return replace(preview, tree=[each for each in below if each.folder == f"{self.root}/{scope.folder}"])

    def find_pending(
        self,
        left: WorkLeft,
        may_improve: Callable[[Topic], bool],
        is_due: Callable[[Sequence[Topic]], bool],
        *,
        whole: bool,
    ) -> PendingWork:
        """What there would be to do, besides what was left; of the pages only where the `whole` tree is looked at."""
        tree, fresh = self.read_tree() if whole else ([], self._fresh(self._records(f"{self.root}/{FRESH}")))
        new = left.unseen_notes(without_tail(fresh, self._config.fresh_tail_count))
        known = len(self._with_vectors(new))
        provisional = [topic for top in tree for topic in top.walk() if topic.provisional]
        improvable = sum(map(may_improve, provisional))
        stale = len(left.unseen_stale(tree))
        return PendingWork(known, len(new) - known, stale, len(provisional), improvable, whole and is_due(tree))

    def work_left(self, fresh: Sequence[NoteRecord], tried: Collection[VersionMark]) -> WorkLeft:
        """What a run has looked at: these fresh notes, and topics whose pages it has `tried`."""
        return WorkLeft.after_run(self._with_vectors(without_tail(fresh, self._config.fresh_tail_count)), tried)

    # -- below -------------------------------------------------------------------------------------------------

    def _records(self, folder: str) -> list[NoteRecord]:
        wanted = Filters(states=frozenset({NoteState.ACTIVE, NoteState.SUMMARY}), path_prefix=folder, now=self._clock())
        return self._index.notes(wanted, limit=MAX_NOTES)

    def _fresh(self, records: Sequence[NoteRecord]) -> list[NoteRecord]:
        fresh = [record for record in records if record.path.rpartition("/")[0] == f"{self.root}/{FRESH}"]
        return [each for each in fresh if self._vault.filing.may_move(each.path, each.id)]

    def _with_vectors(self, notes: Sequence[NoteRecord]) -> list[NoteRecord]:
        vectors = self._meanings([note.path for note in notes])
        return [note for note, vector in zip(notes, vectors, strict=True) if vector.any()]

    def _meanings(self, paths: Sequence[NotePath]) -> NDArray[np.float32]:
        return self._index.mean_vectors(paths) if paths else np.zeros((0, 1), dtype=np.float32)
