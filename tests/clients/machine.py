"""A person's machine, as far as the clients see it: a home folder, `mcp-memory` on the PATH, a running daemon."""

from __future__ import annotations

import http.client
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.clients.programs import Programs, Ran
from tests.daemon.place import RUN_S, Process
from tests.support.warm_process import CHECKOUT, ENVIRON, WarmProcess, run_warm

START_S = 60
STOP_S = 15

_COMMAND = """#!{python}
import sys
sys.path.insert(0, {checkout!r})
from mcp_memory.cli import main
sys.exit(main())
"""


@dataclass(frozen=True, slots=True)
class Machine:
    """Everything that a program started here may find; nothing of the tests' own environment reaches it."""

    home: Path
    programs: Programs
    port: int

    @classmethod
    def make(cls, home: Path, programs: Programs) -> Machine:
        """Make the home folder, with a configuration file that names the vault and a free port."""
        machine = cls(home, programs, _free_port())
        machine.vault.mkdir(parents=True)
        command = home / "bin" / "mcp-memory"
        command.parent.mkdir()
        command.write_text(_COMMAND.format(python=sys.executable, checkout=str(CHECKOUT)), encoding="utf-8")
        command.chmod(0o755)
        config = home / ".config" / "mcp-memory" / "config.toml"
        config.parent.mkdir(parents=True)
        config.write_text(f'[vault]\npath = "{machine.vault}"\n[daemon]\nport = {machine.port}\n', encoding="utf-8")
        return machine

    @property
    def vault(self) -> Path:
        return self.home / "vault"

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/mcp"

    def environ(self, **more: str) -> Mapping[str, str]:
        """The environment of a program: where it is at home, where programs are, and what it needs besides."""
        path = os.pathsep.join([str(self.home / "bin"), str(self.programs.bin), "/usr/bin", "/bin"])
        return {"HOME": str(self.home), "PATH": path, "LANG": "C.UTF-8", **more}

    def mcp_memory(self, *arguments: str) -> Ran:
        """Run our own command line here, successfully."""
        done = run_warm(arguments, b"", {**self.environ(), **ENVIRON}, self.home, RUN_S)
        return Ran(done.returncode, done.stdout.decode(), done.stderr.decode()).succeeded()

    def notes(self) -> dict[Path, bytes]:
        """Every note of the vault as it is on disk."""
        return {path: path.read_bytes() for path in self.vault.rglob("*.md")}


@contextmanager
def serving(machine: Machine, *command: str | Path, **environ: str) -> Iterator[None]:
    """Run a daemon on `machine`, `mcp-memory serve` by default, until the block ends."""
    log = machine.home / "daemon.out"
    with log.open("wb") as out, Path(os.devnull).open("rb") as nothing:
        streams = nothing.fileno(), out.fileno(), out.fileno()
        process = _started(command, streams, machine.environ(**environ), machine.home)
        try:
            _wait_until_healthy(process, machine.port, log)
            yield
        finally:
            process.terminate()
            process.wait(STOP_S)


def _started(
    command: tuple[str | Path, ...], streams: tuple[int, int, int], environ: Mapping[str, str], cwd: Path
) -> Process:
    if not command:
        return WarmProcess(["serve"], streams, {**environ, **ENVIRON}, cwd)
    stdin, stdout, stderr = streams
    return subprocess.Popen(command, env=environ, cwd=cwd, stdin=stdin, stdout=stdout, stderr=stderr)


def _free_port() -> int:
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _wait_until_healthy(process: Process, port: int, log: Path) -> None:
    deadline = time.monotonic() + START_S
    while not _healthy(port):
        assert process.poll() is None, f"the daemon left with {process.returncode}:\n{log.read_text()}"
        assert time.monotonic() < deadline, f"the daemon is not up after {START_S} s:\n{log.read_text()}"
        time.sleep(0.05)


def _healthy(port: int) -> bool:
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=5)) as connection:
        try:
            connection.request("GET", "/health")
            answer = connection.getresponse()
            return answer.status == 200 and bool(json.loads(answer.read()))
        except (OSError, http.client.HTTPException):
            return False
