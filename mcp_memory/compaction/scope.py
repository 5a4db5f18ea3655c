"""The scope of a run: all topics, or one with what it holds. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mcp_memory.errors import NotFound
from mcp_memory.models import NotePath
from mcp_memory.topics.page import PAGE
from mcp_memory.topics.plan import PlanJob
from mcp_memory.topics.topic_tree import Topic


@dataclass(frozen=True, slots=True)
class RunScope:
    """`folder` is relative to the folder of all topics; empty for all of them."""

    folder: str = ""

    @classmethod
    def named(cls, wanted: str, tree: Sequence[Topic], root: str) -> RunScope:
        """What a person names: a topic's folder, as a path in the vault or below that of all topics, or its page.
        Raises NotFound where it is no topic."""
        name = wanted.strip().removeprefix("./").removesuffix(f"/{PAGE}").strip("/")
        below = {topic.folder[len(root) + 1 :] for top in tree for topic in top.walk()}
        for folder in (name.removeprefix(f"{root}/"), name.removeprefix("topics/")):
            if folder in below:
                return cls(folder)
        raise NotFound(f"{wanted[:200]!r} is no topic", hint="mcp-memory tree shows them: pass the path of a folder")

    def includes(self, topic: NotePath, root: str) -> bool:
        """Whether it is this topic, or one in it."""
        return self._has(topic[len(root) + 1 :])

    def wants(self, job: PlanJob) -> bool:
        """Whether the job adds to this topic, or to one in it. Where the topic itself is is no affair of its own."""
        return self._has(job.parent) if job.into is None else self._has(job.into)

    def _has(self, folder: str) -> bool:
        return not self.folder or folder == self.folder or folder.startswith(f"{self.folder}/")
