"""Answers what concerns single notes, with plain JSON values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

from mcp_memory.client.credentials import PERSON
from mcp_memory.engine import requests
from mcp_memory.engine.history.note_titles import describe_use
from mcp_memory.engine.serializers import (
    Payload,
    chain_payload,
    forgotten_payload,
    listed_payload,
    receipt_payload,
    search_payload,
    tombstone_payload,
)
from mcp_memory.engine.verbs import editing, forgetting, recalling, searching, storing
from mcp_memory.engine.verbs.forgetting import holding_note, list_forgotten
from mcp_memory.engine.verbs.known_kinds import with_known_kinds
from mcp_memory.engine.verbs.written_notes import why_behind
from mcp_memory.errors import McpMemoryError
from mcp_memory.git.note_history import HISTORY_S, describe_history
from mcp_memory.models import Filters, NoteId, NotePath, NoteRecord, NoteState
from mcp_memory.recall.note_list import RETIRED, count_notes, date_of, newest_notes
from mcp_memory.recall.reminders import commitments
from mcp_memory.runtime.threads import LOOK_DEADLINE_S, in_thread
from mcp_memory.search.filters import checked_limit, is_empty, moment_of
from mcp_memory.search.note_lookup import Place
from mcp_memory.text.escape_invisible import visible_in
from mcp_memory.usage.note_use import Heat, NoteUse, heat
from mcp_memory.vault.journals.tombstones import Tombstone
from mcp_memory.vault.note_file import NoteFile

if TYPE_CHECKING:
    from mcp_memory.engine.parts import EngineParts


async def search(parts: EngineParts, request: requests.SearchRequest) -> Payload:
    return search_payload(await searching.search(parts, request))


async def recall(parts: EngineParts, request: requests.RecallRequest) -> Payload:
    return {"text": (await recalling.recall(parts, request)).text}


async def append(parts: EngineParts, request: requests.AppendRequest) -> Payload:
    return receipt_payload(await storing.append(parts, request))


async def update(parts: EngineParts, request: requests.UpdateRequest) -> Payload:
    """Replace the text of a note; without a text, return the present one, byte for byte (undecodable bytes as
    surrogates)."""
    if request.text is not None:
        return receipt_payload(await editing.update(parts, request))
    read = parts.vault.editing.read

    async def described(places: Sequence[Place]) -> Payload:
        path, entry = places[0]
        text, etag = await in_thread(lambda: read(path, entry), deadline_s=LOOK_DEADLINE_S, what="reading the note")
        return {"path": path, "entry": entry, "etag": etag, "text": text}

    return await parts.note_lookup.reach([request.target], described)


async def forgotten_answer(parts: EngineParts, record: NoteRecord, *, restored: bool = False) -> Payload:
    """Describe a note that was just forgotten, archived or restored, with the note that holds now and, where the index
    is behind, why."""
    holding = await holding_note(parts, record)
    return forgotten_payload(record, holding, why_behind(parts, record.path), restored=restored)


async def forget(parts: EngineParts, request: requests.ForgetRequest) -> Payload:
    return await forgotten_answer(parts, await forgetting.forget(parts, request))


async def restore(parts: EngineParts, request: requests.RestoreRequest) -> Payload:
    return await forgotten_answer(parts, await forgetting.restore(parts, request), restored=True)


async def forgotten(parts: EngineParts, request: requests.ForgottenRequest) -> Payload:
    return {"forgotten": [tombstone_payload(stone) for stone in await _tombstones(parts, request)]}


async def restore_all(parts: EngineParts, request: requests.ForgottenRequest) -> Payload:
    """Restores what `forgotten` lists for the same arguments; one that can't be restored doesn't stop the others."""
    restored, refused = list[Payload](), list[Payload]()
    for stone in await _tombstones(parts, request):
        try:
            await forgetting.restore(parts, requests.RestoreRequest(stone.target))
        except McpMemoryError as error:
            refused.append({**tombstone_payload(stone), "why": str(error)})
        else:
            restored.append(tombstone_payload(stone))
    return {"restored": restored, "refused": refused}


async def _tombstones(parts: EngineParts, request: requests.ForgottenRequest) -> list[Tombstone]:
    among = replace(await _filters(parts, request), session=request.session, states=frozenset(NoteState), now=None)
    return await list_forgotten(parts, among, {"you": PERSON}.get(request.client or "", request.client))


async def _filters(parts: EngineParts, wanted: requests.ForgottenRequest) -> Filters:
    """Unlike in a search, `until` only ends the time."""
    filters = parts.filters(
        kinds=wanted.kinds, tags=wanted.tags, project=wanted.project, since=wanted.since, path=wanted.path
    )
    filters = await with_known_kinds(parts, filters)
    return replace(filters, until=moment_of("until", wanted.until, parts.vault.layout.tz))


async def list_notes(parts: EngineParts, request: requests.ListRequest) -> Payload:
    limit = checked_limit(request.limit)
    filters = await _filters(parts, request)
    if request.archived:
        filters = replace(filters, states=RETIRED, now=None)
    client = {PERSON: "you"}.get(request.client or "", request.client)

    def read() -> Payload:
        now, index = parts.clock(), parts.index
        found, further = newest_notes(index, filters, limit, now, client, request.session)
        notes, uses = [listed_payload(note, now) for note in found], parts.uses.read()
        for note in notes:
            written = datetime.fromisoformat(note["date"]).date() if note["date"] else None
            note["heat"] = heat(uses.get(note["id"], NoteUse()), now.date(), written).value
        if request.text:
            for note in notes:
                passages = (one for one in index.passages(note["path"]) if one.shown_id == note["id"])
                note["text"] = next((one.chunk.text for one in passages), "")
        return {"notes": notes, "further": further, "nothing_stored": not notes and is_empty(index)}

    return visible_in(await in_thread(read, deadline_s=LOOK_DEADLINE_S, what="listing notes"))


async def due(parts: EngineParts, request: requests.DueRequest) -> Payload:
    """The earliest first; of `done`, the latest."""
    client = {"you": PERSON}.get(request.client or "", request.client)
    wanted, zone = parts.filters(project=request.project), parts.vault.layout.tz
    look = partial(commitments, parts.index, wanted, parts.clock(), zone, done=request.done)
    found = await in_thread(look, deadline_s=LOOK_DEADLINE_S, what="looking for commitments")
    listed = [
        {
            **{name: getattr(one.note, name) for name in ("id", "path", "title", "project", "source", "session")},
            "due": one.note.meta["due"], "when": one.when, "stage": one.stage, "done_at": one.note.meta.get("done_at"),
        }
        for one in found
        if client in (None, one.note.source)
    ]  # fmt: skip
    return visible_in({"commitments": listed[::-1] if request.done else listed})


async def stats(parts: EngineParts, request: requests.StatsRequest) -> Payload:
    """With the size of all files, in bytes, and the state of the index."""
    today = parts.clock().date()
    if request.target:

        async def describe(places: Sequence[Place]) -> Payload:
            path, entry = places[0]
            return await in_thread(partial(describe_use, parts, path, entry), what="looking up its use")

        return await parts.note_lookup.reach([request.target], describe)

    def read() -> Payload:
        sizes = [file.size_bytes for file in parts.vault.list().files.values()]
        uses, active = parts.uses.read(), [note for note in parts.admin.tree() if not note.is_log]
        heats = Counter(heat(uses.get(note.id, NoteUse()), today, date_of(note).date()) for note in active)
        counted = {"by_heat": {one.value: heats[one] for one in Heat}, "bytes": sum(sizes)}
        return count_notes(parts.index, parts.filters()) | counted | {"index": parts.admin.status()}

    return await in_thread(read, what="counting notes")


async def history(parts: EngineParts, request: requests.TargetRequest) -> Payload:
    """All notes of a chain, the newest first; of forgotten ones no text."""

    def read(path: NotePath, entry: str | None) -> Sequence[NoteFile]:
        chains = parts.vault.chains
        return chains.history(chains.require(NoteId(f"{path}#{entry}")) if entry else parts.vault.read(path))

    chain = await parts.note_lookup.reach(
        [request.target], lambda places: in_thread(lambda: read(*places[0]), deadline_s=HISTORY_S, what="the chain")
    )
    return visible_in({"chain": [chain_payload(file, parts.clock()) for file in chain]})


async def log(parts: EngineParts, request: requests.LogRequest) -> Payload:
    target = await parts.note_lookup.full_id(request.target) if request.target else None
    describe = partial(describe_history, parts.vault, parts.index, target, request.at, request.limit)
    return await in_thread(describe, deadline_s=HISTORY_S + 10, what="reading the history")


async def unarchive(parts: EngineParts, request: requests.TargetRequest) -> Payload:
    async def move(places: Sequence[Place]) -> Payload:
        back = await parts.archivist.unarchive(places[0][0])
        return {"path": back or (await forgetting.restore(parts, requests.RestoreRequest(request.target))).path}

    return await parts.note_lookup.reach([request.target], move)
