"""Answers recall requests."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from mcp_memory.core.core import Core
from mcp_memory.core.requests import RecallRequest
from mcp_memory.core.verbs.known_kinds import with_known_kinds
from mcp_memory.errors import InvalidInput, NotFound
from mcp_memory.models import Filters, NotePath, NoteState, is_channel
from mcp_memory.recall.answer import RecalledText
from mcp_memory.recall.config import PhaseConfig, RecallConfig
from mcp_memory.recall.context_budget import length
from mcp_memory.recall.excerpts import excerpt_of
from mcp_memory.runtime.threads import in_thread
from mcp_memory.search.filters import checked_query
from mcp_memory.search.thresholds import UNSURE
from mcp_memory.text.escape_invisible import in_line
from mcp_memory.text.tokens import CHARS_PER_TOKEN, count_tokens
from mcp_memory.vault.config import TRANSCRIPTS
from mcp_memory.vault.succession.entry_marks import entry_note

MOST_NOTES = 100
"""The most notes of one recall by ids."""

_PLACE = re.compile(r"(?i)(.+\.md):([0-9]+(?:-[0-9]*)?)")
"""A path with lines, as answers name places. No note's name ends so."""

LEAST_TOKENS, MOST_TOKENS = 100, 200_000

NOTHING_STORED = "Nothing is stored yet. The first note: memory_append 'TEXT'"


@dataclass(frozen=True)
class RecallPlan:
    """Notes by `targets` (ids and paths), or passages for `question`, or without both the text for a session's
    start."""

    budget_tokens: int
    targets: Sequence[str] = ()
    question: str | None = None
    kinds: Sequence[str] | None = None
    phase: PhaseConfig = field(default_factory=PhaseConfig)


async def recall(core: Core, request: RecallRequest) -> RecalledText:
    """Return text within the budget: notes by id or path, passages for a question, or the text for a session's start.

    Raises InvalidInput, NotFound, IndexUnavailable."""
    core.indexing.watcher.touch()
    core.search.model.preload()
    if place := _PLACE.fullmatch(request.path or ""):
        request = replace(request, path=place[1], lines=request.lines or place[2])
    plan = _plan(core.config.recall, request)
    recalled = await _recalled(core, request, plan)
    if request.explain:
        recalled = replace(recalled, explained=list(_explained(plan, recalled)))
    is_asked = request.query or request.ids or request.path
    shown = (excerpt.shown_id for excerpt in recalled.assembly.excerpts)
    core.recall.uses.add(shown, "told" if is_asked else "shown", question=request.query)
    return recalled


async def _recalled(core: Core, request: RecallRequest, plan: RecallPlan) -> RecalledText:
    if plan.targets:
        return await _notes(core, request, plan)
    wanted = {"kinds": plan.kinds, "until": request.until, **request.covered()}
    wanted |= {"project": request.project, "agent": request.agent}
    filters = core.filters(**wanted, question=plan.question or "")
    if request.kinds:
        filters = await with_known_kinds(core, filters)
    if plan.question is None:
        return await _start(core, filters, plan)
    lag = core.indexing.freshness.describe_lag()
    await core.search.model.wait_loaded()
    recalled = await core.recall.answerer.question(
        plan.question, filters, plan.budget_tokens, plan.phase, [lag] if lag else []
    )
    if not (request.kinds or request.until or request.agent) and _is_unanswered(recalled):
        core.recall.uses.unanswered.add_from_caller(plan.question, filters.project)
    return recalled


def _is_unanswered(recalled: RecalledText) -> bool:
    """Return whether a question got nothing, or only what the text itself calls weak. A list of commitments has no
    confidence, nor does a phase for prompts that found nothing."""
    if recalled.confidence is None:
        return recalled.wanted
    return not recalled.assembly.excerpts or recalled.confidence < UNSURE


def _explained(plan: RecallPlan, recalled: RecalledText) -> Iterator[str]:
    """Yield what the text and each kind may take of the budget and take, and the notes without room."""
    found, most = recalled.assembly, plan.budget_tokens
    yield f"budget: {count_tokens(recalled.text)} of {most} tokens"
    chars = Counter[str]()
    for excerpt in found.excerpts:
        chars[excerpt.note.kind] += length([excerpt])
    for kind in dict.fromkeys([*plan.phase.kinds, *chars]):
        yield f"  {kind}: {chars[kind] // CHARS_PER_TOKEN} of {plan.phase.kind_budgets.get(kind, most)}"
    shown = {excerpt.shown_id for excerpt in found.excerpts}
    for one in [*found.candidates, *(excerpt_of(chunk.passage) for chunk in recalled.chunks)]:
        if one.shown_id not in shown:
            shown.add(one.shown_id)
            yield in_line(f"left out: {one.short_id or one.path} {one.note.title}")


