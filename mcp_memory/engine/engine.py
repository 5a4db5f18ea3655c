"""The only way into the rooms below, for the server, the command line and the library."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from functools import partial, wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from mcp_memory.client.credentials import PERSON
from mcp_memory.curation.claims.answers import CLAIMS
from mcp_memory.engine.handlers.claim_handlers import search_claims
from mcp_memory.engine.handlers.operations import OPERATIONS
from mcp_memory.engine.known_kinds import kind_to_store, with_known_kinds
from mcp_memory.engine.note_changes import append_note, edit_note, forget_note, link_of, why_behind
from mcp_memory.engine.parts import EngineParts
from mcp_memory.engine.request_parsing import recall_plan, request_from
from mcp_memory.engine.requests import AppendRequest, ForgetRequest, RecallRequest, SearchRequest, UpdateRequest
from mcp_memory.engine.serializers import Payload
from mcp_memory.engine.spoken_arguments import with_iso_dates
from mcp_memory.errors import IndexReplaced, InvalidInput, McpMemoryError, NotFound, Refused
from mcp_memory.models import NoteId, NotePath, NoteRecord, NoteState, Problem, Receipt, SearchResult, is_channel
from mcp_memory.recall.answer import RecalledText
from mcp_memory.recall.config import OWN_PHASES
from mcp_memory.runtime.threads import in_thread
from mcp_memory.search.filters import checked_limit, checked_query, without_commitments
from mcp_memory.search.note_lookup import Place
from mcp_memory.text.due_dates import find_due
from mcp_memory.vault.config import COMMITMENT, LOG
from mcp_memory.vault.draft import MAX_TITLE, Draft, creation, due_day, expiry, one_line
from mcp_memory.vault.journals.change_journal import acting
from mcp_memory.vault.journals.tombstones import Caller
from mcp_memory.vault.note_file import MEMORY
from mcp_memory.vault.withheld_pages import hits_not_withheld

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")


def _takes(
    request: Callable[P, R],
) -> Callable[[Callable[[Engine, R], Awaitable[T]]], Callable[Concatenate[Engine, P], Awaitable[T]]]:
    """Lets a method that answers a request take the request's fields as its arguments.

    Background work pauses during the call. A call that finds the index damaged is repeated on the new one."""

    def decorate(method: Callable[[Engine, R], Awaitable[T]]) -> Callable[Concatenate[Engine, P], Awaitable[T]]:
        @wraps(method)
        async def call(self: Engine, *arguments: P.args, **named: P.kwargs) -> T:
            fields = await with_iso_dates(self.parts, request(*arguments, **named))
            with self.parts.idle_detector.serving():
                try:
                    return await method(self, fields)
                except IndexReplaced:
                    return await method(self, fields)

        return call

    return decorate


class Engine:
    """Made by `open_engine`. Every method checks its arguments and raises errors of `mcp_memory.errors`."""

    def __init__(self, parts: EngineParts) -> None:
        """`parts` are for this room, and for tests."""
        self.parts = parts
        self.projects = parts.project_finder
        config = parts.config
        kinds = [f"{kind.name}: {kind.about}" if kind.about else kind.name for kind in parts.vault.kinds]
        self.facts: Mapping[str, Any] = {
            "kinds": "\n".join(kinds),
            "phases": ", ".join(name for name in config.recall.phases if name not in OWN_PHASES),
            "max_append_bytes": config.vault.max_append_bytes,
            "budget_tokens": config.recall.budget_tokens,
            "start_budget_tokens": config.recall.start_budget_tokens,
        }
        """What stands in braces in the annotations of requests."""

    async def perform(self, operation: str, arguments: Mapping[str, Any]) -> Payload:
        """Answer an operation by its name, with JSON values in and out; an argument that is None counts as not given.

        Raises InvalidInput for an unknown name, an unknown or missing argument or one of the wrong type."""
        if operation not in OPERATIONS:
            raise InvalidInput(f"unknown operation {operation[:100]!r}", hint=f"known: {', '.join(OPERATIONS)}")
        request, answer = OPERATIONS[operation]
        with acting(Caller(PERSON)):  # unless the operation knows better
            return await answer(self, await with_iso_dates(self.parts, request_from(request, arguments, self.facts)))

    @_takes(SearchRequest)
    async def search(self, request: SearchRequest) -> SearchResult:
        """The best passages for a question; by keywords alone while the model isn't ready, and says so."""
        if request.path and request.path.partition("/")[0] == CLAIMS:
            return await search_claims(self, request)
        parts = self.parts
        parts.watcher.touch()
        filters = asdict(request)
        query, limit, mode, explain, is_prompt = map(filters.pop, ("query", "limit", "mode", "explain", "is_prompt"))
        query, limit = checked_query(query), checked_limit(limit)
        checked = without_commitments(await with_known_kinds(parts, parts.filters(**filters)), request.query)
        if mode != "keyword":
            await parts.model.wait_loaded()
        stale = parts.freshness.describe_lag()  # the lag may be over when the answer is ready
        result = await parts.searcher.search(
            query, limit=limit, filters=checked, mode=mode, explain=explain, is_prompt=is_prompt
        )
        if NoteState.SUMMARY in checked.states:
            read = partial(hits_not_withheld, result.hits, parts.vault, parts.index)
            result = replace(result, hits=await in_thread(read, what="reading pages"))
        if old := {hit.id: hit for hit in result.hits if hit.status == "superseded"}:
            heads = await in_thread(lambda: parts.vault.chains.heads(old), what="reading chains")
            named = (replace(hit, superseded_by=heads.get(hit.id)) if hit.id in old else hit for hit in result.hits)
            result = replace(result, hits=tuple(named))
        parts.uses.add((hit.id for hit in result.hits), "found", question=query)
        if not any((request.kinds, request.tags, request.path, request.since, request.until, is_prompt)):
            parts.uses.gaps.add_unsure(query, checked.project, result.confidence)
        reasons = (result.degraded, parts.freshness.describe_lag() or stale)
        newer = {hit.id: conflict.newer for hit in result.hits if (conflict := parts.conflicts.newer_of(hit.id))}
        hits = tuple(replace(hit, contradicted_by=newer.get(hit.id)) for hit in result.hits)
        return replace(result, hits=hits, degraded="; ".join(filter(None, reasons)) or None)

    @_takes(RecallRequest)
    async def recall(self, request: RecallRequest) -> str:
        """Text within the budget: notes by id or path, what fits a question, or what a session starts with."""
        recalled = await self._recalled(request)
        how = "told" if request.query or request.ids or request.path else "shown"
        self.parts.uses.add((one.shown_id for one in recalled.assembly.excerpts), how, question=request.query)
        return recalled.text

    @_takes(RecallRequest)
    async def lines_recalled(self, request: RecallRequest) -> tuple[str, set[tuple[str, int]]]:
        """The text of `recall`, and the lines of notes that it shows whole."""
        recalled = await self._recalled(request)
        return recalled.text, recalled.lines

    async def _recalled(self, request: RecallRequest) -> RecalledText:
        parts, answerer = self.parts, self.parts.answerer
        parts.watcher.touch()
        parts.model.preload()
        plan = recall_plan(parts.config.recall, request)
        if plan.targets:
            await self._check_visible(request.project, plan.targets)
            return await parts.note_lookup.reach(
                plan.targets, lambda wanted: answerer.notes(wanted, request.lines, plan.budget_tokens, request.project)
            )
        filters = parts.filters(kinds=plan.kinds, project=request.project, until=request.until)
        filters = await with_known_kinds(parts, filters) if request.kinds else filters
        if plan.question is None:
            return await answerer.start(filters, plan.budget_tokens)
        filters = without_commitments(filters, plan.question)
        stale = parts.freshness.describe_lag()
        await parts.model.wait_loaded()
        lag = [stale] if stale else []
        recalled = await answerer.question(plan.question, filters, plan.budget_tokens, plan.phase, lag)
        if not (request.kinds or request.until):
            parts.uses.gaps.add_unsure(plan.question, filters.project, recalled.confidence)
        return recalled

    async def _check_visible(self, project: str | None, targets: Sequence[str]) -> None:
        """Raises NotFound for a note that a conversation with others doesn't see."""
        for target in targets if is_channel(project) else ():
            path, _ = await self.parts.note_lookup.find(target)
            note = await in_thread(partial(self.parts.index.note, path), deadline_s=10, what="looking for the note")
            if note is None or note.project != project:
                raise NotFound("no such note in this conversation", hint="memory_search finds its own")

    @_takes(AppendRequest)
    async def append(self, request: AppendRequest) -> Receipt:
        """Store a note durably and index it; the same content again returns the first note."""
        parts = self.parts
        parts.watcher.touch()
        if request.section and request.path != MEMORY:
            raise InvalidInput("only MEMORY.md has sections", hint="pass path='MEMORY.md' too, or leave section out")
        if is_channel(request.project) and (request.path or request.kind == LOG):
            raise Refused("other conversations read that", hint="in a conversation with others: no path, and no log")
        zone = parts.vault.layout.tz
        kind, created = await kind_to_store(parts, request.kind), creation(request.created, zone, parts.clock())
        is_promise = kind.name == COMMITMENT
        due = due_day(request.due or (request.expires if is_promise else None), zone)
        if is_promise and due is None:
            said = (created or parts.clock()).astimezone(zone)
            due = await in_thread(
                partial(find_due, f"{request.title or ''}\n{request.content}", said),
                deadline_s=10,
                what="reading a date",
            )
        draft = Draft(
            content=request.content,
            kind=kind,
            title=request.title.strip() if request.title else None,
            tags=tuple(tag.strip() for tag in request.tags or ()),
            project=parts.projects.label_named(request.project),
            session=request.session,
            source=request.source,
            expires_at=expiry(request.expires, zone) if request.due or not is_promise else None,
            due=due,
            path=request.path.removeprefix("./") if request.path else None,
            created=created,
            section=request.section,
            once=request.once,
            more={"refs": [one_line("ref", ref, MAX_TITLE) for ref in request.refs]} if request.refs else {},
        )
        if not request.supersedes:
            return await append_note(parts, draft)
        await self._check_visible(request.project, [request.supersedes])

        async def replace_note(places: Sequence[Place]) -> Receipt:
            (path, entry), find = places[0], parts.index.note
            is_known = entry or request.project
            old = None if is_known else await in_thread(lambda: find(path), deadline_s=10, what="looking up the note")
            return await append_note(parts, replace(draft, project=old.project) if old else draft, places[0])

        return await parts.note_lookup.reach([request.supersedes], replace_note)

    @_takes(UpdateRequest)
    async def update(self, request: UpdateRequest) -> Receipt:
        """Replace the text of a note or entry, for a person, and index it; the same text again changes nothing."""
        parts = self.parts
        parts.watcher.touch()
        return await parts.note_lookup.reach(
            [request.target], lambda places: edit_note(parts, places[0], request.text or "", request.expected)
        )

    @_takes(ForgetRequest)
    async def forget(self, request: ForgetRequest) -> NoteRecord:
        """Take a note or entry out of every answer, archive it, or bring it back; its file stays."""
        parts, restore = self.parts, request.restore
        parts.watcher.touch()
        by = Caller(request.source, request.session, request.personal)
        return await parts.note_lookup.reach(
            [request.target],
            lambda places: forget_note(
                parts,
                *places[0],
                restore=restore,
                archive=request.archive,
                done=request.done,
                reason=request.reason,
                by=by,
            ),
            deleted=restore,
        )

    async def holding(self, record: NoteRecord) -> Mapping[str, str] | None:
        """The other note of this one's chain that counts now."""
        vault = self.parts.vault

        def look() -> Mapping[str, str] | None:
            with suppress(McpMemoryError):  # what was just changed is answered in any case
                head = None if record.is_log else vault.chains.holding(vault.read(record.path))
                return link_of(self.parts, head)

        return await in_thread(look, deadline_s=10, what="looking for the note that holds")

    def behind(self, record: NoteRecord) -> str | None:
        """Why the index doesn't know yet what was just done to this note; None if it does."""
        return why_behind(self.parts, record.path)

    async def settled(self) -> None:
        """Returns once the first sweep is done and its backlog embedded, or the model is known to be unavailable."""
        await self.parts.model.settled.wait()

    async def notes(self) -> list[NoteRecord]:
        """All active notes, by path."""
        return await in_thread(self.parts.admin.tree, deadline_s=30, what="listing notes")

    def is_private(self, note: NoteRecord) -> bool:
        """Whether no list that nobody asked for may name it."""
        return self.parts.config.recall.private_marks.cover(note)

    async def ids_at(self, paths: Sequence[NotePath]) -> list[NoteId]:
        """The ids of those of these notes that the index knows."""
        index = self.parts.index
        return await in_thread(
            lambda: [note.id for path in paths if (note := index.note(path))], deadline_s=10, what="looking up notes"
        )

    def subscribe(self, listener: Callable[[Sequence[NotePath]], None]) -> None:
        """Call `listener` with the paths of notes whenever the index has changed."""
        self.parts.writer.listeners.append(listener)

    def wake_model(self) -> None:
        """Load the model again if it was unloaded while idle."""
        self.parts.model.preload()

    async def fit_confidence(self) -> None:
        """Fit the confidence to the current model; returns when that is done."""
        await self.parts.model.train_classifier()

    def report_state_fault(self, reason: str | None) -> None:
        """Note for `status` why the state folder can't be used; None when it can be used again."""
        if reason:
            self.parts.health.faults["state"] = Problem("state folder", reason)
        else:
            self.parts.health.faults.pop("state", None)
            self.parts.watcher.hurry()  # derive again what was lost with it
