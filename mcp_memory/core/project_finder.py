"""Finds the project of the folder in which somebody works, and the one that a text is about."""

from dataclasses import dataclass, field
from functools import partial

from mcp_memory.projects.projects import Projects
from mcp_memory.runtime.threads import LOOK_DEADLINE_S, ThreadPool
from mcp_memory.statements.language import repository_paths


@dataclass(frozen=True, slots=True)
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
