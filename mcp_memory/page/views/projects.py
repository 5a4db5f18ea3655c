"""Shows the projects, what each is known by, and which may be the same."""

from collections.abc import Mapping
from typing import Any

from mcp_memory.page.view import Action, View, Visit


async def show(visit: Visit) -> Mapping[str, Any]:
    found = await visit.ask("projects")
    return {"projects": found["projects"], "near": found["near"]}


VIEW = View(
    "projects",
    "Projects",
    "What agents work on, how each project is recognized, and which are the same.",
    show,
    actions={
        "merge-projects": Action("projects", "They are one project now.", ("name", "other"), fixed={"verb": "merge"}),
        "split-project": Action("projects", "It is its own project now.", ("name", "other"), fixed={"verb": "split"}),
    },
)
