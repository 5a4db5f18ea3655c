"""Defines what can be asked about statements and contradictions."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ExtractRequest:
    """Messages, in the plain form, to extract statements from."""

    file: str
    session: str
    messages: str
    client: str = "default"
    project: str | None = None


@dataclass(frozen=True, slots=True)
class HeldRequest:
    """Statements that may be in memory already."""

    texts: Sequence[str]


@dataclass(frozen=True, slots=True)
class DecideRequest:
    """A decision about the contradictions of a note or entry: all of them, the one with `other`, or only those with
    the ids in `only`. `verb`: keep it, or both."""

    verb: str
    target: str
    other: str | None = None
    only: Sequence[str] | None = None


@dataclass(frozen=True, slots=True)
class ConflictsRequest:
    """Contradictions that nobody has decided: in this project's notes and in those without one, or ('*', None) all."""

    project: str | None = None
