"""Answers requests about the whole vault, its files, its history and its health with plain JSON values."""

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import asdict

from mcp_memory.core.core import Core, Operation
from mcp_memory.core.requests import (
    AdoptRequest,
    ChangesRequest,
    EraseRequest,
    JobsRequest,
    NoArguments,
    RecoverRequest,
    UndoRequest,
    WaitingRequest,
)
from mcp_memory.core.serializers import Payload, lost_payload
from mcp_memory.core.verbs.adopting import adopt, give_back
from mcp_memory.core.verbs.erasing import Eraser
from mcp_memory.core.verbs.recovering import recover
from mcp_memory.core.verbs.vault_status import describe_vault
from mcp_memory.engine.diagnosis.doctor import examine, fix
from mcp_memory.engine.handlers.review_handlers import waiting
from mcp_memory.engine.history.change_history import list_changes
from mcp_memory.engine.history.undo import undo_changes
from mcp_memory.runtime.health import Finding
from mcp_memory.runtime.threads import LOOK_DEADLINE_S, in_thread
from mcp_memory.text.pluralize import counted


async def erase(core: Core, request: EraseRequest) -> Payload:
    eraser = Eraser(core)
    work = eraser.erase if request.sure else eraser.plan
    async with core.runs.paused() if request.sure else nullcontext():  # it may hold words of the note
        return asdict(await core.search.lookup.reach([request.target], lambda places: work(*places[0])))


async def adopt_notes(core: Core, request: AdoptRequest) -> Payload:
    if request.revoke:
        return {"returned": await give_back(core, request.path, dry_run=request.dry_run)}
    return {"adopted": await adopt(core, request.path, dry_run=request.dry_run)}


async def accept(core: Core, _: NoArguments) -> Payload:
    return {"pruned": await core.indexing.sweeper.accept_loss()}


async def doctor(core: Core, _: NoArguments) -> Payload:
    findings = await in_thread(examine, core, deadline_s=LOOK_DEADLINE_S, what="the examination")
    if items := (await waiting(core, WaitingRequest()))["open"]:
        findings.append(Finding("info", f"{counted(items, 'item')} waiting for your decision", "mcp-memory review"))
    return {"findings": list(map(asdict, findings))}


async def repair(core: Core, _: NoArguments) -> Payload:
    return {"done": await fix(core)}


async def recover_entries(core: Core, request: RecoverRequest) -> Payload:
    found = await recover(core, request.ids, dismiss=request.dismiss, look=request.look)
    return {"recovered": [lost_payload(entry) for entry in found]}


async def status(core: Core, _: NoArguments) -> Payload:
    facts = await in_thread(describe_vault, core, deadline_s=LOOK_DEADLINE_S, what="the state of the index")
    return {**facts, "capture": core.background.capture.status()}


async def reindex(core: Core, _: NoArguments) -> Payload:
    return await core.indexing.sweeper.reindex()


async def reconcile(core: Core, _: NoArguments) -> Payload:
    return await core.indexing.sweeper.reconcile()


async def jobs(core: Core, request: JobsRequest) -> Payload:
    return await core.background.scheduler.answer(**asdict(request))


OPERATIONS: Mapping[str, Operation] = {
    "changes": Operation(ChangesRequest, list_changes),
    "undo": Operation(UndoRequest, undo_changes),
    "adopt": Operation(AdoptRequest, adopt_notes),
    "reindex": Operation(NoArguments, reindex),
    "reconcile": Operation(NoArguments, reconcile),
    "accept": Operation(NoArguments, accept),
    "doctor": Operation(NoArguments, doctor),
    "fix": Operation(NoArguments, repair),
    "recover": Operation(RecoverRequest, recover_entries),
    "erase": Operation(EraseRequest, erase),
    "status": Operation(NoArguments, status),
    "jobs": Operation(JobsRequest, jobs),
}
