"""SIGTERM amid appends: each is stored and answered, or unanswered and whole or absent; the daemon is gone in time.

`MCP_MEMORY_TEST_DRAINS` says how many rounds; one with every commit.
"""

from __future__ import annotations

import http.client
import signal
import socket
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from mcp_memory.daemon.instance import holder, is_held
from tests.daemon.place import Place, Served
from tests.daemon.wire import Wire
from tests.support.world import EXHAUSTIVE

WRITERS = 64
EXIT_S = 10
ROUNDS = 100 if EXHAUSTIVE else 1
CLIENTS = 8


@pytest.mark.parametrize("_", range(ROUNDS))
def test_64_appends_in_flight(place: Place, _: int):
    with place.serving() as served:
        for n in range(CLIENTS):
            served.token(f"client-{n}")
        ready, go = threading.Barrier(WRITERS + 1), threading.Event()
        with ThreadPoolExecutor(WRITERS) as pool:
            writers = [pool.submit(append_until_the_end, served, n, ready, go) for n in range(WRITERS)]
            ready.wait(60)
            served.process.send_signal(signal.SIGTERM)
            go.set()
            while holder(place.state) == served.process.pid:  # one that is impatient must not turn it into a kill
                served.process.send_signal(signal.SIGTERM)
            assert served.process.wait(EXIT_S) == 0
            answered = {text: receipt for writer in writers for text, receipt in writer.result(60).items()}
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection((served.address.host, served.address.port), timeout=5)
    assert len(answered) >= WRITERS, "the first of each"
    assert not place.state.daemon.exists()
    assert not is_held(place.state)
    files = {file: file.read_text(encoding="utf-8") for file in place.vault.rglob("*.md")}
    for text, receipt in answered.items():
        if receipt["outcome"] == "unknown":  # past its deadline on a busy machine
            continue
        assert files[place.vault / receipt["path"]].endswith(f"\n{text}\n")
    for file, stored in files.items():
        if "writer " in stored:
            assert stored.startswith("---\n"), file
            assert stored.endswith(". This is the end.\n"), f"{file} is whole"
    print(f"{len(answered)} answered, {len(files) - len(answered)} stored without an answer")
    assert "Traceback" not in served.journal


def append_until_the_end(
    served: Served, number: int, ready: threading.Barrier, go: threading.Event
) -> dict[str, dict[str, str]]:
    """What was answered; every other call of this writer was cut off, or its connection said that it is closed."""
    answered: dict[str, dict[str, str]] = {}
    with Wire(served, client=f"client-{number % CLIENTS}") as wire:
        for n in range(1000):
            text = f"writer {number} wrote number {n}. This is the end."
            try:
                answer = wire.api("append", {"content": text, "kind": "fact"})
            except (OSError, http.client.HTTPException):
                break
            assert answer.status == 200, answer
            answered[text] = answer.json
            if n == 0:
                ready.wait(60)
                go.wait(60)
    return answered
