"""Follows links between notes, and repairs those that lead nowhere."""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import NamedTuple

from mcp_memory.core.core import Core, Feature, Operation
from mcp_memory.core.requests import TargetRequest
from mcp_memory.core.serializers import Payload
from mcp_memory.index.base import Index
from mcp_memory.jobs.job import AfterQuiet, Job
from mcp_memory.links.linter import LINT_S, Linter
from mcp_memory.models import NotePath, NoteRecord, NoteState
from mcp_memory.recall.remarks.note_remarks import linked
from mcp_memory.runtime.threads import in_thread
from mcp_memory.search.note_lookup import Place
from mcp_memory.text.escape_invisible import visible_in
from mcp_memory.text.markdown.note_links import ResolvedLink
from mcp_memory.vault.journals.change_journal import DISK

MOST_SHOWN = 50
"""The most backlinks of a note that are shown."""
MOST_NEIGHBOURS = 500
MOST_HOPS = 5


class Hop(NamedTuple):
    """A step from a note to the next, along the link or against it."""

    type: str
    back: bool
    path: NotePath


@dataclass(frozen=True)
class NoteGraph:
    """A view of the links in the index, for worker threads."""

    index: Index

    def describe(self, path: NotePath, depth: int) -> Payload:
        """Describe a note's links in both directions; with a `depth` of two or more, also the notes within that number
        of hops, and the way there."""
        links = self.index.links_from(path)
        back, count = self.index.links_to(path, MOST_SHOWN)
        types = Counter(one.link.type for one in back)
        found = list(self._neighbours(path, min(depth, MOST_HOPS))) if depth > 1 else []
        return {
            "note": self._facts(path),
            "links": [_facts(one) | {"to": list(map(self._facts, one.targets))} for one in links],
            "backlinks": [_facts(one) | {"from": self._facts(one.source)} for one in back],
            "count": count,
            "types": dict(types),
            "neighbours": [self._facts(hops[-1].path) | {"by": [hop._asdict() for hop in hops]} for hops in found],
        }

    def _neighbours(self, start: NotePath, depth: int) -> Iterator[tuple[Hop, ...]]:
        """Yield the shortest way to each note that isn't directly linked, nearest first."""
        seen, ways, found = {start}, list[tuple[Hop, ...]]([()]), 0
        for at in range(depth):
            further = list[tuple[Hop, ...]]()
            for way in ways:
                last = self.index.note(way[-1].path) if way else None
                if last and last.state is NoteState.SUMMARY:
                    continue  # a page links to all its notes, and would connect everything
                for link, to, is_back in linked(self.index, way[-1].path if way else start):
                    if to not in seen and found < MOST_NEIGHBOURS:
                        seen.add(to)
                        further.append((*way, Hop(link.type, is_back, to)))
                        found += at > 0
            ways = further
            yield from ways if at else ()

    def _facts(self, path: NotePath) -> Payload:
        note: NoteRecord | None = self.index.note(path)
        if note is None:
            return {"path": path}
        facts = {name: getattr(note, name) for name in ("id", "title", "state")}
        return {**facts, "path": path, "private": note.is_private}


def _facts(one: ResolvedLink) -> Payload:
    return {"line": one.link.line, "type": one.link.type, "target": one.link.target}


@dataclass(frozen=True)
class LinksRequest(TargetRequest):
    """The links from a note and to it, over `depth` hops."""

    depth: int = 1


@dataclass(frozen=True)
class LintRequest:
    """Links that lead nowhere or to what no longer counts. `fix`: repair them, with `personal` also in your notes."""

    fix: bool = False
    personal: bool = False


def build(core: Core) -> Feature:
    linter = Linter(core.vault, core.index, core.runs)
    graph = NoteGraph(core.index)

    def has_moved(paths: Collection[NotePath]) -> bool:
        moves = (one for one in core.vault.changes.since(0) if one.kind == "moved")
        return any(one.client == DISK and one.other in paths for one in moves)

    async def links(request: LinksRequest) -> Payload:
        async def describe(places: Sequence[Place]) -> Payload:
            return visible_in(
                await in_thread(graph.describe, places[0][0], request.depth, deadline_s=LINT_S, what="following links")
            )

        return await core.search.lookup.reach([request.target], describe)

    async def lint(request: LintRequest) -> Payload:
        return visible_in(await linter.lint(**asdict(request)))

    after_a_move = AfterQuiet(quiet_s=60, longest_wait_s=600, concerns=has_moved)
    about = "Repairs links in the agents' notes after files were renamed or moved"
    return Feature(
        operations={"links": Operation(LinksRequest, links), "lint": Operation(LintRequest, lint)},
        jobs=[Job("links", about, after_a_move, linter.follow_moves)],
    )
