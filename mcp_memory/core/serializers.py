"""Serializes notes and what waits for review as plain values."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Protocol

from mcp_memory.core.requests import ReviewRequest
from mcp_memory.models import Hit, NoteRecord, NoteState, Receipt, SearchResult, Status
from mcp_memory.recall.answer import RecalledText
from mcp_memory.recall.note_list import client_of
from mcp_memory.text.escape_invisible import visible_in
from mcp_memory.vault.journals.tombstones import Tombstone
from mcp_memory.vault.note_file import NoteFile
from mcp_memory.vault.shared.lost_entries import LostEntry

Payload = dict[str, Any]

_OPTIONAL = frozenset({"client", "explain", "superseded_by", "outdated", "private"})


def lost_payload(lost: LostEntry) -> Payload:
    return {"id": lost.id, "path": lost.added.path, "why": lost.why, "gist": lost.gist, "text": lost.text}


def tombstone_payload(stone: Tombstone) -> Payload:
    at = stone.at.isoformat(timespec="seconds") if stone.at else None
    caller = {"client": stone.client, "session": stone.session, "reason": stone.reason}
    return {"id": stone.target, "path": stone.path, "title": stone.title, "at": at, **caller}


def listed_payload(note: NoteRecord, now: datetime) -> Payload:
    facts = {name: getattr(note, name) for name in ("id", "path", "title", "kind", "project")}
    named = {"client": client_of(note), "status": note.status(now), "private": note.is_private}
    return {**facts, "tags": note.all_tags, "date": note.date and note.date.isoformat(timespec="seconds"), **named}


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


def recall_payload(recalled: RecalledText) -> Payload:
    """The text, and the lines of notes that it shows whole, as path → numbers."""
    lines = dict[str, list[int]]()
    for path, number in sorted(recalled.lines):
        lines.setdefault(path, []).append(number)
    return {"text": recalled.text, "lines": lines, "explained": recalled.explained}


def _hit_payload(hit: Hit) -> Payload:
    payload = {**asdict(hit), "score": round(hit.score, 3)}
    return {name: value for name, value in payload.items() if value is not None or name not in _OPTIONAL}


def receipt_payload(receipt: Receipt) -> Payload:
    lists = {name: list(asdict(receipt)[name]) for name in ("similar", "contradicts")}
    payload = {**asdict(receipt), "outcome": receipt.outcome.value, **lists}
    return visible_in({name: value for name, value in payload.items() if value is not None})


def chain_payload(file: NoteFile, now: datetime) -> Payload:
    """A note of a chain. `date`: when it was stored or said; `until`: when it was superseded."""
    record, status = file.record, file.record.status(now)
    dates = {"date": record.created, "until": record.superseded_at}
    return {
        **{name: getattr(record, name) for name in ("id", "path", "title", "source", "session")},
        **{name: value.isoformat(timespec="seconds") if value else None for name, value in dates.items()},
        "status": f"{status} again" if record.has_returned else status,
        "private": record.is_private,
        "text": None if record.state is NoteState.DELETED else file.body.strip(),
    }


def forgotten_payload(
    record: NoteRecord, holding: Mapping[str, str] | None, behind: str | None, *, restored: bool
) -> Payload:
    """The answer after a forget, `archive` or restore. `holding`: the other note of its chain that is active now.
    `behind`: the reason why the index is out of date."""
    status = Status.ACTIVE if restored else Status.DELETED
    if record.state in {NoteState.ARCHIVED, NoteState.REPLACED}:
        status = Status.SUPERSEDED if record.superseded_at else Status.ARCHIVED
    payload = {"id": record.id, "path": record.path, "etag": record.etag, "status": status.value}
    further = {"holds_now": holding, "behind": behind}
    return visible_in(payload | {name: value for name, value in further.items() if value})


CANDIDATE, STORED = "candidate", "stored"
"""The kinds of items that are notes: a candidate, and a note that was stored without review."""


@dataclass(frozen=True)
class Choice:
    """A way to decide about an item. `key` selects it on a terminal, `label` shows the key in brackets, and `about` is
    the effect. `note` goes into the decision. `asks`: what it needs first, a `text` or a `note`; a `kind`, a `project`
    or another note `beside` the item only changes the next choice."""

    key: str
    name: str
    label: str
    about: str
    note: str | None = None
    asks: str | None = None


ACCEPT = Choice("a", "accept", "[a]ccept", "accept: store it; the notes shown with it stay, too")
EDIT = Choice(
    "e", "accept", "[e]dit",
    "edit: change the text in your editor, and store that; if you change nothing, nothing is stored", asks="text",
)  # fmt: skip
DROP = Choice("d", "drop", "[d]rop", "drop: forget it; it isn't proposed again")


@dataclass(frozen=True)
class ReviewItem:
    """Something that waits for your decision. `what` it is, e.g. a candidate or a conflict, and `why` it waits.
    `notes` are the notes that it contradicts or rests on, each with its `role`; `near` are those that share most words
    with it, if they were asked for. Without choices, it is only shown."""

    id: str
    what: str
    text: str
    why: str
    choices: Sequence[Choice]
    path: str = ""
    title: str = ""
    kind: str = ""
    etag: str = ""
    score: float = 0.0
    created: str | None = None
    source: str | None = None
    session: str | None = None
    project: str | None = None
    derived_from: Sequence[str] = ()
    private: bool = False
    notes: Sequence[Mapping[str, Any]] = ()
    near: Sequence[Mapping[str, Any]] = ()

    @property
    def is_open(self) -> bool:
        """Return whether it counts as waiting: it needs a decision, and isn't stored yet."""
        return bool(self.choices) and self.what != STORED

    @property
    def projects(self) -> set[str | None]:
        """The project of the item's own file, else the projects of the notes that it is about."""
        return {self.project} if self.path or not self.notes else {note.get("project") for note in self.notes}


class Reviewer(Protocol):
    """A part of a feature whose items wait for you in `mcp-memory review`."""

    @property
    def prefix(self) -> str:
        """The beginning of the ids of its items."""
        ...

    @property
    def kinds(self) -> Collection[str]:
        """The values of `what` of its items."""
        ...

    async def waiting(self, limit: int | None = None) -> Sequence[ReviewItem]:
        """Return the items that wait for you; with a limit, at most as many of the latest of each kind, in
        milliseconds."""
        ...

    async def decide(self, request: ReviewRequest) -> Sequence[Payload]:
        """Carry out a decision, and describe what it changed, each with `id`, `path` and `title`. Raises InvalidInput
        for a choice that doesn't apply, NotFound."""
        ...


def contradicted(note_id: str, note: NoteRecord | None) -> Mapping[str, Any]:
    """Describe a note that an item contradicts."""
    found = {"title": note.title, "path": note.path, "project": note.project} if note else {"title": "", "path": ""}
    return {"role": "contradicts", "id": note_id, **found}