async def _start(core: Core, filters: Filters, plan: RecallPlan) -> RecalledText:
    """Return the text for a session's start; if it has no notes, with the reason."""
    lag = core.indexing.freshness.describe_lag()
    uses = await in_thread(core.recall.uses.read, filters.project, what="reading uses")
    budgets = plan.phase.kind_budgets
    recalled = await core.recall.answerer.start(filters, plan.budget_tokens, uses, kind_budgets=budgets)
    frame, assembly = recalled.frame, recalled.assembly
    if assembly.excerpts or assembly.notices:
        return recalled
    if lag:
        return replace(recalled, frame=replace(frame, remarks=(*frame.remarks, lag)))
    has_nothing = await in_thread(core.search.searcher.has_nothing, what="looking for notes")
    return replace(recalled, frame=replace(frame, silence=NOTHING_STORED)) if has_nothing else recalled


async def _notes(core: Core, request: RecallRequest, plan: RecallPlan) -> RecalledText:
    targets = await in_thread(_pages_of, core, request.path or "", what="looking for a session") or plan.targets
    await check_visible(core, request.project, targets)
    filters = core.filters(project=request.project)
    return await core.search.lookup.reach(
        targets, lambda wanted: core.recall.answerer.notes(wanted, request.lines, plan.budget_tokens, filters)
    )


def _pages_of(core: Core, path: str) -> list[NotePath]:
    """Return the pages of a session's transcript, by its folder or by `@transcripts/CLIENT/SESSION`."""
    client, _, session = path.rstrip("/").rpartition("/")
    if not client.startswith(f"@{TRANSCRIPTS}/") or session.endswith(".md"):
        return []
    pages = Filters(states=frozenset({NoteState.TRANSCRIPT}), path_prefix=path)
    found = core.index.notes(pages) or core.index.notes(replace(pages, path_prefix=client, session=session))
    return sorted(note.path for note in found)[:MOST_NOTES]


async def check_visible(core: Core, project: str | None, targets: Sequence[str]) -> None:
    """Raise NotFound for a note that a conversation with others, or a session that is kept apart, doesn't see."""
    wanted = core.filters(project=project if is_channel(project) else None)
    if wanted.project is None and wanted.own is None:
        return

    def look(path: NotePath, entry: str | None) -> bool:
        file = core.vault.read(path)
        return wanted.sees(((entry and entry_note(file, entry)) or file).record)

    for target in targets:
        if not await in_thread(look, *await core.search.lookup.find(target), what="looking for the note"):
            raise NotFound("no such note in this conversation", hint="memory_search finds this conversation's notes")


def _plan(config: RecallConfig, request: RecallRequest) -> RecallPlan:
    """Check a recall request. Raises InvalidInput with a hint of what to pass instead."""
    query, ids, path = request.query, request.ids, request.path
    phase = _phase(config, request.phase)
    is_start = not (query or ids or path or phase)
    default = config.start_budget_tokens if is_start else (phase or config).budget_tokens
    budget = default if request.budget_tokens is None else request.budget_tokens
    if not LEAST_TOKENS <= budget <= MOST_TOKENS:
        raise InvalidInput(f"budget_tokens is {budget}", hint="pass 100 to 200000; 2000 is a good start")
    if request.lines and (ids or not path):
        raise InvalidInput("`lines` needs `path`, and no `ids`", hint="pass the path of one note")
    if targets := list(dict.fromkeys(filter(None, [*(ids or ()), path]))):
        if query or phase or request.kinds or request.until or request.agent:
            raise InvalidInput(
                "`ids` and `path` can't be combined with query, phase, kinds, agent or until", hint="call twice"
            )
        if len(targets) > MOST_NOTES:
            raise InvalidInput(f"{len(targets)} notes are too many for one call", hint=f"pass at most {MOST_NOTES}")
        return RecallPlan(budget, targets)
    phase = phase or PhaseConfig()
    question = checked_query(query) if query is not None and (query.strip() or not request.phase) else None
    if request.until and question is None:
        raise InvalidInput("`until` needs a query", hint="ask for what you want to know as of that date")
    kinds = request.kinds or [*phase.kinds] or None
    return RecallPlan(budget, (), question, kinds, phase)


def _phase(config: RecallConfig, name: str | None) -> PhaseConfig | None:
    if name and name not in config.phases:
        raise InvalidInput(f"unknown phase {name[:100]!r}", hint=f"known phases: {', '.join(config.phases)}")
    return config.phases[name] if name else None
