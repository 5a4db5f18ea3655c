"""Dreams when it is due or you ask for it, and takes your decisions on its proposals."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from mcp_memory.core.core import Core
from mcp_memory.core.feature import ReviewItem
from mcp_memory.core.requests import ReviewRequest
from mcp_memory.core.serializers import Payload
from mcp_memory.curation.dreams.dreamer import PROPOSED, Dreamer
from mcp_memory.errors import InvalidInput
from mcp_memory.jobs.job import JobReport, JobTurn
from mcp_memory.vault.note_file import DREAMS, MEMORY

_TICKS = {"accept": "x", "drop": "-"}


@dataclass(frozen=True, slots=True)
class DreamRequest:
    """A run of dreaming. `backfill`: a folder of old daily logs; with `stage`, what recurs there is only kept as
    evidence."""

    dry_run: bool = False
    backfill: str | None = None
    stage: bool = False


class DreamOperations:
    """Answers with plain JSON values."""

    prefix = PROPOSED

    def __init__(self, core: Core, dreamer: Dreamer) -> None:
        self._core = core
        self._dreamer = dreamer

    async def dream(self, request: DreamRequest) -> Payload:
        """Dream now."""
        await self._core.indexing.sweeper.reconcile()
        run = self._dreamer.run(dry_run=request.dry_run, backfill=request.backfill, stage=request.stage)
        return asdict(await run)

    async def run(self, _: JobTurn) -> JobReport | None:
        """Dream as a background job."""
        done = await self._dreamer.run()
        figures = {
            "proposed": len(done.proposed),
            "promoted": len(done.promoted),
            "moved": len(done.moved),
            "refused": len(done.refused),
        }
        changed = [DREAMS] if done.proposed else []
        if done.promoted or done.moved:
            changed.append(MEMORY)
        return JobReport(done.seen, changed, figures) if any(figures.values()) else None

    async def waiting(self) -> Sequence[ReviewItem]:
        """Return the open proposals."""
        return await self._dreamer.waiting()

    async def review(self, request: ReviewRequest) -> Payload:
        """Tick a proposal for the next run. Raises InvalidInput, NotFound."""
        if request.verb not in _TICKS:
            raise InvalidInput(f"a dream's proposal can't be {request.verb[:40]!r}", hint="accept or drop")
        await self._dreamer.tick(request.target, _TICKS[request.verb], request.content)
        path = f"{DREAMS}, for the next mcp-memory dream"
        return {"id": request.target, "path": path, "title": request.content or request.target, "kind": MEMORY}
