"""Steps: what a job does to files, as values that a journal keeps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from mcp_memory.models import NoteId, NotePath
from mcp_memory.text.markdown.link_targets import Redirect


@dataclass(frozen=True, slots=True)
class MoveStep:
    """A note, or a topic's page with its folder, goes to another folder."""

    id: NoteId
    source: NotePath
    target: NotePath


@dataclass(frozen=True, slots=True)
class RelinkStep:
    """Targets of links in a body are written anew, in their order. `before` and `after` are hashes of the body: what
    its frontmatter says of it meanwhile is nobody's business."""

    path: NotePath
    before: str
    after: str
    redirects: Sequence[Redirect]


@dataclass(frozen=True, slots=True)
class WriteStep:
    """A page is written. `before` is what stood there, None for nothing."""

    path: NotePath
    text: str
    before: str | None = None


@dataclass(frozen=True, slots=True)
class RemoveStep:
    """A page goes; `text` is what it says."""

    path: NotePath
    text: str


Step = MoveStep | RelinkStep | WriteStep | RemoveStep

_KINDS: Mapping[str, type[Step]] = {
    kind.__name__.lower(): kind for kind in (MoveStep, RelinkStep, WriteStep, RemoveStep)
}


def as_json(step: Step) -> dict[str, Any]:
    return {type(step).__name__.lower(): asdict(step)}


def from_json(value: Mapping[str, Any]) -> Step:
    """Raises KeyError or TypeError for what is no step."""
    ((kind, values),) = value.items()
    return _KINDS[kind](**values)
