"""The engine: one façade over vault, index, search and recall."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import wraps
from typing import Concatenate, Literal, ParamSpec, TypeVar

from mcp_memory.engine.erase import Erasure
from mcp_memory.engine.parts import EngineParts
from mcp_memory.errors import IndexReplaced
from mcp_memory.models import NoteId, NotePath, NoteRecord, Receipt, SearchResult
from mcp_memory.recall.request import recall_request
from mcp_memory.runtime.threads import in_thread
from mcp_memory.search.filters import checked_limit, checked_query, moment_of
from mcp_memory.vault.config import NoteKinds
from mcp_memory.vault.draft import Draft, creation, expiry
from mcp_memory.vault.journals.tombstones import UNKNOWN, Caller, Tombstone
from mcp_memory.vault.note_file import NoteFile

Mode = Literal["hybrid", "semantic", "keyword"]
T = TypeVar("T")
P = ParamSpec("P")


def _waited_for(
    method: Callable[Concatenate[Engine, P], Awaitable[T]],
) -> Callable[Concatenate[Engine, P], Awaitable[T]]:
    """Background work pauses during the call. A call that is the first to find the index damaged is repeated: the
    second answer comes from the new index, and says so."""

    @wraps(method)
    async def call(self: Engine, *arguments: P.args, **named: P.kwargs) -> T:
        with self.parts.idle_detector.serving():
            try:
                return await method(self, *arguments, **named)
            except IndexReplaced:
                return await method(self, *arguments, **named)

    return call


class Engine:
    """Made by `open_engine`. Every method checks its arguments and raises errors of the one tree."""

    def __init__(self, parts: EngineParts) -> None:
        self.parts = parts

    @property
    def phases(self) -> list[str]:
        """The names that `recall` takes as `phase`."""
        return list(self.parts.config.recall.phases)

    @property
    def kinds(self) -> NoteKinds:
        """The kinds that `append` takes."""
        return self.parts.vault.kinds

    @property
    def many_candidates(self) -> int:
        """From so many on that wait, a person is told."""
        return self.parts.config.extraction.review_reminder

    @property
    def embeds(self) -> bool:
        """Whether the configuration wants vectors."""
        return self.parts.config.embedder.provider != "none"

    # -- the four tools ----------------------------------------------------------------------------------------

    @_waited_for
    async def search(
        self,
        query: str,
        *,
        limit: int = 6,
        kinds: Sequence[str] | None = None,
        tags: Sequence[str] | None = None,
        project: str | None = None,
        since: str | None = None,
        until: str | None = None,
        path: str | None = None,
        include_archived: bool = False,
        mode: Mode = "hybrid",
        explain: bool = False,
        is_prompt: bool = False,
    ) -> SearchResult:
        """The best passages for a question; with keywords alone while the model is not ready, and says so.
        `is_prompt`: it is what a person told an agent, and `confidence` that it wants what is stored."""
        self.parts.watcher.touch()
        filters = self.parts.filters(
            kinds=kinds, tags=tags, project=project, since=since, until=until, path=path,
            include_archived=include_archived,
        )  # fmt: skip
        if mode != "keyword":
            await self.parts.model.returned()
        stale = (
            self.parts.freshness.describe_lag()
        )  # it may be over when the answer, which knows nothing of that, is ready
        result = await self.parts.searcher.search(
            checked_query(query), limit=checked_limit(limit), filters=filters, mode=mode, explain=explain,
            is_prompt=is_prompt,
        )  # fmt: skip
        return replace(result, degraded=_joined(result.degraded, self.parts.freshness.describe_lag() or stale))

    @_waited_for
    async def recall(
        self,
        query: str | None = None,
        *,
        ids: Sequence[str] | None = None,
        path: str | None = None,
        lines: str | None = None,
        phase: str | None = None,
        kinds: Sequence[str] | None = None,
        project: str | None = None,
        budget_tokens: int | None = None,
    ) -> str:
        """Text within the budget: notes by id or path, what fits a question, or what a session starts with."""
        self.parts.watcher.touch()
        self.parts.model.call()
        asked = recall_request(
            self.parts.config.recall, query=query, ids=ids, path=path, lines=lines, phase=phase, kinds=kinds,
            budget_tokens=budget_tokens,
        )  # fmt: skip
        if asked.targets:
            return await self.parts.note_lookup.reach(
                asked.targets, lambda wanted: self.parts.answerer.notes(wanted, asked.lines, asked.budget_tokens)
            )
        filters = self.parts.filters(kinds=asked.kinds, project=project)
        if asked.question is None:
            return (await self.parts.answerer.start(filters.project, asked.budget_tokens, filters.kinds)).text
        stale = self.parts.freshness.describe_lag()
        await self.parts.model.returned()
        recalled = await self.parts.answerer.question(
            asked.question, filters, asked.budget_tokens, [stale] if stale else [], asked.least_confidence
        )
        return recalled.text

    @_waited_for
    async def append(
        self,
        content: str,
        *,
        kind: str = "note",
        title: str | None = None,
        tags: Sequence[str] | None = None,
        project: str | None = None,
        supersedes: str | None = None,
        session: str | None = None,
        expires: str | None = None,
        path: str | None = None,
        source: str | None = None,
        created: str | None = None,
        once: bool = False,
    ) -> Receipt:
        """Store a note durably and index it; the same content again returns the first note, with `once` also where that
        has been forgotten or replaced, unless `created`, when it was said, is after that."""
        self.parts.watcher.touch()
        draft = Draft(
            content=content,
            kind=self.parts.vault.kinds.get(kind),
            title=title.strip() if title else None,
            tags=tuple(tag.strip() for tag in tags or ()),
            project=project.strip() if project and project != "*" else None,
            session=session,
            source=source,
            expires_at=expiry(expires, self.parts.vault.layout.tz),
            path=path.removeprefix("./") if path else None,
            created=creation(created, self.parts.vault.layout.tz, self.parts.clock()),
            once=once,
        )
        if not supersedes:
            return await self.parts.appender.append(draft, supersedes=None)
        return await self.parts.note_lookup.reach(
            [supersedes], lambda places: self.parts.appender.append(draft, supersedes=places[0][0])
        )

    @_waited_for
    async def forget(
        self, target: str, *, restore: bool = False, reason: str | None = None, by: Caller = UNKNOWN
    ) -> NoteRecord:
        """Take a note or log entry out of every answer, or bring it back; its file stays. `target`: id or path."""
        self.parts.watcher.touch()
        return await self.parts.note_lookup.reach(
            [target],
            lambda places: self.parts.forgetter.forget(*places[0], restore=restore, reason=reason, by=by),
            deleted=restore,
        )

    async def forgotten(
        self, *, client: str | None = None, session: str | None = None, since: str | None = None
    ) -> list[Tombstone]:
        """What is forgotten and could be restored, the latest first. Only for a person."""
        return await self.parts.forgetter.forgotten(
            client=client, session=session, since=moment_of("since", since, self.parts.vault.layout.tz)
        )

    async def erase(self, target: str, *, sure: bool) -> Erasure:
        """Take a note or log entry away for good, or (not `sure`) say what that would mean. Only for a person."""
        if not sure:
            return await self.parts.note_lookup.reach([target], lambda places: self.parts.eraser.plan(*places[0]))
        async with self.parts.compactor.paused():  # it may hold words of the note
            return await self.parts.note_lookup.reach([target], lambda places: self.parts.eraser.erase(*places[0]))

    @_waited_for
    async def note(self, note_id: str) -> str:
        """One note's text by id or path."""
        return await self.parts.note_lookup.reach(
            [note_id], lambda places: self.parts.answerer.notes(places, None, 100_000)
        )

    @_waited_for
    async def verbatim(self, target: str) -> tuple[NoteFile, str]:
        """A note by id or path, and its text as on disk; of a log entry, the entry's."""
        return await self.parts.note_lookup.reach([target], lambda places: self.parts.answerer.verbatim(*places[0]))

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
