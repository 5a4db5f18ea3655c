"""Serves the daemon's own HTTP interface: `/health` for anyone, `/api/<operation>` for our own programs,
`/hook/<event>` for clients.

An agent's token may ask `/api` only for the operations of its tools and hooks. All other operations are for the
person only, including any added later.
"""

import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any, cast

from fastmcp import FastMCP
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response

from mcp_memory import __version__
from mcp_memory.client.connection import API, HEALTH, SERVICE, Address
from mcp_memory.client.credentials import PERSON, Credentials
from mcp_memory.core.arguments import fields_of
from mcp_memory.core.serializers import Payload
from mcp_memory.engine.engine import Engine, caller_named
from mcp_memory.errors import (
    AlreadyExists,
    Busy,
    DeadlineExceeded,
    InvalidInput,
    McpMemoryError,
    NotFound,
    PreconditionFailed,
    Refused,
    StillReading,
)
from mcp_memory.hooks.hook_answer import EVENTS, HookAnswer, answer
from mcp_memory.hooks.hook_call import HookCall
from mcp_memory.hooks.hook_command import FACTS, ROUTE, START, STARTS, SWITCHES, WITHIN_MS
from mcp_memory.hooks.hook_input import MARKS, HookInput
from mcp_memory.hooks.hook_log import HookLogLine, owes_start
from mcp_memory.hooks.tool_answers import ACTING
from mcp_memory.runtime.threads import LOOK_DEADLINE_S, in_thread
from mcp_memory.server.call_log import CallLog
from mcp_memory.server.http_guard import bearer_token
from mcp_memory.settings.settings import HooksConfig
from mcp_memory.text.escape_invisible import visible, visible_in

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class HookEndpoint:
    """The endpoint for hooks. `log` is the hooks' log. The command writes the log and reads `config` by itself, since
    it knows the client's start time."""

    engine: Engine
    config: HooksConfig
    log: Path

    async def answer(self, client: str, request: Request) -> Response:
        """Answer a hook. Raises Unusable for an unknown event or unusable input, and the engine's errors."""
        event, within = request.path_params["name"], request.headers.get(WITHIN_MS)
        if within is not None:
            is_number = within.isascii() and within.isdigit() and len(within) < 9
            within_ms = int(within) if is_number else self.config.prompt_ms
            found = await self._answered(event, client, request, within_ms)
            return Response(found.output, headers={FACTS: json.dumps(found.facts)}, media_type="application/json")
        if not self.config.enabled:
            return Response()
        line, began = HookLogLine(), perf_counter()
        line.event, line.client = event if event in EVENTS else "", client
        try:
            within_ms = self.config.session_start_ms if event in STARTS else self.config.prompt_ms
            found = await self._answered(event, client, request, within_ms)
            line.add_facts(found.facts)
        except Exception as error:
            line.add_failure(error)
            raise
        finally:
            line.ms = (perf_counter() - began) * 1000
            await self._write(line)
        return Response(found.output, media_type="application/json")

    async def _answered(self, event: str, client: str, request: Request, within_ms: int) -> HookAnswer:
        environ = {name: request.headers[header] for name, header in MARKS.items() if header in request.headers}
        data = await request.body()
        engine, given = self.engine, HookInput(data)
        if given.tool not in ACTING:  # keyword search answers the acting tools
            engine.wake_model()  # without the model, a prompt gets less
        call = HookCall(
            event, client, given, within_ms, environ, engine.perform, engine.projects.find, self._owes_start,
            self._config_of(request),
        )  # fmt: skip
        return await answer(call)

    async def _owes_start(self, client: str, session: str, project: str) -> set[str] | None:
        """Return the notes shown to a session that lacks its start's text, see `hook_log.owes_start`. None if the log
        can't be read."""
        read = partial(owes_start, str(self.log), START, client, session, project)
        try:
            return await in_thread(read, deadline_s=LOOK_DEADLINE_S, what="reading the hooks' log")
        except (OSError, McpMemoryError) as error:
            _log.warning("the hooks' log cannot be read: %s", type(error).__name__)
            return None

    async def _write(self, line: HookLogLine) -> None:
        """Write the line to the log. A full disk must not cost an answer."""
        write = partial(line.write, str(self.log))
        try:
            await in_thread(write, deadline_s=LOOK_DEADLINE_S, what="writing the hooks' log")
        except (OSError, McpMemoryError) as error:
            _log.warning("the hooks' log cannot be written: %s", type(error).__name__)

    def _config_of(self, request: Request) -> HooksConfig:
        """Return the configuration with the switches from the request. The command reads them anew for each call."""
        sent = dict(part.split("=", 1) for part in request.headers.get(SWITCHES, "").split(",") if "=" in part)
        config = replace(self.config, enabled=sent["enabled"] == "true") if "enabled" in sent else self.config
        return replace(config, off=tuple(sent["off"].split())) if "off" in sent else config


log = logging.getLogger(__name__)

