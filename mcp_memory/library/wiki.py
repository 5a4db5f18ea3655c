"""`memory.wiki`: the claims that notes make about projects and other subjects."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

Facts = Mapping[str, Any]


@dataclass(frozen=True)
class Wiki:
    """The claims of notes. A claim has a text, a project, whether it holds, its certainty in words, evidence (id, path,
    line, date, session, source), and what it replaces or what replaced it."""

    ask: Callable[..., Facts]

    def search(self, query: str, *, limit: int = 6, project: str | None = None) -> Sequence[Facts]:
        """Search claims by their subject or text, and return hits as a search does."""
        return self.ask("search", query=query, path="@claims", limit=limit, project=project)["hits"]

    def get(self, subject: str | None = None, *, project: str | None = None) -> Sequence[Facts]:
        """Return the subject of this name, or all subjects, each with kind, name and claims, holding or not.
        Raises NotFound."""
        return self.ask("claims", subject=subject, project=project)["subjects"]

    def lint(self) -> Sequence[Facts]:
        """Return open conflicts, and pages that rest on forgotten notes, each with a remedy."""
        return self.ask("claim_problems")["problems"]

    def apply(self, verb: Literal["confirm", "drop"], target: str) -> Facts:
        """Confirm or drop the claim of a note or entry; see `mcp-memory wiki apply --help`. Return the claim as
        `title`, and the ids of its `notes`. Raises NotFound, Refused."""
        (done,) = self.ask("review", items=[f"claim-{target}"], choice=verb)["done"]
        return done
