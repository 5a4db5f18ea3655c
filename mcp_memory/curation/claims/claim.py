"""Defines a claim: a statement, the notes and log entries that make it, and its certainty in words. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from mcp_memory.client.credentials import PERSON
from mcp_memory.models import Conflict, NoteRecord
from mcp_memory.recall.note_list import date_of

YOU = "you"


class Evidence(NamedTuple):
    """A `text` at a `line` of a note; for a log, `note` is the entry."""

    note: NoteRecord
    text: str
    line: int

    @property
    def voice(self) -> str:
        """The person or program that says it. An extracted statement is yours."""
        note = self.note
        return YOU if note.source in (None, PERSON) or note.meta.get("voice") else note.source

    @property
    def day(self) -> str:
        return date_of(self.note).date().isoformat()

    @property
    def origin(self) -> object:
        """The session, or else the voice and the day. A session that repeats itself says something once."""
        return self.note.session or (self.voice, self.day)

    @property
    def facts(self) -> dict[str, Any]:
        note = self.note
        named = {name: getattr(note, name) for name in ("id", "path", "session", "source")}
        return {**named, "line": self.line, "date": self.day, "text": self.text}


@dataclass(frozen=True)
class Claim:
    """A claim. All `evidence`, newest first, says the same; `replaces` are the older statements that it outdates.
    `outdated` is the value that a newer statement replaced, and empty if the claim holds. `replaced_by` is that
    statement, if the caller may see it, and `conflict` the contradiction that you may decide."""

    evidence: tuple[Evidence, ...]
    replaces: tuple[Evidence, ...] = ()
    outdated: str = ""
    replaced_by: Evidence | None = None
    conflict: Conflict | None = None

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
        return not self.outdated

    @property
    def certainty(self) -> str:
        """Return in words who said it, how often and when: `said once by you, 2026-05-04`. A contradiction doesn't
        make the newer claim less certain."""
        sessions = {one.origin for one in self.evidence}
        days = sorted({one.day for one in self.evidence})
        voices = sorted({one.voice for one in self.evidence}, key=lambda voice: (voice != YOU, voice))
        times = "once" if len(sessions) == 1 else f"{len(sessions)} times"
        is_confirmed = any(one.note.meta.get("confirmed") for one in self.evidence)
        when = days[0] if len(days) == 1 else f"on {len(days)} days since {days[0]}"
        verb = "said" if YOU in voices else "noted"
        return f"{verb} {times} by {' and '.join(voices)}, {when}{', confirmed by you' if is_confirmed else ''}"

    @property
    def facts(self) -> dict[str, Any]:
        """The claim as a JSON value."""
        return {
            "text": self.text, "project": self.project, "holds": self.holds, "certainty": self.certainty,
            "evidence": [one.facts for one in self.evidence], "replaces": [one.facts for one in self.replaces],
            "replaced_by": self.replaced_by.facts if self.replaced_by else None,
        }  # fmt: skip


@dataclass(frozen=True)
class Subject:
    """A subject. `folder` is the plural of its type: projects, people, organizations, places, services."""

    folder: str
    name: str
    claims: Sequence[Claim]

    @property
    def facts(self) -> dict[str, Any]:
        """The subject as a JSON value."""
        return {"kind": self.folder, "name": self.name, "claims": [one.facts for one in self.claims]}
