"""What can be asked of an engine, by name, as plain JSON values in and out.

The MCP tools, the daemon's own HTTP interface and the command line in process all answer through this table, so
that they cannot differ.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from mcp_memory.engine.doctor import examine
from mcp_memory.engine.engine import Engine
from mcp_memory.errors import InvalidInput
from mcp_memory.models import Hit, NoteRecord, Receipt, SearchResult

Payload = dict[str, Any]


async def perform(engine: Engine, operation: str, arguments: Mapping[str, Any]) -> Payload:
    """Run one operation. Raises InvalidInput for an unknown name or argument, and what the engine raises."""
    if operation not in _OPERATIONS:
        raise InvalidInput(f"unknown operation {operation[:100]!r}", hint=f"known: {', '.join(_OPERATIONS)}")
    work, allowed = _OPERATIONS[operation]
    if unknown := set(arguments) - allowed:
        raise InvalidInput(f"{operation} has no argument {min(unknown)!r}", hint=f"known: {', '.join(sorted(allowed))}")
    return await work(engine, dict(arguments))


async def search(engine: Engine, arguments: Payload) -> Payload:
    return search_payload(await engine.search(**arguments))


async def recall(engine: Engine, arguments: Payload) -> Payload:
    return {"text": await engine.recall(**arguments)}


async def append(engine: Engine, arguments: Payload) -> Payload:
    return receipt_payload(await engine.append(**arguments))


async def forget(engine: Engine, arguments: Payload) -> Payload:
    record = await engine.forget(arguments["target"], reason=arguments.get("reason"))
    return forgotten_payload(record, arguments["target"], restored=False)


async def restore(engine: Engine, arguments: Payload) -> Payload:
    record = await engine.forget(arguments["target"], restore=True)
    return forgotten_payload(record, arguments["target"], restored=True)


async def adopt(engine: Engine, arguments: Payload) -> Payload:
    return {"adopted": list(await engine.adopt(arguments.get("path")))}


async def reindex(engine: Engine, _: Payload) -> Payload:
    return await engine.reindex()


async def reconcile(engine: Engine, _: Payload) -> Payload:
    return await engine.reconcile()


async def accept(engine: Engine, _: Payload) -> Payload:
    return {"pruned": await engine.indexer.accept_loss()}


async def doctor(engine: Engine, _: Payload) -> Payload:
    return {"findings": [finding.payload() for finding in examine(engine)]}


async def status(engine: Engine, _: Payload) -> Payload:
    return engine.status()


def search_payload(result: SearchResult) -> Payload:
    payload: Payload = {
        "hits": [hit_payload(hit) for hit in result.hits],
        "confidence": round(result.confidence, 3),
        "as_of": result.as_of.isoformat(timespec="seconds"),
    }
    if result.degraded:
        payload["degraded"] = result.degraded
    if result.note:
        payload["note"] = result.note
    return payload


def hit_payload(hit: Hit) -> Payload:
    payload: Payload = {
        "id": hit.id,
        "path": hit.path,
        "start_line": hit.start_line,
        "end_line": hit.end_line,
        "heading": hit.heading,
        "title": hit.title,
        "kind": hit.kind,
        "date": hit.date,
        "score": round(hit.score, 3),
        "snippet": hit.snippet,
    }
    if hit.explain is not None:
        payload["explain"] = dict(hit.explain)
    return payload


def receipt_payload(receipt: Receipt) -> Payload:
    return {
        "id": receipt.id,
        "path": receipt.path,
        "etag": receipt.etag,
        "outcome": receipt.outcome.value,
        "indexed": receipt.indexed,
        "similar": list(receipt.similar),
    }


def forgotten_payload(record: NoteRecord, target: str, *, restored: bool) -> Payload:
    note_id = target if "#" in target else record.id
    return {"id": note_id, "path": record.path, "etag": record.etag, "status": "active" if restored else "deleted"}


Operation = Callable[[Engine, Payload], Awaitable[Payload]]

_SEARCH = {
    "query", "limit", "kinds", "tags", "project", "since", "until", "path", "include_archived", "mode", "explain",
}  # fmt: skip
_RECALL = {"query", "ids", "path", "lines", "phase", "kinds", "project", "budget_tokens"}
_APPEND = {"content", "kind", "title", "tags", "project", "supersedes", "session", "expires", "path", "source"}

_OPERATIONS: Mapping[str, tuple[Operation, set[str]]] = {
    "search": (search, _SEARCH),
    "recall": (recall, _RECALL),
    "append": (append, _APPEND),
    "forget": (forget, {"target", "reason"}),
    "restore": (restore, {"target"}),
    "adopt": (adopt, {"path"}),
    "reindex": (reindex, set()),
    "reconcile": (reconcile, set()),
    "accept": (accept, set()),
    "doctor": (doctor, set()),
    "status": (status, set()),
}
