"""Defines what a view and an action of the page are, and the visit that each answers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from mcp_memory.core.core import Perform
from mcp_memory.core.serializers import Payload


@dataclass(frozen=True)
class Flash:
    """The outcome of an action, shown once. `undo`: the change, run or note, or several of them, to pass to the action
    `undo_by`."""

    text: str
    undo: str | Sequence[str] = ""
    is_error: bool = False
    undo_by: str = "undo"


@dataclass
class Visit:
    """A request of a browser that is signed in. `form`: the fields of a form that was sent. `cookies`: names and values
    to set with the answer. `now`: the time in the vault's zone."""

    request: Request
    perform: Perform
    now: datetime
    form: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])
    cookies: dict[str, str] = field(default_factory=dict[str, str])

    def query(self, name: str) -> str:
        """Return an argument of the URL; empty if it has none of this name."""
        return self.request.query_params.get(name, "")

    def number(self, name: str, default: int, most: int) -> int:
        """Return a number in the URL, 1 to `most`."""
        given = self.query(name)
        is_number = given.isascii() and given.isdigit() and len(given) < 9
        return min(max(1, int(given)), most) if is_number else default

    def sent(self, name: str) -> str:
        """Return the first value of a form's field; empty if it has none of this name."""
        return next(iter(self.form.get(name, ())), "")

    async def ask(self, operation: str, **arguments: Any) -> Payload:
        """Answer an operation of the engine. Raises its errors."""
        return await self.perform(operation, arguments)


@dataclass(frozen=True)
class Instead:
    """A view that an action shows in place of the page that it was on, such as a conflict. `values` fill its template.
    `here`: the page that its forms lead back to."""

    view: str
    here: str
    values: Mapping[str, Any]


@dataclass(frozen=True)
class Action:
    """An operation behind a form, which passes it `fields`, unless they are empty, and `fixed` arguments. A field in
    `lists` may be sent several times. `done`: what to say then. `undo`: the field with the note that `undo` takes."""

    operation: str
    done: str
    fields: Sequence[str] = ("target",)
    lists: Sequence[str] = ()
    fixed: Mapping[str, Any] = field(default_factory=dict[str, Any])
    undo: str = ""

    async def answer(self, visit: Visit) -> Flash | Instead:
        arguments: Payload = {name: value for name in self.fields if (value := visit.sent(name))}
        arguments |= {name: list(visit.form.get(name, ())) for name in self.lists}
        return self.flash(await visit.ask(self.operation, **arguments, **self.fixed), visit)

    def flash(self, answer: Payload, visit: Visit) -> Flash:
        """Return what the operation's answer means."""
        steps = answer.get("steps", ())
        if left := [step["why"] for step in steps if step["why"]]:
            return Flash(f"Not undone: {'; '.join(left)}", is_error=True)
        return Flash(self.done, visit.sent(self.undo) if self.undo else "")


@dataclass(frozen=True)
class View:
    """A page of its own at `/ui/NAME`, with the template `NAME.html`. `show` returns the template's values, or a
    response. `purpose`: a sentence below the title. `actions`: name → what a form at `/ui/do/NAME` does.
    `is_listed`: the navigation has it."""

    name: str
    title: str
    purpose: str
    show: Callable[[Visit], Awaitable[Mapping[str, Any] | Response]]
    actions: Mapping[str, Action] = field(default_factory=dict[str, Action])
    is_listed: bool = True
