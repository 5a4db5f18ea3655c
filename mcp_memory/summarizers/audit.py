"""The loss audit: which facts of its sources a summary keeps, and which it drops. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from mcp_memory.text.language.facts import Fact, FactKind, facts


@dataclass(frozen=True, slots=True)
class Audit:
    """`dropped` in order of kind and key."""

    kept: int
    dropped: tuple[Fact, ...]

    @property
    def share(self) -> float:
        """Of the facts that are kept, 0 to 1; 1 where there was none to lose."""
        whole = self.kept + len(self.dropped)
        return self.kept / whole if whole else 1.0


def audit(summary: str, sources: Iterable[str]) -> Audit:
    """`summary` with its title."""
    stated = frozenset[Fact]().union(*(facts(source) for source in sources))
    told = facts(summary)
    dropped = sorted(fact for fact in stated if fact not in told and not _is_verbatim(fact, summary))
    return Audit(len(stated) - len(dropped), tuple(dropped))


def _is_verbatim(fact: Fact, summary: str) -> bool:
    """A name that begins a sentence, or an identifier that is not marked as code, is there without being told by its
    form."""
    if fact.kind not in {FactKind.NAME, FactKind.IDENTIFIER}:
        return False
    found = fact.key in summary  # of thousands only these are worth a pattern of their own
    return found and re.search(rf"(?<!\w){re.escape(fact.key)}(?!\w)", summary) is not None
