"""Section `[recall]` and its phases. Standard library only: `settings` imports it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mcp_memory.models import PrivateMarks
from mcp_memory.search.thresholds import IRRELEVANT, UNWANTED

QUESTION_SHARE = 0.6
"""The share of the best score at which the answer to a question ends, whatever the budget. Measured within 2,000
tokens: on conversations, the share of the evidence falls from .945 to .932, for 1,105 tokens on average. On
documentation it falls from .878 to .875, for 1,451 tokens. Below `cutoff.FEWEST_TOKENS`, `cutoff.FEWEST_SHARE`
applies."""

PROMPT_SHARE = 0.1
"""The share of the best relevance at which the passages for a prompt end. Measured on six people: 38 % of the shown
notes help instead of 32 %, for 23 % fewer tokens. 86 % of the prompts that want memory get a helpful note, as before;
67 % get all of theirs instead of 73 %."""


@dataclass(frozen=True)
class PhaseConfig:
    """The table `[recall.phases.<name>]`: what an agent needs in one phase of its work."""

    budget_tokens: int = 2000
    kinds: tuple[str, ...] | Mapping[str, int] = ()
    """Empty = all kinds. A table gives each kind its own budget in tokens; 0 = the whole budget of the phase."""
    least_confidence: float = 0.0
    """0 to 1: below this confidence, the answer is that nothing relevant is stored."""
    least_relevance: float = 0.0
    """0 to 1: passages that are less likely to help are skipped."""
    least_share: float = QUESTION_SHARE
    """0 to 1: passages below this share of the best score, or of the best relevance for a prompt, are skipped."""

    @property
    def kind_budgets(self) -> Mapping[str, int]:
        """The budgets of the kinds that have their own."""
        if not isinstance(self.kinds, Mapping):
            return {}
        return {kind: tokens for kind, tokens in self.kinds.items() if tokens}


def _phase(budget_tokens: int, kinds: str = "", /, **least: Any) -> PhaseConfig:
    return PhaseConfig(budget_tokens, tuple(kinds.split()), **least)


_UNASKED = {"least_confidence": UNWANTED, "least_relevance": IRRELEVANT, "least_share": PROMPT_SHARE}
SHIPPED_PHASES: Mapping[str, PhaseConfig] = {
    "start": _phase(4000),
    "prompt": _phase(1000, **_UNASKED),
    "subagent": _phase(400, "decision preference lesson fix workflow fact reference skill note", **_UNASKED),
    "plan": _phase(3000, "decision preference workflow lesson fact note log"),
    "build": _phase(2000, "workflow preference decision reference skill note"),
    "debug": _phase(2000, "fix lesson fact reference note log"),
    "review": _phase(2000, "preference decision lesson workflow note"),
    "documenter": _phase(3000, "decision workflow fact reference lesson skill note"),
}

OWN_PHASES = frozenset({"start", "prompt", "subagent"})
"""The phases in which hooks answer. An agent can ask for them, but they aren't advertised to it."""


@dataclass(frozen=True)
class RecallConfig:
    """Section `[recall]`."""

    budget_tokens: int = 2000
    start_budget_tokens: int = 4000
    start_usual_tokens: int = 250
    """The usual budget of a session's start, unless standing orders and `MEMORY.md` take more."""
    memory_lines: int = 200
    """The most lines of `MEMORY.md`: above it, dreaming proposes what to move into notes."""
    log_days: int = 2
    """The number of daily logs, today's first, that a session start shows."""
    topic_pages: bool = True
    """Whether a question about a topic as a whole gets its page first."""
    keep_words: bool = True
    """Whether words of prompts and questions may be kept on this machine: for `why` and for `stats --unanswered`."""
    private: tuple[str, ...] = ("private/", "tag:private")
    """The notes that agents only get if they ask: folders (a bare name at any depth), `kind:NAME`, `tag:NAME`."""
    apart: tuple[str, ...] = ()
    """The clients, or `*`, that don't get other agents' notes unless they ask."""
    sessions_apart: bool = False
    """Whether a session's notes are only for that session, unless you share a topic with another."""
    phases: Mapping[str, PhaseConfig] = field(default_factory=dict[str, PhaseConfig])
    """Your phases are added to the shipped ones; a phase of the same name replaces the shipped one."""

    @property
    def private_marks(self) -> PrivateMarks:
        """Return `private`, parsed."""
        named = [mark.partition(":") for mark in self.private if not mark.endswith("/")]
        kinds, tags = (frozenset(name.strip() for of, _, name in named if of == what) for what in ("kind", "tag"))
        folders = [mark.removeprefix("./") for mark in self.private if mark.endswith("/")]
        rooted = [mark if mark.count("/") == 1 else f"/{mark.lstrip('/')}" for mark in folders]
        return PrivateMarks(tuple(rooted), kinds, tags)

    def __post_init__(self) -> None:
        object.__setattr__(self, "phases", {**SHIPPED_PHASES, **self.phases})
