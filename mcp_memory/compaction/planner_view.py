"""The survey: the tree as it is, what a run would do to it, and whether one would have anything to do. Only reads."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

import numpy as np

from mcp_memory.compaction.job_builder import JobBuilder
from mcp_memory.compaction.pending_work import Mark, PendingWork, WorkLeft, beyond_tail
from mcp_memory.compaction.preview import Preview, Sketch
from mcp_memory.compaction.scope import RunScope
from mcp_memory.index.base import Index
from mcp_memory.models import Filters, NotePath, NoteRecord, NoteState
from mcp_memory.topics.config import TopicsConfig
from mcp_memory.topics.page import TOPICS
from mcp_memory.topics.plan import FRESH, PlanJob, plan
from mcp_memory.topics.topic_tree import Topic, grow, movable
from mcp_memory.vault.vault import Vault

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_ROUNDS = 20
"""Of one run; more levels than a tree can have."""

MOST_NOTES = 1_000_000


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

    def tree_and_fresh(self) -> tuple[list[Topic], list[NoteRecord]]:
        """The tree, and the fresh notes that may move."""
        records = self._records(self.root)
        tree = grow(records, self.root, self._vault.filing.made_by_us, self._vault.filing.is_as_written)
        return tree, self._fresh(records)

    def planned(self, tree: Sequence[Topic], fresh: Sequence[NoteRecord]) -> list[PlanJob]:
        """The next round."""
        paths = [note.path for note in movable(tree, fresh)]
        return plan([path[len(self.root) + 1 :] for path in paths], self._meanings(paths), self._config)

    def previewed(self, topic: str | None) -> Preview:
        """What a run would leave, or one for this topic alone. Raises NotFound where that is none, and for a note that
        changes meanwhile."""
        tree, fresh = self.tree_and_fresh()
        scope = RunScope.named(topic, tree, self.root) if topic is not None else RunScope()
        sketch = Sketch(self.root, tree, fresh)
        sketch.run_rounds(self._meanings(sketch.movable), self._config, self._drafter.name, MOST_ROUNDS, scope.wants)
        preview = sketch.done(self._vault.filing.made_by_us, self._vault.filing.is_as_written)
        if not scope.folder:
            return preview
        below = [each for top in preview.tree for each in top.walk()]
        return replace(preview, tree=[each for each in below if each.folder == f"{self.root}/{scope.folder}"])

    def outstanding(
        self,
        left: WorkLeft,
        may_improve: Callable[[Topic], bool],
        is_due: Callable[[Sequence[Topic]], bool],
        *,
        whole: bool,
    ) -> PendingWork:
        """What there would be to do, besides what was left; of the pages only where the `whole` tree is looked at."""
        tree, fresh = self.tree_and_fresh() if whole else ([], self._fresh(self._records(f"{self.root}/{FRESH}")))
        new = left.new(beyond_tail(fresh, self._config.fresh_tail_count))
        known = len(self._with_vectors(new))
        provisional = [topic for top in tree for topic in top.walk() if topic.provisional]
        improvable = sum(map(may_improve, provisional))
        stale = len(left.newly_stale(tree))
        return PendingWork(known, len(new) - known, stale, len(provisional), improvable, whole and is_due(tree))

    def work_left(self, fresh: Sequence[NoteRecord], tried: Collection[Mark]) -> WorkLeft:
        """What a run has looked at: these fresh notes, and topics whose pages it has `tried`."""
        return WorkLeft.after_run(self._with_vectors(beyond_tail(fresh, self._config.fresh_tail_count)), tried)

    # -- below -------------------------------------------------------------------------------------------------

    def _records(self, folder: str) -> list[NoteRecord]:
        wanted = Filters(states=frozenset({NoteState.ACTIVE, NoteState.SUMMARY}), path_prefix=folder, now=self._clock())
        return self._index.notes(wanted, limit=MOST_NOTES)

    def _fresh(self, records: Sequence[NoteRecord]) -> list[NoteRecord]:
        fresh = [record for record in records if record.path.rpartition("/")[0] == f"{self.root}/{FRESH}"]
        return [each for each in fresh if self._vault.filing.may_move(each.path, each.id)]

    def _with_vectors(self, notes: Sequence[NoteRecord]) -> list[NoteRecord]:
        vectors = self._meanings([note.path for note in notes])
        return [note for note, vector in zip(notes, vectors, strict=True) if vector.any()]

    def _meanings(self, paths: Sequence[NotePath]) -> NDArray[np.float32]:
        return self._index.meanings(paths) if paths else np.zeros((0, 1), dtype=np.float32)
