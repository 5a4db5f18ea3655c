"""Runs compaction in the background, once changes have settled and nobody is being served."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection
from dataclasses import replace
from math import inf
from time import monotonic
from typing import Any

import anyio

from mcp_memory.compaction.compactor import Compactor
from mcp_memory.compaction.planner_view import PendingWork
from mcp_memory.compaction.run_report import IDLE
from mcp_memory.errors import McpMemoryError, Refused
from mcp_memory.models import NotePath
from mcp_memory.runtime.health import Health
from mcp_memory.runtime.idle_detector import IdleDetector
from mcp_memory.runtime.threads import place_of
from mcp_memory.search.embedder_lifecycle import EmbedderLifecycle
from mcp_memory.topics.config import TopicsConfig
from mcp_memory.topics.plan import FRESH


class Schedule:
    """A run is due when nothing has changed for `quiet_s`, or `longest_wait_s` after the first change that no run has
    seen; never while one is under way, nor before a rest that was asked for is over.

    `clock` is in monotonic seconds.
    """

    def __init__(self, *, quiet_s: float, longest_wait_s: float, clock: Callable[[], float] = monotonic) -> None:
        self._quiet_s = quiet_s
        self._longest_wait_s = max(quiet_s, longest_wait_s)
        self._clock = clock
        self._first: float | None = None
        self._last = 0.0
        self._again_at: float | None = None
        self._not_before = 0.0
        self._can_wait = False
        self._is_running = False
        self._began_with: float | None = None

    def note_change(self) -> None:
        """Something that a run may have to do with was written."""
        self._last = self._clock()
        self._first = self._last if self._first is None else self._first
        self._can_wait = False

    @property
    def is_waiting(self) -> bool:
        """Whether something has changed that no run has seen."""
        return self._first is not None

    @property
    def due_in_s(self) -> float | None:
        """0 for now; None where nothing has changed, or a run is under way."""
        due = [at for at in (self._due_by_changes(), self._again_at) if at is not None]
        if not due or self._is_running:
            return None
        return max(0.0, max(min(due), self._not_before) - self._clock())

    @property
    def is_overdue(self) -> bool:
        """Whether the longest wait is over, so that little is reason enough."""
        return self._first is not None and self._clock() >= self._first + self._longest_wait_s

    def begin(self) -> None:
        """A run begins, and sees all that has changed so far."""
        assert not self._is_running
        self._began_with, self._first, self._again_at, self._is_running = self._first, None, None, True

    def end(self, *, again_in_s: float | None = None, rests: bool = False) -> None:
        """It has ended. `again_in_s`: after so long another one is due even if nothing has changed; if it `rests`, none
        is due before."""
        self._is_running = False
        if again_in_s is not None:
            self._again_at = self._clock() + again_in_s
            self._not_before = self._again_at if rests else self._not_before

    def put_off(self) -> None:
        """It found too little to do, and has done nothing: that can have its longest wait, unless more comes."""
        self._is_running = False
        self._can_wait = self._first is None
        self._first = self._clock() if self._began_with is None else self._began_with

    def _due_by_changes(self) -> float | None:
        if self._first is None:
            return None
        latest = self._first + self._longest_wait_s
        return latest if self._can_wait else min(latest, self._last + self._quiet_s)


LULL_S = 0.3
"""Nobody has been served for so long before a job begins …"""

MOST_LULL_S = 5.0
"""… or the job has waited so long: beside calls that never end, a run of a hundred jobs takes eight minutes more."""

RETRY_S = 60.0
"""How long after a run that failed until the next one; doubled with each further one, up to `LATEST_RETRY_S`."""

LATEST_RETRY_S = 3600.0

KEEPS_FAILING = 3
"""So many runs in a row that failed are worth a person's look."""

OFF = "topics.automatic is off: mcp-memory compact does it"
HELD = "a run was taken back: it goes on after the next mcp-memory compact"
NOTHING = "nothing to do"
QUIET = "something has changed: waiting until it is quiet"

log = logging.getLogger(__name__)


