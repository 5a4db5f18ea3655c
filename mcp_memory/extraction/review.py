"""Reviews candidates, and notes stored without review. Each choice takes a note and the etag that you saw."""

from collections.abc import Sequence
from dataclasses import replace

from ulid import ULID

from mcp_memory.core.core import Core
from mcp_memory.core.requests import ReviewRequest
from mcp_memory.core.serializers import ACCEPT, CANDIDATE, DROP, EDIT, STORED, Choice, Payload, ReviewItem, contradicted
from mcp_memory.core.verbs.forgetting import forget_note
from mcp_memory.core.verbs.storing import index_written, why_behind
from mcp_memory.errors import InvalidInput, McpMemoryError, NotFound, PreconditionFailed
from mcp_memory.extraction.candidate_log import STORED_UNREVIEWED, CandidateLog, CandidateOutcome
from mcp_memory.indexing.contested_notes import CONTESTS
from mcp_memory.models import Filters, NoteId, NotePath, NoteRecord, NoteState
from mcp_memory.runtime.threads import in_thread
from mcp_memory.statements.candidate import make_title
from mcp_memory.text.markdown import frontmatter
from mcp_memory.text.parsed_values import list_at, text_at
from mcp_memory.vault.config import COMMITMENT, LOG
from mcp_memory.vault.journals.change_journal import DECISION, acting, current_caller
from mcp_memory.vault.journals.tombstones import Caller
from mcp_memory.vault.marks.head_values import MAX_WHEN
from mcp_memory.vault.note_file import NoteFile, file_stem

MAX_ITEMS = 10_000

_ACCEPT = replace(ACCEPT, about="accept: store it in place of the note that it contests, which is held back until then")
_REPLACE_ALL = Choice("r", "replace", "[r]eplace", "replace: store it in place of what it contradicts")
_REPLACE = Choice("r", "replace", "[r]eplace", "replace: store it in place of the note beside it", asks="note")
_MERGE = Choice("m", "merge", "[m]erge", "merge: add its text to the note beside it", asks="note")
_OTHER = Choice(
    "o", "beside", "[o]ther note", "other note: choose another note to replace or to merge with; then press r or m",
    asks="beside",
)  # fmt: skip
_FINISH = Choice("f", "finish", "[f]inished", "finished: the commitment is done, as with mcp-memory due --done")
_KIND = Choice("k", "kind", "[k]ind", "kind: give it another kind, such as decision; then accept it", asks="kind")
_PROJECT = Choice(
    "p", "project", "[p]roject", "project: give it another project, or none; then accept it",
    asks="project",
)  # fmt: skip


