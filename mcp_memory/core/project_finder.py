"""Finds the project of the folder in which somebody works, and the one that a text is about."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from mcp_memory.core.requests import CLAIMS
from mcp_memory.projects.projects import Projects
from mcp_memory.projects.repository_facts import name_in
from mcp_memory.runtime.threads import LOOK_DEADLINE_S, ThreadPool
from mcp_memory.statements.language import is_personal, repository_paths
from mcp_memory.vault.note_file import is_memory


@dataclass(frozen=True)
class ProjectFinder:
    """The folder may be on a disk that hangs, which must not take threads from other work."""

    projects: Projects
    threads: ThreadPool = field(default_factory=ThreadPool)

    async def find(self, folder: str, deadline_s: float) -> str | None:
        """The project's label; None outside of all repositories. Raises DeadlineExceeded, ConfigInvalid."""
        find = partial(self.projects.label_of, folder)
        project = await self.threads.run(find, deadline_s=deadline_s, what="finding the project")
        if project:
            for listener in self.projects.listeners:
                listener(project, folder)
        return project

    async def find_named(self, text: str) -> str | None:
        """The project in whose repository a file is that a text names, such as shop in `shop/config.py`."""

        def find() -> str | None:
            book, tops = self.projects.book(), [path.partition("/")[0] for path in repository_paths(text)]
            return next((found.label for top in tops if (found := book.named(top))), None)

        return await self.threads.run(find, deadline_s=LOOK_DEADLINE_S, what="reading the projects")


def takes_project(arguments: Mapping[str, Any]) -> bool:
    """Return whether a call of our tools without a project means the project that the agent works in. A call that names
    notes or a folder, or replaces a note, doesn't. A stored note may still apply everywhere. Claims are in no
    folder."""
    if any(arguments.get(name) for name in ("project", "ids", "supersedes")):
        return False
    path = arguments.get("path") or ""
    return not is_memory(path) if arguments.get("content") else not path or path.partition("/")[0] == CLAIMS


def own_project(name: str | None, here: str | None) -> str | None:
    """The project that an agent in the project `here` means. The agent knows its folder's name, which may also be the
    name of another project."""
    return here if here and name == name_in(here) else name


def holds_everywhere(arguments: Mapping[str, Any], project: str | None) -> bool:
    """Return whether a call stores a preference that isn't for the project in which the agent works."""
    content = arguments.get("content")
    return bool(content) and is_personal(str(arguments.get("kind")), str(content), project)
