"""Checks settings beyond their type: ranges and known names. Errors name the key, the value and what to use."""

import importlib
import re
from collections.abc import Iterator, Mapping
from math import inf
from typing import Any, cast

from mcp_memory.capture.config import SHIPPED_FOLDERS
from mcp_memory.embedders.base import EmbedderConfig
from mcp_memory.index import IndexConfig
from mcp_memory.runtime.backend_registry import Registry
from mcp_memory.settings.raw_settings import Origin, invalid_value
from mcp_memory.summarizers.config import SummarizerConfig
from mcp_memory.vault.config import TRANSCRIPTS, VaultConfig

RANGES: Mapping[str, tuple[float, float]] = {
    "vault.max_note_bytes": (1, 100_000_000),
    "embedder.timeout_s": (0.1, inf),
    "topics.fresh_tail_count": (0, inf),
    "topics.condensed_min_fanout": (2, inf),
    "summarizer.timeout_s": (0.1, 3600),
    "summarizer.calls_a_day": (1, inf),
    "summarizer.tokens_a_day": (1, inf),
    "summarizer.prompt_tokens": (500, inf),
    "git.quiet_s": (0.01, 3600),
    "recall.budget_tokens": (100, 200_000),
    "recall.start_budget_tokens": (100, 200_000),
    "recall.start_usual_tokens": (100, 200_000),
    "recall.log_days": (0, 366),
    "recall.phases.*.budget_tokens": (100, 200_000),
    "recall.phases.*.least_confidence": (0, 1),
    "recall.phases.*.least_relevance": (0, 1),
    "recall.phases.*.least_share": (0, 1),
    "capture.keep_days": (1, 36_500),
    "capture.keep_bytes": (1_000_000, inf),
    "hooks.session_start_ms": (100, 10_000),
    "hooks.prompt_ms": (100, 10_000),
    "watch.active_sweep_s": (1, inf),
}
"""Key → minimum and maximum."""

PRECISIONS = ("int8", "fp32", "torch")
"""The precisions of the provider sentence-transformers, whose own module would import too much here."""

HOOK_PARTS = ("subagents", "actions", "stops", "errors", "withdrawn", "commitments", "left-off", "own-tools")
"""The parts of hooks that `hooks.off` can switch off."""

_REGISTRIES = {
    "vault.storage": (VaultConfig().storage, "mcp_memory.storage:STORAGE"),
    "index.engine": (IndexConfig().engine, "mcp_memory.index:INDEXES"),
    "embedder.provider": (EmbedderConfig().provider, "mcp_memory.embedders.open_embedder:EMBEDDERS"),
    "summarizer.provider": (SummarizerConfig().provider, "mcp_memory.summarizers.base:SUMMARIZERS"),
}
"""Key → the shipped name, and the place of its registry."""

PRIVATE = re.compile(r"(?:kind|tag):[^/\n]*[^/\s]|(?!kind:|tag:)(?!.*(?://|\.\.))[^\n]*[^/\n]/")
WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def check_limits(tree: Mapping[str, Any], origin: Origin) -> None:
    """Check the effective settings, `tree`, given as plain tables. Raises ConfigInvalid for the first value out of
    bounds."""
    for key, value in values(tree, ""):
        least, most = RANGES.get(re.sub(r"^(recall\.phases)\..*(\.\w+)$", r"\1.*\2", key), (-inf, inf))
        if isinstance(value, (int, float)) and not least <= value <= most:
            wanted = f"{least:g} or more" if most == inf else f"{least:g} to {most:.0f}"
            raise invalid_value(key, value, wanted, origin)
    # Other packages' providers are only looked up if a setting names one, because that takes time.
    for key, (shipped, place) in _REGISTRIES.items():
        section, _, name = key.partition(".")
        if tree[section][name] != shipped:
            module, _, attribute = place.partition(":")
            registry: Registry = getattr(importlib.import_module(module), attribute)
            _one_of(key, tree[section][name], registry.names(), origin, hint=registry.others)
    _one_of("embedder.precision", tree["embedder"]["precision"], PRECISIONS, origin)
    for name in tree["vault"]["sources"]:
        if not WORD.fullmatch(name):
            wanted = "named by plain words (letters, digits, '.', '-' and '_')"
            raise invalid_value("vault.sources", name, wanted, origin)
        if name == TRANSCRIPTS:
            wanted = f"named otherwise: @{TRANSCRIPTS} has the captured sessions"
            raise invalid_value("vault.sources", name, wanted, origin)
    for mark in tree["recall"]["private"]:
        if not PRIVATE.fullmatch(mark):
            wanted = 'folders ("notes/health/"), "kind:NAME" and "tag:NAME"'
            raise invalid_value("recall.private", mark, wanted, origin, hint="a folder ends with /")
    for part in tree["hooks"]["off"]:
        _one_of("hooks.off", part, HOOK_PARTS, origin)
    for client in tree["capture"]["folders"]:
        _one_of("capture.folders", client, tuple(SHIPPED_FOLDERS), origin)


def values(tree: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    for name, value in tree.items():
        if isinstance(value, Mapping):
            yield from values(cast("Mapping[str, Any]", value), f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def _one_of(
    key: str, value: str, known: list[str] | tuple[str, ...], origin: Origin, *, hint: str | None = None
) -> None:
    if value not in known:
        raise invalid_value(key, value, f"one of {', '.join(map(repr, known))}", origin, hint=hint)
