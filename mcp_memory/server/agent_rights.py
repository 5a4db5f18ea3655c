"""Limits an agent's token on `/api` to the operations of its tools and hooks. All other operations are for the person
only, including any added later."""

from collections.abc import Mapping
from typing import Any

from mcp_memory.core.argument_types import fields_of
from mcp_memory.errors import Refused

AGENTS_MAY: Mapping[str, str] = {
    "search": "query limit kinds tags project since until path include_archived mode explain",
    "recall": "query ids path lines phase kinds project until budget_tokens",
    "append": "content kind title tags project supersedes session expires path section due refs once",
    "forget": "target reason archive done session",
    "restore": "target session",
    "advise": "session arguments output folder project stop orders within_ms",
    "brief": "session prompt project within_ms lasting subagent withdrawn due left_off",
    "flush": "",
    "status": "",
    "titles": "ids",
    "tree": "depth topic dropped",
}
"""An operation → the arguments that an agent may pass to it. The agent's token and the clock determine a note's author
and time. An agent can't forget a person's own text."""


def check_rights(operation: str, known: Mapping[str, type[Any]]) -> None:
    """Check that an agent may call the operation. Raises Refused for a person's operation; the engine refuses an
    unknown one. `known`: operation → request."""
    if operation in known and operation not in AGENTS_MAY:
        raise Refused(f"{operation} is for a person at the command line", hint="see: mcp-memory help commands")


def agents_arguments(
    operation: str, arguments: Mapping[str, Any], client: str, known: Mapping[str, type[Any]]
) -> dict[str, Any]:
    """Return the arguments with the name of the agent that passes them. Raises Refused for a person's argument."""
    if operation in AGENTS_MAY and operation in known:
        persons_own = {field.name for field in fields_of(known[operation])} - {*AGENTS_MAY[operation].split()}
        for name in persons_own.intersection(arguments):
            if arguments[name] is not None:
                raise Refused(f"{name} is for a person to say", hint="leave it out: your token says who you are")
    return {**arguments, "source": client} if operation == "append" else dict(arguments)
