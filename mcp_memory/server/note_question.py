"""Asks the person which of several notes is meant, where the client can ask (protocol 2026-07-28, SEP-2322).

The tool returns the question in place of its result, and the client calls the tool again with the answer.
"""

from typing import Any

from fastmcp.exceptions import ToolError
from fastmcp.server.dependencies import get_context
from fastmcp.tools.base import InputRequiredToolResult
from mcp_types import ElicitRequest, ElicitRequestFormParams, ElicitResult, InputRequiredResult

from mcp_memory.engine.engine import Engine
from mcp_memory.errors import Ambiguous
from mcp_memory.text.escape_invisible import in_line

NOTE = "note"
"""The question, and its only field."""


async def which_note(engine: Engine, found: Ambiguous) -> InputRequiredToolResult:
    """Return the question, with the notes' titles and paths. Raises `found` if the client can't ask."""
    session = get_context().session
    if session.protocol_version < "2026-07-28" or not (able := session.client_capabilities) or not able.elicitation:
        raise found
    titles = (await engine.perform("titles", {"ids": list(found.ids)}))["notes"]
    choices = [
        {"const": note, "title": in_line(f"{about['title']} ({about['path']})")} for note, about in titles.items()
    ]
    field = {"type": "string", "title": "Note", "oneOf": choices}
    schema: dict[str, Any] = {"type": "object", "properties": {NOTE: field}, "required": [NOTE]}
    form = ElicitRequestFormParams(message="Which of these notes do you mean?", requested_schema=schema)
    return InputRequiredToolResult(InputRequiredResult(input_requests={NOTE: ElicitRequest(params=form)}))


def answered_note(target: str) -> str:
    """Return the note that the person chose for the target; the target itself if nobody was asked. Raises ToolError."""
    answer = (get_context().input_responses or {}).get(NOTE)
    if not isinstance(answer, ElicitResult):
        return target
    chosen = str((answer.content or {}).get(NOTE, ""))
    if answer.action != "accept" or not chosen.lower().endswith(target.strip().lower()):
        raise ToolError("refused: the person chose none of the notes")
    return chosen
