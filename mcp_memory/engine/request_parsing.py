"""Reads the fields of requests, makes requests from JSON, and checks those for a recall; says what agents' calls leave
out."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from functools import cache
from types import NoneType
from typing import Annotated, Any, NamedTuple, TypeVar, cast, get_args, get_origin, get_type_hints

from mcp_memory.engine.requests import INTERNAL, UNLISTED, Mode, RecallRequest
from mcp_memory.errors import InvalidInput
from mcp_memory.extraction.language import is_personal
from mcp_memory.recall.config import PhaseConfig, RecallConfig
from mcp_memory.search.filters import checked_query
from mcp_memory.vault.draft import MAX_WORD
from mcp_memory.vault.note_file import MEMORY

MOST_NOTES = 100
"""Of one recall by ids."""

LEAST_TOKENS, MOST_TOKENS = 100, 200_000


class Field(NamedTuple):
    """A field of a request. `hint`: its type; `about`: what agents read, None if they aren't offered it; `is_listed`:
    whether they are shown it."""

    name: str
    hint: Any
    about: str | None
    is_listed: bool
    is_internal: bool
    is_required: bool
    default: Any


@dataclass(frozen=True, slots=True)
class RecallPlan:
    """Notes by `targets` (ids and paths), or what fits `question`, or with neither what a session starts with."""

    budget_tokens: int
    targets: Sequence[str] = ()
    question: str | None = None
    kinds: Sequence[str] | None = None
    phase: PhaseConfig = field(default_factory=PhaseConfig)


R = TypeVar("R")


@cache
def fields_of(request: type[Any]) -> tuple[Field, ...]:
    """The fields of a request, in order."""
    hints, found = get_type_hints(request, include_extras=True), list[Field]()
    for member in fields(request):
        hint, notes = hints[member.name], ()
        if get_origin(hint) is Annotated:
            hint, *notes = get_args(hint)
        about = next((note for note in notes if isinstance(note, str)), None)
        facts = UNLISTED not in notes, INTERNAL in notes, member.default is MISSING, member.default
        found.append(Field(member.name, hint, about, *facts))
    return tuple(found)


def request_from(request: Callable[..., R], operation: str, arguments: Mapping[str, Any]) -> R:
    """A request made from JSON; an argument that is None counts as not given.

    Raises InvalidInput for an unknown or missing argument or one of the wrong type.
    """
    known = {field.name: field for field in fields_of(cast("type[Any]", request)) if not field.is_internal}
    given = {name: value for name, value in arguments.items() if value is not None}
    hint = f"it takes: {', '.join(sorted(known)) or 'nothing'}"
    for name, value in given.items():
        if name not in known:
            raise InvalidInput(f"{operation} has no argument {name[:100]!r}", hint=hint)
        wanted, fits = _check_of(known[name].hint)
        if not fits(value):
            raise InvalidInput(f"{name} must be {wanted}")
    if missing := {name for name, field in known.items() if field.is_required} - set(given):
        raise InvalidInput(f"{operation} needs {min(missing)}", hint=hint)
    return request(**given)


def is_session(name: object) -> bool:
    """Whether a note can have it; a client that we don't know may send anything."""
    return isinstance(name, str) and 0 < len(name) <= MAX_WORD and name.isprintable()


def takes_project(arguments: Mapping[str, Any]) -> bool:
    """Whether a call of our tools that names no project means the one that the agent works in. Not if it names notes or
    a folder, replaces a note, or stores what holds everywhere."""
    if any(arguments.get(name) for name in ("project", "ids", "supersedes")):
        return False
    if content := arguments.get("content"):
        return arguments.get("path") != MEMORY and not is_personal(str(arguments.get("kind")), str(content))
    return not arguments.get("path")


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in cast("list[Any]", value))


_CHECKS: Mapping[Any, tuple[str, Callable[[Any], bool]]] = {
    str: ("a string", lambda value: isinstance(value, str)),
    int: ("a whole number", lambda value: isinstance(value, int) and not isinstance(value, bool)),
    bool: ("true or false", lambda value: isinstance(value, bool)),
    Mode: (f"one of {', '.join(get_args(Mode))}", lambda value: value in get_args(Mode)),
    Sequence[str]: ("a list of strings", _is_texts),
    Mapping[str, Any]: ("an object", lambda value: isinstance(value, dict)),
    Sequence[Mapping[str, Any]]: ("a list of objects", lambda value: isinstance(value, list)),
}
"""A type → its name in messages, and whether a JSON value is of it."""


def _check_of(hint: Any) -> tuple[str, Callable[[Any], bool]]:
    if NoneType in get_args(hint):
        (hint,) = (kind for kind in get_args(hint) if kind is not NoneType)
    return _CHECKS[hint]


def recall_plan(config: RecallConfig, request: RecallRequest) -> RecallPlan:
    """Raises InvalidInput that says what to pass instead."""
    query, ids, path = request.query, request.ids, request.path
    phase = _phase(config, request.phase)
    is_start = not (query or ids or path or phase)
    default = config.start_budget_tokens if is_start else (phase or config).budget_tokens
    budget = default if request.budget_tokens is None else request.budget_tokens
    if not LEAST_TOKENS <= budget <= MOST_TOKENS:
        raise InvalidInput(f"budget_tokens is {budget}", hint="pass 100 to 200000; 2000 is a good start")
    if request.lines and (ids or not path):
        raise InvalidInput("lines goes with path alone", hint="pass the path of one note")
    if targets := list(dict.fromkeys([*(ids or ()), *([path] if path else ())])):
        if query or phase or request.kinds or request.until:
            raise InvalidInput("ids and path take no query, phase, kinds or until", hint="call twice")
        if len(targets) > MOST_NOTES:
            raise InvalidInput(f"{len(targets)} notes at once", hint=f"at most {MOST_NOTES}")
        return RecallPlan(budget, targets)
    phase = phase or PhaseConfig()
    question = checked_query(query) if query is not None and (query.strip() or not request.phase) else None
    if request.until and question is None:
        raise InvalidInput("until goes with a query", hint="ask for what you want to know as of that date")
    kinds = request.kinds or phase.kinds or None
    return RecallPlan(budget, (), question, kinds, phase)


def _phase(config: RecallConfig, name: str | None) -> PhaseConfig | None:
    if name and name not in config.phases:
        raise InvalidInput(f"unknown phase {name[:100]!r}", hint=f"known phases: {', '.join(config.phases)}")
    return config.phases[name] if name else None