_STATUS: tuple[tuple[type[McpMemoryError], int], ...] = (
    (InvalidInput, 400),
    (Refused, 403),
    (NotFound, 404),
    (AlreadyExists, 409),
    (PreconditionFailed, 412),
    (Busy, 503),
    (StillReading, 503),
    (DeadlineExceeded, 504),
)

AGENTS_MAY: Mapping[str, str] = {
    "search": "query limit kinds tags project agent since until path include_archived mode explain session",
    "recall": "query ids path lines phase kinds project agent until budget_tokens session",
    "append": "content kind title tags project supersedes session expires path etag section due refs when once",
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


def add_routes(
    server: FastMCP,
    engine: Engine,
    hooks: HookEndpoint,
    credentials: Credentials,
    address: Address,
    calls: CallLog,
    *,
    auth: bool,
) -> None:
    """Add the routes. FastMCP doesn't guard custom routes, so each route checks the token itself."""

    @server.custom_route(HEALTH, methods=["GET"])
    async def health(request: Request) -> JSONResponse:  # pyright: ignore[reportUnusedFunction] -- registered
        facts: Payload = {"service": SERVICE, "version": __version__, "pid": address.pid}
        if nonce := request.query_params.get("nonce", "")[:128]:
            facts["proof"] = credentials.proof(nonce, address.name)
        return JSONResponse(facts)

    async def operate(client: str, request: Request) -> Response:
        name = request.path_params["name"]
        if client != PERSON:
            _check_rights(name, engine.requests)
        arguments = _arguments(await request.body())
        if client != PERSON:
            arguments = _agents_arguments(name, arguments, client, engine.requests)
        found = await perform_with_calls(engine, calls, name, arguments, client)
        return _Json(found if client == PERSON else visible_in(found))

    for route, work in ((API, operate), (ROUTE, hooks.answer)):
        server.custom_route(route + "{name}", methods=["POST"])(_guarded(work, credentials, calls, auth=auth))


async def perform_with_calls(
    engine: Engine, calls: CallLog, name: str, arguments: Mapping[str, Any], client: str = PERSON
) -> Payload:
    """Answer an operation as this client; `status` also with when each client last called."""
    found = await engine.perform(name, arguments, caller_named(client))
    return found | {"clients": calls.payload()} if name == "status" else found


def _guarded(
    work: Callable[[str, Request], Awaitable[Response]], credentials: Credentials, calls: CallLog, *, auth: bool
) -> Callable[[Request], Awaitable[Response]]:
    """Wrap `work` for any client with a token, with its errors turned into HTTP. Without `auth`, a request without a
    token is the person's."""

    async def answered(request: Request) -> Response:
        try:
            token = bearer_token(request.headers.get("authorization", ""))
            client = credentials.client_of(token) or (None if auth else PERSON)
            if not client:
                return Response(status_code=401)  # the guard adds the body
            if client != PERSON:
                calls.saw(client)
            return await work(client, request)
        except McpMemoryError as error:
            body = {"code": error.code, "message": visible(error.message), "hint": error.hint}
            return JSONResponse(body, next((s for kind, s in _STATUS if isinstance(error, kind)), 500))
        except ClientDisconnect:
            return JSONResponse({"code": InvalidInput.code, "message": "the request body is incomplete"}, 400)
        except Exception:
            log.exception("a bug in an operation")
            return JSONResponse({"code": "internal", "message": "a bug in mcp-memory; see the daemon's log"}, 500)

    return answered


class _Json(JSONResponse):
    """JSON in ASCII with escapes, because a file's name may have bytes that aren't UTF-8."""

    def render(self, content: Any) -> bytes:
        return json.dumps(content).encode("ascii")


def _arguments(body: bytes) -> Payload:
    try:
        arguments: Any = json.loads(body or b"{}")
    except (ValueError, RecursionError) as error:
        raise InvalidInput("the body is not JSON", hint="send one JSON object in UTF-8") from error
    if not isinstance(arguments, dict):
        raise InvalidInput("the body is not a JSON object", hint="send the arguments by name")
    return cast("Payload", arguments)


def _check_rights(operation: str, known: Mapping[str, type[Any]]) -> None:
    """Check that an agent may call the operation. Raises Refused for a person's operation; the engine refuses an
    unknown one. `known`: operation → request."""
    if operation in known and operation not in AGENTS_MAY:
        raise Refused(f"only a person can use {operation}, at the command line", hint="see: mcp-memory help commands")


def _agents_arguments(
    operation: str, arguments: Mapping[str, Any], client: str, known: Mapping[str, type[Any]]
) -> Payload:
    """Return the arguments with the name of the agent that passes them. Raises Refused for a person's argument."""
    if operation in AGENTS_MAY and operation in known:
        persons_own = {field.name for field in fields_of(known[operation])} - {*AGENTS_MAY[operation].split()}
        for name in persons_own.intersection(arguments):
            if arguments[name] is not None:
                raise Refused(f"only a person can pass {name}", hint="leave it out: your token says who you are")
    return {**arguments, "source": client} if operation == "append" else dict(arguments)
