"""Timed calls: of a tool over HTTP, and of anything in turns, so that noise meets all alike."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Callable, Sequence
from typing import Any

Timed = Callable[[int], float]
"""The n-th call; returns the seconds that it took."""

WARM_UP = 20


class Tool:
    """One tool of one server, over a connection that is kept alive as a client's is."""

    def __init__(self, port: int, name: str, token: str = "") -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self._name = name
        self._headers = {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": "2025-06-18",
            **({"Authorization": f"Bearer {token}"} if token else {}),
        }

    def timed(self, arguments: dict[str, Any]) -> float:
        """Seconds of one call. Ends the program where it fails: a figure of failing calls says nothing."""
        return timed(lambda: self.call(arguments))

    def call(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """The tool's result, likewise."""
        return self.ask("tools/call", {"name": self._name, "arguments": arguments})

    def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        self._connection.request("POST", "/mcp", body, self._headers)
        answer = json.loads(self._connection.getresponse().read())
        if "result" not in answer or answer["result"].get("isError"):
            raise SystemExit(f"{method} {self._name} failed: {answer}")
        return answer["result"]


def timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def in_turns(calls: Sequence[Timed], rounds: int, *, warm_up: int = WARM_UP) -> list[list[float]]:
    """Seconds of each, one list a sort; the first `warm_up` rounds do not count."""
    times: list[list[float]] = [[] for _ in calls]
    for number in range(warm_up + rounds):
        for taken, call in zip(times, calls, strict=True):
            taken.append(call(number))
    return [taken[warm_up:] for taken in times]
