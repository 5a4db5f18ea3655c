"""Gathers the items that wait for you from all features, and passes your decisions on."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace

from mcp_memory.core.core import Core, Operation
from mcp_memory.core.requests import ReviewRequest, WaitingRequest
from mcp_memory.core.serializers import CANDIDATE, Payload, Reviewer, ReviewItem
from mcp_memory.errors import InvalidInput, McpMemoryError, NotFound
from mcp_memory.models import Passage
from mcp_memory.search.filters import ANY_PROJECT
from mcp_memory.text.escape_invisible import visible_in


async def waiting(core: Core, request: WaitingRequest) -> Payload:
    """List candidates first, then the items of other features; `open` counts those that need a decision. If a feature
    can't list its items now, `problems` says why."""
    found, problems = list[ReviewItem](), list[str]()
    for reviewer in _reviewers(core):
        if request.only is None or {*request.only} & {*reviewer.kinds}:
            try:
                found += await reviewer.waiting(request.limit)
            except McpMemoryError as error:
                problems.append(error.message)
            except OSError as error:
                problems.append(f"{error.strerror}: {error.filename}")
    if request.only is not None:
        found = [item for item in found if item.what in request.only]
    if request.near:
        found = await _with_near(core, found)
    found = [_labelled(item, core.projects.label_named) for item in found]
    if request.project not in (None, ANY_PROJECT):
        found = [item for item in found if item.projects & {core.projects.label_named(request.project), None}]
    open_items = sum(item.is_open for item in found)
    return {"waiting": list(map(asdict, found)), "open": open_items, "problems": problems}


async def review(core: Core, request: ReviewRequest) -> Payload:
    """Carry out a decision. Raises NotFound for an unknown item, InvalidInput for items of several kinds, and the
    errors of the feature."""
    deciding = [_reviewer(core, item) for item in request.items]
    if not deciding:
        raise NotFound("no item to decide about", hint="mcp-memory review lists what waits")
    if any(one is not deciding[0] for one in deciding):
        raise InvalidInput("items of several kinds", hint="decide about each kind apart")
    return {"done": await deciding[0].decide(request)}


async def _with_near(core: Core, items: Sequence[ReviewItem]) -> list[ReviewItem]:
    """Return the items, each candidate with the notes near it."""
    near = await core.search.near_notes.beside([item.text for item in items if item.what == CANDIDATE])
    notes = iter(near)
    return [
        replace(item, near=list(map(_near_payload, next(notes)))) if item.what == CANDIDATE else item for item in items
    ]


def _near_payload(passage: Passage) -> Payload:
    note = passage.note
    facts = {name: getattr(note, name) for name in ("id", "path", "title", "kind", "project", "source")}
    return visible_in({**facts, "text": passage.chunk.text.strip(), "date": note.day, "private": note.is_private})


def _labelled(item: ReviewItem, label_of: Callable[[str | None], str | None]) -> ReviewItem:
    """Return the item with the labels of its projects, whose earlier names notes may have."""
    notes = [{**note, "project": label_of(note["project"])} if "project" in note else note for note in item.notes]
    return replace(item, project=label_of(item.project), notes=notes)


def _reviewers(core: Core) -> Sequence[Reviewer]:
    return [reviewer for feature in core.features for reviewer in feature.reviewers]


def _reviewer(core: Core, item: str) -> Reviewer:
    """Return the reviewer with the longest prefix of this id."""
    fitting = [one for one in _reviewers(core) if item.startswith(one.prefix)]
    if not fitting:
        raise NotFound(f"nothing of this name waits: {item[:100]!r}", hint="mcp-memory review lists what waits")
    return max(fitting, key=lambda one: len(one.prefix))


OPERATIONS: Mapping[str, Operation] = {
    "waiting": Operation(WaitingRequest, waiting),
    "review": Operation(ReviewRequest, review),
}
