"""The compactor: lets the topic tree grow, one journalled job at a time, and finishes what a crash interrupted.

Each round plans from the tree as it is and carries out the jobs; then every stale page is made anew, deepest first.
Summaries are made outside any lock. A job whose sources changed meanwhile is given up; the next run sees them anew.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

import anyio
import numpy as np
from anyio import from_thread

from mcp_memory.engine.compaction.carrying import (
    PASSED_OVER,
    carry_out,
    finish,
    folders_reached,
    remove_empty,
    remove_vacant,
)
from mcp_memory.engine.compaction.doing import Touched, undo
from mcp_memory.engine.compaction.drafting import Drafter, Moving
from mcp_memory.engine.compaction.forgotten import quotes_forgotten
from mcp_memory.engine.compaction.grove import Topic, grow, movable
from mcp_memory.engine.compaction.journal import Entry, Fate, RunJournal
from mcp_memory.engine.compaction.preview import Preview, Sketch
from mcp_memory.engine.compaction.steps import Step, Write
from mcp_memory.engine.health import Health
from mcp_memory.engine.indexer import Indexer
from mcp_memory.engine.threads import in_thread
from mcp_memory.engine.vault import Vault
from mcp_memory.engine.writer import IndexWriter
from mcp_memory.errors import Busy, McpMemoryError, Refused
from mcp_memory.index.base import Index
from mcp_memory.models import Filters, NotePath, NoteRecord, Shelf
from mcp_memory.topics.config import TopicsConfig
from mcp_memory.topics.plan import FRESH, Job, plan

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_ROUNDS = 20
"""Of one run; more levels than a tree can have."""

MOST_NOTES = 1_000_000
JOB_S = 600.0


@dataclass(slots=True)
class Report:
    """What a run did, or would do."""

    run: str
    done: list[str] = field(default_factory=list[str])
    """A line a job."""
    left: list[str] = field(default_factory=list[str])
    """What was not done, and why."""
    waiting: int = 0
    """Fresh notes that stay where they are."""


class Compactor:
    """One run at a time."""

    def __init__(
        self,
        vault: Vault,
        index: Index,
        writer: IndexWriter,
        indexer: Indexer,
        drafter: Drafter,
        journal: RunJournal,
        config: TopicsConfig,
        health: Health,
        clock: Callable[[], datetime],
    ) -> None:
        self._vault = vault
        self._index = index
        self._writer = writer
        self._indexer = indexer
        self._drafter = drafter
        self._journal = journal
        self._config = config
        self._health = health
        self._clock = clock
        self._running = anyio.Lock()
        self._at_work = False
        self.root = vault.layout.in_home("topics")

    async def run(self) -> Report:
        """Raises Busy while another run is under way, Refused for a vault that cannot be written, StorageFailed."""
        async with self._alone():
            await self._ready()
            await self._finish()
            self._health.faults.pop("compaction", None)
            report = Report(await in_thread(lambda: self._journal.named(self._clock()), what="reading the journal"))
            for _ in range(MOST_ROUNDS):
                tree, fresh = await in_thread(self.look, what="looking at the topics")
                jobs = await in_thread(lambda: self._planned(tree, fresh), deadline_s=JOB_S, what="planning")  # noqa: B023 -- awaited here
                if not jobs or not await self._carry_out(report, tree, fresh, jobs):
                    break
            await self._renew(report)
            _, fresh = await in_thread(self.look, what="looking at the topics")
            report.waiting = len(fresh)
            await in_thread(self._journal.prune, what="tidying the journal")
            await in_thread(lambda: remove_vacant(self._vault, self.root), what="removing folders")
            return report

    async def undo(self, run: str) -> Report:
        """Take a run back, latest job first; what somebody changed since stays as it is and is named.

        Raises NotFound, Busy and as `run`.
        """
        async with self._alone():
            await self._ready()
            report = Report(run)
            entries = await in_thread(lambda: self._journal.entries(run), what="reading the journal")
            for entry in reversed([each for each in entries if each.fate in {Fate.DONE, Fate.ANNOUNCED}]):
                async with self._indexer.still():
                    for step in reversed(entry.steps):
                        await self._take_back(step, report)
                await in_thread(lambda entry=entry: self._journal.end(run, entry.key, Fate.UNDONE), what="the journal")
                report.done.append(entry.about)
            left = {folder for entry in entries for folder in folders_reached(entry)}
            await in_thread(lambda: remove_empty(self._vault, left), what="removing folders")
            return report

    @asynccontextmanager
    async def paused(self) -> AsyncGenerator[None]:
        """No run meanwhile, and nothing of one left to do. Raises Busy while one is under way, StorageFailed."""
        async with self._alone():
            await self._finish()
            yield

    async def finish(self) -> int:
        """Do what a crash left undone; how many jobs that were. Raises StorageFailed."""
        async with self._running:
            return await self._finish()

    async def preview(self) -> Preview:
        """What `run` would do, with names that it may choose otherwise; changes nothing. Raises NotFound for a note
        that changes meanwhile."""
        await self._indexer.reconcile()
        return await in_thread(self._previewed, deadline_s=JOB_S, what="planning")

    def look(self) -> tuple[list[Topic], list[NoteRecord]]:
        """The tree, and the fresh notes that may move. Reads the index: for a worker thread."""
        now = self._clock()
        wanted = Filters(shelves=frozenset({Shelf.ACTIVE, Shelf.SUMMARY}), path_prefix=self.root, now=now)
        records = self._index.notes(wanted, limit=MOST_NOTES)
        tree = grow(records, self.root, self._vault.filing.made)
        fresh = [record for record in records if record.path.rpartition("/")[0] == f"{self.root}/{FRESH}"]
        return tree, [each for each in fresh if self._vault.filing.may_move(each.path, each.id)]

    def runs(self) -> list[tuple[str, list[Entry]]]:
        """Those that can be undone, oldest first. Reads the journal: for a worker thread."""
        return [(run, self._journal.entries(run)) for run in self._journal.runs()]

    # -- below -------------------------------------------------------------------------------------------------

    @asynccontextmanager
    async def _alone(self) -> AsyncGenerator[None]:
        """Waits for what a crash left, which takes a moment, but not for another run."""
        if self._at_work:
            raise Busy(
                "a compaction is running", hint="try again when it is done: mcp-memory status shows how far it is"
            )
        self._at_work = True
        try:
            async with self._running:
                yield
        finally:
            self._at_work = False
            self._health.progress.step("idle")

    async def _ready(self) -> None:
        if await in_thread(lambda: self._vault.read_only, deadline_s=10, what="looking at the vault"):
            raise Refused("the vault is read-only", hint="compaction moves notes: let this user write there")
        await self._indexer.reconcile()
        if self._indexer.pruning_paused:
            raise Refused(f"{self._indexer.pruning_paused}", hint="mcp-memory doctor says what to do")

    async def _finish(self) -> int:
        async with self._indexer.still():
            return await in_thread(
                lambda: finish(self._vault, self._journal, self._tell), deadline_s=JOB_S, what="filing"
            )

    def _planned(self, tree: Sequence[Topic], fresh: Sequence[NoteRecord]) -> list[Job]:
        paths = [note.path for note in movable(tree, fresh)]
        return plan([path[len(self.root) + 1 :] for path in paths], self._meanings(paths), self._config)

    def _previewed(self) -> Preview:
        sketch = Sketch(self.root, *self.look())
        sketch.work(self._meanings(sketch.movable), self._config, self._drafter.name, MOST_ROUNDS)
        return sketch.done(self._vault.filing.made)

    def _meanings(self, paths: Sequence[NotePath]) -> NDArray[np.float32]:
        return self._index.meanings(paths) if paths else np.zeros((0, 1), dtype=np.float32)

    async def _carry_out(
        self, report: Report, tree: Sequence[Topic], fresh: Sequence[NoteRecord], jobs: Sequence[Job]
    ) -> int:
        """How many were done."""
        topics = {topic.folder[len(self.root) + 1 :]: topic for top in tree for topic in top.walk()}
        notes = {record.path[len(self.root) + 1 :]: record for record in fresh}
        names = {folder: [t.name for t in topics.values() if t.folder.rpartition("/")[0] == folder]
                 for folder in {f"{self.root}/{job.parent}".rstrip("/") for job in jobs}}  # fmt: skip
        done = 0
        for number, job in enumerate(jobs):
            self._health.progress.step("compacting", number, len(jobs))
            moving = Moving([notes[path] for path in job.leaves], [topics[folder] for folder in job.topics])
            if mixed := [topic.name for topic in moving.topics if not await self._is_all_ours(topic)]:
                report.left.append(f"{', '.join(mixed)}: notes of yours are in it, so it stays where it is")
                continue
            if bare := [each.name for topic in moving.topics for each in topic.walk() if each.page is None]:
                # Where it has gone nothing would tell that it is ours.
                report.left.append(f"{', '.join(bare)}: without a page it stays where it is")
                continue
            parent = NotePath(f"{self.root}/{job.parent}".rstrip("/"))

            def draft(job: Job = job, moving: Moving = moving, parent: NotePath = parent) -> Entry:
                if job.into is not None:
                    return self._drafter.joining(topics[job.into], moving)
                return self._drafter.founding(parent, names[parent], moving)

            try:
                entry = await in_thread(draft, deadline_s=JOB_S, what="summarising")
                await self._do(report.run, entry)
            except McpMemoryError as error:
                report.left.append(error.message)
                continue
            if job.into is None:
                names[parent] += [_new_folder(entry)]
            report.done.append(entry.about)
            done += 1
        return done

    async def _is_all_ours(self, topic: Topic) -> bool:
        may_move = self._vault.filing.may_move
        notes = [note for each in topic.walk() for note in each.leaves]
        return await in_thread(lambda: all(may_move(note.path, note.id) for note in notes), what="looking at notes")

    async def _renew(self, report: Report) -> None:
        """Each page is made from pages below it that are fresh already; so the tree is looked at after each level."""
        tried: set[NotePath] = set()
        while True:
            tree, _ = await in_thread(self.look, what="looking at the topics")
            stale = [topic for top in tree for topic in top.walk() if topic.stale and topic.folder not in tried]
            lowest = min((topic.depth for topic in stale), default=0)
            if not lowest:
                return
            for topic in (topic for topic in stale if topic.depth == lowest):
                tried.add(topic.folder)
                try:
                    entry = await in_thread(
                        lambda topic=topic: self._drafter.renewing(topic), deadline_s=JOB_S, what="summarising"
                    )
                    if entry:
                        await self._do(report.run, entry)
                        report.done.append(entry.about)
                    else:
                        report.left.append(f"{topic.page_path}: a person's own words; it is left alone")
                except McpMemoryError as error:
                    report.left.append(error.message)

    async def _do(self, run: str, entry: Entry) -> None:
        """Whole, or not at all, or left to the next start."""
        async with self._indexer.still():
            await in_thread(
                lambda: carry_out(self._vault, self._journal, run, entry, self._tell), deadline_s=JOB_S, what="filing"
            )

    async def _take_back(self, step: Step, report: Report) -> None:
        try:
            await self._tell_index(await in_thread(lambda: self._undone(step), what="taking a step back"))
        except PASSED_OVER as error:  # anything else ends it; the same call again does the rest
            report.left.append(error.message)

    def _undone(self, step: Step) -> Touched:
        if isinstance(step, Write) and step.before and quotes_forgotten(step.before, self._vault, self._index):
            raise Refused(f"{step.path} told of a note that is forgotten by now: it stays as it is")
        return undo(step, self._vault)

    def _tell(self, touched: Touched) -> None:
        """In a worker thread."""
        from_thread.run(self._tell_index, touched)

    async def _tell_index(self, touched: Touched) -> None:
        for file in touched.files:
            await self._writer.put(file)
        for path in touched.gone:
            await self._writer.take_out(path)


def _new_folder(entry: Entry) -> str:
    """The name of the folder that a founding job made: that of the page which it writes last."""
    page = entry.steps[-1]
    assert isinstance(page, Write)
    return page.path.rsplit("/", 2)[1]
