"""Answers recall requests."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from mcp_memory.engine.request_parsing import RecallPlan, recall_plan
from mcp_memory.engine.requests import RecallRequest
from mcp_memory.engine.verbs.known_kinds import with_known_kinds
from mcp_memory.errors import NotFound
from mcp_memory.models import is_channel
from mcp_memory.recall.answer import RecalledText
from mcp_memory.runtime.threads import in_thread
from mcp_memory.search.filters import without_commitments

if TYPE_CHECKING:
    from mcp_memory.engine.parts import EngineParts


async def recall(parts: EngineParts, request: RecallRequest) -> RecalledText:
    """Return text within the budget: notes by id or path, what fits a question, or what a session starts with.

    Raises InvalidInput, NotFound, IndexUnavailable."""
    parts.watcher.touch()
    parts.model.preload()
    plan = recall_plan(parts.config.recall, request)
    recalled = await _recalled(parts, request, plan)
    is_asked = request.query or request.ids or request.path
    shown = (excerpt.shown_id for excerpt in recalled.assembly.excerpts)
    parts.uses.add(shown, "told" if is_asked else "shown", question=request.query)
    return recalled


async def _recalled(parts: EngineParts, request: RecallRequest, plan: RecallPlan) -> RecalledText:
    if plan.targets:
        return await _notes(parts, request, plan)
    filters = parts.filters(kinds=plan.kinds, project=request.project, until=request.until)
    if request.kinds:
        filters = await with_known_kinds(parts, filters)
    if plan.question is None:
        return await parts.answerer.start(filters, plan.budget_tokens)
    filters = without_commitments(filters, plan.question)
    lag = parts.freshness.describe_lag()
    await parts.model.wait_loaded()
    recalled = await parts.answerer.question(
        plan.question, filters, plan.budget_tokens, plan.phase, [lag] if lag else []
    )
    if not (request.kinds or request.until):
        parts.uses.gaps.add_unsure(plan.question, filters.project, recalled.confidence)
    return recalled


async def _notes(parts: EngineParts, request: RecallRequest, plan: RecallPlan) -> RecalledText:
    await check_visible(parts, request.project, plan.targets)
    return await parts.note_lookup.reach(
        plan.targets,
        lambda wanted: parts.answerer.notes(wanted, request.lines, plan.budget_tokens, request.project),
    )


async def check_visible(parts: EngineParts, project: str | None, targets: Sequence[str]) -> None:
    """Raise NotFound for a note that a conversation with others doesn't see."""
    if not is_channel(project):
        return
    for target in targets:
        path, _ = await parts.note_lookup.find(target)
        note = await in_thread(partial(parts.index.note, path), deadline_s=10, what="looking for the note")
        if note is None or note.project != project:
            raise NotFound("no such note in this conversation", hint="memory_search finds its own")
