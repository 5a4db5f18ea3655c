"""Stores notes: the file first, then the index."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from time import monotonic

import anyio

from mcp_memory.comparison.other_value import NoteText
from mcp_memory.core.core import Core
from mcp_memory.core.requests import AppendRequest, UpdateRequest
from mcp_memory.core.verbs.known_kinds import kind_to_store
from mcp_memory.core.verbs.recalling import check_visible
from mcp_memory.errors import DeadlineExceeded, IndexUnavailable, InvalidInput, McpMemoryError, Refused
from mcp_memory.models import (
    Contradicted,
    Etag,
    NoteId,
    NotePath,
    Outcome,
    Passage,
    Problem,
    Receipt,
    SimilarNote,
    is_below,
    is_channel,
    tags_in,
)
from mcp_memory.runtime.threads import in_thread
from mcp_memory.search.note_lookup import Place, quote
from mcp_memory.text.dates.due import due_from, find_due
from mcp_memory.text.markdown.note_links import REPLACES, note_links
from mcp_memory.text.tokens import truncate
from mcp_memory.vault.config import COMMITMENT, LOG
from mcp_memory.vault.draft import MAX_TITLE, Draft, WriteResult, creation, due_day, expiry, one_line
from mcp_memory.vault.journals.change_journal import acting, current_caller
from mcp_memory.vault.journals.tombstones import Caller
from mcp_memory.vault.note_file import FOR_ALL, NoteFile, is_memory
from mcp_memory.vault.project_state import PROJECTS

LINK_TOKENS = 75


def link_of(core: Core, file: NoteFile | None, why: str = "") -> Mapping[str, str] | None:
    """Describe another note of a chain for an answer, without the text of a private note. `why`: a remark about it."""
    if file is None:
        return None
    is_private = core.config.recall.private_marks.cover(file.record)
    text = "" if is_private else truncate(" ".join(file.body.split()), LINK_TOKENS)
    return {"id": file.record.id, "path": file.record.path, "text": text} | ({"why": why} if why else {})


async def index_change(core: Core, stored: WriteResult, until: float) -> str:
    """Index a note that was just written, until `until` (monotonic seconds). If that fails, the next sweep indexes it.
    Vectors are made after the answer; until then, keyword search finds the note."""
    path = stored.file.record.path
    try:
        with anyio.fail_after(max(0.1, until - monotonic())):
            complete = await core.indexing.writer.index_note(stored.file)
            if stored.replaced:
                old = stored.replaced.record.path
                file = await in_thread(core.vault.read, old, deadline_s=10, what="reading")
                await core.indexing.writer.index_note(file)
    except (McpMemoryError, TimeoutError) as error:
        put_off(core, path, error)
        return "pending"
    if complete:
        return "full"
    core.search.model.wake()
    return "keywords"


async def index_written(core: Core, file: NoteFile, before: NotePath | None = None) -> None:
    """Index a note that a person's change has written, or moved from the place `before`. A failure is left to the next
    sweep, since the change is made."""
    try:
        await core.indexing.writer.index_note(file)
        if before and before != file.record.path:
            await core.indexing.writer.remove_deleted(before)
    except McpMemoryError as error:
        put_off(core, file.record.path, error)


def why_behind(core: Core, path: NotePath) -> str | None:
    """Return why the index doesn't have the latest version of a file yet; None if it has."""
    problem, known = core.indexing.writer.problems.get(path), core.indexing.writer.indexed_files.get(path)
    return problem.reason if problem and not (known and known.signature) else None


def put_off(core: Core, path: NotePath, error: Exception) -> None:
    """Leave a file that is written to the next sweep, which is due now."""
    why = error.message if isinstance(error, McpMemoryError) else "not indexed in time"
    core.indexing.writer.reindex_later(path)
    core.indexing.writer.problems[path] = Problem(path, why, is_put_off=True)
    core.indexing.watcher.hint()


MOST_SIMILAR = 3

_UNKNOWN = Receipt(NoteId(""), NotePath(""), Etag(""), Outcome.UNKNOWN, "pending")


