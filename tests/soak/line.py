"""One client's keep-alive connection: HTTP/1.1 by hand, since a client library would cost as much as the daemon."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from mcp_memory.client.credentials import PERSON
from tests.daemon.place import Place
from tests.daemon.wire import HANDSHAKE, SESSIONLESS

PATIENCE_S = 60.0
"""Twice what any call may take inside; a daemon that needs longer hangs."""


class Unanswered(Exception):
    """Nobody answered to the end: refused, reset, closed, or too late. What was asked may have happened or not."""


class Failed(Exception):
    """An answer that is an error; `code` is the product's own, or `http <status>`."""

    def __init__(self, code: str, said: str) -> None:
        super().__init__(f"{code}: {said}")
        self.code = code


@dataclass
class Watch:
    """How long each call took, in seconds, by its name and what was going on when it began."""

    going_on: Callable[[], str] = lambda: ""
    times_s: dict[str, list[float]] = field(default_factory=dict)

    def took(self, name: str, meanwhile: str, seconds: float) -> None:
        self.times_s.setdefault(f"{name} during {meanwhile}" if meanwhile else name, []).append(seconds)


class Line:
    """Connects when it is first used, and again after a failure."""

    def __init__(self, place: Place, client: str, era: str, watch: Watch | None = None) -> None:
        self._place = place
        known = place.credentials
        self._token = known.persons_token() if client == PERSON else known.token(client)
        self._era = era
        self._watch = watch or Watch()
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def tool(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """The structured part of a tool's answer, or `{"text": …}`. Raises Unanswered, Failed."""
        params: dict[str, Any] = {"name": name, "arguments": arguments}
        headers = f"MCP-Protocol-Version: {self._era}\r\n"
        if self._era == SESSIONLESS:
            headers += f"Mcp-Method: tools/call\r\nMcp-Name: {name}\r\n"
            params["_meta"] = {
                "io.modelcontextprotocol/protocolVersion": self._era,
                "io.modelcontextprotocol/clientInfo": {"name": "soak", "version": "1"},
                "io.modelcontextprotocol/clientCapabilities": {},
            }
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        answer = await self._asked(name, "POST /mcp", headers, body)
        if "result" not in answer:
            raise Failed("protocol", str(answer.get("error"))[:300])
        result = answer["result"]
        text = "\n".join(part.get("text", "") for part in result["content"])
        if result.get("isError"):
            raise Failed(text.partition(":")[0], text[:300])
        return result.get("structuredContent") or {"text": text}

    async def api(self, operation: str, *, within_s: float = PATIENCE_S) -> dict[str, Any]:
        """One operation of the daemon's own interface, without arguments. Raises Unanswered, Failed."""
        return await self._asked(operation, f"POST /api/{operation}", "", {}, within_s)

    async def health(self) -> None:
        """The emptiest call there is. Raises Unanswered, Failed."""
        await self._asked("health", "GET /health", "", None)

    def close(self) -> None:
        if self._streams:
            self._streams[1].close()
        self._streams = None

    async def _asked(
        self, name: str, line: str, headers: str, body: Any, within_s: float = PATIENCE_S
    ) -> dict[str, Any]:
        meanwhile, start = self._watch.going_on(), time.perf_counter()
        try:
            async with asyncio.timeout(within_s):
                status, answer = await self._exchanged(line, headers, body)
        except (OSError, EOFError, TimeoutError, ValueError) as error:
            self.close()
            raise Unanswered(f"{type(error).__name__} after {time.perf_counter() - start:.2f} s") from error
        except asyncio.CancelledError:
            self.close()  # half an answer may be on its way
            raise
        self._watch.took(name, meanwhile, time.perf_counter() - start)
        if status != 200:
            raise Failed(str(answer.get("code", f"http {status}")), str(answer.get("message"))[:300])
        return answer

    async def _exchanged(self, line: str, headers: str, body: Any) -> tuple[int, dict[str, Any]]:
        if self._streams and self._streams[0].at_eof():
            self.close()  # the daemon ended meanwhile, as every client notices before it asks
        if self._streams is None:
            port = int(self._place.state.port.read_text())
            self._streams = await asyncio.open_connection("127.0.0.1", port, limit=1 << 24)
        reader, writer = self._streams
        data = b"" if body is None else json.dumps(body).encode()
        method, target = line.split(" ")
        head = (
            f"{method} {target} HTTP/1.1\r\nHost: 127.0.0.1:{self._place.state.port.read_text().strip()}\r\n"
            f"Authorization: Bearer {self._token}\r\nContent-Type: application/json\r\n"
            f"Accept: application/json, text/event-stream\r\nContent-Length: {len(data)}\r\n{headers}\r\n"
        )
        writer.write(head.encode() + data)
        first, *fields = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower().split("\r\n")
        length = next(int(field.split(":")[1]) for field in fields if field.startswith("content-length:"))
        answer = json.loads(await reader.readexactly(length) or b"{}")
        if "connection: close" in fields:
            self.close()
        return int(first.split(" ")[1]), answer


def era(number: int) -> str:
    """Every other client speaks the handshake era's protocol, the others the sessionless one."""
    return (HANDSHAKE, SESSIONLESS)[number % 2]
