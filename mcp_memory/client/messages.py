"""Reads JSON-RPC messages of a stdio client, as far as forwarding them over HTTP needs. Pure."""

import json
from collections.abc import Mapping
from typing import Any, NamedTuple, cast

from mcp_memory.errors import InvalidInput, McpMemoryError
from mcp_memory.tool_names import RECALL, SEARCH

CANCELLED = "notifications/cancelled"

READS = frozenset({SEARCH, RECALL})
"""The tools that change nothing. All methods but `tools/call` change nothing either."""

VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
"""The key in `_meta` under which each request names its protocol version, from version 2026-07-28 on."""

NAMED_BY = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
"""Maps a method to the parameter that the header Mcp-Name repeats."""

INTERNAL_ERROR = -32603

Id = str | int | float


class RpcMessage(NamedTuple):
    """A message, which is one line. `id` is None for a notification, and for an answer, because the daemon asks for
    none."""

    line: bytes
    id: Id | None
    method: str
    params: Mapping[str, Any]

    @property
    def is_safe_to_repeat(self) -> bool:
        return self.method != "tools/call" or self.params.get("name") in READS

    @property
    def cancels(self) -> Id | None:
        """The id of the request that this message cancels."""
        named = self.params.get("requestId")
        return named if isinstance(named, Id) else None


class UnreadableMessage(InvalidInput):
    """A line that isn't a message. `answer` is the protocol's error for its sender."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.answer = _dumped({"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": message}})


def read(line: bytes) -> RpcMessage:
    """Parse a line. Raises UnreadableMessage."""
    try:
        table = _table(json.loads(line))
    except (ValueError, RecursionError) as error:
        raise UnreadableMessage(-32700, "the line is not JSON") from error
    message_id, method = table.get("id"), table.get("method", "")
    is_named = isinstance(message_id, Id) and not isinstance(message_id, bool)
    is_answer = not method and ("result" in table or "error" in table)
    if not isinstance(method, str) or not (method or is_answer) or not (is_named or "id" not in table):
        raise UnreadableMessage(-32600, "the line is not a JSON-RPC message; one object a line, no batches")
    return RpcMessage(line, None if is_answer else message_id, method, _table(table.get("params")))


def headers_of(message: RpcMessage, negotiated: str | None) -> dict[str, str]:
    """Return the HTTP headers of a message. `negotiated` is the protocol version from the handshake."""
    own = _table(message.params.get("_meta")).get(VERSION_KEY)
    if not isinstance(own, str):
        return {"MCP-Protocol-Version": negotiated} if negotiated and message.method != "initialize" else {}
    named = message.params.get(NAMED_BY.get(message.method, ""))
    name = {"Mcp-Name": _header(named)} if isinstance(named, str) else {}
    return {"MCP-Protocol-Version": _header(own), "Mcp-Method": _header(message.method), **name}


def negotiated_in(answer: bytes) -> str | None:
    """Return the protocol version in this answer to `initialize`."""
    version = _table(_table(json.loads(answer)).get("result")).get("protocolVersion")
    return version if isinstance(version, str) else None


def answer_from(message: RpcMessage, status: int, body: bytes) -> bytes:
    """Return the daemon's answer to a request as one line. An answer that isn't a message of the protocol becomes an
    error."""
    if status == 200 and body.startswith(b"{"):
        return body.replace(b"\r", b" ").replace(b"\n", b" ")  # in JSON, line breaks only occur between tokens
    try:
        answer = _table(json.loads(body))
    except (ValueError, RecursionError):
        answer = {}
    if isinstance(answer.get("error"), dict):
        return _dumped({**answer, "id": message.id})
    reason = answer.get("message") or "it gave no reason"
    refusal = f"the memory daemon refused the request with HTTP status {status}: {reason}"
    return failure(message, InvalidInput(refusal, hint=answer.get("hint")))


def failure(message: RpcMessage, error: McpMemoryError) -> bytes:
    """Return an error in the protocol's form."""
    fault = {"code": INTERNAL_ERROR, "message": str(error), "data": {"code": error.code}}
    return _dumped({"jsonrpc": "2.0", "id": message.id, "error": fault})


def _header(text: str) -> str:
    """Return a header's value: by the protocol's rule, text that doesn't fit into a header is sent as base64 between
    marks."""
    if text.isascii() and text.isprintable() and text == text.strip() and not text.startswith("=?base64?"):
        return text
    from binascii import b2a_base64

    return f"=?base64?{b2a_base64(text.encode('utf-8', 'surrogatepass'), newline=False).decode()}?="


def _table(value: object) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _dumped(message: Mapping[str, Any]) -> bytes:
    return json.dumps(message).encode("ascii")
