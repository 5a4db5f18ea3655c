"""Prepares what an agent gets without asking, when a session starts and with each prompt.

A session hears each passage once, until its context is emptied, and once who wrote it, if another session did since it
began. The same notes give the same text, so that a model's prompt cache holds: no time of day is in it, and of
freshness only what is stale.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Protocol

import anyio

from mcp_memory.errors import DeadlineExceeded
from mcp_memory.index.base import Index
from mcp_memory.indexing.freshness import Freshness
from mcp_memory.models import Filters, NoteId, NotePath, NoteRecord, NoteState, Passage
from mcp_memory.recall.announcements import Announcer, line_of
from mcp_memory.recall.answer import RecallAnswerer, RecalledText
from mcp_memory.recall.config import RecallConfig
from mcp_memory.recall.context_budget import with_notice
from mcp_memory.recall.cross_session_updates import ROOM_TOKENS, CrossSessionUpdates
from mcp_memory.recall.seen_passages import SeenPassages, mark_of
from mcp_memory.runtime.threads import in_thread
from mcp_memory.search.embedder_lifecycle import RETURN_WAIT_S, EmbedderLifecycle
from mcp_memory.search.note_lookup import named_by
from mcp_memory.text.tokens import count_tokens

PROMPT = "prompt"
"""The phase of `[recall.phases]` whose budget and bar count for a prompt."""

ANSWER_S = 0.15
"""What a prompt's passages take at most on a busy machine; a model at rest is waited for only with the time beyond."""

LOOK_S = 5.0


class MakeFilters(Protocol):
    def __call__(self, **wanted: Any) -> Filters: ...


@dataclass(frozen=True, slots=True)
class Briefing:
    """`text` is empty where there is nothing to say; `notes` are the ids of what it quotes. `degraded`: why it may know
    less than it could, as with the model at rest."""

    text: str = ""
    notes: tuple[NoteId, ...] = ()
    degraded: str | None = None

    @property
    def tokens(self) -> int:
        return count_tokens(self.text)


class Briefer:
    """A session is named by any text. Nothing counts as given that was not ready before the deadline."""

    def __init__(
        self,
        recaller: RecallAnswerer,
        index: Index,
        model: EmbedderLifecycle,
        given: SeenPassages,
        news: CrossSessionUpdates,
        config: RecallConfig,
        filters: MakeFilters,
        freshness: Freshness,
        digest: Announcer,
    ) -> None:
        self._recaller = recaller
        self._index = index
        self._model = model
        self._given = given
        self._news = news
        self._config = config
        self._filters = filters
        self._freshness = freshness
        self._digest = digest

    async def start(self, session: str, project: str | None, *, deadline_s: float) -> Briefing:
        """What every session should know. Its context is taken to be empty: it may be given everything again.

        Raises DeadlineExceeded.
        """
        self._model.call()
        with _within(deadline_s):
            await self.reset(session)
            self._news.begin(session)
            wanted = self._filters(project=project)
            recalled = await self._recaller.start(wanted.project, self._config.start_budget_tokens)
            passages, notes = await in_thread(lambda: self._behind(recalled), deadline_s=LOOK_S, what="looking it up")
            news = await in_thread(
                lambda: self._digest.announcements(wanted.project), deadline_s=LOOK_S, what="looking for news"
            )
            room = recalled.frame.room(self._config.start_budget_tokens)
            named: list[NoteId] = []
            for note in news:
                longer = with_notice(recalled.assembly, line_of(note, is_quoted=note.id in notes), room)
                if longer is not recalled.assembly:
                    recalled = replace(recalled, assembly=longer)
                    named.append(note.id)
            told = await self._told(session, recalled, passages, notes)
            await in_thread(lambda: self._digest.mark_announced(named), deadline_s=LOOK_S, what="noting what was told")
            return told

    async def prompt(
        self, session: str, prompt: str, project: str | None, *, deadline_s: float, lasting: bool = True
    ) -> Briefing:
        """What fits the prompt and is new to the session; nothing where it probably wants nothing that is stored.

        `lasting`: it stays in the session's context, and so is not given again. Raises DeadlineExceeded.
        """
        phase = self._config.phases[PROMPT]
        with _within(deadline_s):
            await self._model.returned(min(RETURN_WAIT_S, max(0.0, deadline_s - ANSWER_S)))
            given = await in_thread(
                lambda: self._given.seen_by(session), deadline_s=LOOK_S, what="reading what was given"
            )
            stale = self._freshness.describe_lag()
            news_tokens = min(ROOM_TOKENS, phase.budget_tokens // 4) if self._news.unseen_by(session) else 0
            recalled = await self._recaller.question(
                prompt,
                self._filters(kinds=phase.kinds, project=project),
                phase.budget_tokens - news_tokens,
                [stale] if stale else [],
                phase.least_confidence,
                lambda passage: mark_of(passage) in given,
            )
            if line := self._news.line(session, recalled.passages):
                room = recalled.frame.room(phase.budget_tokens)
                recalled = replace(recalled, assembly=with_notice(recalled.assembly, line, room))
            notes = dict.fromkeys(passage.shown_id for passage in recalled.passages)
            lasts = recalled.passages if lasting else ()
            briefing = await self._told(session, recalled, lasts, notes)
            self._news.mark_seen(session, lasts)
            return briefing

    async def reset(self, session: str) -> None:
        """Its context is empty, or it is over."""
        await in_thread(lambda: self._given.reset(session), deadline_s=LOOK_S, what="forgetting what was given")

    async def titles(self, ids: Sequence[str]) -> Mapping[str, NoteRecord]:
        """The notes that were quoted, by the ids of briefings; forgotten ones and candidates are left out."""
        return await in_thread(
            lambda: {each: note for each in ids if (note := self._note(each))}, deadline_s=LOOK_S, what="looking it up"
        )

    async def _told(
        self, session: str, recalled: RecalledText, passages: Iterable[Passage], notes: Iterable[NoteId]
    ) -> Briefing:
        if not recalled.assembly.excerpts and not recalled.assembly.notices:
            return Briefing(degraded=recalled.degraded)
        marks = [mark_of(passage) for passage in passages]
        await in_thread(lambda: self._given.add(session, marks), deadline_s=LOOK_S, what="keeping what was given")
        return Briefing(
            replace(recalled, frame=replace(recalled.frame, as_of=None)).text, tuple(notes), recalled.degraded
        )

    def _behind(self, recalled: RecalledText) -> tuple[list[Passage], list[NoteId]]:
        """The passages that stand in notes as they are quoted, and these notes."""
        quoted: dict[NotePath, list[str]] = {}
        for excerpt in recalled.assembly.excerpts:
            quoted.setdefault(excerpt.path, []).append(excerpt.text)
        passages = [
            passage
            for path, texts in quoted.items()
            for passage in self._index.passages(path)
            if any(passage.chunk.text.replace("\r\n", "\n") in text for text in texts)
        ]
        return passages, [note.id for path in quoted if (note := self._index.note(path))]

    def _note(self, note_id: str) -> NoteRecord | None:
        named = named_by(note_id)
        if isinstance(named, tuple):
            found = [note] if (note := self._index.note(named[0])) else []
        else:
            found = self._index.note_by_id(named)
        return next((note for note in found if note.state not in {NoteState.DELETED, NoteState.INBOX}), None)


@contextmanager
def _within(deadline_s: float) -> Generator[None]:
    try:
        with anyio.fail_after(deadline_s):
            yield
    except TimeoutError as error:
        raise DeadlineExceeded(f"a briefing took longer than {deadline_s:g} s", hint="see mcp-memory status") from error
