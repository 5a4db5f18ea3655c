"""Turns answers into plain JSON values, the same for every caller; models read no hidden characters."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from mcp_memory.models import Hit, NoteRecord, NoteState, Receipt, SearchResult
from mcp_memory.text.escape_invisible import visible_in
from mcp_memory.vault.journals.tombstones import Tombstone
from mcp_memory.vault.note_file import MEMORY
from mcp_memory.vault.shared.lost_entries import LostEntry

Payload = dict[str, Any]


def lost_payload(lost: LostEntry) -> Payload:
    return {"id": lost.id, "path": lost.added.path, "why": lost.why, "gist": lost.gist, "text": lost.text}


def tombstone_payload(stone: Tombstone) -> Payload:
    at = stone.at.isoformat(timespec="seconds") if stone.at else None
    caller = {"client": stone.client, "session": stone.session, "reason": stone.reason}
    return {"id": stone.target, "path": stone.path, "title": stone.title, "at": at, **caller}


def search_payload(result: SearchResult) -> Payload:
    payload: Payload = {
        "hits": list(map(_hit_payload, result.hits)),
        "confidence": round(result.confidence, 3),
        "as_of": result.as_of.isoformat(timespec="seconds"),
    }
    payload |= {name: text for name in ("degraded", "note") if (text := getattr(result, name))}
    if result.left_out:
        payload["left_out"] = [{**asdict(passage), "filters": list(passage.filters)} for passage in result.left_out]
    if any(hit.explain is not None for hit in result.hits):
        payload["signs"] = {name: round(value, 3) for name, value in result.signs.items()}
    return visible_in(payload)


def _hit_payload(hit: Hit) -> Payload:
    payload = {**asdict(hit), "score": round(hit.score, 3)}
    for name in ("explain", "contradicted_by"):
        if payload[name] is None:
            del payload[name]
    return payload


def receipt_payload(receipt: Receipt) -> Payload:
    lists = {name: list(asdict(receipt)[name]) for name in ("similar", "contradicts")}
    return visible_in({**asdict(receipt), "outcome": receipt.outcome.value, **lists})


def forgotten_payload(record: NoteRecord, target: str, *, restored: bool = False) -> Payload:
    is_entry = record.is_log or record.path == MEMORY
    status = "archived" if record.state is NoteState.ARCHIVED else "active" if restored else "deleted"
    note_id = target if is_entry else record.id
    return visible_in({"id": note_id, "path": record.path, "etag": record.etag, "status": status})
