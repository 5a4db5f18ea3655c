"""Limits what extraction leaves of a session: a few proposals, and no copy of what the agent stored itself."""

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from ulid import ULID

from mcp_memory.capture.readers.message import Transcript
from mcp_memory.capture.session_reader import CapturedMessages
from mcp_memory.core.core import Core
from mcp_memory.core.verbs.forgetting import forget_note
from mcp_memory.core.verbs.storing import index_written
from mcp_memory.errors import McpMemoryError, NotFound, PreconditionFailed, Refused
from mcp_memory.extraction.candidate_log import STORED_UNREVIEWED, CandidateLog, CandidateOutcome
from mcp_memory.extraction.kept import find_moved, is_restated, kept
from mcp_memory.extraction.replaced_notes import find_same
from mcp_memory.extraction.reversed_notes import confirms
from mcp_memory.indexing.stated_texts import LONG_AGO
from mcp_memory.models import Filters, NoteId, NotePath, NoteRecord, NoteState, PrivateMarks, is_closed
from mcp_memory.runtime.threads import in_thread
from mcp_memory.search.note_lookup import NearPassage, Place
from mcp_memory.statements.candidate import CROWDED_OUT, Candidate, StatementKind, Voice
from mcp_memory.statements.extractor import appended_texts
from mcp_memory.statements.statement_rules import OUTRIGHT, SURE
from mcp_memory.statements.user_sentences import user_sentences
from mcp_memory.text.language.terms import REPEATED, content_words, coverage
from mcp_memory.text.markdown import frontmatter
from mcp_memory.text.parsed_values import text_at
from mcp_memory.vault.config import COMMITMENT
from mcp_memory.vault.journals.change_journal import DECISION, acting
from mcp_memory.vault.journals.tombstones import Caller
from mcp_memory.vault.note_file import INBOX, NoteFile, file_stem
from mcp_memory.vault.withheld_pages import sources_of

REMEMBERED = 0.95
MOST_PROPOSALS = 5
"""The most proposals of a session that wait for review, besides what you state outright."""
READ = "a language model read the session"
_MOVED = re.compile(r"^Moved to [\d:-]+(?: [\d:]+)?: ")


@dataclass(frozen=True)
class ExtractedNote:
    """A note that was made of a session's statement, in its current state."""

    id: NoteId
    path: NotePath
    state: NoteState
    text: str
    score: float
    offset: int
    """The place of the message in the transcript."""
    is_edited: bool
    by: str
    """The language model that read the session and worded the note; empty for rules."""
    supersedes: tuple[NoteId, ...]


