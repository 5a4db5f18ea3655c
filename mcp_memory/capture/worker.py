"""The capturer: hears from hooks which transcripts have grown, and captures them in the background."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from time import monotonic
from typing import Any

import anyio

from mcp_memory.capture.config import CaptureConfig
from mcp_memory.capture.service import MOST_TRIES, STEP_S, CaptureService
from mcp_memory.capture.tail import sessions
from mcp_memory.capture.transcript_paths import TranscriptPath
from mcp_memory.errors import McpMemoryError, NotFound
from mcp_memory.models import Problem
from mcp_memory.runtime.health import Health
from mcp_memory.runtime.idle_detector import IdleDetector
from mcp_memory.runtime.threads import in_thread, place_of

LOOK_S = 20.0
"""How often a transcript that grows is looked at while its turn goes on."""

FOLLOWED_S = 86_400.0
"""A transcript that no hook has named for so long is looked at no more."""

PRUNE_S = 3600.0
MOST_FOLLOWED = 200

BY_HAND_S = 2.0
"""So long a person waits for a word of progress."""

LULL_S, MOST_LULL_S = 0.2, 3.0

log = logging.getLogger(__name__)


@dataclass(slots=True)
class FollowedTranscripts:
    """A transcript that a hook has named. `due`: to be captured however little is new; `delegated`: another agent runs
    the session. Times are monotonic."""

    due: bool
    heard_at: float
    delegated: bool = False
    size: int = -1
    failures: int = 0


class CaptureWorker:
    """One task of the engine."""

    def __init__(
        self,
        config: CaptureConfig,
        taker: CaptureService,
        traffic: IdleDetector,
        health: Health,
        look_s: float = LOOK_S,
    ) -> None:
        self.taker = taker
        self._config = config
        self._traffic = traffic
        self._health = health
        self._look_s = look_s
        self._followed: dict[TranscriptPath, FollowedTranscripts] = {}
        self._woken = anyio.Event()
        self._problems: dict[str, Problem] = {}
        self._pruned_at: float | None = None

    # -- what hooks say ----------------------------------------------------------------------------------------

    def note(self, client: str, file: str, *, due: bool, delegated: bool = False) -> TranscriptPath | None:
        """A transcript has grown, or will. Touches no disk, and never fails: somebody's hook waits. None where it is
        not captured: capture is off, or it is none that we know; then `problems` says so."""
        if not self._config.enabled or client not in self.taker.places.clients:
            return None
        try:
            place = self.taker.places.place(client, file)
        except McpMemoryError as error:
            self._problem(file, error.message)
            return None
        self._follow(place, due=due, delegated=delegated)
        return place

    async def keep(self, client: str, file: str, *, delegated: bool = False) -> None:
        """As `note`, of what is due; it will be captured also where this process ends at once. Raises StorageFailed."""
        place = self.note(client, file, due=True, delegated=delegated)
        if place and (place.session or not place.is_database):
            keep = partial(self.taker.keep, place, delegated=delegated)
            await in_thread(keep, deadline_s=5, what="keeping a bookmark")

    # -- what a person asks ------------------------------------------------------------------------------------

    async def by_hand(self, names: Sequence[str], *, dry_run: bool) -> list[dict[str, Any]]:
        """A report on each transcript that there was time for: what was taken, or why nothing could be."""
        until, reports = monotonic() + BY_HAND_S, list[dict[str, Any]]()
        for name in names:
            if reports and monotonic() > until:
                break
            try:
                place = self.taker.places.place(self.taker.places.client_of(name), name)
                taken = await (self.taker.would_take(place) if dry_run else self.taker.capture_next(place))
                while not taken.at_end and monotonic() < until:
                    taken = taken.then(await self.taker.capture_next(place))
                reports.append(taken.payload())
                self._problems.pop(name, None)
            except McpMemoryError as error:
                reports.append({"file": name, "error": error.message, "at_end": True})
        return reports

    def status(self) -> dict[str, Any]:
        """Facts for `status`. `last`: when something was captured, ISO 8601."""
        return {
            "enabled": self._config.enabled,
            "last": self.taker.last,
            "following": len(self._followed),
            "folder": str(self.taker.shelf.folder),
            "problems": len(self._problems),
        }

    @property
    def problems(self) -> Sequence[Problem]:
        """Transcripts that could not be read, and why."""
        return list(self._problems.values())

    # -- the task ----------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """For ever. What went on while nobody was here comes first."""
        if not self._config.enabled:
            return
        with self._health.watching("capture"):
            for place in await in_thread(self.taker.unfinished, what="looking at transcripts"):
                self._follow(place, due=True)
        while True:
            self._woken = anyio.Event()
            with self._health.watching("capture"):
                await self._look()
                if self._pruned_at is None or monotonic() - self._pruned_at > PRUNE_S:
                    self._pruned_at = monotonic()
                    await self.taker.prune()
            with anyio.move_on_after(self._look_s):
                await self._woken.wait()

    def _follow(self, place: TranscriptPath, *, due: bool, delegated: bool = False) -> None:
        known = self._followed.pop(place, None) or FollowedTranscripts(due, 0.0)
        known.due, known.heard_at = known.due or due, monotonic()
        known.delegated = known.delegated or delegated
        self._followed[place] = known  # the one that was heard of last comes last
        while len(self._followed) > MOST_FOLLOWED:
            self._followed.pop(next(iter(self._followed)))
        if due:
            self._woken.set()

    async def _look(self) -> None:
        await in_thread(self.taker.shelf.make, what="looking after transcripts")
        for place, followed in list(self._followed.items()):
            if not followed.due and monotonic() - followed.heard_at > FOLLOWED_S:
                self._followed.pop(place, None)
                continue
            due, followed.due = followed.due, False
            beside = await in_thread(partial(self.taker.places.beside, place), what="looking for sub-agents")
            for each in (place, *beside):
                known = followed if each == place else FollowedTranscripts(due, 0.0)
                await self._attempt(each, known, due=due)

    async def _attempt(self, place: TranscriptPath, followed: FollowedTranscripts, *, due: bool) -> None:
        look = partial(sessions, self.taker.places, place)
        try:
            for each in await in_thread(look, what="looking at sessions"):
                if due or await self._is_worth_it(each, followed):
                    await self._whole(each, delegated=followed.delegated)
        except NotFound:  # the client has not begun to write it, or has taken it away
            return
        except McpMemoryError as error:
            self._problem(place.name, error.message)
            followed.failures += 1
            followed.due = followed.due or (due and followed.failures < MOST_TRIES)
        except Exception as error:  # a fault of ours: it is said, and the other transcripts go on
            self._problem(place.name, f"{type(error).__name__} in the capture")
            log.error("capture: %s", place_of(error))
        else:
            followed.failures = 0
            self._problems.pop(place.name, None)

    async def _is_worth_it(self, place: TranscriptPath, followed: FollowedTranscripts) -> bool:
        """Whether so much is new that it should not wait for the end of the turn."""
        look = partial(self.taker.waiting, place, self._config.min_messages, followed.size)
        found, is_many = await in_thread(look, deadline_s=STEP_S, what="looking at a transcript")
        followed.size = found.size
        return is_many or found.new_bytes >= self._config.min_bytes

    async def _whole(self, place: TranscriptPath, *, delegated: bool) -> None:
        """To its end; whoever is being served comes first."""
        while True:
            await self._traffic.lull(quiet_s=LULL_S, at_most_s=MOST_LULL_S)
            if (await self.taker.capture_next(place, delegated=delegated)).at_end:
                return

    def _problem(self, name: str, reason: str) -> None:
        self._problems.pop(name, None)
        self._problems[name] = Problem(name[:200], reason)
        while len(self._problems) > MOST_FOLLOWED:
            self._problems.pop(next(iter(self._problems)))