class Review:
    """Reviews notes. Raises NotFound for a missing note, PreconditionFailed for a note that was changed since you saw
    it."""

    prefix = ""  # candidates have the ids of notes
    kinds = (CANDIDATE, STORED)

    def __init__(self, core: Core, candidates: CandidateLog) -> None:
        self._core = core
        self._vault = core.vault
        self._index = core.index
        self._lookup = core.search.lookup
        self._log = candidates
        self._clock = core.clock

    async def decide(self, request: ReviewRequest) -> Sequence[Payload]:
        """Decide about each note apart, so that `undo` can take back a single decision."""
        if request.etag and len(request.items) > 1:
            raise InvalidInput("one etag for several notes", hint="decide about each note apart")
        return [await self._decide(target, request) for target in request.items]

    async def _decide(self, target: str, request: ReviewRequest) -> Payload:
        with acting(Caller(run=f"{DECISION}-{ULID()}")):
            record = await self._carry_out(target, request)
        behind = why_behind(self._core, record.path)
        done: Payload = {name: getattr(record, name) for name in ("id", "path", "title", "supersedes")}
        return done | ({"behind": behind} if behind else {})

    async def _carry_out(self, target: str, request: ReviewRequest) -> NoteRecord:
        match request.choice:
            case "accept" | "replace":
                return await self._accept(target, request)
            case "merge":
                if request.note is None:
                    raise InvalidInput("merge needs a note", hint="pass the id or path of a note")
                return await self._merge(target, request.note, request.etag)
            case "drop":
                return await self._drop(target, request.etag)
            case "finish":
                path = (await self._lookup.find(target))[0]
                await in_thread(self._candidate, path, request.etag, what="reading it")
                return await forget_note(self._core, path, None, done=True, by=current_caller())
            case choice:
                raise InvalidInput(f"unknown choice {choice[:40]!r}", hint="accept, replace, merge, drop or finish")

    async def waiting(self, limit: int | None = None) -> list[ReviewItem]:
        """Return candidates by score, latest first, then notes stored without review, latest first."""
        return await in_thread(self._waiting, limit, what="reading the inbox")

    async def _accept(self, target: str, request: ReviewRequest) -> NoteRecord:
        """Make a candidate an active note, with this text, kind and project ("" for none) if given. `replace`: in place
        of the `note`, or else of the notes that it contradicts; otherwise in place of the note that it contests. Raises
        InvalidInput for an unknown kind or a log."""
        kind, project = request.kind, request.project
        is_replacing = request.choice == "replace"
        path = (await self._lookup.find(target))[0]
        if kind is not None and self._vault.kinds.get(kind).name == LOG:
            raise InvalidInput("a candidate becomes a note, and a log has entries", hint="choose another kind")
        changes: dict[str, frontmatter.Value | None] = {"kind": kind} if kind else {}
        changes |= {"project": project.strip() or None} if project is not None else {}
        old = [(await self._lookup.find(request.note))[0]] if request.note and is_replacing else None
        file, others = await in_thread(
            lambda: self._accepted(path, request.etag, request.text, changes, old, is_replacing=is_replacing),
            what="accepting it",
        )
        await index_written(self._core, file, path)
        for changed in others:
            await index_written(self._core, changed)
        await self._record(file.record.id, CandidateOutcome.ACCEPTED)
        return file.record

    async def _merge(self, target: str, into: str, etag: str | None) -> NoteRecord:
        """Append a candidate's text to another note, and drop the candidate."""
        path, (other, entry) = (await self._lookup.find(target))[0], await self._lookup.find(into)
        if entry or other == path:
            raise InvalidInput("a candidate can be merged into another note only", hint="pass that note's id or path")
        file = await in_thread(self._merged, path, other, etag, what="merging it")
        await index_written(self._core, file)
        await self._forget(path, f"merged into {file.record.id}", CandidateOutcome.MERGED)
        return file.record

    async def _drop(self, target: str, etag: str | None) -> NoteRecord:
        """Forget a candidate, or a note that was stored without review; it isn't proposed again."""
        path = (await self._lookup.find(target))[0]
        await in_thread(self._candidate, path, etag, what="reading it")
        return await self._forget(path, "dropped in review", CandidateOutcome.DROPPED)

    async def _forget(self, path: NotePath, reason: str, outcome: CandidateOutcome) -> NoteRecord:
        record = await forget_note(self._core, path, None, reason=reason)
        await self._record(record.id, outcome)
        return record

    async def _record(self, note_id: NoteId, outcome: CandidateOutcome) -> None:
        known = self._log.find(note_id)
        session, at = known.session if known else "", self._clock().timestamp()
        await in_thread(self._log.record, note_id, outcome, session, at, what="noting it")

    # -- in threads --------------------------------------------------------------------------------------------

    def _waiting(self, limit: int | None) -> list[ReviewItem]:
        inbox = self._index.notes(Filters(states=frozenset({NoteState.INBOX})), limit=limit or MAX_ITEMS)
        logged = self._log.with_outcomes(STORED_UNREVIEWED)[-(limit or MAX_ITEMS) :]
        stored = [note for entry in logged for note in self._index.note_by_id(entry.id)]
        found = [item for note in inbox if (item := self._item(note, CANDIDATE))]
        active = [note for note in stored if note.state is NoteState.ACTIVE]
        later = [item for note in active if (item := self._item(note, STORED))]
        found.sort(key=lambda item: (item.score, item.created or "", item.path), reverse=True)
        return [*found, *reversed(later)]

    def _item(self, note: NoteRecord, what: str) -> ReviewItem | None:
        try:
            file = self._vault.read(note.path)
        except McpMemoryError:
            return None  # the note was just moved or removed
        meta, record = frontmatter.parse(file.text).meta, file.record
        scored = meta.get("score")
        score = float(scored) if isinstance(scored, (int, float)) else 0.0
        names = map(NoteId, record.meta.get("contradicts", ()))
        contradicts = [contradicted(one, next(iter(self._index.note_by_id(one)), None)) for one in names]
        is_candidate = what == CANDIDATE
        return ReviewItem(
            id=record.id,
            what=what,
            text=file.body.strip(),
            why=text_at(meta, "doubt") or (f"score {score:.2f}" if is_candidate else "stored"),
            choices=_choices(record, is_candidate=is_candidate),
            path=record.path,
            title=record.title,
            kind=record.kind,
            etag=record.etag,
            score=score,
            created=record.created.isoformat() if record.created else None,
            source=record.source,
            session=record.session,
            project=record.project,
            derived_from=[str(source) for source in list_at(meta, "derived_from")],
            private=record.is_private,
            notes=contradicts,
        )

    def _candidate(self, path: NotePath, etag: str | None) -> NoteFile:
        """Read a candidate. Raises InvalidInput for any other note."""
        file = self._vault.read(path)
        if file.record.state is NoteState.DELETED:
            raise NotFound(f"{path} was dropped", hint=f"mcp-memory restore {file.record.id}")
        known = self._log.find(file.record.id)
        if file.record.state is not NoteState.INBOX and (known is None or known.outcome not in STORED_UNREVIEWED):
            raise InvalidInput(f"{path} does not wait for review", hint="mcp-memory review lists what does")
        if etag is not None and etag != file.record.etag:
            raise PreconditionFailed(f"{path} has changed since you saw it", hint="mcp-memory review shows it anew")
        return file

    def _accepted(
        self,
        path: NotePath,
        etag: str | None,
        text: str | None,
        changes: dict[str, frontmatter.Value | None],
        replaced: list[NotePath] | None,
        *,
        is_replacing: bool,
    ) -> tuple[NoteFile, list[NoteFile]]:
        """Write the accepted note. `replaced`: None for the notes that it contradicts, or contests."""
        file = self._candidate(path, etag)
        record = file.record
        if replaced is None:
            contrary = record.meta.get("contradicts" if is_replacing else CONTESTS, ())
            found = [note for note_id in contrary for note in self._index.note_by_id(NoteId(note_id))]
        else:
            found = [self._vault.read(other).record for other in replaced]
        old = [note for note in found if note.state is NoteState.ACTIVE and not note.is_log]
        changes |= dict.fromkeys(("score", "contradicts", CONTESTS, "voice", "doubt"))
        if old:
            changes["supersedes"] = [note.id for note in old]
            changes |= _phrases(record, *old) if not record.when else {}
        file_text = file.text
        if text is not None and text.strip() != file.body.strip():
            if not text.strip():
                raise InvalidInput("the text is empty", hint="drop the candidate instead")
            changes["title"] = make_title(text.strip())
            file_text = f"{file.text[: file.body_start]}\n{text.strip()}\n"
        file = self._vault.filing.revise(path, frontmatter.patch(file_text, changes), record.etag)
        if record.state is NoteState.INBOX:
            kind = self._vault.kinds.get(file.record.kind)
            file = self._vault.filing.move_to_free(file, f"{kind.folder}/{file_stem(file.record.title)}")
        return file, [self._vault.supersede(note.path, record.id) for note in old]

    def _merged(self, path: NotePath, into: NotePath, etag: str | None) -> NoteFile:
        candidate, note = self._candidate(path, etag), self._vault.read(into)
        if note.record.state is not NoteState.ACTIVE or note.record.is_log:
            raise InvalidInput(f"{into} is no note that counts", hint="pass the id or path of one that search finds")
        text = candidate.body.strip()
        if text in note.body:
            return note
        merged = frontmatter.patch(f"{note.text.rstrip()}\n\n{text}\n", _phrases(note.record, candidate.record))
        return self._vault.filing.revise(into, merged, note.record.etag)


def _phrases(*notes: NoteRecord) -> dict[str, frontmatter.Value | None]:
    """Return the change that gives a note the phrases of all these under `when`."""
    found = list(dict.fromkeys(phrase for note in notes for phrase in note.when))[:MAX_WHEN]
    return {"when": found} if found else {}


def _choices(record: NoteRecord, *, is_candidate: bool) -> list[Choice]:
    found = [_ACCEPT if record.meta.get(CONTESTS) else ACCEPT]
    if is_candidate:
        found += [_REPLACE_ALL if record.meta.get("contradicts") else _REPLACE, _MERGE]
    elif record.kind == COMMITMENT:
        found.append(_FINISH)
    return [*found, EDIT, DROP, *([_OTHER] if is_candidate else []), _KIND, _PROJECT]
