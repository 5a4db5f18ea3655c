"""The doctor: what is wrong or odd with a vault, in plain words, each with its remedy. Changes nothing."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any, Literal

from mcp_memory.engine.engine import Engine

# What Dropbox, Syncthing, OneDrive and our own writes call a second version of a file.
CONFLICT_COPY = re.compile(r"(conflicted copy|\.sync-conflict-|\(conflict )", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Finding:
    """`severity`: `error` needs a person, `warning` may, `info` is for the curious."""

    severity: Literal["error", "warning", "info"]
    what: str
    remedy: str

    def payload(self) -> dict[str, Any]:
        return asdict(self)


def examine(engine: Engine) -> list[Finding]:
    """All findings, the gravest first. Reads the index: call it in a thread."""
    found = [*_vault(engine), *_files(engine), *_model(engine)]
    order = {"error": 0, "warning": 1, "info": 2}
    return sorted(found, key=lambda finding: order[finding.severity])


def _vault(engine: Engine) -> list[Finding]:
    found: list[Finding] = []
    if engine.indexer.pruning_paused:
        found.append(
            Finding(
                "error",
                f"{engine.indexer.pruning_paused}; nothing is removed from the index until a person agrees",
                "bring the files back (mount the disk, finish the sync), or run: mcp-memory doctor --accept",
            )
        )
    if engine.vault.read_only:
        found.append(Finding("warning", "the vault cannot be written", "check its permissions and its mount"))
    found += [Finding("warning", each, "use a local disk for the vault if you can") for each in engine.vault.warnings]
    if engine.indexer.ignored:
        found.append(Finding("info", f"{engine.indexer.ignored} files are left out by .memoryignore", "edit it"))
    if engine.vault.ledger.damaged_lines:
        found.append(
            Finding(
                "warning",
                f"{engine.vault.ledger.damaged_lines} lines of the ledger are unreadable",
                "notes that are now refused as personal: mcp-memory adopt PATH",
            )
        )
    return found


def _files(engine: Engine) -> list[Finding]:
    found = [
        Finding("warning", f"{problem.path}: {problem.reason}", "repair or remove the file; the rest is indexed")
        for problem in engine.indexer.problems.values()
    ]
    found += [
        Finding(
            "warning",
            f"{fault.path}: {fault.reason}",
            "it is tried again by itself; if it stays: mcp-memory stop, start",
        )
        for fault in (*engine.indexer.faults.values(), *engine.upkeep.index_problems)
    ]
    found += [
        Finding("warning", f"{left.path}: {left.reason}", "look at it, keep what you need, then delete it by hand")
        for left in engine.vault.leftovers
    ]
    records = engine.upkeep.tree()
    found += [
        Finding("warning", f"{record.path} looks like a conflict copy", "compare it with the original, keep one")
        for record in records
        if CONFLICT_COPY.search(record.path)
    ]
    ids = Counter(record.id for record in records)
    found += [
        Finding("warning", f"{count} notes carry the id {note_id}", "give all but one of them another id")
        for note_id, count in ids.items()
        if count > 1
    ]
    return found


def _model(engine: Engine) -> list[Finding]:
    status = engine.upkeep.status()
    if status["model"] is None and status["model_state"] != "loading":
        return [
            Finding(
                "warning", f"searches use keywords only: the model is {status['model_state']}", "see the hint above"
            )
        ]
    return []
