"""Describes the state of a vault and its index. Reads the index: call it in a thread."""

from collections.abc import Sequence
from contextlib import suppress
from shutil import disk_usage
from time import monotonic
from typing import Any

from mcp_memory.core.core import Core
from mcp_memory.errors import IndexUnavailable
from mcp_memory.index.base import Watermark
from mcp_memory.models import NoteRecord, Problem
from mcp_memory.recall.session_start import memory_over_budget
from mcp_memory.vault.shared.lost_entries import SERIOUS

LEAST_FREE_BYTES = 1_000_000
"""The free bytes below which the disk is reported as full. A note and its journal entries take some 10 kB, so soon
nothing could be stored."""


def list_active(core: Core) -> list[NoteRecord]:
    """List all active notes that the caller may see, by path."""
    notes = core.index.notes(core.filters(), limit=100_000)
    return sorted(notes, key=lambda note: note.path)


def describe_vault(core: Core) -> dict[str, Any]:
    """Return facts for `status`, `doctor` and `memory://status`."""
    health, indexing, model = core.background.health, core.indexing, core.search.model
    try:
        mark = core.index.watermark()
    except IndexUnavailable as error:
        mark = Watermark(0, 0, 0, 0)
        health.faults["index"] = Problem("index", error.message)
    last, progress, problems = indexing.reconciler.last, health.progress, list_problems(core)
    facts = {
        "vault": str(core.config.root),
        "home": core.vault.layout.home,
        "read_only": core.vault.read_only,
        "full": is_full(core),
        "ready": model.settled.is_set(),
        "notes": mark.notes,
        "chunks": mark.chunks,
        "pending": mark.vectors_pending,
        "model": model.embedder.fingerprint if model.embedder else None,
        "model_state": model.state,
        "generation": indexing.writer.generation.number,
        "phase": progress.phase,
        "progress": [progress.done, progress.total],
        "last_progress_s": round(monotonic() - progress.at, 1),
        "last_sweep_s": round(monotonic() - last.at, 1) if last else None,
        "sweep_took_s": round(last.took_s, 3) if last else None,
        "next_job": core.background.scheduler.next_job(),
        "memory": memory_over_budget(core.vault, core.config.recall.memory_lines),
        "watching": indexing.watcher.state,
        "ignored": indexing.reconciler.ignored,
        "pruning_paused": indexing.reconciler.pruning_paused,
        "problems": len(problems),
        "errors": [f"{problem.path}: {problem.reason}" for problem in problems[:20]],
    }
    for feature in core.features:
        facts |= feature.status()
    return facts


def list_problems(core: Core) -> list[Problem]:
    """List files that couldn't be used as they are, shared ones that lost entries, and faults of the index."""
    lost = dict.fromkeys(entry.added.path for entry in core.vault.shared.last() if entry.why in SERIOUS)
    gone = [Problem(path, "entries that were added to it are gone") for path in lost]
    faults = core.background.health.faults.values()
    return [*core.indexing.writer.problems.values(), *gone, *faults, *list_index_problems(core)]


def list_index_problems(core: Core) -> Sequence[Problem]:
    """List faults of the index that were overcome, each once."""
    return list(dict.fromkeys(core.index.problems))


def is_full(core: Core) -> bool:
    """Return whether the vault's disk has no room for notes."""
    with suppress(OSError):
        return disk_usage(core.config.root).free < LEAST_FREE_BYTES
    return False
