"""HTTP as a stranger speaks it: requests to the byte, and MCP of both eras without a client library."""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from tests.daemon.place import Running

JSON = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
HANDSHAKE, SESSIONLESS = "2025-06-18", "2026-07-28"
ERAS = (HANDSHAKE, SESSIONLESS)


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode("utf-8", "replace")

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Wire:
    """One keep-alive connection to a daemon, with a client's token unless told otherwise."""

    def __init__(self, daemon: Running, *, client: str = "tests", era: str = HANDSHAKE) -> None:
        self._address = daemon.address
        self._token = daemon.token(client)
        self.era = era
        self._connection: http.client.HTTPConnection | None = None

    def __enter__(self) -> Wire:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        if self._connection:
            self._connection.close()
        self._connection = None

    def send(
        self, method: str, target: str, body: bytes | None = None, *, token: str | None = "", **headers: str
    ) -> Answer:
        """`token`: another one, or None to send none. Header names are given with `_` for `-`."""
        wanted = {**JSON, **{name.replace("_", "-"): value for name, value in headers.items()}}
        if token is not None:
            wanted["Authorization"] = f"Bearer {token or self._token}"
        if not self._connection:
            self._connection = http.client.HTTPConnection(self._address.host, self._address.port, timeout=30)
        try:
            self._connection.request(method, target, body, wanted)
            response = self._connection.getresponse()
            return Answer(response.status, {k.lower(): v for k, v in response.getheaders()}, response.read())
        except (http.client.HTTPException, OSError):
            self.close()
            raise

    def api(self, operation: str, arguments: Any = None, **more: Any) -> Answer:
        return self.send("POST", f"/api/{operation}", json.dumps(arguments or {}).encode(), **more)

    def rpc(self, method: str, params: Mapping[str, Any] | None = None, **headers: str) -> Answer:
        """One JSON-RPC call of this era, without a session."""
        params = dict(params or {})
        headers = {"MCP_Protocol_Version": self.era, **headers}
        if self.era == SESSIONLESS:
            name = params.get("name") or params.get("uri")
            headers |= {"Mcp_Method": method, **({"Mcp_Name": name} if name else {})}
            params["_meta"] = {
                "io.modelcontextprotocol/protocolVersion": self.era,
                "io.modelcontextprotocol/clientInfo": {"name": "tests", "version": "1"},
                "io.modelcontextprotocol/clientCapabilities": {},
            }
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        return self.send("POST", "/mcp", json.dumps(body).encode(), **headers)

    def tool(self, name: str, arguments: Any = None, **headers: str) -> dict[str, Any]:
        """The result of a tool call; a protocol error fails the test."""
        answer = self.rpc("tools/call", {"name": name, "arguments": arguments or {}}, **headers)
        assert answer.status == 200, answer
        return answer.json["result"]

    def text(self, name: str, arguments: Any = None, **headers: str) -> str:
        """A tool's text part."""
        return "\n".join(part["text"] for part in self.tool(name, arguments, **headers)["content"])


def raw(daemon: Running, lines: Iterable[str], body: bytes = b"", *, finish: bool = False) -> Answer:
    """A request written line by line, so that headers may be missing, doubled or wrong."""
    with socket.create_connection((daemon.address.host, daemon.address.port), timeout=10) as connection:
        connection.sendall("\r\n".join([*lines, "", ""]).encode("latin-1") + body)
        if finish:
            connection.shutdown(socket.SHUT_WR)
        response = http.client.HTTPResponse(connection)
        try:
            response.begin()
            return Answer(response.status, dict(response.getheaders()), response.read())
        finally:
            response.close()