class AutoCompactor:
    """One task of the engine."""

    def __init__(
        self,
        compactor: Compactor,
        model: EmbedderLifecycle,
        traffic: IdleDetector,
        health: Health,
        config: TopicsConfig,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        """`clock` is in monotonic seconds."""
        self._compactor = compactor
        self._model = model
        self._traffic = traffic
        self._health = health
        self._config = config
        self._schedule = Schedule(quiet_s=config.quiet_s, longest_wait_s=config.longest_wait_s, clock=clock)
        self._woken = anyio.Event()
        self._tree_changed = True
        self._why_idle = OFF
        self._failures = 0
        self._failure = ""

    @property
    def trouble(self) -> str | None:
        """Why runs keep failing, if they do."""
        return self._failure if self._failures >= KEEPS_FAILING else None

    def note_changes(self, paths: Collection[NotePath]) -> None:
        """The index knows these files anew. In the event loop."""
        root = f"{self._compactor.root}/"
        ours = [path for path in paths if path.startswith(root)]
        if ours:
            self._tree_changed |= any(not path.startswith(f"{root}{FRESH}/") for path in ours)
            self._schedule.note_change()
            self._woken.set()

    async def run(self, swept: anyio.Event, *, tends: bool) -> None:
        """What a crash left is done before anything else is filed; then the tree is looked after for ever, where it
        `tends` one. `swept`: the first sweep was tried."""
        await swept.wait()
        with self._health.watching("compaction"):
            await self._compactor.finish_jobs()
        if not (tends and self._config.automatic):
            return
        self._why_idle = "the index is not complete yet"
        await self._model.settled.wait()
        self._schedule.note_change()  # whatever happened while nobody was here
        self._why_idle = NOTHING
        while True:
            await self._until_due()
            await self._look_after()

    def status(self) -> dict[str, Any]:
        """`next_s`: in how many seconds the topics are looked at, and compacted if there is anything to do."""
        course, due_in_s = self._compactor.progress, self._schedule.due_in_s
        is_idle, is_on = course.now.phase == IDLE, self._why_idle != OFF
        why = QUIET if self._schedule.is_waiting and self._why_idle == NOTHING else self._why_idle
        return {
            "automatic": is_on,
            "phase": course.now.phase,
            "progress": [course.now.done, course.now.total],
            "why_idle": why if is_idle else None,
            "next_s": round(due_in_s, 1) if is_idle and is_on and due_in_s is not None else None,
            "last": {"run": course.last.run, "about": course.last.about} if course.last else None,
            "failures": self._failures,
            "failure": self._failure or None,
        }

    # -- below -------------------------------------------------------------------------------------------------

    async def _until_due(self) -> None:
        while (wait_s := self._schedule.due_in_s) != 0:
            self._woken = anyio.Event()
            with anyio.move_on_after(inf if wait_s is None else wait_s):
                await self._woken.wait()

    async def _look_after(self) -> None:
        """One look, and a run where there is something to do. What goes wrong with it must not end the daemon."""
        enough = 1 if self._schedule.is_overdue else self._config.min_leaves
        self._schedule.begin()
        again_in_s: float | None = None
        rests = False
        try:
            await self._traffic.lull(quiet_s=LULL_S, at_most_s=MOST_LULL_S)
            whole, self._tree_changed = self._tree_changed, False
            work = await self._compactor.find_pending(whole=whole)
            if work.is_worth_a_run(enough=enough) or "compaction" in self._health.faults:
                again_in_s, rests = await self._tended(work)
            elif work.fresh and not work.without_vectors:
                self._why_idle = f"new notes are few ({work.fresh}): they wait for more, but not for ever"
                self._tree_changed |= work.provisional > 0
                self._schedule.put_off()
                return
            else:
                again_in_s = self._waiting(work)
        except Refused as error:  # no fault: it is read-only, or a person has to say what became of it
            self._why_idle, self._tree_changed = error.message, True
            again_in_s = self._config.longest_wait_s
        except McpMemoryError as error:
            again_in_s, rests = self._failed(error.message), True
        except Exception as error:  # a fault of ours: it is said, and tried again
            again_in_s, rests = self._failed(place_of(error)), True
        self._schedule.end(again_in_s=again_in_s, rests=rests)

    def _waiting(self, work: PendingWork) -> float | None:
        """There is nothing to do, and why; in how many seconds to look again, if not at the next change."""
        again_in_s: float | None = None
        self._why_idle = NOTHING
        if work.provisional:
            self._why_idle = f"pages wait for the language model ({work.provisional})"
            again_in_s, self._tree_changed = self._compactor.fallback_pages.retry_in_s(), True
        if work.without_vectors:
            self._why_idle = f"new notes have no vectors yet ({work.without_vectors}): {self._model.reason}"
            again_in_s = self._config.quiet_s if self._model.embedder else self._config.longest_wait_s
        return again_in_s

    async def _tended(self, work: PendingWork) -> tuple[float | None, bool]:
        """In how many seconds to look again, and whether to rest until then. Raises what a run raises."""

        async def lull(unless: Callable[[], bool]) -> None:
            await self._traffic.lull(quiet_s=LULL_S, at_most_s=MOST_LULL_S, unless=unless)

        report = await self._compactor.run_in_background(lull)
        if report is None:
            self._why_idle, self._tree_changed = HELD, True
            return None, False
        if report.done:
            log.info("compaction %s: %d jobs", report.run, len(report.done))
        if report.failed:
            return self._failed(report.failed[0]), True
        self._failures, self._failure, self._why_idle = 0, "", NOTHING
        if report.cut:
            self._why_idle, self._tree_changed = "a person's command came first", True
            return self._config.quiet_s, False
        if report.given_up:  # somebody was faster
            self._tree_changed = True
            return self._config.longest_wait_s, False
        unwritten = work.provisional - work.improvable + len(report.provisional)
        return self._waiting(replace(work, provisional=unwritten)), False

    def _failed(self, why: str) -> float:
        """In how many seconds to try again."""
        if why != self._failure:
            log.warning("compaction: %s", why)
        self._failures, self._failure, self._tree_changed = self._failures + 1, why, True
        self._why_idle = f"the last run failed: {why}"
        return min(LATEST_RETRY_S, RETRY_S * 2.0 ** min(self._failures - 1, 20))
