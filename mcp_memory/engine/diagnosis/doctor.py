"""Examines an engine for findings, and fixes those that need no judgment."""

from __future__ import annotations

import stat
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

from mcp_memory.engine.diagnosis.diagnostics import Finding, VaultFacts, findings_of
from mcp_memory.engine.handlers.project_handlers import list_projects
from mcp_memory.errors import IndexUnavailable, McpMemoryError
from mcp_memory.git.repository import find_repository
from mcp_memory.models import Filters, NoteId, NoteRecord, NoteState, Problem
from mcp_memory.projects.matching import SAME_ORIGIN, NearMatch
from mcp_memory.recall.note_list import MOST_NOTES
from mcp_memory.recall.session_start import memory_over_budget
from mcp_memory.runtime.threads import in_thread
from mcp_memory.text.pluralize import counted
from mcp_memory.vault.odd_files.set_aside import SET_ASIDE, Oddity
from mcp_memory.vault.succession.circles import hidden_circles

if TYPE_CHECKING:
    from mcp_memory.engine.parts import EngineParts

EXAMINATION_S = 60.0
_RETIRED = Filters(states=frozenset({NoteState.ARCHIVED}))
_ASIDE = Filters(states=frozenset({NoteState.ASIDE}))


def examine(parts: EngineParts) -> list[Finding]:
    """All findings, the most severe first. Reads disk and index: call it in a thread."""
    return findings_of(_facts(parts))


async def fix(parts: EngineParts) -> list[str]:
    """Add entries again that an older version of their file overwrote, and rebuild what is derived if it was at fault.
    One line for each thing that was done."""
    facts = await in_thread(lambda: _facts(parts), deadline_s=EXAMINATION_S, what="the examination")
    done: list[str] = []
    if overwritten := [entry.id for entry in facts.lost if entry.why == "overwritten"]:
        recovered = await parts.admin.recover(overwritten)
        done += [f"added again to {entry.added.path}: {entry.gist}" for entry in recovered]
    if facts.faults or parts.indexer.replaced:
        parts.health.faults.clear()
        counts = await parts.admin.reindex()
        done.append(f"rebuilt the index: {counts['notes']} notes read, {counts['embedded']} texts embedded")
    return done


def _facts(parts: EngineParts) -> VaultFacts:
    admin, indexer, vault, health = parts.admin, parts.indexer, parts.vault, parts.health
    try:
        notes, fault = admin.tree(), []
    except IndexUnavailable as error:
        notes, fault = [], [Problem("index", error.message)]

    def is_standing(note_id: NoteId) -> bool:
        return any(note.state is not NoteState.DELETED for note in parts.index.note_by_id(note_id))

    problem, near = _projects(parts)
    model, wants_vectors = parts.model, parts.config.embedder.provider != "none"
    return VaultFacts(
        root=str(vault.roots().get("", "")),
        paths=sorted(vault.list().files),
        ids={note.path: note.id for note in notes},
        unheeded=[note.path for note in notes if note.always_load and not vault.provenance.is_standing_order(note)],
        slips={note.path: slips for note in notes if (slips := note.meta.get("slips"))},
        problems=list(parts.writer.problems.values()),
        faults=[*health.faults.values(), *fault],
        overcome=admin.index_problems,
        leftovers=vault.standing_leftovers(),
        warnings=vault.warnings,
        lost=vault.shared.compare(),
        pruning_paused=indexer.pruning_paused,
        keywords_only=model.state if wants_vectors and not model.embedder and model.state != "loading" else None,
        noticing=_noticing(parts),
        deaf=parts.watcher.fault,
        read_only=vault.read_only,
        is_full=parts.admin.is_full(),
        ignored=indexer.ignored,
        open_objects=_open_objects(parts),
        commits=health.commits() if health.commits else None,
        damaged_undo=vault.damaged_tombstones,
        damaged_ledger_lines=vault.ledger.damaged_lines,
        failing_jobs=parts.scheduler.troubles,
        uncaptured=parts.capture_worker.problems,
        memory=parts.answerer.lines_shown_of_memory(),
        over_budget=memory_over_budget(parts.vault, parts.config.recall.memory_lines),
        inbox=_long_inbox(parts),
        conflicts=parts.conflicts.open_conflicts,
        projects=problem,
        near_projects=near,
        circles=[note.path for note in notes if any(map(is_standing, note.superseded_by))],
        set_aside={} if fault else {note.path: Oddity(note.meta[SET_ASIDE]) for note in _odd(parts)},
        hidden_circles=[] if fault else hidden_circles(notes, parts.index.notes(_RETIRED, MOST_NOTES)),
    )


def _odd(parts: EngineParts) -> list[NoteRecord]:
    return sorted(parts.index.notes(_ASIDE, MOST_NOTES), key=lambda note: note.path)


def _projects(parts: EngineParts) -> tuple[str | None, list[NearMatch]]:
    """Why their file can't be used; and of projects that may be one, those of which one has no notes, unless you split
    them."""
    try:
        listed = list_projects(parts)
    except IndexUnavailable:
        return None, []  # which is a finding of its own
    except McpMemoryError as error:
        return error.message, []
    has_notes = {one["label"]: one["notes"] > 0 for one in listed["projects"]}
    near = [NearMatch(**one) for one in listed["near"] if one["why"] != SAME_ORIGIN]
    return parts.projects.problem, [one for one in near if has_notes[one.label] != has_notes[one.other]]


def _open_objects(parts: EngineParts) -> str | None:
    root = parts.vault.roots()[""]
    own = (root / path for path in parts.vault.list().files if path[0] != "@")
    if not parts.health.commits or all(map(_is_open, own)):
        return None
    try:
        found = find_repository(root, EXAMINATION_S).open_objects()
    except McpMemoryError:
        return None  # no repository, or git does not answer: `commits` says so
    return str(found) if found else None


def _is_open(file: Path) -> bool:
    try:
        return bool(file.stat().st_mode & (stat.S_IRGRP | stat.S_IROTH))
    except OSError:
        return True


def _long_inbox(parts: EngineParts) -> int:
    try:
        waiting = parts.digest.waiting()
    except IndexUnavailable:
        return 0  # which is a finding of its own
    return waiting if waiting >= parts.config.extraction.review_reminder else 0


def _noticing(parts: EngineParts) -> str:
    last = parts.indexer.last
    if last is None:
        return parts.watcher.state
    took, ago = f"{last.took_s:.2f} s for {counted(last.files, 'file')}", f"{monotonic() - last.at:.0f} s ago"
    return f"{parts.watcher.state}; the last took {took} and ended {ago}"
