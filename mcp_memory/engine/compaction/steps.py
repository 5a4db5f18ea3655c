"""Steps: what a job does to files, as values that a journal keeps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from mcp_memory.models import NoteId, NotePath


@dataclass(frozen=True, slots=True)
class Move:
    """A note, or a topic's page with its folder, goes to another folder."""

    id: NoteId
    source: NotePath
    target: NotePath


@dataclass(frozen=True, slots=True)
class Write:
    """A page is written. `before` is what stood there, None for nothing."""

    path: NotePath
    text: str
    before: str | None = None


Step = Move | Write


def as_json(step: Step) -> dict[str, Any]:
    return {type(step).__name__.lower(): asdict(step)}


def from_json(value: Mapping[str, Any]) -> Step:
    """Raises KeyError or TypeError for what is no step."""
    return Move(**value["move"]) if "move" in value else Write(**value["write"])