@dataclass(frozen=True)
class SessionNotes:
    """Finds and drops the notes that extraction made of a session. They aren't made again from the same words."""

    core: Core
    log: CandidateLog

    async def has_room(self, candidate: Candidate, session: str) -> bool:
        """Return whether a proposal may wait: the session has room for it, or a weaker proposal."""
        waiting = await self._proposals(session)
        return len(waiting) < MOST_PROPOSALS or waiting[0].score < candidate.score

    async def drop_weakest(self, session: str) -> None:
        """Drop the session's weakest proposals beyond the most that wait."""
        for note in (await self._proposals(session))[:-MOST_PROPOSALS]:
            await self._drop(note, session, CROWDED_OUT)

    async def _proposals(self, session: str) -> list[ExtractedNote]:
        extracted = sorted(await self.extracted(session), key=lambda one: one.score)
        return [one for one in extracted if one.state is NoteState.INBOX and one.score < SURE]

    async def replace_copies(self, captured: CapturedMessages, before: Transcript) -> None:
        """Let what the agent has stored since replace what was extracted from the messages before."""
        for note in await self.extracted(captured.session) if appended_texts(captured.messages) else ():
            if note.offset in {message.offset for message in before} and not note.is_edited:
                near = await self.core.search.near_notes.nearest(note.text, project=captured.project)
                await self.replace_copy(note.path, near, captured)

    async def replace_copy(self, path: NotePath, near: Sequence[NearPassage], captured: CapturedMessages) -> bool:
        """Let another note of the same statement take an extracted note's place, and its day and time. The words of a
        stored note stay in the history of the other note. Both changes are undone together. Return whether there is
        such a note."""
        vault = self.core.vault

        def change() -> list[NoteFile]:
            copy = vault.read(path)
            by, day = find_same(copy, near, appended_texts(captured.messages)), copy.record.meta.get("due")
            if by is None:
                return []
            changed = list[NoteFile]()
            if day and str(by.meta.get("due")) != str(day):
                file = vault.read(by.path)
                dated = frontmatter.patch(file.text, {"kind": COMMITMENT, "due": day})
                changed.append(vault.filing.revise(by.path, dated, file.record.etag))
            if copy.record.state is NoteState.INBOX:
                return [*changed, vault.forget(path, None, "the agent stored it itself")]
            return [*changed, vault.supersede(path, by.id)]

        by_client = Caller(captured.client, captured.session, run=f"{DECISION}-{ULID()}")
        with suppress(Refused, NotFound, PreconditionFailed), acting(by_client):
            changed = await in_thread(change, what="replacing a copy")
            for file in changed:
                await index_written(self.core, file, path)
            if changed:
                await self.record(changed[-1].record.id, captured.session, CandidateOutcome.COPIED)
                return True
        return False

    async def drop_proposals(self, session: str, refused: Sequence[str]) -> None:
        """Drop the proposals that rules made of a session, since a language model has read it, but not those with words
        that were refused."""
        for note in await self._proposals(session):
            if not note.by and not has_words_of(note.text, refused):
                await self._drop(note, session, READ)

    async def drop_read(self, note_ids: Sequence[str], session: str, by: NoteId | None = None) -> None:
        """Drop unedited notes of a session, and proposals of any session, that a language model calls wrong, or words
        better in the note `by`. Drop a note that you asked for only in favor of such a note."""
        for note in await self.extracted(session):
            if note.id in note_ids and not note.is_edited and (by or note.score < REMEMBERED):
                await self._drop(note, session, READ, by=by)
        await self._drop_waiting(note_ids, session)

    async def drop_worded(self, text: str, by: NoteId, session: str, *, is_stored: bool) -> None:
        """Drop the notes that rules made of what a language model says in the note `by`, and the proposals about it.
        Drop only proposals if that note waits, too."""
        for note in await self.extracted(session):
            is_said = is_stored and coverage(content_words(note.text), content_words(text)) >= REPEATED
            is_about_it = note.state is NoteState.INBOX and has_words_of(note.text, [text])
            if (is_said or is_about_it) and not (note.by or note.is_edited):
                await self._drop(note, session, READ, by=by if is_stored else None)

    async def hold(self, note_ids: Sequence[str], session: str) -> None:
        """Let stored notes of a session wait for review that a language model calls wrong, when nothing was stored in
        their place."""
        filing, read = self.core.vault.filing, self.core.vault.read
        for note in await self.extracted(session):
            if (
                note.id in note_ids
                and note.state is NoteState.ACTIVE
                and not (note.is_edited or note.score >= REMEMBERED)
            ):
                file = await in_thread(read, note.path, what="reading a wrong note")
                place = f"{INBOX}/{file_stem(file.record.title)}"
                file = await in_thread(filing.move_to_free, file, place, what="moving it")
                await index_written(self.core, file, note.path)
                await self.record(note.id, session, CandidateOutcome.WAITING)

    async def _drop_waiting(self, note_ids: Iterable[str], session: str) -> None:
        """Drop the proposals of any session among these notes that nobody has edited."""
        for name in note_ids:
            for note in await in_thread(self.core.index.note_by_id, NoteId(name), what="looking for a proposal"):
                if note.state is NoteState.INBOX and note.updated is None:
                    await self._drop(note, session, READ)

    async def drop_decided(self, statement: str, replaced: str | None, captured: CapturedMessages) -> None:
        """Drop the proposals that say what was stored now, or another value, or that contest the replaced note."""
        near = await self.core.search.near_notes.nearest(statement, project=captured.project)
        proposals = await in_thread(self.core.indexing.conflicts.contested.proposals, what="reading contested notes")
        contesting = [note.id for name, note in proposals.items() if name == replaced]
        for one in near:
            found = one.compare(statement)
            if found.says_the_same or found.other_value:
                contesting.append(one.passage.note.id)
        await self._drop_waiting(contesting, captured.session)

    async def retire(self, place: Place, captured: CapturedMessages, reason: str, *, done: bool | None = None) -> None:
        """Forget a note that isn't true any more; what it superseded is active again. Unless `done` is None, archive
        it, perhaps as a commitment that is done; what it superseded stays superseded."""
        with suppress(Refused, NotFound), acting(Caller(captured.client, captured.session)):
            await forget_note(self.core, *place, reason=reason, archive=done is not None, done=done is True)

    async def drop_refuted(self, captured: CapturedMessages) -> None:
        """Drop what contests a note that you confirm."""
        for note in await in_thread(self._refuted, captured, what="reading contested notes"):
            await self._drop(note, captured.session, "the older note was confirmed", CandidateOutcome.DROPPED)

    def _refuted(self, captured: CapturedMessages) -> list[NoteRecord]:
        found = list[NoteRecord]()
        contested = self.core.indexing.conflicts.contested.proposals().items()
        for message in captured.messages if contested else ():
            for sentence in user_sentences(message.text) if message.is_persons else ():
                confirmed = [
                    proposal
                    for name, proposal in contested
                    for note in self.core.index.note_by_id(name)
                    if note.project == captured.project
                    and (proposal.date or LONG_AGO) < (message.at or LONG_AGO)
                    and confirms(sentence, note.title, proposal.title)
                ]
                found += confirmed if len(confirmed) == 1 else []
        return found

    async def mark_done(
        self, captured: CapturedMessages, before: Transcript
    ) -> tuple[tuple[str, ...], list[Candidate]]:
        """Mark the promises that you report as kept as done. Return the sentences that report it or move a promise, and
        the promises for their new days."""
        duties = await self._duties(captured)
        done = await in_thread(kept, captured.messages, duties, before, what="looking for what is done")
        for note in [note for notes in done.values() for note in notes]:
            with suppress(Refused, NotFound):
                await forget_note(self.core, note.path, None, done=True)
        moved = await in_thread(lambda: [*self._moved(captured, duties)], what="looking for what is moved")
        return tuple(text.casefold().rstrip(".! ") for text in (*done, *(one.said for one in moved))), moved

    async def find_restated(self, candidate: Candidate, captured: CapturedMessages) -> NoteId | None:
        """Return the open promise that a promise with a date repeats, for the same day or another."""
        duties = await self._duties(captured) if candidate.due else ()
        same = [one.id for one in duties if is_restated(one, candidate)]
        return same[0] if len(same) == 1 else None

    async def _duties(self, captured: CapturedMessages) -> list[NoteRecord]:
        own = captured.project if is_closed(captured.project) else None  # otherwise you may report it in any project
        wanted = Filters(project=own, due=True, foreign=False, private=PrivateMarks())
        return await in_thread(self.core.index.notes, wanted, what="looking for duties")

    def _moved(self, captured: CapturedMessages, duties: Sequence[NoteRecord]) -> Iterator[Candidate]:
        for message in captured.messages:
            for sentence, note, due in find_moved(message, duties, self.core.vault.layout.tz):
                duty = _MOVED.sub("", self.core.vault.read(note.path).body.partition("\n\n> ")[0].strip())
                time = f" {due.at:%H:%M}" if due.at else ""
                title, said = f"Moved to {due.day}{time}: {duty}", sentence.text
                given = StatementKind.COMMITMENT, f"{title}\n\n> {said}", OUTRIGHT, True, title, said
                yield replace(Candidate.from_message(message, *given, voice=Voice.SAID), replaces=note.id)

    async def drop_proposal(self, note_id: NoteId | None, session: str) -> None:
        """Drop a proposal that you have corrected, if it still waits."""
        for note in await self.extracted(session) if note_id else ():
            if note.id == note_id and note.state is NoteState.INBOX:
                await self._drop(note, session, "corrected in the session", CandidateOutcome.DROPPED)

    async def extracted(self, session: str) -> Sequence[ExtractedNote]:
        """Return the notes made of a session that are stored or wait."""
        return await in_thread(self._read_all, session, what="reading a session's notes")

    def _read_all(self, session: str) -> list[ExtractedNote]:
        found: list[ExtractedNote] = []
        for entry in self.log.with_outcomes({CandidateOutcome.WAITING, *STORED_UNREVIEWED}):
            for note in self.core.index.note_by_id(entry.id) if entry.session == session else ():
                if note.state in {NoteState.INBOX, NoteState.ACTIVE}:
                    with suppress(McpMemoryError):  # the note was just moved or removed
                        file = self.core.vault.read(note.path)
                        meta = frontmatter.parse(file.text).meta
                        score = meta.get("score")
                        at = next((place.rpartition("@")[2] for place in sources_of(file.text)), "")
                        found.append(
                            ExtractedNote(
                                note.id,
                                note.path,
                                note.state,
                                file.body.partition("\n\n> ")[0].strip(),
                                float(score) if isinstance(score, int | float) else 0.0,
                                int(at) if at.isdigit() else -1,
                                file.record.updated is not None
                                or not self.core.vault.ledger.written(note.content_hash, note.kind, note.project),
                                text_at(meta, "by"),
                                note.supersedes,
                            )
                        )
        return found

    async def _drop(
        self,
        note: ExtractedNote | NoteRecord,
        session: str,
        reason: str,
        outcome: CandidateOutcome = CandidateOutcome.CROWDED_OUT,
        by: NoteId | None = None,
    ) -> None:
        """Forget a note, or let the note `by` supersede it, so that what it has replaced doesn't apply again."""
        with suppress(Refused, NotFound):
            if by and note.supersedes:
                file = await in_thread(self.core.vault.supersede, note.path, by, what="replacing a note")
                await index_written(self.core, file, note.path)
            else:
                await forget_note(self.core, note.path, None, reason=reason)
            await self.record(note.id, session, outcome)

    async def record(self, note_id: NoteId, session: str, outcome: CandidateOutcome) -> None:
        at = self.core.clock().timestamp()
        await in_thread(self.log.record, note_id, outcome, session, at, what="recording")


def has_words_of(text: str, others: Iterable[str]) -> bool:
    """Return whether a text has more than half of another text's content words, or the other text of its words."""
    words = content_words(text)
    return any(2 * len(words & one) > min(len(words), len(one)) for one in map(content_words, others))
