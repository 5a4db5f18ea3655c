"""Serves the daemon's own HTTP interface: `/health` for anyone, `/api/<operation>` for our own programs,
`/hook/<event>` for hooks."""

import json
import logging
from collections.abc import Awaitable, Callable
from typing import Any, cast

from fastmcp import FastMCP
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response

from mcp_memory import __version__
from mcp_memory.client.connection import API, HEALTH, SERVICE, Address
from mcp_memory.client.credentials import PERSON, Credentials
from mcp_memory.core.request_parsing import caller_named
from mcp_memory.engine.engine import Engine
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
from mcp_memory.hooks.hook_command import ROUTE
from mcp_memory.server.agent_rights import agents_arguments, check_rights
from mcp_memory.server.call_log import CallLog
from mcp_memory.server.hooks import HookEndpoint
from mcp_memory.server.http_guard import bearer_token
from mcp_memory.text.escape_invisible import visible, visible_in

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
        facts: dict[str, Any] = {"service": SERVICE, "version": __version__, "pid": address.pid}
        if nonce := request.query_params.get("nonce", "")[:128]:
            facts["proof"] = credentials.proof(nonce, address.name)
        return JSONResponse(facts)

    async def operate(client: str, request: Request) -> Response:
        name = request.path_params["name"]
        if client != PERSON:
            check_rights(name, engine.requests)
        arguments = _arguments(await request.body())
        if client != PERSON:
            arguments = agents_arguments(name, arguments, client, engine.requests)
        found = await engine.perform(name, arguments, caller_named(client))
        if name == "status":
            found |= {"clients": calls.payload()}
        return _Json(found if client == PERSON else visible_in(found))

    for route, work in ((API, operate), (ROUTE, hooks.answer)):
        server.custom_route(route + "{name}", methods=["POST"])(_guarded(work, credentials, calls, auth=auth))


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
            return JSONResponse({"code": InvalidInput.code, "message": "the body did not arrive completely"}, 400)
        except Exception:
            log.exception("a bug in an operation")
            return JSONResponse({"code": "internal", "message": "a bug of mcp-memory; see the daemon's log"}, 500)

    return answered


class _Json(JSONResponse):
    """JSON in ASCII with escapes, because a file's name may have bytes that aren't UTF-8."""

    def render(self, content: Any) -> bytes:
        return json.dumps(content).encode("ascii")


def _arguments(body: bytes) -> dict[str, Any]:
    try:
        arguments: Any = json.loads(body or b"{}")
    except (ValueError, RecursionError) as error:
        raise InvalidInput("the body is not JSON", hint="send one JSON object in UTF-8") from error
    if not isinstance(arguments, dict):
        raise InvalidInput("the body is not a JSON object", hint="send the arguments by name")
    return cast("dict[str, Any]", arguments)
