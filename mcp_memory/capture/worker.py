"""Capture in the background the transcripts that hooks report as grown."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from time import monotonic
from typing import Any

import anyio

from mcp_memory.capture.config import CaptureConfig
from mcp_memory.capture.service import MAX_TRIES, STEP_S, CaptureService
from mcp_memory.capture.tail import list_sessions
from mcp_memory.capture.transcript_paths import TranscriptPath
from mcp_memory.errors import McpMemoryError, NotFound
from mcp_memory.jobs.job import JobReport
from mcp_memory.jobs.scheduler import Scheduler
from mcp_memory.models import Problem
from mcp_memory.runtime.health import Health, IdleDetector
from mcp_memory.runtime.threads import in_thread, place_of
from mcp_memory.text.pluralize import counted

LOOK_S = 20.0
"""The seconds between checks of growing transcripts during a turn."""

FOLLOWED_S = 86_400.0
"""The seconds without a hook's report after which a transcript is no longer checked."""

MIN_BYTES, MIN_MESSAGES = 100_000, 50
"""The growth of a transcript at which it is captured during a turn: by this size, or this many messages."""

PRUNE_S = 3600.0
MOST_FOLLOWED = 200

BY_HAND_S = 2.0
"""The longest that one call of the command line takes, so that it can show progress."""

LULL_S, MOST_LULL_S = 0.2, 3.0

log = logging.getLogger(__name__)


@dataclass
class FollowedTranscript:
    """A transcript that a hook has reported. `due`: capture it even if little is new; `delegated`: another agent runs
    the session. Times are monotonic."""

    due: bool
    heard_at: float
    delegated: bool = False
    size: int = -1
    failures: int = 0


