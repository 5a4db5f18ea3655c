"""Sections `[vault]` and `[kinds]`. Standard library only: `settings` imports it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from mcp_memory.runtime.paths import DEFAULT_VAULT


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