async def append(core: Core, request: AppendRequest) -> Receipt:
    """Store a note durably and index it; the same content again returns the first note. A line `replaces: [[note]]`
    counts as `supersedes` if that note may be replaced.

    Raises InvalidInput, Refused, AlreadyExists (for `path`), NotFound (for `supersedes`), StorageFailed."""
    core.indexing.watcher.touch()
    if request.section and not is_memory(request.path or ""):
        raise InvalidInput("only MEMORY.md has sections", hint="pass path='MEMORY.md' too, or leave section out")
    if request.etag and (request.supersedes or not request.path):
        raise InvalidInput("`etag` needs `path`, and no `supersedes`", hint="pass the path of the note to change")
    if is_channel(request.project) and (request.path or request.kind == LOG):
        raise Refused("a shared conversation can't store a log entry or choose a path", hint="leave out path and kind")
    draft, own = await _draft(core, request), core.projects.of_session(current_caller().session, request.project)
    if own and not request.path:
        draft = replace(draft, project=own)
    if not request.supersedes:
        for link in note_links(request.content, 0, ""):
            if link.type == REPLACES:
                with suppress(McpMemoryError):  # `links --check` lists it
                    return await append(core, replace(request, supersedes=link.target))
        return await append_note(core, draft)
    await check_visible(core, request.project, [request.supersedes])

    async def replace_note(places: Sequence[Place]) -> Receipt:
        path, entry = places[0]
        if entry or (request.project and not own):
            return await append_note(core, draft, places[0])
        old = await in_thread(core.index.note, path, deadline_s=10, what="looking up the note")
        return await append_note(core, replace(draft, project=old.project) if old else draft, places[0])

    return await core.search.lookup.reach([request.supersedes], replace_note)


async def _draft(core: Core, request: AppendRequest) -> Draft:
    zone = core.vault.layout.tz
    path = request.path.removeprefix("./") if request.path else None
    if path:
        layout = core.vault.layout
        path = layout.in_home(path) if path.startswith(PROJECTS) else layout.place_of(NotePath(path))
    is_for_all = is_below(path or "", core.vault.layout.in_home(FOR_ALL))
    kind, created = await kind_to_store(core, request.kind), creation(request.created, zone, core.clock())
    is_commitment = kind.name == COMMITMENT
    due = due_day(request.due or (request.expires if is_commitment else None), zone)
    if is_commitment and due is None:
        said = (created or core.clock()).astimezone(zone)
        due = await in_thread(
            find_due, f"{request.title or ''}\n{request.content}", said, deadline_s=10, what="reading a date"
        )
    return Draft(
        content=request.content,
        kind=kind,
        title=request.title.strip() if request.title else None,
        tags=tuple(tags_in(request.tags or ())),
        when=tuple(request.when or ()),
        project=None if is_for_all else core.projects.label_named(request.project),
        session=request.session,
        source=request.source,
        expires_at=expiry(request.expires, zone) if request.due or not is_commitment else None,
        due=due,
        path=path,
        etag=request.etag,
        created=created,
        section=request.section,
        once=request.once,
        more={"refs": [one_line("ref", ref, MAX_TITLE) for ref in request.refs]} if request.refs else {},
    )


async def append_note(core: Core, draft: Draft, supersedes: Place | None = None) -> Receipt:
    """Store a draft within one deadline for writing and indexing, in place of a note or entry. Raises the errors of the
    vault. After the deadline the outcome is `UNKNOWN`, and the same call resolves it."""
    if supersedes and is_memory(supersedes[0]) and supersedes[1]:
        draft, supersedes = replace(draft, path=supersedes[0], replaces=supersedes[1]), None
    private = core.config.recall.private_marks  # of which no answer speaks unasked
    near: list[Passage] = []
    contrary: list[Contradicted] = []

    async def find_near() -> None:
        filters = replace(core.filters(), project=draft.project, private=private)
        near.extend(await core.search.near_notes.similar(draft.content, filters))

    async def find_contrary() -> None:
        text = NoteText(draft.content.strip(), draft.title or "", draft.kind.name, draft.project, draft.session)
        contrary.extend(await core.search.near_notes.contradicted_by(text, draft.created, private))

    failed: McpMemoryError | None = None
    receipt = _UNKNOWN
    async with anyio.create_task_group() as tasks:
        if draft.kind.name != LOG:
            tasks.start_soon(find_near)  # while the disk is at work
        if supersedes is None and not draft.replaces and not is_channel(draft.project):
            tasks.start_soon(find_contrary)
        try:
            receipt = await _write(core, draft, supersedes)
        except McpMemoryError as error:
            failed = error
            tasks.cancel_scope.cancel()
    if failed:
        raise failed
    if receipt.outcome in (Outcome.DUPLICATE, Outcome.UNKNOWN):
        return receipt
    chain = (receipt.id, (receipt.superseded or {}).get("id"), f"path:{receipt.path}")
    contradicts = tuple(one for one in contrary if one.id not in chain)[:MOST_SIMILAR]
    if contradicts:
        core.indexing.watcher.hint()  # so that answers mark them soon
    similar: dict[str | None, SimilarNote | None] = dict.fromkeys((*chain, *(one.id for one in contradicts)))
    for passage in near:
        text = quote(passage.chunk.text, draft.content)
        similar.setdefault(passage.shown_id, SimilarNote(passage.shown_id, text))
    return replace(receipt, similar=tuple(filter(None, similar.values()))[:MOST_SIMILAR], contradicts=contradicts)


