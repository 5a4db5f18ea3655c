"""Stores what is worth remembering from the messages of a session, once, and replaces nothing.

What you state outright is stored at once, unless it is old; the rest waits in `_inbox/` for review. The same messages
again store nothing: a candidate's id is made of its words and their time, and the log knows its outcome. What was
forgotten stays forgotten when it is read again, and is stored anew when it is said again.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import anyio
from ulid import ULID

from mcp_memory.capture.readers.message import TranscriptMessage
from mcp_memory.capture.session_reader import CapturedMessages
from mcp_memory.errors import DeadlineExceeded, McpMemoryError, Refused, SummarizerUnavailable
from mcp_memory.extraction.candidate import Candidate, StatementKind
from mcp_memory.extraction.candidate_log import REJECTED, CandidateLog, CandidateOutcome
from mcp_memory.extraction.config import ExtractionConfig
from mcp_memory.extraction.contradiction import Relation, likeness
from mcp_memory.extraction.extractor import extract_candidates
from mcp_memory.extraction.language import is_local
from mcp_memory.extraction.llm_extraction import asked, grounded
from mcp_memory.extraction.neighbours import Neighbours
from mcp_memory.index.base import Index
from mcp_memory.models import NoteId, NoteRecord, NoteState, Outcome, Receipt
from mcp_memory.runtime.threads import in_thread
from mcp_memory.summarizers.base import Summarizer
from mcp_memory.text.markdown.frontmatter import Value
from mcp_memory.vault.draft import CLOCKS_DIFFER, MAX_WORD, Draft
from mcp_memory.vault.note_file import INBOX
from mcp_memory.vault.vault import Vault

EXTRACT_S = 60.0
MOST_AT_ONCE = 20
"""Of what one stretch of a session states: nobody says more in one go. The rest waits, so that no flood reaches every
prompt before a person has seen it."""

FRESH = timedelta(days=30)
"""What was said longer ago waits: who has old sessions captured does not say today what they said then. Long enough for
a daemon that did not run during a holiday."""

MOST_REJECTED = 500
"""So many of the latest that a person did not want are compared with what comes."""

Append = Callable[[Draft], Awaitable[Receipt]]
"""Stores a note durably and has it found."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class IngestResult:
    """Ids of notes: those that count at once, those that wait. `known` counts what memory held, or a person rejected;
    `problem` says why no language model was asked, where one should have been."""

    active: tuple[NoteId, ...] = ()
    waiting: tuple[NoteId, ...] = ()
    known: int = 0
    problem: str | None = None


