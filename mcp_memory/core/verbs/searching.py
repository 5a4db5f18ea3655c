"""Answers search requests."""

from dataclasses import asdict, replace

from mcp_memory.core.core import Core
from mcp_memory.core.requests import SearchRequest
from mcp_memory.core.verbs.known_kinds import with_known_kinds
from mcp_memory.models import Filters, Hit, NoteState, SearchResult
from mcp_memory.recall.topic_page import TopicPage
from mcp_memory.runtime.threads import in_thread
from mcp_memory.search.filters import RETIRED, checked_limit, checked_query
from mcp_memory.usage.unanswered import UNANSWERED_BELOW
from mcp_memory.vault.withheld_pages import withheld_among

SNIPPET_CHARS = 1600
"""The most characters of a topic's page among the hits."""

_NOT_FILTERS = frozenset({"query", "limit", "mode", "explain", "is_prompt", "is_look", "session"})


async def search(core: Core, request: SearchRequest) -> SearchResult:
    """Find the best passages for a question, or the answer of a feature at this path, such as `@claims`.

    While the model isn't ready, only keywords are searched, and `degraded` gives the reason. Raises InvalidInput,
    IndexUnavailable."""
    answer = core.search.answers_at.get((request.path or "").partition("/")[0])
    return await answer(request) if answer else await search_notes(core, request)


async def search_notes(core: Core, request: SearchRequest) -> SearchResult:
    """Find the best passages of notes. Raises as `search`."""
    core.indexing.watcher.touch()
    query, limit = checked_query(request.query), checked_limit(request.limit)
    filters = await _filters(core, request)
    if request.mode != "keyword":
        await core.search.model.wait_loaded()
    earlier_lag = core.indexing.freshness.describe_lag()  # it may have passed when the answer is ready
    result = await core.search.searcher.search(
        query,
        limit=limit,
        filters=filters,
        mode=request.mode,
        explain=request.explain,
        is_prompt=request.is_prompt,
        reasons=replace(filters, private=core.config.recall.private_marks),
    )
    if filters.states - {NoteState.ACTIVE}:
        paths = {hit.path for hit in result.hits}
        gone = await in_thread(withheld_among, paths, core.vault, core.index, what="reading pages")
        result = replace(result, hits=tuple(hit for hit in result.hits if hit.path not in gone))
    result = await _with_marks(core, await _with_successors(core, result), filters)
    answerer = core.recall.answerer
    if not request.is_look:
        _count(core, request, query, filters, result)
    may_show = answerer.config.topic_pages and not (request.is_prompt or filters.until or filters.states & RETIRED)
    if may_show and (page := await answerer.topic(query, filters)):
        result = _with_page(result, page, limit)
    reasons = (result.degraded, core.indexing.freshness.describe_lag() or earlier_lag)
    return replace(result, degraded="; ".join(filter(None, reasons)) or None)


async def _filters(core: Core, request: SearchRequest) -> Filters:
    arguments = {name: value for name, value in asdict(request).items() if name not in _NOT_FILTERS}
    filters = core.filters(**arguments, question=request.query)
    return await with_known_kinds(core, filters)


async def _with_successors(core: Core, result: SearchResult) -> SearchResult:
    """Name the note that replaced each superseded hit."""
    superseded = {hit.id: hit for hit in result.hits if hit.status == "superseded"}
    if not superseded:
        return result
    heads = await in_thread(core.vault.chains.heads, superseded, what="reading chains")
    hits = [replace(hit, superseded_by=heads.get(hit.id)) if hit.id in superseded else hit for hit in result.hits]
    return replace(result, hits=tuple(hits))


def _with_page(result: SearchResult, page: TopicPage, limit: int) -> SearchResult:
    """Put a topic's page before the hits; what a feature knows about the subject is only named."""
    if page.call:
        return replace(result, note=page.more)
    excerpt, note = page.excerpt, page.excerpt.note
    score = max((hit.score for hit in result.hits), default=result.confidence)
    lines, text = (excerpt.start_line, excerpt.end_line), excerpt.text[:SNIPPET_CHARS]
    hit = Hit(note.id, note.path, *lines, "", note.title, note.kind, note.day, score, text)
    others = (one for one in result.hits if one.path != note.path)
    return replace(result, note=page.more, hits=(hit, *others)[:limit])


async def _with_marks(core: Core, result: SearchResult, filters: Filters) -> SearchResult:
    """Say of each outdated hit what holds now, and put the newer hit before it."""
    marks = await core.recall.answerer.current.marks([hit.id for hit in result.hits], filters)
    marked = [replace(hit, outdated=marks.get(hit.id, hit.outdated)) for hit in result.hits]
    ordered = list[Hit]()
    for hit in marked:
        conflict = core.indexing.conflicts.newer_of(hit.id) if hit.outdated else None
        ahead = [one for one in marked if conflict and one.id == conflict.newer]
        ordered += [one for one in (*ahead, hit) if one not in ordered]
    return replace(result, hits=tuple(ordered))


def _count(core: Core, request: SearchRequest, query: str, filters: Filters, result: SearchResult) -> None:
    """Count the use of each hit, and an unfiltered question without a good answer. A search that also covers retired
    notes looks for a note, such as the one that `mcp-memory show WORDS` means."""
    core.recall.uses.add((hit.id for hit in result.hits), "found", question=query)
    is_filtered = any((request.kinds, request.tags, request.agent, request.path, request.since, request.until))
    is_question = not (is_filtered or filters.states & RETIRED or request.is_prompt)
    if is_question and result.confidence < UNANSWERED_BELOW:
        core.recall.uses.unanswered.add_from_caller(query, filters.project)
