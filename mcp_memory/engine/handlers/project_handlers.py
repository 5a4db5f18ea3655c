"""Answers requests about the vault's projects: lists, merges and splits them."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict

from mcp_memory.core.core import Core, Operation
from mcp_memory.core.requests import ProjectsRequest
from mcp_memory.core.serializers import Payload
from mcp_memory.errors import InvalidInput
from mcp_memory.models import Filters, is_closed
from mcp_memory.projects.project_book import Project
from mcp_memory.recall.note_list import MOST_NOTES
from mcp_memory.runtime.threads import LOOK_DEADLINE_S, in_thread

_USAGE = {
    "merge": "mcp-memory projects merge NAME INTO",
    "split": "mcp-memory projects split NAME FOLDER; a name that a merge made an alias is in .mcp-memory/projects.toml",
}


async def projects(core: Core, request: ProjectsRequest) -> Payload:
    known, name, other = core.projects, request.name, request.other

    def work() -> Payload:
        if request.verb is None:
            return list_projects(core)
        if not (name and other):
            raise InvalidInput(f"{request.verb} takes two arguments", hint=_USAGE.get(request.verb, "merge or split"))
        if request.verb == "merge":
            return {"project": asdict(known.merge(name, other))}
        if request.verb == "split":
            return {"project": asdict(known.split(name, other))}
        raise InvalidInput(f"unknown verb {request.verb[:100]!r}", hint="merge or split")

    return await in_thread(work, deadline_s=LOOK_DEADLINE_S, what="looking at projects")


def list_projects(core: Core) -> Payload:
    """List each project with its active notes, and pairs that may be the same. Reads the index, and the
    repositories."""
    counts = Counter(note.project for note in core.index.notes(Filters(), MOST_NOTES) if note.project)
    known = core.projects.book()
    loose = [Project(name) for name in sorted(counts) if name not in known.names and not is_closed(name)]
    listed: list[Payload] = [
        {**asdict(one), "notes": sum(counts[name] for name in one.names)} for one in (*known.projects, *loose)
    ]
    labels = [one.label for one in loose]
    near = [asdict(one) for one in core.projects.near_matches(labels)]
    return {"projects": listed, "near": near}


OPERATIONS: Mapping[str, Operation] = {
    "projects": Operation(ProjectsRequest, projects),
}
