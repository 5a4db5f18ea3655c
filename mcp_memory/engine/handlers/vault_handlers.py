"""Answers what concerns the whole vault, its files, its history and its health, with plain JSON values."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from mcp_memory.engine import requests
from mcp_memory.engine.diagnosis.doctor import examine, fix
from mcp_memory.engine.erase import Eraser
from mcp_memory.engine.history.change_history import list_changes, undo_changes
from mcp_memory.engine.serializers import Payload, lost_payload
from mcp_memory.errors import InvalidInput
from mcp_memory.links.linter import LINT_S
from mcp_memory.links.note_graph import NoteGraph
from mcp_memory.runtime.threads import LOOK_DEADLINE_S, in_thread
from mcp_memory.search.filters import ANY_PROJECT
from mcp_memory.search.note_lookup import Place
from mcp_memory.text.escape_invisible import visible_in
from mcp_memory.transfer.porting import ImportDestination, note_facts, parse_incoming
from mcp_memory.vault.journals.change_journal import IMPORT, acting
from mcp_memory.vault.journals.tombstones import Caller

if TYPE_CHECKING:
    from mcp_memory.engine.parts import EngineParts


async def refs(parts: EngineParts, request: requests.RefsRequest) -> Payload:
    grounder, project = parts.grounder, None if request.project == ANY_PROJECT else request.project
    if request.confirm and not request.target:
        raise InvalidInput("which note is right?", hint="name one: mcp-memory refs NOTE --confirm")
    if project and request.folder:
        grounder.note_folder(project, request.folder)
    if request.check:
        await grounder.check()
    place = await parts.note_lookup.find(request.target) if request.target else None
    if request.confirm:
        await grounder.check(confirmed=[one.id for one in grounder.notes(place)])
    answer = partial(grounder.answer, place, project)
    return visible_in(await in_thread(answer, deadline_s=LOOK_DEADLINE_S, what="looking at the note"))


async def changes(parts: EngineParts, request: requests.ChangesRequest) -> Payload:
    return await list_changes(parts, request)


async def undo(parts: EngineParts, request: requests.UndoRequest) -> Payload:
    return await undo_changes(parts, request)


async def erase(parts: EngineParts, request: requests.EraseRequest) -> Payload:
    eraser = Eraser(parts)
    work = eraser.erase if request.sure else eraser.plan
    async with parts.compactor.paused() if request.sure else nullcontext():  # it may hold words of the note
        return asdict(await parts.note_lookup.reach([request.target], lambda places: work(*places[0])))


async def taught(parts: EngineParts, request: requests.TaughtRequest) -> Payload:
    remember = partial(parts.taught.add, Path(request.file))
    await in_thread(remember, what="remembering the file")
    return {}


async def adopt(parts: EngineParts, request: requests.AdoptRequest) -> Payload:
    if request.revoke:
        return {"returned": await parts.admin.give_back(request.path, dry_run=request.dry_run)}
    return {"adopted": await parts.admin.adopt(request.path, dry_run=request.dry_run)}


async def accept(parts: EngineParts, _: requests.NoArguments) -> Payload:
    return {"pruned": await parts.admin.accept_loss()}


async def doctor(parts: EngineParts, _: requests.NoArguments) -> Payload:
    findings = await in_thread(lambda: examine(parts), deadline_s=LOOK_DEADLINE_S, what="the examination")
    return {"findings": list(map(asdict, findings))}


async def repair(parts: EngineParts, _: requests.NoArguments) -> Payload:
    return {"done": await fix(parts)}


async def lost(parts: EngineParts, _: requests.NoArguments) -> Payload:
    found = sorted(await parts.admin.lost_entries(), key=lambda entry: -entry.added.at)
    return {"lost": list(map(lost_payload, found))}


async def recover(parts: EngineParts, request: requests.RecoverRequest) -> Payload:
    found = await parts.admin.recover(request.ids, dismiss=request.dismiss)
    return {"recovered": [lost_payload(entry) for entry in found]}


async def conflicts(parts: EngineParts, request: requests.ConflictsRequest) -> Payload:
    found = await parts.conflict_review.list_open()
    if request.project not in (None, ANY_PROJECT):
        shown = {request.project, None}
        found = [one for one in found if shown & {one["older"]["project"], one["newer"]["project"]}]
    return visible_in({"conflicts": found})


async def decide(parts: EngineParts, request: requests.DecideRequest) -> Payload:
    full_id = parts.note_lookup.full_id
    target, other = await full_id(request.target), request.other and await full_id(request.other)
    decided = await parts.conflict_review.decide(request.verb, target, other, only=request.only)
    return visible_in({"decided": decided})


async def import_notes(parts: EngineParts, request: requests.ImportRequest) -> Payload:
    destination = None if request.folder is None else ImportDestination(request.folder, request.mark)
    incoming = list(map(parse_incoming, request.items))
    with acting(Caller(run=f"{IMPORT}-{request.run or request.mark or 'vault'}")):
        taken = await parts.transfer.import_notes(incoming, destination, dry_run=request.dry_run)
    return {"taken": [{"deed": note.action.value, "path": note.path, "why": note.why} for note in taken]}


async def export_notes(parts: EngineParts, request: requests.ExportRequest) -> Payload:
    """The command that asked reads the files itself."""
    found, further = await parts.transfer.list_notes(request.after)
    return {"home": parts.marker.home, "notes": list(map(note_facts, found)), "next": further}


async def status(parts: EngineParts, _: requests.NoArguments) -> Payload:
    facts = await in_thread(parts.admin.status, deadline_s=LOOK_DEADLINE_S, what="the state of the index")
    return {**facts, "capture": parts.capture_worker.status()}


async def links(parts: EngineParts, request: requests.LinksRequest) -> Payload:
    async def describe(places: Sequence[Place]) -> Payload:
        work = partial(NoteGraph(parts.index).describe, places[0][0], request.depth)
        return visible_in(await in_thread(work, deadline_s=LINT_S, what="following links"))

    return await parts.note_lookup.reach([request.target], describe)


async def lint(parts: EngineParts, request: requests.LintRequest) -> Payload:
    """With the notes whose code has moved, changed or gone, looked at now."""
    await parts.grounder.check()
    code = [note for note in parts.grounder.answer(None, None)["notes"] if note["remark"]]
    return visible_in({**await parts.linter.lint(**asdict(request)), "code": code})
