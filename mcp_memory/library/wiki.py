"""`memory.wiki`: what notes claim about projects, people, services and tools."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

Facts = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Wiki:
    """A claim has text, project, whether it holds, since when, its confidence and why, and evidence: id, path, line,
    date, session, source."""

    ask: Callable[..., Facts]

    def search(self, query: str, *, limit: int = 6, project: str | None = None) -> Sequence[Facts]:
        """Claims by what they say, as hits of a search."""
        return self.ask("search", query=query, path="@claims", limit=limit, project=project)["hits"]

    def get(self, subject: str | None = None, *, project: str | None = None) -> Sequence[Facts]:
        """The subject of this name, or all, each with kind, name and claims, also disputed ones. Words that name none
        give the claims that have them, as the kind `mentions`. Raises NotFound."""
        return self.ask("claims", subject=subject, project=project)["subjects"]

    def lint(self) -> Sequence[Facts]:
        """Open conflicts, uncertain claims, pages that are stale or rest on what was forgotten, each with a remedy."""
        return self.ask("claim_problems")["problems"]

    def apply(self, verb: Literal["confirm", "drop"], target: str) -> Facts:
        """Decide about the claim that a note or entry makes; see `mcp-memory wiki apply --help`. Raises NotFound,
        Refused."""
        return self.ask("apply", verb=verb, target=target)
