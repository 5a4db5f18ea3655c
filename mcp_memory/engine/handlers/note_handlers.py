"""Answers requests about single notes with plain JSON values."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from datetime import datetime
from functools import partial

from mcp_memory.client.credentials import PERSON
from mcp_memory.core.core import Core, Operation
from mcp_memory.core.requests import (
    AppendRequest,
    DueRequest,
    ForgetRequest,
    ForgottenRequest,
    ListRequest,
    NoArguments,
    RecallRequest,
    RestoreAllRequest,
    RestoreRequest,
    SearchRequest,
    StatsRequest,
    TargetRequest,
    UpdateRequest,
)
from mcp_memory.core.serializers import (
    Payload,
    chain_payload,
    forgotten_payload,
    listed_payload,
    recall_payload,
    receipt_payload,
    search_payload,
    tombstone_payload,
)
from mcp_memory.core.verbs import forgetting, looking, recalling, searching, storing
from mcp_memory.core.verbs.forgetting import holding_note, list_forgotten
from mcp_memory.core.verbs.known_kinds import with_known_kinds
from mcp_memory.core.verbs.storing import why_behind
from mcp_memory.core.verbs.vault_status import describe_vault, list_active
from mcp_memory.engine.history.change_history import describe_use
from mcp_memory.errors import McpMemoryError
from mcp_memory.models import Filters, NoteId, NotePath, NoteRecord, NoteState, is_closed
from mcp_memory.recall.note_list import RETIRED, client_of, count_notes, date_of, newest_notes
from mcp_memory.recall.reminders import commitments
from mcp_memory.runtime.threads import LOOK_DEADLINE_S, in_thread
from mcp_memory.search.filters import checked_limit
from mcp_memory.search.note_lookup import Place
from mcp_memory.text.dates import parse_argument
from mcp_memory.text.escape_invisible import visible_in
from mcp_memory.usage.note_use import Heat, NoteUse, heat
from mcp_memory.vault.note_file import NoteFile
from mcp_memory.vault.ownership import is_persons

CHAIN_S = 60.0
MOST_LATEST = 500
"""The latest notes whose clients are listed."""


async def update(core: Core, request: UpdateRequest) -> Payload:
    """Replace the text of a note; without a text, return the present text, byte for byte (undecodable bytes as
    surrogates)."""
    if request.text is not None:
        return receipt_payload(await storing.update(core, request))
    read = core.vault.editing.read

    async def described(places: Sequence[Place]) -> Payload:
        path, entry = places[0]
        text, etag = await in_thread(read, path, entry, deadline_s=LOOK_DEADLINE_S, what="reading the note")
        note = await in_thread(core.index.note, path, deadline_s=LOOK_DEADLINE_S, what="looking for the note")
        owner = core.vault.tier(path, note.id if note else NoteId(""))
        return {"path": path, "entry": entry, "etag": etag, "text": text, "owner": owner}

    return await core.search.lookup.reach([request.target], described)


async def forgotten_answer(core: Core, record: NoteRecord, *, restored: bool) -> Payload:
    """Describe a note that was just forgotten, archived or restored, with the note that is active in its place. If the
    index is out of date, give the reason."""
    holding = await holding_note(core, record)
    return forgotten_payload(record, holding, why_behind(core, record.path), restored=restored)


async def forget(core: Core, request: ForgetRequest) -> Payload:
    return await forgotten_answer(core, await forgetting.forget(core, request), restored=request.restore)


async def restore(core: Core, request: RestoreRequest) -> Payload:
    return await forgotten_answer(core, await forgetting.restore(core, request), restored=True)


async def forgotten(core: Core, request: ForgottenRequest) -> Payload:
    among = replace(await _filters(core, request), session=request.session, states=frozenset(NoteState), now=None)
    found = await list_forgotten(core, among, {"you": PERSON}.get(request.client or "", request.client))
    return {"forgotten": list(map(tombstone_payload, found))}


async def restore_all(core: Core, request: RestoreAllRequest) -> Payload:
    """Restore notes, and return the reason for each that can't be restored. It doesn't stop the others."""
    refused: dict[str, str] = {}
    for target in request.targets:
        try:
            await forgetting.restore(core, RestoreRequest(target))
        except McpMemoryError as error:
            refused[target] = str(error)
    return {"refused": refused}


async def _filters(core: Core, wanted: ForgottenRequest) -> Filters:
    """The filters of `forgotten`. Unlike in a search, `until` only ends the time."""
    filters = core.filters(
        kinds=wanted.kinds, tags=wanted.tags, project=wanted.project, since=wanted.since, path=wanted.path
    )
    filters = await with_known_kinds(core, filters)
    return replace(filters, until=parse_argument("until", wanted.until, core.vault.layout.tz))


async def list_notes(core: Core, request: ListRequest) -> Payload:
    limit = checked_limit(request.limit)
    filters = await _filters(core, request)
    if request.archived:
        filters = replace(filters, states=RETIRED, now=None)
    client = {PERSON: "you"}.get(request.client or "", request.client)

    def read() -> Payload:
        now, index = core.clock(), core.index
        found, further = newest_notes(index, filters, limit, now, client, request.session)
        notes, uses = [listed_payload(note, now) for note in found], core.recall.uses.read()
        for note in notes:
            written = datetime.fromisoformat(note["date"]).date() if note["date"] else None
            note["heat"] = heat(uses.get(note["id"], NoteUse()), now.date(), written).value
        if request.text:
            for note in notes:
                passages = (one for one in index.passages(note["path"]) if one.shown_id == note["id"])
                note["text"] = next((one.chunk.text for one in passages), "")
        return {"notes": notes, "further": further, "nothing_stored": not notes and core.search.searcher.has_nothing()}

    return visible_in(await in_thread(read, deadline_s=LOOK_DEADLINE_S, what="listing notes"))


async def due(core: Core, request: DueRequest) -> Payload:
    """List commitments, the earliest first; with `done`, the latest first."""
    client = {"you": PERSON}.get(request.client or "", request.client)
    wanted, zone = core.filters(project=request.project), core.vault.layout.tz
    look = partial(commitments, core.index, wanted, core.clock(), zone, done=request.done)
    found = await in_thread(look, deadline_s=LOOK_DEADLINE_S, what="looking for commitments")
    listed = [
        {
            **{name: getattr(one.note, name) for name in ("id", "path", "project", "source", "session")},
            "title": one.text,
            "due": one.note.meta["due"], "when": str(one.due), "stage": one.stage,
            "done_at": one.note.meta.get("done_at"),
            "owner": "you" if is_persons(one.note) else one.note.source, "private": one.note.is_private,
        }
        for one in found
        if client in (None, one.note.source)
    ]  # fmt: skip
    return visible_in({"commitments": listed[::-1] if request.done else listed})


async def stats(core: Core, request: StatsRequest) -> Payload:
    """Return counts of notes, with the size of all files in bytes and the state of the index."""
    if request.unanswered:
        asked = await in_thread(core.recall.uses.read_unanswered, what="reading questions")
        return visible_in({"unanswered": [{**asdict(one), "last": one.last.date().isoformat()} for one in asked]})
    today = core.clock().date()
    if request.target:

        async def describe(places: Sequence[Place]) -> Payload:
            path, entry = places[0]
            return await in_thread(describe_use, core, path, entry, what="looking up its use")

        return await core.search.lookup.reach([request.target], describe)

    def read() -> Payload:
        sizes = [file.size_bytes for file in core.vault.list().files.values()]
        uses, active = core.recall.uses.read(), [note for note in list_active(core) if not note.is_log]
        heats = Counter(heat(uses.get(note.id, NoteUse()), today, date_of(note).date()) for note in active)
        counted = {"by_heat": {one.value: heats[one] for one in Heat}, "bytes": sum(sizes)}
        return count_notes(core.index, core.filters()) | counted | {"index": describe_vault(core)}

    return await in_thread(read, what="counting notes")


async def history(core: Core, request: TargetRequest) -> Payload:
    """Return all notes of a chain, the newest first; forgotten notes have no text."""

    def read(path: NotePath, entry: str | None) -> Sequence[NoteFile]:
        chains = core.vault.chains
        return chains.history(chains.require(NoteId(f"{path}#{entry}")) if entry else core.vault.read(path))

    chain = await core.search.lookup.reach(
        [request.target], lambda places: in_thread(lambda: read(*places[0]), deadline_s=CHAIN_S, what="the chain")
    )
    return visible_in({"chain": [chain_payload(file, core.clock()) for file in chain]})


async def names(core: Core, _: NoArguments) -> Payload:
    """List what notes can be filtered by: kinds, projects, and the clients that wrote the latest notes."""

    def read() -> Payload:
        latest = core.index.notes(Filters(), MOST_LATEST)
        projects = {core.projects.label_named(name) for name in core.index.projects() if not is_closed(name)}
        return {
            "kinds": [kind.name for kind in core.vault.kinds],
            "projects": sorted(filter(None, projects)),
            "clients": sorted({client_of(note) for note in latest}),
        }

    return visible_in(await in_thread(read, deadline_s=LOOK_DEADLINE_S, what="reading names"))


OPERATIONS: Mapping[str, Operation] = {
    "search": Operation(SearchRequest, searching.search, is_foreground=True, to_payload=search_payload),
    "recall": Operation(RecallRequest, recalling.recall, is_foreground=True, to_payload=recall_payload),
    "append": Operation(AppendRequest, storing.append, is_foreground=True, to_payload=receipt_payload),
    "update": Operation(UpdateRequest, update, is_foreground=True),
    "forget": Operation(ForgetRequest, forget, is_foreground=True),
    "restore": Operation(RestoreRequest, restore, is_foreground=True),
    "list": Operation(ListRequest, list_notes),
    "due": Operation(DueRequest, due),
    "stats": Operation(StatsRequest, stats),
    "forgotten": Operation(ForgottenRequest, forgotten),
    "restore_all": Operation(RestoreAllRequest, restore_all),
    "history": Operation(TargetRequest, history),
    "look": Operation(TargetRequest, looking.look, is_foreground=True),
    "names": Operation(NoArguments, names),
}
