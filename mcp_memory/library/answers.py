"""What an engine answers, as values: the same from a daemon's JSON and from this process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from mcp_memory.models import Etag, FilteredOut, Hit, NoteId, NotePath, Outcome, Receipt, SearchResult, Status

Payload = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class VaultStatus:
    """Where a note or log entry stands after `forget` or `restore`: `status` is `DELETED` or `ACTIVE`."""

    id: NoteId
    path: NotePath
    etag: Etag
    status: Status


@dataclass(frozen=True, slots=True)
class CompactionResult:
    """What a compaction did: a line a job, what was left and why, and how many fresh notes wait. `run` names it, to
    take it back: `mcp-memory compact --undo RUN`. `note`: why notes may have to wait for a model, if they do."""

    run: str
    done: Sequence[str]
    left: Sequence[str]
    waiting: int
    note: str | None = None


@dataclass(frozen=True, slots=True)
class TopicSummary:
    """A folder of notes. `notes` counts those below too; `leaves` are the ids of those right in it."""

    path: NotePath
    title: str
    notes: int
    stale: bool
    topics: Sequence[TopicSummary]
    leaves: Sequence[NoteId]


def filed(payload: Payload) -> CompactionResult:
    return CompactionResult(
        payload["run"], tuple(payload["done"]), tuple(payload["left"]), payload["waiting"], payload["note"]
    )


def topic(payload: Payload) -> TopicSummary:
    below, leaves = tuple(map(topic, payload["topics"])), tuple(note["id"] for note in payload["leaves"])
    return TopicSummary(payload["path"], payload["title"], payload["notes"], payload["stale"], below, leaves)


def search_result(payload: Payload) -> SearchResult:
    return SearchResult(
        hits=tuple(Hit(**hit) for hit in payload["hits"]),
        confidence=payload["confidence"],
        as_of=datetime.fromisoformat(payload["as_of"]),
        degraded=payload.get("degraded"),
        note=payload.get("note"),
        signs=payload.get("signs", {}),
        left_out=tuple(map(_left_out, payload.get("left_out", ()))),
    )


def _left_out(payload: Payload) -> FilteredOut:
    told: dict[str, Any] = {**payload, "filters": tuple(payload["filters"])}
    return FilteredOut(**told)


def receipt(payload: Payload) -> Receipt:
    told: dict[str, Any] = {**payload, "outcome": Outcome(payload["outcome"]), "similar": tuple(payload["similar"])}
    return Receipt(**told)


def vault_status(payload: Payload) -> VaultStatus:
    told: dict[str, Any] = {**payload, "status": Status(payload["status"])}
    return VaultStatus(**told)
