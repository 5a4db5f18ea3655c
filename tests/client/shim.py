"""`mcp-memory stdio` as a client without a library runs it: lines in, lines out, and every line is the protocol's."""

from __future__ import annotations

import json
import queue
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from tests.daemon.place import STOP_S, Place

ANSWER_S = 60
HANDSHAKE, SESSIONLESS = "2025-11-25", "2026-07-28"


class Shim:
    """What was said is read by a thread, so that no test waits for ever."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self._said: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self._kept: list[dict[str, Any]] = []
        threading.Thread(target=self._listen, daemon=True).start()

    def send(self, method: str, params: Mapping[str, Any] | None = None, *, number: Any = None) -> None:
        """A request where it has a number, else a notification."""
        head = {"jsonrpc": "2.0", "method": method} | ({} if number is None else {"id": number})
        self.write(json.dumps({**head, "params": params or {}}).encode() + b"\n")

    def write(self, data: bytes) -> None:
        assert self.process.stdin
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def ask(self, method: str, params: Mapping[str, Any] | None = None, *, number: Any = 1) -> dict[str, Any]:
        self.send(method, params, number=number)
        return self.answer(number)

    def tool(self, name: str, arguments: Mapping[str, Any], *, number: Any = 1) -> dict[str, Any]:
        return self.ask("tools/call", {"name": name, "arguments": arguments}, number=number)

    def answer(self, number: Any) -> dict[str, Any]:
        """The one with this number; what else comes meanwhile is kept."""
        return self.next(lambda said: "id" in said and "method" not in said and said["id"] == number)

    def next(self, wanted: Any = lambda _: True) -> dict[str, Any]:
        for said in self._kept:
            if wanted(said):
                self._kept.remove(said)
                return said
        while True:
            said = self._said.get(timeout=ANSWER_S)
            assert said is not None, "it ended"
            if wanted(said):
                return said
            self._kept.append(said)

    def end(self) -> int:
        """Its input ends; the exit code."""
        assert self.process.stdin
        self.process.stdin.close()
        return self.process.wait(STOP_S)

    def rest(self) -> list[dict[str, Any]]:
        """What it has said besides, once it has ended."""
        return [*self._kept, *iter(lambda: self._said.get(timeout=ANSWER_S), None)]

    def _listen(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            said = json.loads(line)
            assert said["jsonrpc"] == "2.0"
            self._said.put(said)
        self._said.put(None)


@contextmanager
def shim(
    place: Place, *arguments: str, client: str = "old-client", program: Sequence[str] = (), **more: str
) -> Iterator[Shim]:
    """`mcp-memory stdio`, or a program that becomes it; killed when the block ends, unless it has ended by then."""
    process = subprocess.Popen(
        [*(program or place.command("stdio")), "--client", client, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**place.environ, **more},
        cwd=place.root,
    )
    try:
        yield Shim(process)
    finally:
        process.kill()
        process.wait(STOP_S)
        for stream in (process.stdin, process.stdout):
            assert stream
            stream.close()


def modern(params: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Parameters of a request of 2026-07-28."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": SESSIONLESS,
        "io.modelcontextprotocol/clientInfo": {"name": "tests", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    return {**(params or {}), "_meta": meta}


HELLO = {"protocolVersion": HANDSHAKE, "capabilities": {}, "clientInfo": {"name": "tests", "version": "1"}}
