"""Configures commits. Standard library only: `settings` imports this where milliseconds count."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class GitConfig:
    """Section `[git]`."""

    auto_commit: bool = False
    quiet_s: float = 5.0
    """The time from the last change to a commit, so that related changes are in one commit."""


SECTIONS: Mapping[str, type[Any]] = {"git": GitConfig}
