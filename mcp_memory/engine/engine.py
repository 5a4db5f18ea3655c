"""The only door to the rooms below, for the server, the command line and the library."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from mcp_memory.engine.erase import Erasure
from mcp_memory.engine.handlers import OPERATIONS
from mcp_memory.engine.parts import EngineParts
from mcp_memory.engine.request_parsing import request_from
from mcp_memory.engine.requests import AppendRequest, ForgetRequest, RecallRequest, SearchRequest, TargetRequest
from mcp_memory.engine.serializers import Payload
from mcp_memory.errors import IndexReplaced, InvalidInput
from mcp_memory.models import NoteId, NotePath, NoteRecord, Receipt, SearchResult
from mcp_memory.recall.request import recall_plan
from mcp_memory.runtime.threads import in_thread
from mcp_memory.search.filters import checked_limit, checked_query
from mcp_memory.vault.draft import Draft, creation, expiry
from mcp_memory.vault.journals.tombstones import Caller
from mcp_memory.vault.note_file import NoteFile

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")


def _takes(
    request: Callable[P, R],
) -> Callable[[Callable[[Engine, R], Awaitable[T]]], Callable[Concatenate[Engine, P], Awaitable[T]]]:
    """Has a method that answers a request take the request's fields as its arguments.

    Background work pauses during the call. A call that is the first to find the index damaged is repeated: the second
    answer comes from the new index, and says so."""

    def decorate(method: Callable[[Engine, R], Awaitable[T]]) -> Callable[Concatenate[Engine, P], Awaitable[T]]:
        @wraps(method)
        async def call(self: Engine, *arguments: P.args, **named: P.kwargs) -> T:
            asked = request(*arguments, **named)
            with self.parts.idle_detector.serving():
                try:
                    return await method(self, asked)
                except IndexReplaced:
                    return await method(self, asked)

        return call

    return decorate


class Engine:
    """Made by `open_engine`. Every method checks its arguments and raises errors of the one tree."""

    def __init__(self, parts: EngineParts) -> None:
        """`parts` are for this room, and for tests."""
        self.parts = parts
        config = parts.config
        kinds = [f"{kind.name}: {kind.about}" if kind.about else kind.name for kind in parts.vault.kinds]
        self.facts: Mapping[str, Any] = {
            "kinds": "\n".join(kinds),
            "phases": ", ".join(config.recall.phases),
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
        return await answer(self, request_from(request, operation, arguments))

    @_takes(SearchRequest)
    async def search(self, asked: SearchRequest) -> SearchResult:
        """The best passages for a question; with keywords alone while the model is not ready, and says so."""
        self.parts.watcher.touch()
        filters = asdict(asked)
        query, limit, mode, explain, is_prompt = map(filters.pop, ("query", "limit", "mode", "explain", "is_prompt"))
        checked = self.parts.filters(**filters)
        if mode != "keyword":
            await self.parts.model.returned()
        stale = self.parts.freshness.describe_lag()  # the lag may be over when the answer is ready
        result = await self.parts.searcher.search(
            checked_query(query), limit=checked_limit(limit), filters=checked, mode=mode, explain=explain,
            is_prompt=is_prompt,
        )  # fmt: skip
        return replace(result, degraded=_joined(result.degraded, self.parts.freshness.describe_lag() or stale))

    @_takes(RecallRequest)
    async def recall(self, asked: RecallRequest) -> str:
        """Text within the budget: notes by id or path, what fits a question, or what a session starts with."""
        self.parts.watcher.touch()
        self.parts.model.call()
        plan = recall_plan(
            self.parts.config.recall, query=asked.query, ids=asked.ids, path=asked.path, lines=asked.lines,
            phase=asked.phase, kinds=asked.kinds, budget_tokens=asked.budget_tokens,
        )  # fmt: skip
        answerer = self.parts.answerer
        if plan.targets:
            return await self.parts.note_lookup.reach(
                plan.targets, lambda wanted: answerer.notes(wanted, plan.lines, plan.budget_tokens)
            )
        filters = self.parts.filters(kinds=plan.kinds, project=asked.project)
        if plan.question is None:
            return (await answerer.start(filters.project, plan.budget_tokens, filters.kinds)).text
        stale = self.parts.freshness.describe_lag()
        await self.parts.model.returned()
        recalled = await answerer.question(
            plan.question, filters, plan.budget_tokens, [stale] if stale else [], plan.least_confidence
        )
        return recalled.text

    @_takes(AppendRequest)
    async def append(self, asked: AppendRequest) -> Receipt:
        """Store a note durably and index it; the same content again returns the first note."""
        self.parts.watcher.touch()
        zone = self.parts.vault.layout.tz
        draft = Draft(
            content=asked.content,
            kind=self.parts.vault.kinds.get(asked.kind),
            title=asked.title.strip() if asked.title else None,
            tags=tuple(tag.strip() for tag in asked.tags or ()),
            project=asked.project.strip() if asked.project and asked.project != "*" else None,
            session=asked.session,
            source=asked.source,
            expires_at=expiry(asked.expires, zone),
            path=asked.path.removeprefix("./") if asked.path else None,
            created=creation(asked.created, zone, self.parts.clock()),
            once=asked.once,
        )
        if not asked.supersedes:
            return await self.parts.appender.append(draft, supersedes=None)
        return await self.parts.note_lookup.reach(
            [asked.supersedes], lambda places: self.parts.appender.append(draft, supersedes=places[0][0])
        )

    @_takes(ForgetRequest)
    async def forget(self, asked: ForgetRequest) -> NoteRecord:
        """Take a note or log entry out of every answer, or bring it back; its file stays."""
        self.parts.watcher.touch()
        by = Caller(asked.source, asked.session, asked.personal)
        return await self.parts.note_lookup.reach(
            [asked.target],
            lambda places: self.parts.forgetter.forget(*places[0], restore=asked.restore, reason=asked.reason, by=by),
            deleted=asked.restore,
        )

    async def erase(self, target: str, *, sure: bool) -> Erasure:
        """Delete a note or log entry for good, or (not `sure`) say what that would mean."""
        if not sure:
            return await self.parts.note_lookup.reach([target], lambda places: self.parts.eraser.plan(*places[0]))
        async with self.parts.compactor.paused():  # it may hold words of the note
            return await self.parts.note_lookup.reach([target], lambda places: self.parts.eraser.erase(*places[0]))

    @_takes(TargetRequest)
    async def note(self, asked: TargetRequest) -> str:
        """One note's text by id or path."""
        return await self.parts.note_lookup.reach(
            [asked.target], lambda places: self.parts.answerer.notes(places, None, 100_000)
        )

    @_takes(TargetRequest)
    async def verbatim(self, asked: TargetRequest) -> tuple[NoteFile, str]:
        """A note by id or path, and its text as on disk; of a log entry, the entry's."""
        return await self.parts.note_lookup.reach(
            [asked.target], lambda places: self.parts.answerer.verbatim(*places[0])
        )

    async def settled(self) -> None:
        """Returns once the first sweep is done and its backlog embedded, or the model known to be unavailable."""
        await self.parts.model.settled.wait()

    async def notes(self) -> list[NoteRecord]:
        """All active notes, by path."""
        return await in_thread(self.parts.admin.tree, deadline_s=30, what="listing notes")

    async def ids_at(self, paths: Sequence[NotePath]) -> list[NoteId]:
        """The ids of those of these notes that the index knows."""
        return await in_thread(lambda: self.parts.admin.ids(paths), deadline_s=10, what="looking up notes")

    def subscribe(self, listener: Callable[[Sequence[NotePath]], None]) -> None:
        """Have `listener` called with the paths of notes whenever the index has changed."""
        self.parts.writer.listeners.append(listener)

    def wake_model(self) -> None:
        """Load the model again if it was unloaded while idle."""
        self.parts.model.call()

    async def fit_confidence(self) -> None:
        """Fit the confidence to the model at hand; returns when that is done."""
        await self.parts.model.train_classifier()

    def report_state_fault(self, reason: str | None) -> None:
        """Why the state folder cannot be used, for `status`; None when it can be used again."""
        self.parts.admin.state_fault(reason)


def _joined(*parts: str | None) -> str | None:
    return "; ".join(part for part in parts if part) or None
