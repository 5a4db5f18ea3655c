"""Dreams when it is due or you ask for it, and takes your decisions on its proposals."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from mcp_memory.core.core import Core
from mcp_memory.core.requests import ReviewRequest
from mcp_memory.core.serializers import Payload
from mcp_memory.curation.dreams.dreamer import PROPOSAL, PROPOSED, Dreamer
from mcp_memory.errors import InvalidInput
from mcp_memory.jobs.job import JobReport, JobTurn

_TICKS = {"accept": "x", "drop": "-", "wait": " "}


@dataclass(frozen=True)
class DreamRequest:
    """A run of dreaming. `backfill`: a folder of old daily logs to read as well; with `stage`, what recurs there is
    only kept as evidence."""

    dry_run: bool = False
    backfill: str | None = None
    stage: bool = False


class DreamOperations:
    """Answers with plain JSON values."""

    prefix = PROPOSED
    kinds = (PROPOSAL,)

    def __init__(self, core: Core, dreamer: Dreamer) -> None:
        self._core = core
        self._dreamer = dreamer
        self.waiting = dreamer.waiting

    async def dream(self, request: DreamRequest) -> Payload:
        """Dream now."""
        await self._core.indexing.sweeper.reconcile()
        return asdict(await self._dreamer.run(**asdict(request)))

    async def run(self, _: JobTurn) -> JobReport | None:
        """Dream as a background job."""
        done = await self._dreamer.run()
        figures = {name: len(getattr(done, name)) for name in ("proposed", "promoted", "moved", "done", "refused")}
        changed = [self._dreamer.files.page] if done.proposed else []
        if done.promoted or done.moved:
            changed.append(self._dreamer.files.memory)
        return JobReport(done.seen, changed, figures) if any(figures.values()) else None

    async def decide(self, request: ReviewRequest) -> Sequence[Payload]:
        """Tick proposals for the next run, or take their ticks back. Raises InvalidInput, NotFound."""
        if request.choice not in _TICKS:
            raise InvalidInput(f"a dream's proposal can't be {request.choice[:40]!r}", hint="accept, drop or wait")
        for item in request.items:
            await self._dreamer.tick(item, _TICKS[request.choice], request.text)
        path = f"{self._dreamer.files.page}, for the next mcp-memory dream"
        return [{"id": item, "path": path, "title": request.text or item} for item in request.items]
