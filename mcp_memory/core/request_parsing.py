"""Makes requests from JSON, checks recall requests, and decides which project an agent's call means."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from mcp_memory.client.credentials import PERSON
from mcp_memory.core.argument_types import fields_of, read_arguments
from mcp_memory.core.requests import CLAIMS, RecallRequest
from mcp_memory.errors import InvalidInput
from mcp_memory.projects.repository_facts import name_in
from mcp_memory.recall.config import PhaseConfig, RecallConfig
from mcp_memory.search.filters import checked_query
from mcp_memory.statements.language import is_personal
from mcp_memory.vault.draft import MAX_WORD
from mcp_memory.vault.journals.tombstones import Caller
from mcp_memory.vault.note_file import MEMORY

MOST_NOTES = 100
"""The most notes of one recall by ids."""

LEAST_TOKENS, MOST_TOKENS = 100, 200_000


@dataclass(frozen=True, slots=True)
class RecallPlan:
    """Notes by `targets` (ids and paths), or passages for `question`, or without both the text for a session's
    start."""

    budget_tokens: int
    targets: Sequence[str] = ()
    question: str | None = None
    kinds: Sequence[str] | None = None
    phase: PhaseConfig = field(default_factory=PhaseConfig)


R = TypeVar("R")


def request_from(request: type[R], arguments: Mapping[str, Any], facts: Mapping[str, Any]) -> R:
    """A request made from JSON; an argument that is None is treated as not given. `facts`: the values for the braces in
    the annotations of requests.

    Raises InvalidInput for an argument that is unknown, missing or of the wrong type."""
    return request(**read_arguments(fields_of(request), arguments, facts))


def caller_named(client: str) -> Caller:
    """Return the caller that has this client's token; the command line's has a person's rights."""
    return Caller(client, is_person=client == PERSON)


def is_session(name: object) -> bool:
    """Return whether a note can have it; a client that we don't know may send anything."""
    return isinstance(name, str) and 0 < len(name) <= MAX_WORD and name.isprintable()


def takes_project(arguments: Mapping[str, Any]) -> bool:
    """Return whether a call of our tools without a project means the project that the agent works in. A call that names
    notes or a folder, or replaces a note, doesn't. A stored note may still apply everywhere. Claims are in no
    folder."""
    if any(arguments.get(name) for name in ("project", "ids", "supersedes")):
        return False
    path = arguments.get("path") or ""
    return path != MEMORY if arguments.get("content") else not path or path.partition("/")[0] == CLAIMS


def own_project(name: str | None, here: str | None) -> str | None:
    """The project that an agent in the project `here` means. The agent knows its folder's name, which may also be the
    name of another project."""
    return here if here and name == name_in(here) else name


def holds_everywhere(arguments: Mapping[str, Any], project: str | None) -> bool:
    """Return whether a call stores a preference that isn't for the project in which the agent works."""
    content = arguments.get("content")
    return bool(content) and is_personal(str(arguments.get("kind")), str(content), project)


def recall_plan(config: RecallConfig, request: RecallRequest) -> RecallPlan:
    """Check a recall request. Raises InvalidInput with a hint of what to pass instead."""
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
