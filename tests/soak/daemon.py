"""The real daemon, started, killed and stopped again and again; and what the kernel tells of it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import signal
import socket
import time
from dataclasses import dataclass, replace
from pathlib import Path

import psutil

from mcp_memory.client.connection import Address, DaemonConnection
from mcp_memory.errors import McpMemoryError
from tests.daemon.place import STOP_S, Place, Process

LISTEN_S = 90.0


@dataclass(frozen=True)
class Figures:
    """`cpu_s` is what the process has used since its start."""

    rss_mb: float
    fds: int
    threads: int
    cpu_s: float


def on_a_port_of_its_own(place: Place) -> Place:
    """Else another daemon of this machine might take the port while ours is dead. Below the range of ports that the
    system gives to outgoing connections. Notes stay where their receipts say: the judge looks for them there."""
    while True:
        with socket.socket() as trial:
            try:
                trial.bind(("127.0.0.1", random.SystemRandom().randrange(20_000, 32_000)))
            except OSError:
                continue
            port = str(trial.getsockname()[1])
            more = {"MCP_MEMORY_DAEMON_PORT": port, "MCP_MEMORY_TOPICS_AUTOMATIC": "false"}
            return replace(place, more={**place.more, **more})


class Daemon:
    """`lives` counts its starts; `is_up` is false from the moment that we set out to end it until it answers again."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._process: Process | None = None
        self.lives = 0
        self.is_up = False

    async def start(self) -> float:
        """Returns once it answers; the seconds that took. Raises RuntimeError with what it said where it ends."""
        began = time.monotonic()
        said = self._place.root / "serve.txt"
        with said.open("ab") as out, Path(os.devnull).open("rb") as nothing:
            self._process = self._place.start_process(["serve"], [nothing.fileno(), out.fileno(), out.fileno()])
        while not await asyncio.to_thread(self._answers):
            if self._process.poll() is not None:
                raise RuntimeError(f"serve ended with {self._process.returncode}: {said.read_text()[-2000:]}")
            if time.monotonic() - began > LISTEN_S:
                raise RuntimeError(f"no answer within {LISTEN_S:g} s: {said.read_text()[-2000:]}")
            await asyncio.sleep(0.02)
        self.lives += 1
        self.is_up = True
        return time.monotonic() - began

    def kill(self) -> None:
        """SIGKILL, and gone."""
        self.is_up = False
        if self._process:
            self._process.kill()
            self._process.wait(STOP_S)

    async def stop(self) -> tuple[int, float]:
        """SIGTERM; the exit code and the seconds until then."""
        assert self._process
        self.is_up = False
        began = time.monotonic()
        self._process.send_signal(signal.SIGTERM)
        code = await asyncio.to_thread(self._process.wait, STOP_S)
        return code, time.monotonic() - began

    def figures(self) -> Figures | None:
        """None while there is no such process."""
        if not self._process or self._process.poll() is not None:
            return None
        with contextlib.suppress(psutil.Error):
            process = psutil.Process(self._process.pid)
            with process.oneshot():
                times = process.cpu_times()
                resident = process.memory_info().rss / 1e6
                return Figures(resident, process.num_fds(), process.num_threads(), times.user + times.system)
        return None

    def _answers(self) -> bool:
        try:
            address = Address.read(self._place.state.daemon)
            if not self._process or address.pid != self._process.pid:
                return False
            DaemonConnection(address, self._place.credentials).verify()
        except McpMemoryError:
            return False
        return True
