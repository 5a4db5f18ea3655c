"""Finds the project of the folder in which somebody works, and the one that a text is about."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from mcp_memory.extraction.language import repository_paths
from mcp_memory.projects.projects import Projects
from mcp_memory.runtime.threads import LOOK_DEADLINE_S, ThreadPool


@dataclass(frozen=True, slots=True)
class ProjectFinder:
    """The folder may be on a disk that hangs, which must not take threads from other work. `on_found` hears of each
    project's folders."""

    projects: Projects
    on_found: Callable[[str, str], None]
    threads: ThreadPool = field(default_factory=ThreadPool)

    async def find(self, folder: str, deadline_s: float) -> str | None:
        """The project's label; None outside of all repositories. Raises DeadlineExceeded, ConfigInvalid."""
        find = partial(self.projects.label_of, folder)
        project = await self.threads.run(find, deadline_s=deadline_s, what="finding the project")
        if project:
            self.on_found(project, folder)
        return project

    async def find_named(self, text: str) -> str | None:
        """The project in whose repository a file is that a text names, such as shop in `shop/config.py`."""

        def find() -> str | None:
            book, tops = self.projects.book(), [path.partition("/")[0] for path in repository_paths(text)]
            return next((found.label for top in tops if (found := book.named(top))), None)

        return await self.threads.run(find, deadline_s=LOOK_DEADLINE_S, what="reading the projects")
