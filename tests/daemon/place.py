"""A user's machine in a temporary folder: home, vault, state, and the daemon that serves them."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mcp_memory.client.connection import Address
from mcp_memory.client.credentials import PERSON, Credentials
from mcp_memory.daemon.instance import holder
from mcp_memory.settings.state import StateFolder
from tests.support.warm_process import WarmProcess, can_be_forked, run_warm

CHECKOUT = Path(__file__).parents[2]
START_S, STOP_S, RUN_S = 60, 20, 60

Process = subprocess.Popen[bytes] | WarmProcess


@dataclass(frozen=True)
class Place:
    """Everything a program started here may find; of the tests' own environment only PATH reaches it."""

    root: Path
    models: Path
    more: Mapping[str, str] = field(default_factory=dict)

    @property
    def home(self) -> Path:
        return self.root / "home"

    @property
    def vault(self) -> Path:
        return self.root / "vault"

    @property
    def environ(self) -> dict[str, str]:
        return {
            "PATH": os.environ["PATH"],
            "LANG": "C.UTF-8",
            "HOME": str(self.home),
            "TMPDIR": str(self.root / "tmp"),
            "PYTHONPATH": str(CHECKOUT),
            "PYTHONDONTWRITEBYTECODE": "1",
            "MCP_MEMORY_VAULT": str(self.vault),
            "MCP_MEMORY_STATE": str(self.root / "state"),
            "MCP_MEMORY_MODELS": str(self.models),
            **self.more,
        }

    @property
    def state(self) -> StateFolder:
        return StateFolder.for_vault(self.vault.resolve(), self.environ)

    @property
    def credentials(self) -> Credentials:
        return Credentials(self.state.tokens)

    def make(self) -> Place:
        for folder in (self.home, self.root / "tmp"):
            folder.mkdir(parents=True)
        return self

    def run(self, *arguments: str, stdin: bytes = b"", cwd: Path | None = None, **more: str) -> Ran:
        """`mcp-memory ARGUMENTS`, to its end."""
        environ, cwd = {**self.environ, **more}, cwd or self.root
        if can_be_forked(environ):
            done = run_warm(arguments, stdin, environ, cwd, RUN_S)
        else:
            done = subprocess.run(
                self.command(*arguments), input=stdin, capture_output=True, env=environ, cwd=cwd, timeout=RUN_S
            )
        return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())

    def run_impatient(self, *arguments: str, turn_s: float) -> Ran:
        """A command that waits so long for the vault's lock, instead of half a minute."""
        program = (
            "import sys; from mcp_memory.daemon import engine_client\n"
            f"engine_client.ask.__kwdefaults__['wait_s'] = {turn_s}\n"
            "from mcp_memory.cli import main; sys.exit(main())"
        )
        command = [sys.executable, "-c", program, *arguments]
        done = subprocess.run(command, input=b"", capture_output=True, env=self.environ, cwd=self.root, timeout=RUN_S)
        return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "mcp_memory", *arguments]

    @contextmanager
    def started(self, *arguments: str) -> Iterator[Running]:
        """A daemon in the background, its index complete; it is gone when the block ends."""
        ran = self.run("start", "--json", *arguments)
        assert ran.code == 0, ran
        address = Address.read(self.state.daemon)
        try:
            yield Running(self, address)
        finally:
            end(self)

    @contextmanager
    def serving(self, *arguments: str, wrapper: tuple[str, ...] = (), **more: str) -> Iterator[Served]:
        """`mcp-memory serve` in the foreground of this test, from its first answer on: a fork, but for a wrapper."""
        reading, writing = os.pipe()
        with Path(os.devnull).open("r+b") as nothing, os.fdopen(reading) as printed:
            streams = [nothing.fileno(), nothing.fileno(), writing]
            process = self.start_process(["serve", *arguments], streams, wrapper=wrapper, **more)
            os.close(writing)
            said = []
            try:
                for line in printed:
                    said.append(line)
                    if line.startswith("serving "):
                        break
                else:
                    raise AssertionError(f"serve ended with {process.wait(STOP_S)}: {''.join(said)}")
                yield Served(self, Address.read(self.state.daemon), process)
            finally:
                process.kill()
                process.wait(STOP_S)

    def start_process(
        self, arguments: Sequence[str], streams: Sequence[int], *, wrapper: tuple[str, ...] = (), **more: str
    ) -> Process:
        """`mcp-memory ARGUMENTS` with these for standard input, output and error."""
        environ = {**self.environ, **more}
        if not wrapper and can_be_forked(environ):
            return WarmProcess(arguments, streams, environ, self.root)
        stdin, stdout, stderr = streams
        words = [*wrapper, *self.command(*arguments)]
        return subprocess.Popen(words, stdin=stdin, stdout=stdout, stderr=stderr, env=environ, cwd=self.root)


@dataclass(frozen=True)
class Ran:
    """What a command printed and how it ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    def ok(self) -> Ran:
        assert self.code == 0, self
        return self


@dataclass(frozen=True)
class Running:
    """A daemon, as one of our own programs finds it."""

    place: Place
    address: Address

    def token(self, client: str = "tests") -> str:
        known = self.place.credentials
        return known.persons_token() if client == PERSON else known.token(client)

    @property
    def journal(self) -> str:
        """All that the daemon and its starter wrote for people."""
        files = sorted(self.place.state.log.parent.iterdir())
        return "\n".join(file.read_text(encoding="utf-8", errors="replace") for file in files)


@dataclass(frozen=True)
class Served(Running):
    """A daemon that is a child of the test."""

    process: Process

    def terminate(self) -> int:
        """SIGTERM; the exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(STOP_S)


def eventually(condition: Callable[[], Any], *, within_s: float = 20) -> Any:
    """Waits until the condition holds, and returns what it gave; a test that hangs fails at the deadline."""
    deadline = time.monotonic() + within_s
    while not (outcome := condition()):
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.02)
    return outcome


def end(place: Place) -> None:
    """Kill the place's daemon, if any; returns when the kernel has taken its lock away, so when it is dead."""
    try:
        lock = os.open(place.state.lock, os.O_RDWR)
    except (FileNotFoundError, NotADirectoryError):
        return
    try:
        if pid := holder(place.state):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            fcntl.flock(lock, fcntl.LOCK_EX)
    finally:
        os.close(lock)


@contextmanager
def holding(place: Place) -> Iterator[subprocess.Popen[str]]:
    """A process that holds the vault's lock and is no daemon; it lets go and ends with the block."""
    program = (
        "import os, sys; from mcp_memory.settings.settings import load\n"
        "from mcp_memory.daemon.instance import only_instance\n"
        "state = load(os.environ).state; state.make()\n"
        "with only_instance(state): print('held', flush=True); sys.stdin.read()"
    )
    command = [place.command()[0], "-c", program]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=place.environ, text=True
    ) as worker:
        assert worker.stdout and worker.stdout.readline() == "held\n"
        yield worker
    assert worker.returncode == 0
