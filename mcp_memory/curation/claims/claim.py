"""Defines a claim: a statement, the notes and log entries that make it, and its confidence. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from math import prod
from typing import Any, NamedTuple

from mcp_memory.client.credentials import PERSON
from mcp_memory.models import Conflict, NoteRecord
from mcp_memory.recall.note_list import date_of
from mcp_memory.text.pluralize import counted

CONFIRMED, BY_PERSON, BY_AGENT, IN_A_LOG = 0.95, 0.8, 0.7, 0.5
"""The confidence that a single piece of evidence gives, by its origin. The origins are a statement that you confirmed,
a note of yours, a note that an agent stored on purpose, and a log entry about a single day. Chosen, not fitted: nobody
has labels for the truth of notes."""

AGES = ((90, 1.0), (365, 0.9))
OLD = 0.75
"""The factor for a claim whose newest evidence is older than all AGES: no note shows that it was checked again."""

CONTRADICTS, CONTRADICTED = 0.8, 0.5
"""Factors while a contradiction is undecided: the claim contradicts an older claim, or a newer note contradicts it."""

ONE_NOTE = counted(1, "note")

UNSURE = 0.5
"""The confidence below which a claim is listed as uncertain."""


class Evidence(NamedTuple):
    """A `text` at a `line` of a note; for a log, `note` is the entry."""

    note: NoteRecord
    text: str
    line: int

    @property
    def weight(self) -> float:
        if self.note.meta.get("confirmed"):
            return CONFIRMED
        return IN_A_LOG if self.note.is_log else BY_PERSON if self.note.source in (None, PERSON) else BY_AGENT

    @property
    def origin(self) -> object:
        """The origin of the evidence. Two pieces from one origin weigh as one, because a session repeats itself."""
        return self.note.session or (self.note.source, date_of(self.note).date())

    @property
    def facts(self) -> dict[str, Any]:
        note = self.note
        named = {name: getattr(note, name) for name in ("id", "path", "session", "source")}
        return {**named, "line": self.line, "date": date_of(note).date().isoformat(), "text": self.text}


@dataclass(frozen=True)
class Claim:
    """A claim. All `evidence`, newest first, says the same. `contradicts` are older statements that nobody has retired.
    `conflict`: a newer note contradicts the claim; `refuted_by` is its statement, if the caller may see it. `as_of` is
    the day of the newest of all notes and the reference for age, so that the same notes always give the same figures.
    """

    evidence: tuple[Evidence, ...]
    as_of: datetime
    contradicts: tuple[Evidence, ...] = ()
    conflict: Conflict | None = None
    refuted_by: Evidence | None = None

    @property
    def latest(self) -> Evidence:
        return self.evidence[0]

    @property
    def text(self) -> str:
        return self.latest.text

    @property
    def project(self) -> str | None:
        return self.latest.note.project

    @property
    def holds(self) -> bool:
        return self.conflict is None

    @property
    def since(self) -> str:
        """The day of its first evidence."""
        return date_of(self.evidence[-1].note).date().isoformat()

    @property
    def confidence(self) -> float:
        """The probability that some evidence is right if pieces of different origin err independently; reduced by age
        and contradictions."""
        best: dict[object, float] = {}
        for one in self.evidence:
            best[one.origin] = max(best.get(one.origin, 0.0), one.weight)
        sure = 1 - prod(1 - weight for weight in best.values())
        days = (self.as_of - date_of(self.latest.note)).days
        sure *= next((share for most, share in AGES if days <= most), OLD)
        sure *= CONTRADICTS if self.contradicts else 1
        return round(sure * (CONTRADICTED if self.conflict else 1), 2)

    @property
    def why(self) -> str:
        """The basis of the confidence, in words."""
        origins = len({one.origin for one in self.evidence})
        few = counted(len(self.evidence), "log entry" if all(one.note.is_log for one in self.evidence) else "note")
        parts = [few, f"from {origins} sessions" if origins > 1 else ""]
        parts += ["confirmed" if any(one.note.meta.get("confirmed") for one in self.evidence) else ""]
        parts += ["contradicts an older one" if self.contradicts else ""]
        parts += ["contradicted by a newer one" if self.conflict else ""]
        return ", ".join(filter(None, parts))

    @property
    def in_short(self) -> str:
        """The first day and the confidence, and the basis of the confidence unless it is a single note."""
        why = "" if self.why == ONE_NOTE else f": {self.why}"
        return f"since {self.since}, {self.confidence:.0%} sure{why}"

    @property
    def facts(self) -> dict[str, Any]:
        """The claim as a JSON value."""
        return {
            "text": self.text, "project": self.project, "holds": self.holds, "since": self.since,
            "confidence": self.confidence, "why": self.why, "evidence": [one.facts for one in self.evidence],
            "contradicts": [one.facts for one in self.contradicts],
            "refuted_by": self.refuted_by.facts if self.refuted_by else None,
        }  # fmt: skip


@dataclass(frozen=True)
class Subject:
    """A subject. `folder` is the plural of its type: projects, people, services, tools."""

    folder: str
    name: str
    claims: Sequence[Claim]

    @property
    def facts(self) -> dict[str, Any]:
        """The subject as a JSON value."""
        return {"kind": self.folder, "name": self.name, "claims": [one.facts for one in self.claims]}
