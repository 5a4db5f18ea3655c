"""Values that `Memory` returns, made from an engine's JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
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


@dataclass(frozen=True)
class VaultStatus:
    """The state of a note or log entry after `forget`, `archive` or `restore`. `holds_now`: the other note of its chain
    that is active now, with id, path and the beginning of its text. `behind`: the reason why the index learns of the
    change only with the next sweep."""

    id: NoteId
    path: NotePath
    etag: Etag
    status: Status
    holds_now: Mapping[str, str] | None = None
    behind: str | None = None


@dataclass(frozen=True)
class ExtractedStatement:
    """A preference, decision, fact, lesson or promise in a conversation. `score`: its certainty, from 0 to 1.
    `is_outright`: in a captured session it would be stored without a review."""

    content: str
    title: str
    kind: str
    score: float
    is_outright: bool
    said_at: datetime | None = None
    session: str | None = None


@dataclass(frozen=True)
class CompactionResult:
    """The outcome of a compaction. `done` has a line for each job, `left` the remaining jobs with the reason. `waiting`
    is the number of fresh notes. To undo it: `mcp-memory undo RUN`. `note`: the reason why notes wait for a
    model, if they do."""

    run: str
    done: Sequence[str]
    left: Sequence[str]
    waiting: int
    note: str | None = None


@dataclass(frozen=True)
class TreeNote:
    """A note in a topic. Some notes stay in a folder of their kind, and the topic's page links to them."""

    id: NoteId
    path: NotePath
    title: str
    kind: str
    date: str | None


@dataclass(frozen=True)
class TopicSummary:
    """A folder of notes. `id` is its page's id, `parent` the folder of the topic above it. `notes` includes the notes
    of the topics below. `children` are the notes directly in it, and `leaves` their ids."""

    path: NotePath
    id: NoteId | None
    title: str
    parent: NotePath | None
    notes: int
    stale: bool
    topics: Sequence[TopicSummary]
    children: Sequence[TreeNote]

    @property
    def leaves(self) -> list[NoteId]:
        return [note.id for note in self.children]

    def walk(self) -> Iterator[TopicSummary]:
        """Yield this topic and all topics below, from the top down."""
        yield self
        for topic in self.topics:
            yield from topic.walk()

    def lines(self, indent: str = "") -> Iterator[str]:
        """Yield the topic and everything below it as lines of text."""
        yield f"{indent}{self.title}  ({self.notes})  {self.id or self.path}"
        for topic in self.topics:
            yield from topic.lines(f"{indent}  ")
        yield from (f"{indent}  - {note.title}  {note.id}" for note in self.children)


def compaction_result(payload: Payload) -> CompactionResult:
    done, left = tuple(payload["done"]), tuple(payload["left"])
    return CompactionResult(payload["run"], done, left, payload["waiting"], payload["note"])


def topic_summary(payload: Payload, parent: NotePath | None = None) -> TopicSummary:
    below = tuple(topic_summary(topic, payload["path"]) for topic in payload["topics"])
    own = {name: payload[name] for name in ("path", "id", "title", "notes", "stale")}
    return TopicSummary(**own, parent=parent, topics=below, children=tuple(TreeNote(**n) for n in payload["leaves"]))


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


def statement(facts: Payload, session: str | None) -> ExtractedStatement:
    at = facts["at"] and datetime.fromisoformat(facts["at"])
    return ExtractedStatement(
        facts["text"], facts["title"], facts["kind"], facts["score"], facts["at_once"], at, session
    )
