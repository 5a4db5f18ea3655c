"""Moves notes, updates links and writes pages in journaled runs, one at a time."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Protocol

from mcp_memory.errors import Refused
from mcp_memory.index.base import Index
from mcp_memory.indexing.reconciler import Reconciler
from mcp_memory.indexing.writer import IndexWriter
from mcp_memory.models import Clock
from mcp_memory.runs.execute_job import SKIPPED_ERRORS
from mcp_memory.runs.job_runner import JobRunner, RunLock, RunProgress, RunReport, add_links
from mcp_memory.runs.journal import JobEntry, MoveStep, RunJournal, Step, WriteStep
from mcp_memory.runs.link_rewriter import LinkRewriter
from mcp_memory.runtime.health import Health
from mcp_memory.runtime.threads import in_thread
from mcp_memory.vault.vault import Vault


class UndoableRuns(Protocol):
    """Runs that keep their own record of what they changed."""

    def undoable(self, among: Collection[str]) -> set[str]:
        """Return those of these runs of which anything can be undone. Reads the disk."""
        ...

    async def undo(self, run: str) -> RunReport:
        """Undo a run. The report names what has changed since; it stays."""
        ...


class JournaledRuns:
    """The runs of one vault. `others` are runs that a feature records. `after_undo` is called with the report of each
    undone run, before the lock is released."""

    def __init__(
        self,
        vault: Vault,
        index: Index,
        writer: IndexWriter,
        reconciler: Reconciler,
        journal: RunJournal,
        health: Health,
        clock: Clock,
    ) -> None:
        self._vault = vault
        self._reconciler = reconciler
        self._health = health
        self._clock = clock
        self.journal = journal
        self.lock = RunLock()
        self.progress = RunProgress(health.progress)
        self.runner = JobRunner(vault, index, reconciler, journal, writer)
        self.links = LinkRewriter(
            vault,
            lambda path: index.note(path) is not None,
            lambda path: {one.source for one in index.links_to(path)[0]},
        )
        self.others: list[UndoableRuns] = []
        self.after_undo: list[Callable[[RunReport], Awaitable[None]]] = []

    @asynccontextmanager
    async def in_foreground(self) -> AsyncGenerator[None]:
        """Hold the lock for a run that you asked for. Raises Busy during another run."""
        async with self._locked(self.lock.foreground()):
            yield

    @asynccontextmanager
    async def in_background(self) -> AsyncGenerator[bool]:
        """Hold the lock for a run that nobody asked for. Yields whether it may run. It may not after you have undone a
        run, until you ask for another run."""
        async with self._locked(self.lock.background()):
            yield not await in_thread(lambda: self.journal.is_held, what="reading the journal")

    async def relocate(self, jobs: Sequence[Sequence[Step]], about: str) -> RunReport:
        """Move notes and update links, or rewrite links, as a run that `undo` can revert. A job whose first step can't
        be done stays undone; the report names the files that stay.

        Raises Busy during another run of yours, Refused for a read-only vault, StorageFailed."""
        async with self.in_foreground():
            return await self._relocate(jobs, about)

    async def relocate_in_background(self, jobs: Sequence[Sequence[Step]], about: str) -> RunReport | None:
        """Relocate like `relocate`; return None if you undid a run and haven't asked for another since."""
        async with self.in_background() as may_run:
            return await self._relocate(jobs, about) if may_run else None

    def undoable(self, among: Collection[str]) -> set[str]:
        """Return those of these runs, here or in `others`, of which anything can be undone. Reads the disk."""
        return self.journal.undoable(among).union(*(runs.undoable(among) for runs in self.others))

    async def undo(self, run: str) -> RunReport:
        """Undo a run, latest job first. The report names files that have changed since; they stay.

        Raises NotFound, Busy, Refused for notes that a later run has moved, and the errors of `relocate`."""
        for runs in self.others:
            if await in_thread(runs.undoable, {run}, what="reading the journal"):
                return await runs.undo(run)
        async with self.in_foreground():
            await self.check_ready()
            report = await self.runner.undo_run(run)
            for listener in self.after_undo:
                await listener(report)
            return report

    @asynccontextmanager
    async def paused(self) -> AsyncGenerator[None]:
        """Prevent runs within the block, with all jobs finished. Raises Busy during a run, StorageFailed."""
        async with self.in_foreground():
            await self.runner.finish_jobs()
            yield

    async def finish_jobs(self) -> int:
        """Finish interrupted jobs; return their number. Raises StorageFailed."""
        async with self.lock.background():
            done = await self.runner.finish_jobs()
            for run in (await in_thread(self.journal.list_runs, what="reading the journal"))[-1:]:
                await self.record_run(run)
            return done

    async def begin(self) -> RunReport:
        """Begin a run under the lock, after finishing interrupted jobs. Raises Refused, StorageFailed."""
        await self.check_ready()
        await self.runner.finish_jobs()
        return await self.new_report()

    async def new_report(self) -> RunReport:
        """Return an empty report with the name of a new run."""
        name = await in_thread(self.journal.new_run_name, self._clock(), what="reading the journal")
        return RunReport(name)

    async def record_run(self, run: str) -> None:
        """Record a run as the last run that changed anything."""
        self.progress.record_run(run, await in_thread(self.journal.read_run, run, what="reading the journal"))

    async def check_ready(self) -> None:
        """Sweep. Raises Refused for a read-only vault, and while a loss of files isn't confirmed."""
        if await in_thread(lambda: self._vault.read_only, deadline_s=10, what="looking at the vault"):
            raise Refused("the vault is read-only", hint="compaction moves notes: let this user write there")
        await self._reconciler.reconcile()
        if self._reconciler.pruning_paused:
            raise Refused(f"{self._reconciler.pruning_paused}", hint="mcp-memory doctor says what to do")

    @asynccontextmanager
    async def _locked(self, lock: AbstractAsyncContextManager[None]) -> AsyncGenerator[None]:
        async with lock:
            try:
                yield
            finally:
                self.progress.set_idle()

    async def _relocate(self, jobs: Sequence[Sequence[Step]], about: str) -> RunReport:
        report = await self.begin()
        for steps in jobs:
            notes = [step for step in steps if not isinstance(step, WriteStep)]
            entry = JobEntry(about, steps)
            try:
                entry, links = await in_thread(self.links.follow_moves, entry, what="looking for links")
                await self.runner.run_job(report.run, entry)
            except SKIPPED_ERRORS as error:
                report.left.append(error.message)
            else:
                report.done += [step.target if isinstance(step, MoveStep) else step.path for step in notes]
                add_links(report, links)
        return report
