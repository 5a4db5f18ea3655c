"""Offers the four tools to agents."""

import logging
from base64 import b64encode
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from inspect import cleandoc
from typing import Any
from urllib.parse import unquote

import pydantic
from fastmcp import FastMCP
from fastmcp.exceptions import ToolError
from fastmcp.server.dependencies import get_access_token, get_context, get_http_headers
from fastmcp.tools import Tool, ToolResult
from mcp_types import Icon, ToolAnnotations
from pydantic.json_schema import SkipJsonSchema

from mcp_memory.core.arguments import RequestField, fields_of, is_session, read_arguments
from mcp_memory.core.project_finder import holds_everywhere, own_project, takes_project
from mcp_memory.core.requests import AppendRequest, ForgetRequest, RecallRequest, SearchRequest
from mcp_memory.engine.engine import Engine
from mcp_memory.errors import InvalidInput, McpMemoryError
from mcp_memory.runtime.threads import LOOK_DEADLINE_S
from mcp_memory.server.results import (
    OUTPUT_SCHEMAS,
    append_result,
    input_schema,
    link_text,
    search_result,
    short_id,
)
from mcp_memory.text.escape_invisible import in_line, visible
from mcp_memory.vault.journals.tombstones import Caller

log = logging.getLogger(__name__)

PROJECT_HEADER, FOLDER_HEADER = "mcp-memory-project", "mcp-memory-folder"
ALWAYS_LOAD = {"anthropic/alwaysLoad": True}
"""Claude Code hides tools behind a search unless they opt out; most prompts need these two."""

_TARGET = (
    RequestField("id", str, "Id of the note or log entry, or its last 6 characters."),
    RequestField("path", str, "Instead of an id."),
)
"""The arguments of memory_forget that name a note."""

_SVG = (
    "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 24 24' fill='none' stroke='#888'>"
    "<path d='M6 3h9l4 4v14H6zM9 11h7M9 15h7'/></svg>"
)
_ICON_URI = f"data:image/svg+xml;base64,{b64encode(_SVG.encode()).decode()}"
ICON = Icon(src=_ICON_URI, mime_type="image/svg+xml", sizes=["any"])
"""An icon of a page of notes. Clients show it to people, never to a model."""

Arguments = dict[str, Any]
"""The arguments of a call by name."""


class MemoryTool(Tool):
    """A tool that reads its arguments itself and words every fault. FastMCP's errors would quote the value, which may
    be a note."""

    fields: SkipJsonSchema[Sequence[RequestField]] = pydantic.Field(exclude=True)
    facts: SkipJsonSchema[Mapping[str, Any]] = pydantic.Field(exclude=True)
    answer: SkipJsonSchema[Callable[[Arguments], Awaitable[ToolResult]]] = pydantic.Field(exclude=True)

    async def run(self, arguments: Arguments) -> ToolResult:
        try:
            return await self.answer(read_arguments(self.fields, arguments, self.facts))
        except McpMemoryError as error:
            raise ToolError(visible(f"{error.code}: {error}")) from error
        except ToolError:
            raise
        except Exception as error:
            log.exception("a bug in a tool")
            raise ToolError("internal: a bug in mcp-memory; the daemon's log says where") from error


def add_tools(server: FastMCP, engine: Engine) -> None:
    """Register memory_search, memory_recall, memory_append and memory_forget."""

    def add(
        work: Callable[[Engine, Arguments], Awaitable[ToolResult]],
        request: type[Any],
        annotations: ToolAnnotations,
        *,
        own: Sequence[RequestField] = (),
        schema: dict[str, Any] | None = None,
        meta: dict[str, Any] | None = None,
    ) -> None:
        """Add a tool with its `own` arguments, and those fields of its request that agents are offered."""
        offered = [*own, *(field for field in fields_of(request) if field.about)]
        tool = MemoryTool(
            name=work.__name__,
            description=cleandoc(work.__doc__ or ""),
            parameters=input_schema(offered, engine.facts),
            output_schema=schema,
            annotations=annotations,
            icons=[ICON],
            meta=meta,
            fields=offered,
            facts=engine.facts,
            answer=partial(work, engine),
        )
        server.add_tool(tool)

    add(memory_search, SearchRequest, _reads("Search memory"), schema=OUTPUT_SCHEMAS["search"], meta=ALWAYS_LOAD)
    add(memory_recall, RecallRequest, _reads("Recall from memory"), meta=ALWAYS_LOAD)
    add(memory_append, AppendRequest, _writes("Store in memory"), schema=OUTPUT_SCHEMAS["append"])
    add(memory_forget, ForgetRequest, _writes("Forget from memory"), own=_TARGET, schema=OUTPUT_SCHEMAS["forget"])


