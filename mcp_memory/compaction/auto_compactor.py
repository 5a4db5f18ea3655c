"""Runs compaction in the background, once changes have settled and the engine is idle."""

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
    seen, but not during a run or a rest. `clock` is in monotonic seconds."""

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
        """A file was written that a run may have to deal with."""
        self._last = self._clock()
        self._first = self._last if self._first is None else self._first
        self._can_wait = False

    @property
    def is_waiting(self) -> bool:
        """Whether there are changes that no run has seen."""
        return self._first is not None

    @property
    def due_in_s(self) -> float | None:
        """0 for now; None if nothing has changed, or during a run."""
        due: list[float] = [] if self._again_at is None else [self._again_at]
        if self._first is not None:
            latest = self._first + self._longest_wait_s
            due.append(latest if self._can_wait else min(latest, self._last + self._quiet_s))
        if not due or self._is_running:
            return None
        return max(0.0, max(min(due), self._not_before) - self._clock())

    @property
    def is_overdue(self) -> bool:
        """Whether the longest wait is over, so that a single note is enough for a run."""
        return self._first is not None and self._clock() >= self._first + self._longest_wait_s

    def begin(self) -> None:
        """A run begins, and sees all changes so far."""
        assert not self._is_running
        self._began_with, self._first, self._again_at, self._is_running = self._first, None, None, True

    def end(self, *, again_in_s: float | None = None, rests: bool = False) -> None:
        """The run has ended; another one is due `again_in_s` even without changes, and not before if it `rests`."""
        self._is_running = False
        if again_in_s is not None:
            self._again_at = self._clock() + again_in_s
            self._not_before = self._again_at if rests else self._not_before

    def put_off(self) -> None:
        """The run found too little and did nothing; its changes wait as long as allowed, unless more come."""
        self._is_running = False
        self._can_wait = self._first is None
        self._first = self._clock() if self._began_with is None else self._began_with


LULL_S = 0.3
"""A job begins when the engine has been idle for so long …"""

MOST_LULL_S = 5.0
"""… or the job has waited so long: beside calls that never end, a run of 100 jobs takes eight minutes longer."""

RETRY_S = 60.0
"""How long to wait after a failed run; doubled with each further one, up to `LATEST_RETRY_S`."""

LATEST_RETRY_S = 3600.0

KEEPS_FAILING = 3
"""After so many failed runs in a row, `doctor` reports it."""

OFF = "topics.automatic is off: run mcp-memory compact"
HELD = "you undid a run: automatic compaction resumes after the next mcp-memory compact"
NOTHING = "nothing to do"
QUIET = "something has changed: waiting until changes stop"

log = logging.getLogger(__name__)


class AutoCompactor:
    """One task of the engine."""

    def __init__(
        self,
        compactor: Compactor,
        model: EmbedderLifecycle,
        idle_detector: IdleDetector,
        health: Health,
        config: TopicsConfig,
    ) -> None:
        self._compactor = compactor
        self._model = model
        self._idle_detector = idle_detector
        self._health = health
        self._config = config
        self._schedule = Schedule(quiet_s=config.quiet_s, longest_wait_s=config.longest_wait_s)
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
        """Files were indexed again. Call it in the event loop."""
        root = f"{self._compactor.root}/"
        ours = [path for path in paths if path.startswith(root)]
        if ours:
            self._tree_changed |= any(not path.startswith(f"{root}{FRESH}/") for path in ours)
            self._schedule.note_change()
            self._woken.set()

    async def run(self, swept: anyio.Event, *, tends: bool) -> None:
        """Finishes interrupted jobs, then, if it `tends` the tree, runs compactions forever. `swept`: the first sweep
        was tried."""
        await swept.wait()
        with self._health.watching("compaction"):
            await self._compactor.finish_jobs()
        if not (tends and self._config.automatic):
            return
        self._why_idle = "the index is not complete yet"
        await self._model.settled.wait()
        self._schedule.note_change()  # files may have changed while the daemon was down
        self._why_idle = NOTHING
        while True:
            while (wait_s := self._schedule.due_in_s) != 0:
                self._woken = anyio.Event()
                with anyio.move_on_after(inf if wait_s is None else wait_s):
                    await self._woken.wait()
            await self._check_topics()

    def status(self) -> dict[str, Any]:
        """`next_s`: seconds until the topics are checked, and compacted if there is anything to do."""
        progress, due_in_s = self._compactor.progress, self._schedule.due_in_s
        is_idle, is_on = progress.now.phase == IDLE, self._why_idle != OFF
        why = QUIET if self._schedule.is_waiting and self._why_idle == NOTHING else self._why_idle
        return {
            "automatic": is_on,
            "phase": progress.now.phase,
            "progress": [progress.now.done, progress.now.total],
            "why_idle": why if is_idle else None,
            "next_s": round(due_in_s, 1) if is_idle and is_on and due_in_s is not None else None,
            "last": {"run": progress.last.run, "about": progress.last.about} if progress.last else None,
            "failures": self._failures,
            "failure": self._failure or None,
        }

    # -- below -------------------------------------------------------------------------------------------------

    async def _check_topics(self) -> None:
        """One check, and a run if there is something to do. No error may end the daemon."""
        enough = 1 if self._schedule.is_overdue else self._config.min_leaves
        self._schedule.begin()
        again_in_s: float | None = None
        rests = False
        try:
            await self._idle_detector.lull(quiet_s=LULL_S, at_most_s=MOST_LULL_S)
            whole, self._tree_changed = self._tree_changed, False
            work = await self._compactor.find_pending(whole=whole)
            if work.is_worth_a_run(enough=enough) or "compaction" in self._health.faults:
                again_in_s, rests = await self._compact(work)
            elif work.fresh and not work.without_vectors:
                self._why_idle = f"new notes are few ({work.fresh}): they wait for more, for a while"
                self._tree_changed |= work.provisional > 0
                self._schedule.put_off()
                return
            else:
                again_in_s = self._wait_for(work)
        except Refused as error:  # the vault is read-only, or you have to confirm a mass deletion
            self._why_idle, self._tree_changed = error.message, True
            again_in_s = self._config.longest_wait_s
        except McpMemoryError as error:
            again_in_s, rests = self._record_failure(error.message), True
        except Exception as error:  # a bug of ours
            again_in_s, rests = self._record_failure(place_of(error)), True
        self._schedule.end(again_in_s=again_in_s, rests=rests)

    def _wait_for(self, work: PendingWork) -> float | None:
        """Sets why there is nothing to do now. Returns the seconds until the next check; None for the next change."""
        again_in_s: float | None = None
        self._why_idle = NOTHING
        if work.provisional:
            self._why_idle = f"pages wait for the language model ({work.provisional})"
            again_in_s, self._tree_changed = self._compactor.fallback_pages.retry_in_s(), True
        if work.without_vectors:
            self._why_idle = f"new notes have no vectors yet ({work.without_vectors}): {self._model.reason}"
            again_in_s = self._config.quiet_s if self._model.embedder else self._config.longest_wait_s
        return again_in_s

    async def _compact(self, work: PendingWork) -> tuple[float | None, bool]:
        """Returns the seconds until the next check, and whether to rest until then. Raises what a run raises."""

        async def lull(unless: Callable[[], bool]) -> None:
            await self._idle_detector.lull(quiet_s=LULL_S, at_most_s=MOST_LULL_S, unless=unless)

        report = await self._compactor.run_in_background(lull)
        if report is None:
            self._why_idle, self._tree_changed = HELD, True
            return None, False
        if report.done:
            log.info("compaction %s: %d jobs", report.run, len(report.done))
        if report.failed:
            return self._record_failure(report.failed[0]), True
        self._failures, self._failure, self._why_idle = 0, "", NOTHING
        if report.cut:
            self._why_idle, self._tree_changed = "a command of yours came first", True
            return self._config.quiet_s, False
        if report.given_up:  # notes changed meanwhile
            self._tree_changed = True
            return self._config.longest_wait_s, False
        unwritten = work.provisional - work.improvable + len(report.provisional)
        return self._wait_for(replace(work, provisional=unwritten)), False

    def _record_failure(self, why: str) -> float:
        """Returns the seconds until the next try."""
        if why != self._failure:
            log.warning("compaction: %s", why)
        self._failures, self._failure, self._tree_changed = self._failures + 1, why, True
        self._why_idle = f"the last run failed: {why}"
        return min(LATEST_RETRY_S, RETRY_S * 2.0 ** min(self._failures - 1, 20))
