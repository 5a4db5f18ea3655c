"""Reads the topic tree and works out what a run would do, without writing anything."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Self

import numpy as np
from numpy.typing import NDArray

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

VersionMark = tuple[NotePath, str]
"""The path of a note or topic, and a hash of its version."""


@dataclass(frozen=True, slots=True)
class PendingWork:
    """Numbers of notes and pages."""

    fresh: int = 0
    """Notes that no run has seen yet, except the newest ones (`topics.fresh_tail_count`)."""
    without_vectors: int = 0
    """Notes like those that can't be filed yet."""
    stale: int = 0
    provisional: int = 0
    """Pages that a language model is to rewrite."""
    improvable: int = 0
    """Those for which it may be asked now."""
    is_untidy: bool = False
    """Whether the index of topics or a list of related topics is out of date."""

    def is_worth_a_run(self, *, enough: int) -> bool:
        return bool(self.stale or self.improvable or self.is_untidy or self.fresh >= enough)


@dataclass(frozen=True, slots=True)
class WorkLeft:
    """The notes and topics that a run left unchanged, and another one would too."""

    fresh: Collection[VersionMark] = frozenset()
    stale: Collection[VersionMark] = frozenset()


@dataclass(frozen=True, slots=True)
class RunScope:
    """`folder` is relative to the folder of all topics; empty for all of them."""

    folder: str = ""

    @classmethod
    def from_name(cls, wanted: str | None, tree: Sequence[Topic], root: str) -> Self:
        """`wanted`: a topic's folder, as a path in the vault or below the folder of all topics, or its page; None for
        all topics. Raises NotFound if there is no such topic."""
        if wanted is None:
            return cls()
        name = wanted.strip().removeprefix("./").removesuffix(f"/{PAGE}").strip("/")
        below = {topic.folder[len(root) + 1 :] for top in tree for topic in top.walk()}
        for folder in (name.removeprefix(f"{root}/"), name.removeprefix("topics/")):
            if folder in below:
                return cls(folder)
        raise NotFound(f"{wanted[:200]!r} is no topic", hint="mcp-memory tree shows them: pass the path of a folder")

    def includes_topic(self, topic: NotePath, root: str) -> bool:
        return self._includes(topic[len(root) + 1 :])

    def includes_job(self, job: PlanJob) -> bool:
        """Whether the job adds to this topic or one in it; jobs that move the topic itself aren't included."""
        return self._includes(job.parent if job.into is None else job.into)

    def _includes(self, folder: str) -> bool:
        return not self.folder or folder == self.folder or folder.startswith(f"{self.folder}/")


MAX_ROUNDS = 20
"""In one run; more than a tree can have levels."""

MAX_NOTES = 1_000_000


class PlannerView:
    """Synchronous, for worker threads. Each method reads the index, and raises IndexUnavailable."""

    def __init__(
        self, vault: Vault, index: Index, builder: JobBuilder, config: TopicsConfig, clock: Callable[[], datetime]
    ) -> None:
        self._vault = vault
        self._index = index
        self._builder = builder
        self._config = config
        self._clock = clock
        self.root = vault.layout.in_home(TOPICS)

    def read_tree(self) -> tuple[list[Topic], list[NoteRecord]]:
        """The tree, and the fresh notes that may move."""
        records = self._records(self.root)
        tree = build_tree(records, self.root, self._vault.filing.made_by_us, self._vault.filing.is_as_written)
        return tree, self._fresh(records)

    def plan_round(self, tree: Sequence[Topic], fresh: Sequence[NoteRecord]) -> list[PlanJob]:
        paths = [note.path for note in movable(tree, fresh)]
        return plan([path[len(self.root) + 1 :] for path in paths], self._vectors(paths), self._config)

    def preview_run(self, topic: str | None) -> Preview:
        """The result of a run, for all topics or one. Raises NotFound for an unknown topic and for a note that changes
        meanwhile."""
        tree, fresh = self.read_tree()
        scope = RunScope.from_name(topic, tree, self.root)
        sketch = Sketch(self.root, tree, fresh)
        sketch.run_rounds(
            self._vectors(sketch.movable), self._config, self._builder.name_topic, MAX_ROUNDS, scope.includes_job
        )
        preview = sketch.to_preview(self._vault.filing.made_by_us, self._vault.filing.is_as_written)
        if not scope.folder:
            return preview
        below = [topic for top in preview.tree for topic in top.walk()]
        return replace(preview, tree=[topic for topic in below if topic.folder == f"{self.root}/{scope.folder}"])

    def find_pending(
        self,
        left: WorkLeft,
        may_improve: Callable[[Topic], bool],
        is_due: Callable[[Sequence[Topic]], bool],
        *,
        whole: bool,
    ) -> PendingWork:
        """The work for a run, apart from `left`; includes pages only if the `whole` tree is read."""
        tree, fresh = self.read_tree() if whole else ([], self._fresh(self._records(f"{self.root}/{FRESH}")))
        new = [note for note in self._without_tail(fresh) if _note_mark(note) not in left.fresh]
        with_vectors = len(self._with_vectors(new))
        topics = [topic for top in tree for topic in top.walk()]
        provisional = [topic for topic in topics if topic.provisional]
        return PendingWork(
            with_vectors,
            len(new) - with_vectors,
            sum(topic.stale and (topic.folder, topic.covers) not in left.stale for topic in topics),
            len(provisional),
            sum(map(may_improve, provisional)),
            whole and is_due(tree),
        )

    def work_left(self, fresh: Sequence[NoteRecord], tried: Collection[VersionMark]) -> WorkLeft:
        """After a run that saw these fresh notes and `tried` to write the pages of these topics."""
        seen = self._with_vectors(self._without_tail(fresh))
        return WorkLeft(frozenset(map(_note_mark, seen)), frozenset(tried))

    # -- below -------------------------------------------------------------------------------------------------

    def _records(self, folder: str) -> list[NoteRecord]:
        wanted = Filters(states=frozenset({NoteState.ACTIVE, NoteState.SUMMARY}), path_prefix=folder, now=self._clock())
        return self._index.notes(wanted, limit=MAX_NOTES)

    def _fresh(self, records: Sequence[NoteRecord]) -> list[NoteRecord]:
        fresh = [record for record in records if record.path.rpartition("/")[0] == f"{self.root}/{FRESH}"]
        return [note for note in fresh if self._vault.filing.may_move(note.path, note.id)]

    def _without_tail(self, fresh: Sequence[NoteRecord]) -> list[NoteRecord]:
        """All but the newest, like the plan."""
        ordered = sorted(fresh, key=lambda note: age_key(note.path))
        return ordered[: max(0, len(ordered) - self._config.fresh_tail_count)]

    def _with_vectors(self, notes: Sequence[NoteRecord]) -> list[NoteRecord]:
        vectors = self._vectors([note.path for note in notes])
        return [note for note, vector in zip(notes, vectors, strict=True) if vector.any()]

    def _vectors(self, paths: Sequence[NotePath]) -> NDArray[np.float32]:
        return self._index.mean_vectors(paths) if paths else np.zeros((0, 1), dtype=np.float32)


def _note_mark(note: NoteRecord) -> VersionMark:
    return note.path, note.content_hash
