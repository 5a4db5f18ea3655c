"""Values that `Memory` returns, made from an engine's JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from mcp_memory.models import (
    Contradicted,
    Etag,
    FilteredOut,
    Hit,
    NoteId,
    NotePath,
    Outcome,
    Receipt,
    SearchResult,
    SimilarNote,
    Status,
)

Payload = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class VaultStatus:
    """The state of a note or log entry after `forget`, `archive` or `restore`; `holds_now`: the other note of its chain
    that counts, with id, path and the beginning of its text."""

    id: NoteId
    path: NotePath
    etag: Etag
    status: Status
    holds_now: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True)
class CompactionResult:
    """What a compaction did: a line for each job in `done`, what was `left` and why, and how many fresh notes are
    `waiting`. To undo it: `mcp-memory compact --undo RUN`. `note`: why notes wait for a model, if they do."""

    run: str
    done: Sequence[str]
    left: Sequence[str]
    waiting: int
    note: str | None = None


@dataclass(frozen=True, slots=True)
class TopicSummary:
    """A folder of notes. `notes` counts those below too; `leaves` are the ids of those directly in it."""

    path: NotePath
    title: str
    notes: int
    stale: bool
    topics: Sequence[TopicSummary]
    leaves: Sequence[NoteId]


def compaction_result(payload: Payload) -> CompactionResult:
    done, left = tuple(payload["done"]), tuple(payload["left"])
    return CompactionResult(payload["run"], done, left, payload["waiting"], payload["note"])


def topic_summary(payload: Payload) -> TopicSummary:
    below, notes = tuple(map(topic_summary, payload["topics"])), tuple(note["id"] for note in payload["leaves"])
    return TopicSummary(payload["path"], payload["title"], payload["notes"], payload["stale"], below, notes)


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


def receipt(payload: Payload) -> Receipt:
    values: dict[str, Any] = {**payload, "outcome": Outcome(payload["outcome"])}
    values["similar"] = tuple(SimilarNote(**one) for one in payload["similar"])
    values["contradicts"] = tuple(Contradicted(**one) for one in payload["contradicts"])
    return Receipt(**values)


def vault_status(payload: Payload) -> VaultStatus:
    values: dict[str, Any] = {**payload, "status": Status(payload["status"])}
    return VaultStatus(**values)


def _left_out(payload: Payload) -> FilteredOut:
    values: dict[str, Any] = {**payload, "filters": tuple(payload["filters"])}
    return FilteredOut(**values)
