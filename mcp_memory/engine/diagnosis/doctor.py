"""Examines an engine for findings, and fixes those that need no judgment."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from graphlib import CycleError, TopologicalSorter

from mcp_memory.core.core import Core
from mcp_memory.core.verbs.recovering import recover
from mcp_memory.core.verbs.vault_status import is_full, list_active, list_index_problems
from mcp_memory.embedders.providers import find_substitute
from mcp_memory.engine.diagnosis.diagnostics import VaultFacts, by_severity, findings_of
from mcp_memory.engine.handlers.project_handlers import list_projects
from mcp_memory.errors import IndexUnavailable, McpMemoryError
from mcp_memory.models import Filters, NoteId, NotePath, NoteRecord, NoteState, Problem
from mcp_memory.projects.matching import SAME_ORIGIN, NearMatch
from mcp_memory.recall.note_list import MOST_NOTES
from mcp_memory.recall.session_start import memory_over_budget
from mcp_memory.runtime.health import Finding
from mcp_memory.runtime.threads import in_thread
from mcp_memory.vault.marks.set_aside import SET_ASIDE

EXAMINATION_S = 60.0
_RETIRED = Filters(states=frozenset({NoteState.ARCHIVED, NoteState.REPLACED}))
_ASIDE = Filters(states=frozenset({NoteState.ASIDE}))


def examine(core: Core) -> list[Finding]:
    """All findings, the most severe first. Reads disk and index: call it in a thread."""
    contributed = [finding for feature in core.features for finding in feature.findings()]
    return by_severity([*findings_of(_facts(core)), *contributed])


async def fix(core: Core) -> list[str]:
    """Add entries again that an older version of their file overwrote, and rebuild what is derived if it was at fault.
    One line for each thing that was done."""
    facts = await in_thread(_facts, core, deadline_s=EXAMINATION_S, what="the examination")
    done: list[str] = []
    if overwritten := [entry.id for entry in facts.lost if entry.why == "overwritten"]:
        recovered = await recover(core, overwritten)
        done += [f"added again to {entry.added.path}: {entry.gist}" for entry in recovered]
    if facts.faults or core.indexing.reconciler.replaced:
        core.background.health.faults.clear()
        counts = await core.indexing.sweeper.reindex()
        done.append(f"rebuilt the index: {counts['notes']} notes read, {counts['embedded']} texts embedded")
    return done


def _facts(core: Core) -> VaultFacts:
    indexer, vault, health = core.indexing.reconciler, core.vault, core.background.health
    try:
        notes, fault = list_active(core), []
        aside = sorted(core.index.notes(_ASIDE, MOST_NOTES), key=lambda note: note.path)
    except IndexUnavailable as error:
        notes, aside, fault = [], [], [Problem("index", error.message)]

    def is_standing(note_id: NoteId) -> bool:
        notes, now = core.index.note_by_id(note_id), core.clock()
        return any(note.state is not NoteState.DELETED and not note.has_ended(now) for note in notes)

    problem, near = _projects(core)
    model, wants_vectors = core.search.model, core.config.embedder.provider != "none"
    return VaultFacts(
        root=str(vault.roots().get("", "")),
        paths=sorted(vault.list().files),
        ids={note.path: note.id for note in notes},
        unheeded=[note.path for note in notes if note.always_load and not vault.provenance.is_standing_order(note)],
        slips={note.path: slips for note in notes if (slips := note.meta.get("slips"))},
        problems=list(core.indexing.writer.problems.values()),
        faults=[*health.faults.values(), *fault],
        overcome=list_index_problems(core),
        leftovers=vault.standing_leftovers(),
        warnings=vault.warnings,
        lost=vault.shared.compare(),
        pruning_paused=indexer.pruning_paused,
        keywords_only=model.state if wants_vectors and not model.embedder and model.state != "loading" else None,
        substitute=find_substitute(core.config.embedder.provider),
        deaf=core.indexing.watcher.fault,
        read_only=vault.read_only,
        is_full=is_full(core),
        ignored=indexer.ignored,
        damaged_undo=vault.tombstones.problems,
        damaged_ledger_lines=vault.ledger.damaged_lines,
        failing_jobs=core.background.scheduler.troubles,
        uncaptured=core.background.capture.problems,
        memory=core.recall.answerer.lines_shown_of_memory(),
        over_budget=memory_over_budget(core.vault, core.config.recall.memory_lines),
        projects=problem,
        near_projects=near,
        circles=[note.path for note in notes if any(map(is_standing, note.superseded_by))],
        set_aside={note.path: note.meta[SET_ASIDE] for note in aside},
        hidden_circles=[] if fault else _hidden_circles(notes, core.index.notes(_RETIRED, MOST_NOTES)),
    )


def _projects(core: Core) -> tuple[str | None, list[NearMatch]]:
    """Return why the file of the projects can't be used, and the pairs of projects that may be the same and of which
    only one has notes. Pairs that you have split are skipped."""
    try:
        listed = list_projects(core)
    except IndexUnavailable:
        return None, []  # which is a finding of its own
    except McpMemoryError as error:
        return error.message, []
    has_notes = {one["label"]: one["notes"] > 0 for one in listed["projects"]}
    near = [NearMatch(**one) for one in listed["near"] if one["why"] != SAME_ORIGIN]
    return core.projects.problem, [one for one in near if has_notes[one.label] != has_notes[one.other]]


def _hidden_circles(standing: Iterable[NoteRecord], retired: Sequence[NoteRecord]) -> list[NotePath]:
    """Return the first note, in the order of `retired`, of each circle from which no path leads to a `standing`
    note."""
    replaced = defaultdict[NoteId, list[NoteId]](list)
    for note in retired:
        for name in note.superseded_by:
            replaced[name].append(note.id)
    pending = [note.id for note in standing]
    while pending:
        pending += replaced.pop(pending.pop(), [])
    links: dict[NoteId, list[NoteId]] = {}
    for note in retired:
        links[note.id] = [name for name in note.superseded_by if name in replaced]
    found = list[NotePath]()
    while True:
        try:
            TopologicalSorter(links).prepare()
            return found
        except CycleError as error:
            circle = error.args[1]
            found.append(next(note.path for note in retired if note.id in circle))
            links = {name: after for name, after in links.items() if name not in circle}
