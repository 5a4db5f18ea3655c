"""Lists the arguments of each tool, and reads a call's arguments before FastMCP does. FastMCP's error would quote the
value, which may be a note."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from fastmcp.exceptions import ToolError
from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext
from fastmcp.tools import ToolResult
from mcp_types import CallToolRequestParams

from mcp_memory.constants import APPEND, FORGET, RECALL, SEARCH
from mcp_memory.core.argument_types import Field, fields_of, read_arguments
from mcp_memory.core.requests import AppendRequest, ForgetRequest, RecallRequest, SearchRequest
from mcp_memory.errors import InvalidInput
from mcp_memory.text.escape_invisible import visible

_TARGET = (
    Field("id", str | None, "Id of the note or log entry, or its last 6 characters."),
    Field("path", str | None, "Instead of an id."),
)

_REQUESTS: Mapping[str, tuple[tuple[Field, ...], type[Any]]] = {
    SEARCH: ((), SearchRequest),
    RECALL: ((), RecallRequest),
    APPEND: ((), AppendRequest),
    FORGET: (_TARGET, ForgetRequest),
}
"""A tool's name → the tool's own fields, and the request whose other fields it accepts."""


@cache
def tool_fields(tool: str) -> tuple[Field, ...]:
    """Return the fields that agents see, which are those with a description."""
    own, request = _REQUESTS[tool]
    return (*own, *(field for field in fields_of(request) if field.about))


class ToolArguments(Middleware):
    """Converts the arguments of a call to the types of the tool's fields, or answers with an error in sentences.
    `facts`: the values for the placeholders in the descriptions of fields."""

    def __init__(self, facts: Mapping[str, Any]) -> None:
        self._facts = facts

    async def on_call_tool(
        self,
        context: MiddlewareContext[CallToolRequestParams],
        call_next: CallNext[CallToolRequestParams, ToolResult],
    ) -> ToolResult:
        message = context.message
        if message.name in _REQUESTS:
            try:
                arguments = read_arguments(tool_fields(message.name), message.arguments or {}, self._facts)
            except InvalidInput as error:
                raise ToolError(visible(f"{error.code}: {error}")) from None
            context = context.copy(message=message.model_copy(update={"arguments": arguments}))
        return await call_next(context)