class CandidateIngest:
    """Takes from one transcript at a time."""

    def __init__(
        self,
        vault: Vault,
        index: Index,
        append: Append,
        neighbours: Neighbours,
        register: CandidateLog,
        summarizer: Summarizer,
        config: ExtractionConfig,
        clock: Callable[[], datetime],
        *,
        prompt_tokens: int,
        ask_s: float,
    ) -> None:
        """`ask_s` bounds one answer of a language model."""
        self._vault = vault
        self._index = index
        self._append = append
        self._neighbours = neighbours
        self._register = register
        self._summarizer = summarizer
        self._config = config
        self._clock = clock
        self._prompt_tokens = prompt_tokens
        self._ask_s = ask_s
        self._taking = anyio.Lock()

    async def ingest_captured(self, heard: CapturedMessages) -> IngestResult:
        """As `take`."""
        return await self.ingest(heard.file, heard.client, heard.session, heard.messages, project=heard.project)

    async def ingest(
        self, file: str, client: str, session: str, messages: Sequence[TranscriptMessage], *, project: str | None = None
    ) -> IngestResult:
        """`file` is the transcript that the messages' offsets are of; `session` any text.

        Raises what an append raises, DeadlineExceeded and IndexUnavailable; then the same call again does the rest.
        """
        found = await in_thread(
            lambda: extract_candidates(messages), deadline_s=EXTRACT_S, what="reading the transcript"
        )
        more, problem = await self._asked(messages)
        wanted = [each for each in [*found, *more] if each.score >= self._config.min_score]
        active: list[NoteId] = []
        waiting: list[NoteId] = []
        async with self._taking:
            rejected = await in_thread(self._rejected, deadline_s=EXTRACT_S, what="reading what was rejected")
            for each in wanted:
                note_id, is_flood = id_of(each, client, session), len(active) >= MOST_AT_ONCE
                fate = await self._stored(each, note_id, file, client, session, project, rejected, waits=is_flood)
                if fate is CandidateOutcome.ACTIVE:
                    active.append(note_id)
                elif fate is CandidateOutcome.WAITING:
                    waiting.append(note_id)
        return IngestResult(tuple(active), tuple(waiting), len(wanted) - len(active) - len(waiting), problem)

    async def _stored(
        self,
        candidate: Candidate,
        note_id: NoteId,
        file: str,
        client: str,
        session: str,
        project: str | None,
        rejected: Sequence[_Rejected],
        *,
        waits: bool,
    ) -> CandidateOutcome:
        """What became of it just now; `KNOWN` where it is no news."""
        if self._register.find(note_id):
            return CandidateOutcome.KNOWN
        if there := await self._standing(note_id):  # a crash came before the register, or it is another device's
            fate = {NoteState.INBOX: CandidateOutcome.WAITING, NoteState.DELETED: CandidateOutcome.DROPPED}.get(
                there.state, CandidateOutcome.ACTIVE
            )
            await self._note(note_id, fate, session)
            return CandidateOutcome.KNOWN
        contrary: list[NoteRecord] = []
        is_known = any(each.rules_out(candidate) for each in rejected)
        for near in [] if is_known else await self._neighbours.nearest(candidate.text, project=project):
            match likeness(candidate.text, near.passage.chunk.text.strip(), near.cosine):
                case Relation.SAME:
                    is_known = True
                case Relation.CONTRARY if _is_standing(near.passage.note, candidate):
                    contrary.append(near.passage.note)
                case _:
                    pass
        if is_known:
            await self._note(note_id, CandidateOutcome.KNOWN, session)
            return CandidateOutcome.KNOWN
        at_once = self._config.auto_accept and candidate.outright and candidate.score >= self._config.auto_accept_score
        waits = waits or not at_once or self._is_past(candidate, contrary)
        draft = self._draft(candidate, note_id, file, client, session, project, contrary, waits=waits)
        try:
            receipt = await self._append(draft)
        except Refused as error:  # what cannot be stored must not keep the rest from it
            log.warning("a candidate was refused: %s", error.code)
            return CandidateOutcome.KNOWN
        if receipt.outcome is Outcome.UNKNOWN:
            raise DeadlineExceeded("storing a candidate took too long", hint="the same call again does the rest")
        fate = CandidateOutcome.WAITING if waits else CandidateOutcome.ACTIVE
        if receipt.outcome is Outcome.DUPLICATE:
            fate = CandidateOutcome.KNOWN
        await self._note(note_id, fate, session)
        return fate

    def _is_past(self, candidate: Candidate, contrary: Sequence[NoteRecord]) -> bool:
        """Whether it may not hold any more: it is old, or what was said since says otherwise."""
        at = candidate.at
        return at is not None and (
            self._clock() - at > FRESH or any(note.created is not None and note.created > at for note in contrary)
        )

    def _draft(
        self,
        candidate: Candidate,
        note_id: NoteId,
        file: str,
        client: str,
        session: str,
        project: str | None,
        contrary: Sequence[NoteRecord],
        *,
        waits: bool,
    ) -> Draft:
        at = candidate.at if candidate.at and candidate.at <= self._clock() + CLOCKS_DIFFER else None
        more: dict[str, Value] = {
            "derived_from": [f"{file}@{candidate.offset}"],
            "speaker": candidate.speaker,
            "score": candidate.score,
        }
        if contrary:
            more["contradicts"] = [*dict.fromkeys(str(note.id) for note in contrary)]
        return Draft(
            content=candidate.text,
            kind=self._vault.kinds.get(candidate.sort),
            title=candidate.title or None,
            project=None if _holds_anywhere(candidate) else project,
            session=session[:MAX_WORD],
            source=client[:MAX_WORD],
            created=at,
            once=True,
            folder=INBOX if waits else None,
            id=note_id,
            more=more,
        )

    async def _asked(self, messages: Sequence[TranscriptMessage]) -> tuple[list[Candidate], str | None]:
        if not self._config.language_model:
            return [], None

        def ask() -> list[Candidate]:
            found: list[Candidate] = []
            for each in asked(messages, self._prompt_tokens):
                found += grounded(self._summarizer.ask(each.prompt).text, each.messages)
            return found

        count = sum(1 for _ in asked(messages, self._prompt_tokens))
        try:
            return await in_thread(ask, deadline_s=count * self._ask_s + 1, what="asking a language model"), None
        except (SummarizerUnavailable, DeadlineExceeded) as error:
            log.warning("extraction without a language model: %s", error.code)
            return [], error.message

    async def _standing(self, note_id: NoteId) -> NoteRecord | None:
        found = await in_thread(lambda: self._index.note_by_id(note_id), deadline_s=10, what="looking for the note")
        return found[0] if found else None

    async def _note(self, note_id: NoteId, fate: CandidateOutcome, session: str) -> None:
        at = self._clock().timestamp()
        await in_thread(lambda: self._register.note(note_id, fate, session, at), deadline_s=10, what="noting it")

    def _rejected(self) -> list[_Rejected]:
        found: list[_Rejected] = []
        for each in self._register.with_outcomes(REJECTED)[-MOST_REJECTED:]:
            for record in self._index.note_by_id(each.id):
                try:
                    found.append(_Rejected(self._vault.read(record.path).body.strip(), each.at))
                except McpMemoryError:
                    continue  # gone, or moved just now: its id alone keeps it out
        return found


@dataclass(frozen=True, slots=True)
class _Rejected:
    """What a person dropped or undid; `at` is in seconds since the epoch."""

    text: str
    at: float

    def rules_out(self, candidate: Candidate) -> bool:
        """What the person states outright again after that is their later word."""
        is_later = candidate.outright and candidate.at is not None and candidate.at.timestamp() > self.at
        return not is_later and likeness(candidate.text, self.text) is Relation.SAME


def id_of(candidate: Candidate, client: str, session: str) -> NoteId:
    """A ULID of when it was said, and of what was said by whom: the same whenever the same is read again."""
    ms = max(0, int(candidate.at.timestamp() * 1000)) if candidate.at else 0
    return NoteId(str(ULID.from_bytes(ms.to_bytes(6, "big") + candidate.key(client, session)[:10])))


def _is_standing(note: NoteRecord, candidate: Candidate) -> bool:
    return note.state is NoteState.ACTIVE and note.kind == candidate.sort


def _holds_anywhere(candidate: Candidate) -> bool:
    """Whether it is about the person, and so of no one project."""
    return candidate.sort is StatementKind.PREFERENCE and not is_local(candidate.text)
