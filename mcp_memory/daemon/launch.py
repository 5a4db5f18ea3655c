"""Starting, finding and stopping a daemon from outside. Standard library only."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from mcp_memory.client.connection import Address, Connection
from mcp_memory.client.credentials import Credentials
from mcp_memory.daemon.instance import holder, is_held
from mcp_memory.errors import Busy, ConfigInvalid, DeadlineExceeded, McpMemoryError, NotRunning
from mcp_memory.settings import Settings
from mcp_memory.settings.state import PREFIX

LISTEN_DEADLINE_S = 30.0
STOP_DEADLINE_S = 20.0
STALLED_S = 120.0
POLL_S = 0.05


def running(settings: Settings) -> Connection | None:
    """A verified connection to this vault's daemon, or None. Raises DeadlineExceeded for one that hangs."""
    try:
        connection = Connection(Address.read(settings.state.daemon), Credentials(settings.state.tokens))
        connection.verify()
    except NotRunning:
        return None
    return connection


def launch(settings: Settings, arguments: list[str]) -> tuple[Connection, bool]:
    """The vault's daemon, started in the background if none runs; the flag says whether it was started now.

    `arguments` are passed on to `serve`. Raises the reason why the daemon ended, or DeadlineExceeded.
    """
    settings.state.make()
    output = settings.state.log.with_name("start.log")
    child: subprocess.Popen[bytes] | None = None
    deadline = time.monotonic() + LISTEN_DEADLINE_S
    while time.monotonic() < deadline:
        with suppress(DeadlineExceeded):  # it has the port already, and imports what it needs to answer
            if found := running(settings):
                return found, child is not None and found.address.pid == child.pid
        # While somebody holds the lock a daemon is starting or ending: wait for what becomes of it.
        if not is_held(settings.state):
            if child is None:
                child = _spawn(settings, arguments, output)
            elif child.poll() is not None:
                raise _reason(child.returncode, output)
        time.sleep(POLL_S)
    raise DeadlineExceeded(f"no answer within {LISTEN_DEADLINE_S:g} s", hint=f"see {output} and {settings.state.log}")


def wait_ready(
    connection: Connection, settings: Settings, on_status: Callable[[dict[str, Any]], None]
) -> dict[str, Any]:
    """Poll until the first index is complete; every status is passed on, for a progress bar.

    Raises DeadlineExceeded when nothing moves any more; the daemon goes on.
    """
    embedder = settings.embedder
    patience = Patience(time.monotonic(), loading_s=embedder.hub_timeout_s + embedder.compile_timeout_s)
    while True:
        status = connection.call("status", {}, deadline_s=30)
        on_status(status)
        if status["ready"]:
            return status
        if patience.is_over(status, time.monotonic()):
            raise DeadlineExceeded(
                f"the first index makes no progress (phase {status['phase']}, model {status['model_state']})",
                hint=f"see {settings.state.log}; mcp-memory doctor says what is wrong",
            )
        time.sleep(0.2)


class Patience:
    """How long to wait for a first index. What each sweep repeats is no progress, only what was not there before."""

    def __init__(self, now_s: float, *, loading_s: float) -> None:
        """`loading_s`: how long a model may load without a sign of life, on top of STALLED_S."""
        self._loading_s = loading_s
        self._moved_s = now_s
        self._facts: list[Any] = []
        self._furthest: dict[str, int] = {}

    def is_over(self, status: Mapping[str, Any], now_s: float) -> bool:
        """Whether this status, seen at `now_s`, is one too many like the last."""
        facts = [status[name] for name in ("notes", "chunks", "pending", "model_state", "generation")]
        phase, done = status["phase"], status["progress"][0]
        if facts != self._facts or done > self._furthest.get(phase, -1):
            self._moved_s = now_s
        self._facts = facts
        self._furthest[phase] = max(done, self._furthest.get(phase, -1))
        allowed_s = STALLED_S + (self._loading_s if status["model_state"] == "loading" else 0)
        return now_s - self._moved_s > allowed_s


def stop(settings: Settings) -> int | None:
    """End the daemon with SIGTERM; its pid, or None where none ran. Raises DeadlineExceeded, Busy."""
    pid = holder(settings.state)
    if pid is None:
        return None
    try:
        Address.read(settings.state.daemon)
    except NotRunning:
        raise Busy(f"process {pid} uses the vault, but is no daemon", hint="let it finish") from None
    os.kill(pid, signal.SIGTERM)
    deadline = time.monotonic() + STOP_DEADLINE_S
    while time.monotonic() < deadline:
        if not is_held(settings.state):
            return pid
        time.sleep(POLL_S)
    raise DeadlineExceeded(f"process {pid} is still running after {STOP_DEADLINE_S:g} s", hint=f"kill -9 {pid}")


def _spawn(settings: Settings, arguments: list[str], output: Path) -> subprocess.Popen[bytes]:
    """A process of its own session, without our terminal, descriptors or working folder."""
    command = [sys.executable, "-m", "mcp_memory", "--vault", str(settings.vault_path)]
    if settings.file:
        command += ["--config", str(settings.file.resolve())]
    environ = {**os.environ, **{k: v for k, v in settings.environ.items() if k.startswith(PREFIX)}}
    environ |= {PREFIX + "STATE": str(settings.state.home), PREFIX + "MODELS": str(settings.state.models)}
    # `-m` must find this very package also where it runs from a source tree.
    package_root = str(Path(__file__).resolve().parents[2])
    environ["PYTHONPATH"] = os.pathsep.join(p for p in (package_root, environ.get("PYTHONPATH")) if p)
    with os.fdopen(os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600), "wb") as out:
        return subprocess.Popen(
            [*command, "serve", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            cwd="/",
            env=environ,
            start_new_session=True,
        )


def _reason(exit_code: int, output: Path) -> McpMemoryError:
    """What the daemon itself said on its way out: its message, then its hint after an arrow."""
    said = output.read_text(encoding="utf-8", errors="replace")
    message, _, hint = said.rpartition("mcp-memory: ")[2].partition("→")
    kind = {2: ConfigInvalid, 3: Busy}.get(exit_code, McpMemoryError)
    return kind(
        " ".join(message.split()) or f"the daemon ended at once (exit code {exit_code})",
        hint=" ".join(hint.split()) or f"see {output}",
    )
