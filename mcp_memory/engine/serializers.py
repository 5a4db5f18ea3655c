"""Answers as plain JSON values, the same at every door; what models read has no hidden characters."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from mcp_memory.models import Hit, NoteRecord, Receipt, SearchResult
from mcp_memory.text.escape_invisible import visible_in
from mcp_memory.vault.journals.tombstones import Tombstone
from mcp_memory.vault.lost_entries import LostEntry

Payload = dict[str, Any]


def lost_payload(lost: LostEntry) -> Payload:
    return {"id": lost.id, "path": lost.added.path, "why": lost.why, "gist": lost.gist, "text": lost.text}


def tombstone_payload(stone: Tombstone) -> Payload:
    return {
        "id": stone.target,
        "path": stone.path,
        "title": stone.title,
        "at": stone.at.isoformat(timespec="seconds") if stone.at else None,
        "client": stone.client,
        "session": stone.session,
        "reason": stone.reason,
    }


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
    if result.left_out:
        payload["left_out"] = [{**asdict(each), "filters": list(each.filters)} for each in result.left_out]
    if any(hit.explain is not None for hit in result.hits):
        payload["signs"] = {name: round(value, 3) for name, value in result.signs.items()}
    return visible_in(payload)


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
    payload: Payload = {
        "id": receipt.id,
        "path": receipt.path,
        "etag": receipt.etag,
        "outcome": receipt.outcome.value,
        "indexed": receipt.indexed,
        "similar": list(receipt.similar),
    }
    return visible_in(payload)


def forgotten_payload(record: NoteRecord, target: str, *, restored: bool) -> Payload:
    note_id = target if record.is_log else record.id
    status = "active" if restored else "deleted"
    return visible_in({"id": note_id, "path": record.path, "etag": record.etag, "status": status})
