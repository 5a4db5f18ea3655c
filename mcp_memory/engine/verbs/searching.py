"""Answers search requests."""

from __future__ import annotations

from dataclasses import asdict, replace
from functools import partial
from typing import TYPE_CHECKING

from mcp_memory.curation.claims.answers import CLAIMS, MOST_SEARCHED
from mcp_memory.engine.requests import SearchRequest
from mcp_memory.engine.verbs.known_kinds import with_known_kinds
from mcp_memory.models import Filters, NoteState, SearchResult
from mcp_memory.runtime.threads import in_thread
from mcp_memory.search.filters import checked_limit, checked_query, without_commitments
from mcp_memory.vault.withheld_pages import hits_not_withheld

if TYPE_CHECKING:
    from mcp_memory.engine.parts import EngineParts

CLAIMS_S = 60.0

_NOT_FILTERS = frozenset({"query", "limit", "mode", "explain", "is_prompt"})


async def search(parts: EngineParts, request: SearchRequest) -> SearchResult:
    """Find the best passages for a question, or with the path `@claims` what holds.

    While the model isn't ready, only keywords are searched, and `degraded` gives the reason. Raises InvalidInput,
    IndexUnavailable."""
    if request.path and request.path.partition("/")[0] == CLAIMS:
        return await _search_claims(parts, request)
    return await _search_notes(parts, request)


async def _search_notes(parts: EngineParts, request: SearchRequest) -> SearchResult:
    parts.watcher.touch()
    query, limit = checked_query(request.query), checked_limit(request.limit)
    filters = await _filters(parts, request)
    if request.mode != "keyword":
        await parts.model.wait_loaded()
    earlier_lag = parts.freshness.describe_lag()  # it may have passed when the answer is ready
    result = await parts.searcher.search(
        query,
        limit=limit,
        filters=filters,
        mode=request.mode,
        explain=request.explain,
        is_prompt=request.is_prompt,
    )
    if NoteState.SUMMARY in filters.states:
        read = partial(hits_not_withheld, result.hits, parts.vault, parts.index)
        result = replace(result, hits=await in_thread(read, what="reading pages"))
    result = _with_contradictions(parts, await _with_successors(parts, result))
    _count(parts, request, query, filters, result)
    reasons = (result.degraded, parts.freshness.describe_lag() or earlier_lag)
    return replace(result, degraded="; ".join(filter(None, reasons)) or None)


async def _filters(parts: EngineParts, request: SearchRequest) -> Filters:
    arguments = {name: value for name, value in asdict(request).items() if name not in _NOT_FILTERS}
    filters = parts.filters(**arguments)
    return without_commitments(await with_known_kinds(parts, filters), request.query)


async def _with_successors(parts: EngineParts, result: SearchResult) -> SearchResult:
    """Name the note that replaced each superseded hit."""
    superseded = {hit.id: hit for hit in result.hits if hit.status == "superseded"}
    if not superseded:
        return result
    heads = await in_thread(lambda: parts.vault.chains.heads(superseded), what="reading chains")
    hits = [replace(hit, superseded_by=heads.get(hit.id)) if hit.id in superseded else hit for hit in result.hits]
    return replace(result, hits=tuple(hits))


def _with_contradictions(parts: EngineParts, result: SearchResult) -> SearchResult:
    """Name the newer note that contradicts each hit."""
    newer = {hit.id: conflict.newer for hit in result.hits if (conflict := parts.conflicts.newer_of(hit.id))}
    return replace(result, hits=tuple(replace(hit, contradicted_by=newer.get(hit.id)) for hit in result.hits))


def _count(parts: EngineParts, request: SearchRequest, query: str, filters: Filters, result: SearchResult) -> None:
    """Count the use of each hit, and an unfiltered question without a good answer."""
    parts.uses.add((hit.id for hit in result.hits), "found", question=query)
    is_filtered = any((request.kinds, request.tags, request.path, request.since, request.until))
    if not is_filtered and not request.is_prompt:
        parts.uses.gaps.add_unsure(query, filters.project, result.confidence)


async def _search_claims(parts: EngineParts, request: SearchRequest) -> SearchResult:
    """Search the notes, and answer with what they claim."""
    limit = max(request.limit, min(MOST_SEARCHED, 5 * request.limit))
    of_notes = SearchRequest(
        request.query,
        limit=limit,
        kinds=request.kinds,
        tags=request.tags,
        project=request.project,
        since=request.since,
        until=request.until,
        mode=request.mode,
    )
    found = await _search_notes(parts, of_notes)
    filters = replace(parts.filters(project=request.project), private=parts.config.recall.private_marks)
    shown = partial(parts.claims.hits, found, request.limit, filters)
    return await in_thread(shown, deadline_s=CLAIMS_S, what="reading claims")
