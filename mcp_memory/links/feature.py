"""Follows links between notes, and repairs those that lead nowhere."""

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from functools import partial

from mcp_memory.core.core import Core, Feature, Operation
from mcp_memory.core.requests import TargetRequest
from mcp_memory.core.serializers import Payload
from mcp_memory.jobs.job import AfterQuiet, Job
from mcp_memory.links.linter import LINT_S, Linter
from mcp_memory.links.note_graph import NoteGraph
from mcp_memory.models import NotePath
from mcp_memory.runtime.threads import in_thread
from mcp_memory.search.note_lookup import Place
from mcp_memory.text.escape_invisible import visible_in
from mcp_memory.vault.journals.change_journal import DISK, ChangeKind


@dataclass(frozen=True, slots=True)
class LinksRequest(TargetRequest):
    """The links from a note and to it, over `depth` hops."""

    depth: int = 1


@dataclass(frozen=True, slots=True)
class LintRequest:
    """Links that lead nowhere or to what no longer counts. `fix`: repair them, with `personal` also in your notes."""

    fix: bool = False
    personal: bool = False
    orphans: bool = False


def build(core: Core) -> Feature:
    linter = Linter(core.vault, core.index, core.runs)
    graph = NoteGraph(core.index)

    def has_moved(paths: Collection[NotePath]) -> bool:
        moves = (one for one in core.vault.changes.since(0) if one.kind is ChangeKind.MOVED)
        return any(one.client == DISK and one.other in paths for one in moves)

    async def links(request: LinksRequest) -> Payload:
        async def describe(places: Sequence[Place]) -> Payload:
            work = partial(graph.describe, places[0][0], request.depth)
            return visible_in(await in_thread(work, deadline_s=LINT_S, what="following links"))

        return await core.search.lookup.reach([request.target], describe)

    async def lint(request: LintRequest) -> Payload:
        return visible_in(await linter.lint(**asdict(request)))

    after_a_move = AfterQuiet(quiet_s=60, longest_wait_s=600, concerns=has_moved)
    about = "Repairs links in the agents' notes after files were renamed or moved"
    return Feature(
        operations={"links": Operation(LinksRequest, links), "lint": Operation(LintRequest, lint)},
        jobs=[Job("links", about, after_a_move, linter.follow_moves)],
    )
