"""Defines what waits for review: items, each with its choices, and the part of a feature that decides about them."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from mcp_memory.core.requests import ReviewRequest
from mcp_memory.core.serializers import Payload
from mcp_memory.models import NoteRecord

CANDIDATE, STORED = "candidate", "stored"
"""The kinds of items that are notes: a candidate, and a note that was stored without review."""


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
class ReviewItem:
    """Something that waits for your decision. `what` it is, e.g. a candidate or a conflict, and `why` it waits.
    `notes` are the notes that it contradicts or rests on, each with its `role`. Without choices, it is only shown."""

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
    notes: Sequence[Mapping[str, Any]] = field(default_factory=list[Mapping[str, Any]])

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

    async def waiting(self) -> Sequence[ReviewItem]:
        """Return the items that wait for you."""
        ...

    async def decide(self, request: ReviewRequest) -> Sequence[Payload]:
        """Carry out a decision, and describe what it changed, each with `id`, `path` and `title`. Raises InvalidInput
        for a choice that doesn't apply, NotFound."""
        ...


def reference(role: str, note_id: str, note: NoteRecord | None) -> Mapping[str, Any]:
    """Describe a note that an item is about."""
    found = {"title": note.title, "path": note.path, "project": note.project} if note else {"title": "", "path": ""}
    return {"role": role, "id": note_id, **found}
