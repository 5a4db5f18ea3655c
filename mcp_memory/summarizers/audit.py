"""Determines which facts of its sources a summary keeps and drops. Pure."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from mcp_memory.text.language.facts import Fact, FactKind, facts


@dataclass(frozen=True, slots=True)
class Audit:
    """The kept and dropped facts; `dropped` is ordered by kind and key."""

    kept: int
    dropped: tuple[Fact, ...]

    @property
    def share(self) -> float:
        """The kept share of all facts, 0 to 1; 1 without facts."""
        whole = self.kept + len(self.dropped)
        return self.kept / whole if whole else 1.0


def audit(summary: str, sources: Iterable[str]) -> Audit:
    """Compare a summary, including its title, with its sources."""
    stated = frozenset[Fact]().union(*(facts(source) for source in sources))
    kept = facts(summary)
    dropped = sorted(fact for fact in stated if fact not in kept and not _is_verbatim(fact, summary))
    return Audit(len(stated) - len(dropped), tuple(dropped))


def _is_verbatim(fact: Fact, summary: str) -> bool:
    """Find facts that `facts` can't recognize: a name at the start of a sentence, an identifier without code marks."""
    if fact.kind not in {FactKind.NAME, FactKind.IDENTIFIER}:
        return False
    found = fact.key in summary  # faster than compiling thousands of patterns
    return found and re.search(rf"(?<!\w){re.escape(fact.key)}(?!\w)", summary) is not None