async def memory_search(engine: Engine, arguments: Arguments) -> ToolResult:
    """List notes with their ids: to find what to replace or forget, or past sessions.

    To answer a question, memory_recall costs less. A `confidence` under 0.2 means that probably nothing is stored, so
    don't search again."""
    wanted = await _with_project(engine, arguments)
    found = await engine.perform("search", wanted, _caller())
    return search_result(found, wanted.get("project"), _client(), explain=bool(wanted.get("explain")))


async def memory_recall(engine: Engine, arguments: Arguments) -> ToolResult:
    """Read memory: call this before you decide or ask anything that may be settled.

    With `query`, a question complete in itself: the passages that answer it. With `ids` or `path`: those notes
    verbatim. Without arguments: standing orders and the newest notes."""
    found = await engine.perform("recall", await _with_project(engine, arguments), _caller())
    return ToolResult(found["text"])


async def memory_append(engine: Engine, arguments: Arguments) -> ToolResult:
    """Store what a later session couldn't see in the code: a decision and why (`because: [[id]]` links it), a
    correction, a fix and its error, a command that works. One fact a note, names and dates written out. No
    secrets.

    If it replaces a note, e.g. one under `similar` or `contradicts`, pass that id as `supersedes`."""
    wanted = await _with_project(engine, _with_session(arguments))
    return append_result(await engine.perform("append", {**wanted, "source": _client()}, _caller()))


async def memory_forget(engine: Engine, arguments: Arguments) -> ToolResult:
    """Take a note out of search and recall; its file stays.

    For what the person asks to forget, and for a wrong note that has no successor; else memory_append with
    `supersedes`. done=true: a commitment is kept."""
    note_id, path = arguments.pop("id", None), arguments.pop("path", None)
    target = note_id or path
    if not target:
        raise InvalidInput("Missing `id` or `path`.", hint="memory_search finds ids")
    if note_id and path:
        raise InvalidInput("Pass either `id` or `path`, not both.")
    found = await engine.perform("forget", {"target": target, **_with_session(arguments)}, _caller())
    hint = " · restore=true brings it back" if found["status"] != "active" else ""
    text = f"{found['status']}: {in_line(found['path'])} · id {in_line(short_id(found['id']))}{hint}"
    behind = found.get("behind")
    text += f" · done; the index follows with the next sweep: {in_line(behind)}" if behind else ""
    return ToolResult(text + link_text("now holds", found.get("holds_now")), structured_content=found)


def _reads(title: str) -> ToolAnnotations:
    return ToolAnnotations(title=title, read_only_hint=True, idempotent_hint=True, open_world_hint=False)


def _writes(title: str) -> ToolAnnotations:
    """Return the annotations of a writing tool. It isn't destructive: nothing is ever removed, and clients refuse
    destructive tools when nobody can approve."""
    return ToolAnnotations(
        title=title, read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False
    )


def _caller() -> Caller:
    return Caller(_client(), _sent_session())


def _client() -> str | None:
    """Return the client's name, from its own token."""
    token = get_access_token()
    return token.client_id if token else None


async def _with_project(engine: Engine, arguments: Arguments) -> Arguments:
    """Fill in a missing project from the client's headers, which name the project or its folder (percent-encoded where
    a name isn't ASCII)."""
    headers, named = get_http_headers(), arguments.get("project")
    if not (named or takes_project(arguments)):
        return arguments
    project = unquote(headers.get(PROJECT_HEADER, "")) or None
    if folder := unquote(headers.get(FOLDER_HEADER, ""), errors="surrogateescape"):
        here = await engine.projects.find(folder, LOOK_DEADLINE_S)
        project = own_project(project, here) if project else here
    if named:
        return {**arguments, "project": own_project(named, project)}
    if holds_everywhere(arguments, project):
        project = None
    elif not project and arguments.get("kind") == "preference":
        project = await engine.projects.find_named(str(arguments["content"]))
    return {**arguments, "project": project}


def _with_session(arguments: Arguments) -> Arguments:
    """Fill in a missing session from the value that Codex sends with each call."""
    return arguments if arguments.get("session") else {**arguments, "session": _sent_session()}


def _sent_session() -> str | None:
    request = get_context().request_context
    sent = request.meta.get("sessionId") if request and request.meta else None
    return sent if is_session(sent) else None
