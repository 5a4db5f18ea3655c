"""Tells an agent which argument is invalid and what to pass instead, never quoting a value.

FastMCP would pass on pydantic's report, which quotes the value (it may be a note) and links to pydantic's manual.
"""

import difflib
from collections.abc import Mapping, Sized
from typing import Any, cast

from fastmcp.exceptions import ToolError, ValidationError
from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext
from fastmcp.tools import ToolResult
from mcp_types import CallToolRequestParams
from pydantic import ValidationError as Misfit

MOST_ITEMS = 1000
"""Of an argument; no tool takes as many."""

_NAMES = {"string": "a string", "integer": "a whole number", "boolean": "true or false", "array": "a list of strings"}


class ArgumentErrors(Middleware):
    """Turns arguments that don't fit a tool's schema into a tool error that explains the schema."""

    async def on_call_tool(
        self,
        context: MiddlewareContext[CallToolRequestParams],
        call_next: CallNext[CallToolRequestParams, ToolResult],
    ) -> ToolResult:
        if too_many := _too_many(context.message.arguments or {}):
            raise ToolError(f"invalid_input: {too_many}")
        try:
            return await call_next(context)
        except ValidationError as error:
            misfit, server = error.__cause__, context.fastmcp_context
            tool = await server.fastmcp.get_tool(context.message.name) if server else None
            if not isinstance(misfit, Misfit) or tool is None:
                raise
            raise ToolError(f"invalid_input: {complaint(misfit, tool.parameters)}") from None


def _too_many(arguments: Mapping[str, Any]) -> str | None:
    """Every invalid item is reported: a million of them would block the daemon for seconds."""
    if len(arguments) > MOST_ITEMS:
        return f"{len(arguments):,} arguments; no tool takes so many"
    for name, value in arguments.items():
        if isinstance(value, (list, dict)) and len(cast("Sized", value)) > MOST_ITEMS:
            return f"{name[:80]} has {len(cast('Sized', value)):,} items: pass at most {MOST_ITEMS}"
    return None


def complaint(misfit: Misfit, schema: Mapping[str, Any]) -> str:
    """One sentence for each argument that doesn't fit `schema`, the tool's own."""
    properties: Mapping[str, Mapping[str, Any]] = schema["properties"]
    faults = misfit.errors(include_url=False, include_context=False, include_input=False)
    sentences = (_sentence(str(fault["loc"][0]), fault["type"], properties) for fault in faults)
    return "; ".join(dict.fromkeys(sentences))


def _sentence(name: str, fault: str, properties: Mapping[str, Mapping[str, Any]]) -> str:
    if name not in properties:
        near = difflib.get_close_matches(name, properties, n=1)
        hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(properties)}"
        return f"no argument {name[:80]!r}; {hint}"
    about = properties[name].get("description", "")
    if fault == "missing_argument":
        return f"{name} is missing: {about}"
    kinds: list[Mapping[str, Any]] = properties[name].get("anyOf", [properties[name]])
    kind = next(kind for kind in kinds if kind.get("type") != "null")
    wanted = f"one of {', '.join(kind['enum'])}" if "enum" in kind else _NAMES[kind["type"]]
    return f"{name} must be {wanted}: {about}"
