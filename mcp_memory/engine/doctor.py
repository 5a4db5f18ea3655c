"""The doctor: looks at an engine for findings, and sees to those that need no person's judgement."""

from __future__ import annotations

import stat
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

from mcp_memory.engine.diagnostics import Finding, VaultFacts, findings_of
from mcp_memory.errors import IndexUnavailable, McpMemoryError
from mcp_memory.git.repository import find_repository
from mcp_memory.models import Problem
from mcp_memory.runtime.threads import in_thread
from mcp_memory.text.pluralize import counted

if TYPE_CHECKING:
    from mcp_memory.engine.engine import Engine

LOOK_DEADLINE_S = 60.0


def examine(engine: Engine) -> list[Finding]:
    """All findings, the gravest first. Reads disk and index: call it in a thread."""
    return findings_of(gathered(engine))


async def treat(engine: Engine) -> list[str]:
    """Do what is safe, and say in a line each what was done: entries that an older version of their file overwrote
    are added again, and what is derived is made anew where it was found at fault."""
    facts = await in_thread(lambda: gathered(engine), deadline_s=LOOK_DEADLINE_S, what="the examination")
    done: list[str] = []
    overwritten = [each.id for each in facts.lost if each.why == "overwritten"]
    if overwritten:
        back = await engine.parts.admin.recover(overwritten)
        done += [f"added again to {each.added.path}: {each.gist}" for each in back]
    if facts.faults or engine.parts.indexer.replaced:
        engine.parts.health.faults.clear()
        read = await engine.parts.admin.reindex()
        done.append(f"built the index anew: {read['notes']} notes read, {read['embedded']} texts embedded")
    return done


def gathered(engine: Engine) -> VaultFacts:
    """Reads disk and index: call it in a thread."""
    upkeep, indexer, vault = engine.parts.admin, engine.parts.indexer, engine.parts.vault
    try:
        ids, fault = {record.path: record.id for record in upkeep.tree()}, []
    except IndexUnavailable as error:
        ids, fault = {}, [Problem("index", error.message)]
    model, wants_vectors = engine.parts.model, engine.parts.config.embedder.provider != "none"
    return VaultFacts(
        root=str(vault.roots().get("", "")),
        paths=sorted(vault.list().files),
        ids=ids,
        problems=list(engine.parts.writer.problems.values()),
        faults=[*engine.parts.health.faults.values(), *fault],
        overcome=upkeep.index_problems,
        leftovers=vault.standing_leftovers(),
        warnings=vault.warnings,
        lost=vault.shared.compare(),
        pruning_paused=indexer.pruning_paused,
        keywords_only=model.state if wants_vectors and not model.embedder and model.state != "loading" else None,
        noticing=_noticing(engine),
        deaf=engine.parts.watcher.fault,
        read_only=vault.read_only,
        ignored=indexer.ignored,
        open_objects=_open_objects(engine),
        commits=engine.parts.health.commits() if engine.parts.health.commits else None,
        damaged_undo=vault.damaged_tombstones,
        damaged_ledger_lines=vault.ledger.damaged_lines,
        compaction=engine.parts.auto_compactor.trouble,
        uncaptured=engine.parts.capture_worker.problems,
        memory=engine.parts.answerer.told_of_memory(),
        inbox=_long_inbox(engine),
    )


def _open_objects(engine: Engine) -> str | None:
    root = engine.parts.vault.roots()[""]
    if not engine.parts.health.commits or all(
        _is_open(root / path) for path in engine.parts.vault.list().files if path[0] != "@"
    ):
        return None
    try:
        found = find_repository(root, LOOK_DEADLINE_S).open_objects()
    except McpMemoryError:
        return None  # no repository, or git does not answer: the commits say so
    return str(found) if found else None


def _is_open(file: Path) -> bool:
    try:
        return bool(file.stat().st_mode & (stat.S_IRGRP | stat.S_IROTH))
    except OSError:
        return True


def _long_inbox(engine: Engine) -> int:
    try:
        waiting = engine.parts.digest.waiting()
    except IndexUnavailable:
        return 0  # which is a finding of its own
    return waiting if waiting >= engine.parts.config.extraction.review_reminder else 0


def _noticing(engine: Engine) -> str:
    last = engine.parts.indexer.last
    if last is None:
        return engine.parts.watcher.state
    took, ago = f"{last.took_s:.2f} s for {counted(last.files, 'file')}", f"{monotonic() - last.at:.0f} s ago"
    return f"{engine.parts.watcher.state}; the last took {took} and ended {ago}"
