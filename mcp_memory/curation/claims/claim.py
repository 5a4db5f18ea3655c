"""Defines a claim: a statement, the notes and log entries that make it, and its certainty in words. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from mcp_memory.client.credentials import PERSON
from mcp_memory.core.serializers import Payload
from mcp_memory.models import NoteRecord
from mcp_memory.recall.note_list import date_of

YOU = "you"


class Evidence(NamedTuple):
    """A statement at a `line` of a note. For a log, `note` is the entry. `subject` names the statement's subject if the
    words `said` don't."""

    note: NoteRecord
    said: str
    line: int
    subject: str = ""

    @property
    def text(self) -> str:
        return f"{self.subject}: {self.said}" if self.subject else self.said

    @property
    def voice(self) -> str:
        """The person or program that says it. An extracted statement is yours."""
        note = self.note
        return YOU if note.source in (None, PERSON) or note.meta.get("voice") else note.source

    @property
    def is_confirmed(self) -> bool:
        """Return whether you confirmed the note, or this entry of a log."""
        entry = f"{self.note.id.rpartition('#')[2]}=" if self.note.is_log else ""
        return any(mark.startswith(entry) for mark in self.note.meta.get("confirmed") or ())

    @property
    def day(self) -> str:
        return date_of(self.note).date().isoformat()

    @property
    def facts(self) -> Payload:
        note = self.note
        return {
            "id": note.id, "path": note.path, "session": note.session, "source": note.source, "line": self.line,
            "date": self.day, "text": self.text,
        }  # fmt: skip


@dataclass(frozen=True)
class Claim:
    """A claim. All `evidence`, newest first, says the same; `earlier` are older statements that it outdates.
    A claim no longer `holds` if a newer statement replaces it: `newer`, if the caller may see it."""

    evidence: tuple[Evidence, ...]
    earlier: tuple[Evidence, ...] = ()
    newer: Evidence | None = None
    holds: bool = True

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
    def certainty(self) -> str:
        """Return in words who said it, how often and when: `said once by you, 2026-05-04`. A session that repeats
        itself says something once. A contradiction doesn't make the newer claim less certain."""
        sessions = {one.note.session or (one.voice, one.day) for one in self.evidence}
        days = sorted({one.day for one in self.evidence})
        voices = sorted({one.voice for one in self.evidence}, key=lambda voice: (voice != YOU, voice))
        times = "once" if len(sessions) == 1 else f"{len(sessions)} times"
        is_confirmed = any(one.is_confirmed for one in self.evidence)
        when = days[0] if len(days) == 1 else f"on {len(days)} days since {days[0]}"
        verb = "said" if YOU in voices else "noted"
        return f"{verb} {times} by {' and '.join(voices)}, {when}{', confirmed by you' if is_confirmed else ''}"

    @property
    def facts(self) -> Payload:
        """The claim as a JSON value."""
        return {
            "text": self.text, "project": self.project, "holds": self.holds, "certainty": self.certainty,
            "evidence": [one.facts for one in self.evidence], "earlier": [one.facts for one in self.earlier],
            "replaced_by": self.newer.facts if self.newer else None,
        }  # fmt: skip


@dataclass(frozen=True)
class Subject:
    """A subject. `folder` is the plural of its kind, or `names` if that isn't known."""

    folder: str
    name: str
    claims: Sequence[Claim]

    @property
    def holding(self) -> list[Claim]:
        return [one for one in self.claims if one.holds]

    @property
    def facts(self) -> Payload:
        """The subject as a JSON value."""
        return {"kind": self.folder, "name": self.name, "claims": [one.facts for one in self.claims]}