class CaptureWorker:
    """A background task of the engine. It isn't a job, because the next session wants the words of this one within
    seconds. It takes turns with the steps of jobs, and is in their journal."""

    def __init__(
        self,
        config: CaptureConfig,
        service: CaptureService,
        traffic: IdleDetector,
        health: Health,
        scheduler: Scheduler,
        look_s: float = LOOK_S,
    ) -> None:
        self.config = config
        self.service = service
        self.traffic = traffic
        self.health = health
        self.scheduler = scheduler
        self.look_s = look_s
        self.on_end: list[Callable[[str], None]] = []
        """Called with the path of a transcript whose session has ended."""
        self._followed: dict[TranscriptPath, FollowedTranscript] = {}
        self._woken = anyio.Event()
        self._problems: dict[str, Problem] = {}
        self._pruned_at: float | None = None

    # -- for hooks ---------------------------------------------------------------------------------------------

    def follow(self, client: str, file: str, *, due: bool, delegated: bool = False) -> TranscriptPath | None:
        """Follow a transcript that has grown, or will. Never touches the disk and never fails, because a hook waits.
        Returns None if it isn't captured: capture is off, or the path is refused and listed in `problems`."""
        if not self.config.enabled or client not in self.service.paths.clients:
            return None
        try:
            path = self.service.paths.locate(client, file)
        except McpMemoryError as error:
            self._problem(file, error.message)
            return None
        self._follow(path, due=due, delegated=delegated)
        return path

    async def follow_durably(self, client: str, file: str, *, delegated: bool = False) -> TranscriptPath | None:
        """Follow a transcript that is due, which is captured even if this process ends now. Raises StorageFailed."""
        path = self.follow(client, file, due=True, delegated=delegated)
        if path and (path.session or not path.is_database):
            keep = partial(self.service.remember_transcript, path, delegated=delegated)
            await in_thread(keep, deadline_s=5, what="saving a checkpoint")
        return path

    def end(self, file: str) -> None:
        """Note that the session of a transcript has ended."""
        for listener in self.on_end:
            listener(file)

    # -- for the command line ----------------------------------------------------------------------------------

    async def capture_files(self, names: Sequence[str], *, dry_run: bool) -> list[dict[str, Any]]:
        """Report on each transcript that there was time for: the captured messages, or the error."""
        until, reports = monotonic() + BY_HAND_S, list[dict[str, Any]]()
        for name in names:
            if reports and monotonic() > until:
                break
            try:
                path = self.service.paths.locate_any(name)
                result = await (self.service.preview(path) if dry_run else self.service.capture_next(path))
                while not result.at_end and monotonic() < until:
                    result = result.add(await self.service.capture_next(path))
                reports.append(result.payload())
                self._problems.pop(name, None)
            except McpMemoryError as error:
                reports.append({"file": name, "error": error.message, "at_end": True})
        return reports

    def status(self) -> dict[str, Any]:
        """Return facts for `status`. `last`: time of the last capture, ISO 8601."""
        return {
            "enabled": self.config.enabled,
            "last": self.service.last_captured_at,
            "following": len(self._followed),
            "folder": str(self.service.store.folder),
            "problems": len(self._problems),
        }

    @property
    def problems(self) -> Sequence[Problem]:
        """Return the transcripts that couldn't be read, and why."""
        return list(self._problems.values())

    # -- the task ----------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Run forever, starting with the transcripts that grew while no process ran."""
        if not self.config.enabled:
            return
        with self.health.watching("capture"):
            for path in await in_thread(self.service.list_grown, what="looking at transcripts"):
                self._follow(path, due=True)
        while True:
            self._woken = anyio.Event()
            with self.health.watching("capture"):
                await self.check_followed()
                if self._pruned_at is None or monotonic() - self._pruned_at > PRUNE_S:
                    self._pruned_at = monotonic()
                    await self.service.prune()
            with anyio.move_on_after(self.look_s):
                await self._woken.wait()

    def _follow(self, path: TranscriptPath, *, due: bool, delegated: bool = False) -> None:
        known = self._followed.pop(path, None) or FollowedTranscript(due, 0.0)
        known.due, known.heard_at = known.due or due, monotonic()
        known.delegated = known.delegated or delegated
        self._followed[path] = known  # last, as the most recent
        while len(self._followed) > MOST_FOLLOWED:
            self._followed.pop(next(iter(self._followed)))
        if due:
            self._woken.set()

    async def check_followed(self) -> None:
        await in_thread(self.service.store.create_folder, what="looking after transcripts")
        for path, followed in list(self._followed.items()):
            if not followed.due and monotonic() - followed.heard_at > FOLLOWED_S:
                self._followed.pop(path, None)
                continue
            due, followed.due = followed.due, False
            beside = await in_thread(self.service.paths.list_sub_agents, path, what="looking for sub-agents")
            await self._attempt(path, followed, due=due or bool(beside))  # first, since it has the silences
            for sub_agent in beside:
                await self._attempt(sub_agent, FollowedTranscript(due, 0.0), due=due)

    async def _attempt(self, path: TranscriptPath, followed: FollowedTranscript, *, due: bool) -> None:
        find = partial(list_sessions, self.service.paths, path)
        try:
            for session in await in_thread(find, what="looking at sessions"):
                if due or await self._has_grown_enough(session, followed):
                    await self._capture_to_end(session, delegated=followed.delegated)
        except NotFound:  # the client hasn't begun to write it, or has removed it
            return
        except McpMemoryError as error:
            self._problem(path.name, error.message)
            followed.failures += 1
            followed.due = followed.due or (due and followed.failures < MAX_TRIES)
        except Exception as error:  # a bug of ours: reported, and the other transcripts go on
            self._problem(path.name, f"{type(error).__name__} in the capture")
            log.error("capture: %s", place_of(error))
        else:
            followed.failures = 0
            self._problems.pop(path.name, None)

    async def _has_grown_enough(self, path: TranscriptPath, followed: FollowedTranscript) -> bool:
        """Return whether enough is new to capture it before the end of the turn."""
        find = partial(self.service.find_unread, path, MIN_MESSAGES, followed.size)
        found, is_many = await in_thread(find, deadline_s=STEP_S, what="looking at a transcript")
        followed.size = found.size
        return is_many or found.new_bytes >= MIN_BYTES

    async def _capture_to_end(self, path: TranscriptPath, *, delegated: bool) -> None:
        """Capture to the end, yielding to requests being served."""
        at_end = False
        while not at_end:
            await self.traffic.lull(quiet_s=LULL_S, at_most_s=MOST_LULL_S)
            async with self.scheduler.turn() as began:
                taken = await self.service.capture_next(path, delegated=delegated)
            at_end = taken.at_end
            if taken.messages:
                about = f"{counted(taken.messages, 'message')} of a {path.client} session"
                figures = {name: getattr(taken, name) for name in ("messages", "secrets", "unreadable")}
                await self.scheduler.record("capture", "a session grew", began, JobReport(about, (), figures))

    def _problem(self, name: str, reason: str) -> None:
        self._problems.pop(name, None)
        self._problems[name] = Problem(name[:200], reason)
        while len(self._problems) > MOST_FOLLOWED:
            self._problems.pop(next(iter(self._problems)))