async def update(core: Core, request: UpdateRequest) -> Receipt:
    """Replace the text of a note or entry, for a person, and index it; the same text again changes nothing.

    Raises PreconditionFailed, InvalidInput, NotFound, Refused, StorageFailed."""
    core.indexing.watcher.touch()
    if request.create:
        return await _changed(core, partial(core.vault.editing.create, NotePath(request.target), request.text or ""))
    editing, provenance = core.vault.editing, core.vault.provenance

    def change(place: Place) -> WriteResult:
        edited = editing.edit(*place, request.text or "", request.expected)
        if edited.file.record.always_load:  # you have just seen its head, and want it so
            provenance.adopt(edited.file)
        return edited

    return await core.search.lookup.reach([request.target], lambda places: _changed(core, partial(change, places[0])))


async def _changed(core: Core, change: Callable[[], WriteResult]) -> Receipt:
    deadline_s = core.config.vault.write_deadline_s
    until = monotonic() + deadline_s
    edited = await in_thread(change, deadline_s=deadline_s, what="changing the note")
    record = edited.file.record
    note_id = NoteId(f"{record.path}#{edited.entry}") if edited.entry else record.id
    return Receipt(note_id, record.path, record.etag, edited.outcome, await index_change(core, edited, until))


async def append_for_source(core: Core, draft: Draft, supersedes: Place | None = None) -> Receipt:
    """Store a draft as a change of its source, for work that no request asked for. Otherwise like `append_note`."""
    with acting(Caller(draft.source, draft.session)):
        return await append_note(core, draft, supersedes)


async def _write(core: Core, draft: Draft, supersedes: Place | None) -> Receipt:
    deadline_s = core.config.vault.write_deadline_s
    old, entry = supersedes or (None, None)
    until = monotonic() + deadline_s
    try:
        stored = await in_thread(
            lambda: core.vault.append(
                draft, supersedes=old, entry=entry, same=_same_content(core, draft), fits=core.recall.answerer.shows_all
            ),
            deadline_s=deadline_s,
            what="writing the note",
        )
    except DeadlineExceeded:
        return _UNKNOWN
    indexed, record = await index_change(core, stored, until), stored.file.record
    note_id = NoteId(f"{record.path}#{stored.entry}") if stored.entry else record.id
    before = stored.replaced
    later = before and before.record.path != old
    why = f"{old} was already replaced by this note" if later else ""
    due = str(due_from(record.meta.get("due"), core.vault.layout.tz) or "")
    return Receipt(
        note_id, record.path, record.etag, stored.outcome, indexed,
        superseded=link_of(core, before, why), superseded_by=link_of(core, stored.holding),
        due=due if record.kind == COMMITMENT else None,
    )  # fmt: skip


def _same_content(core: Core, draft: Draft) -> list[NotePath]:
    """Return where the index has this content. The ledger has it, too, but not after a move."""
    kind, project = draft.kind_of_same, draft.project
    written = core.vault.ledger.written(draft.content_hash, kind, project)
    try:
        contents = [draft.content_hash, *sorted({entry.now for entry in written if entry.now})]
        found = [note for content in contents for note in core.index.find_content(content, kind, project)]
    except IndexUnavailable:
        return []  # a note is stored even while the index is broken
    return [record.path for record in found if not record.path.startswith("@")]
