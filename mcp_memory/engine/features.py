"""Lists the features, and builds them on a core."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mcp_memory.core.core import Core

FEATURES = (
    "extraction",
    "compaction",
    "curation",
    "links",
    "summaries",
    "grounding",
    "transfer",
    "commits",
    "merging",
    "page",
)
"""The names of the features. Each is a folder of the package whose module `feature` has `build(core) -> Feature`. To
remove a feature, remove its folder and its line here. If jobs of several features are due at once, they run in this
order."""


def read_sections() -> Mapping[str, type[Any]]:
    """Return the sections of the configuration that features have: name → dataclass."""
    sections: dict[str, type[Any]] = {}
    for name in FEATURES:
        if find_spec(f"mcp_memory.{name}.config"):
            sections |= import_module(f"mcp_memory.{name}.config").SECTIONS
    return sections


def build_features(core: Core) -> None:
    """Build the features in this order."""
    for name in FEATURES:
        core.features.append(import_module(f"mcp_memory.{name}.feature").build(core))
    jobs = [job for feature in core.features for job in feature.jobs]
    core.background.scheduler.register(*jobs)
