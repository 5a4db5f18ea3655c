"""The engine's frozen configuration, section by section; `configs/default.toml` documents each key.

Standard library only: `settings` imports this on the paths that must start in milliseconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from mcp_memory.runtime.paths import DEFAULT_VAULT
from mcp_memory.search.confidence_config import UNWANTED


@dataclass(frozen=True, slots=True)
class VaultConfig:
    """Section `[vault]`."""

    path: str = DEFAULT_VAULT
    storage: str = "filesystem"
    """What keeps its files: a name that `storage.backends` knows."""
    sources: Mapping[str, str] = field(default_factory=dict[str, str])
    """Name → folder, indexed read-only as `@name/…`."""
    secrets: Literal["refuse", "allow"] = "refuse"
    max_note_bytes: int = 8_000_000
    """Of a larger file only so much is read; it is reported, and no tool changes it."""
    max_append_bytes: int = 1_000_000
    write_deadline_s: float = 10.0


@dataclass(frozen=True, slots=True)
class IndexConfig:
    """Section `[index]`."""

    engine: str = "sqlite"
    """A name that `index.INDEXES` knows."""


@dataclass(frozen=True, slots=True)
class WatchConfig:
    """Section `[watch]`. The sweep is the truth; file-system events only make it sooner."""

    hints: bool = True
    debounce_s: float = 1.5
    longest_wait_s: float = 10.0
    active_sweep_s: float = 15.0
    idle_sweep_s: float = 30.0
    idle_after_s: float = 300.0


@dataclass(frozen=True, slots=True)
class PhaseConfig:
    """One table `[recall.phases.<name>]`: what a moment of an agent's work wants to see."""

    budget_tokens: int = 2000
    kinds: tuple[str, ...] = ()
    """Empty = all kinds."""
    least_confidence: float = 0.0
    """0 to 1: where it is less likely that a prompt wants what is stored, the answer says that nothing is."""


SHIPPED_PHASES: Mapping[str, PhaseConfig] = {
    "start": PhaseConfig(4000),
    "prompt": PhaseConfig(1000, least_confidence=UNWANTED),
    "plan": PhaseConfig(3000, ("decision", "preference", "workflow", "lesson", "fact", "note", "log")),
    "build": PhaseConfig(2000, ("workflow", "preference", "decision", "reference", "skill", "note")),
    "debug": PhaseConfig(2000, ("fix", "lesson", "fact", "reference", "note", "log")),
    "review": PhaseConfig(2000, ("preference", "decision", "lesson", "workflow", "note")),
}


@dataclass(frozen=True, slots=True)
class RecallConfig:
    """Section `[recall]`."""

    budget_tokens: int = 2000
    start_budget_tokens: int = 4000
    log_days: int = 2
    """How many daily logs, today's first, a session start shows."""
    topic_pages: bool = True
    """Whether a question about a topic as a whole gets its page first."""
    phases: Mapping[str, PhaseConfig] = field(default_factory=dict[str, PhaseConfig])
    """The user's own are added to the shipped ones; one of the same name replaces it."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "phases", {**SHIPPED_PHASES, **self.phases})


@dataclass(frozen=True, slots=True)
class KindConfig:
    """One table `[kinds.<name>]`: where notes of this kind land and how long they count."""

    folder: str = ""
    """Below home; empty = the shipped kind's, else `notes/<kind>`."""
    ttl_days: int = 0
    """0 = for ever."""
    about: str = ""
    """One line that tells an agent when to use it; empty = the shipped kind's."""


SHIPPED_KINDS: Mapping[str, KindConfig] = {
    "note": KindConfig("topics/_fresh", about="anything worth keeping that fits no other kind"),
    "log": KindConfig("memory", about="what happened today; goes into the daily log"),
    "preference": KindConfig(about="how the person wants things done"),
    "fact": KindConfig(about="something that is true of the person, project or world"),
    "decision": KindConfig(about="what was decided, and why"),
    "workflow": KindConfig(about="how a recurring task is done here"),
    "fix": KindConfig(about="an error and what solved it"),
    "lesson": KindConfig(about="what to do differently next time"),
    "reference": KindConfig(about="where something is: links, paths, names, commands"),
    "idea": KindConfig(about="something to try later"),
    "skill": KindConfig(about="a procedure that an agent can follow step by step"),
    "task": KindConfig(ttl_days=7, about="work in progress; counts for 7 days"),
    "agent": KindConfig(ttl_days=30, about="an agent's own state; counts for 30 days"),
    "commitment": KindConfig(about="something promised for a date; pass `expires`"),
}
