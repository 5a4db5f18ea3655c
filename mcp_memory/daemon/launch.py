"""Starting, finding and stopping a daemon from outside. Standard library only."""

from __future__ import annotations

import fcntl
import os
import signal
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from mcp_memory import __version__
from mcp_memory.client.connection import Address, DaemonConnection
from mcp_memory.client.credentials import Credentials
from mcp_memory.client.detached_process import Detached
from mcp_memory.client.versions import is_newer
from mcp_memory.daemon.instance import end_holder, holder, is_held
from mcp_memory.daemon.listen import bind_tcp, kept_port
from mcp_memory.daemon.moved_vault import follow
from mcp_memory.errors import Busy, ConfigInvalid, DeadlineExceeded, McpMemoryError, NotRunning
from mcp_memory.runtime.paths import PREFIX
from mcp_memory.settings.settings import Settings

LISTEN_DEADLINE_S = 30.0
STALLED_S = 120.0
POLL_S = 0.05


HUNG_S = 4.0
"""A daemon that has been silent for so long, although it has long been up, hangs: two looks of two seconds."""

KILL_AFTER_S = 3.0
"""How long one that hangs may take to end by itself. Whatever it has answered is on disk."""


def connect(settings: Settings) -> DaemonConnection | None:
    """A verified connection to this vault's daemon, or None. Raises DeadlineExceeded for one that hangs, Busy for one
    whose connections are all in use."""
    try:
        connection = DaemonConnection(Address.read(settings.state.daemon), Credentials(settings.state.tokens))
        connection.verify()
    except NotRunning:
        return None
    except Busy:
        if is_held(settings.state):
            raise
        return None  # whoever has that port now
    return connection


def launch(
    settings: Settings, arguments: list[str], *, tell: Callable[[str], None] = lambda _: None
) -> tuple[DaemonConnection, bool]:
    """The vault's daemon, started in the background if none runs; the flag says whether it was started now.

    One of an older version is ended first: it finishes its running calls, and ours gets its port. `arguments` are
    passed on to `serve`. Raises the reason why the daemon ended, DeadlineExceeded for one that hangs.
    """
    follow(settings)
    settings.state.make()
    output = settings.state.log.with_name("start.log")
    child: Detached | None = None
    deadline = time.monotonic() + LISTEN_DEADLINE_S
    silent_since: float | None = None
    with _turn(settings) as is_ours, ExitStack() as at_the_end:
        while time.monotonic() < deadline:
            looked = time.monotonic()
            try:
                found = connect(settings)
                silent_since = None
            except DeadlineExceeded:
                found, silent_since = None, silent_since or looked
                if time.monotonic() - silent_since >= HUNG_S and (hung := _hung(settings)):
                    raise hung from None
            if found and is_newer(__version__, than=found.address.version):
                tell(f"version {found.address.version} (pid {found.address.pid}) ends for version {__version__}")
                end_holder(settings.state, found.address.pid)
                deadline = time.monotonic() + LISTEN_DEADLINE_S
            elif found:
                return found, child is not None and found.address.pid == child.pid
            # While somebody holds the lock a daemon is starting or ending: wait for what becomes of it.
            elif child and child.has_ended and not is_held(settings.state):
                raise _reason(child.exit_code, output)
            elif not child and is_ours() and not is_held(settings.state):
                child = _spawn(settings, arguments, output)
                at_the_end.callback(child.close)
            time.sleep(POLL_S)
    raise DeadlineExceeded(f"no answer within {LISTEN_DEADLINE_S:g} s", hint=f"see {output} and {settings.state.log}")


def wait_for_other_daemon(settings: Settings) -> DaemonConnection | None:
    """The daemon that holds the vault's lock, once it answers; None if the lock is free by then.

    Raises Busy when its holder does not answer: another command that works, or a daemon that hangs.
    """
    deadline = time.monotonic() + LISTEN_DEADLINE_S
    while time.monotonic() < deadline:
        if found := _answering(settings):
            return found
        if not is_held(settings.state):
            return None
        time.sleep(POLL_S)
    raise _hung(settings) or Busy(
        f"process {holder(settings.state)} uses this vault and does not answer", hint="mcp-memory status"
    )


def wait_ready(
    connection: DaemonConnection, settings: Settings, on_status: Callable[[dict[str, Any]], None]
) -> dict[str, Any]:
    """Poll until the first index is complete; every status is passed on, for a progress bar.

    Raises DeadlineExceeded when nothing moves any more; the daemon goes on.
    """
    embedder = settings.embedder
    patience = StartWait(time.monotonic(), loading_s=embedder.hub_timeout_s + embedder.compile_timeout_s)
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


class StartWait:
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


def explain_absence(settings: Settings, *, start_command: str) -> McpMemoryError:
    """Why no daemon answers, and what helps; for where none does. `start_command` is what a person types."""
    pid = holder(settings.state)
    if pid is None:
        taken = _taken_port(settings)
        return taken or NotRunning(f"no daemon runs for {settings.vault_path}", hint=start_command)
    if hung := _hung(settings):
        return hung
    what = f"process {pid} uses {settings.vault_path} and does not answer: a daemon that starts, or another command"
    return Busy(what, hint=f"try again in a few seconds; ps -p {pid} shows what it is")


def stop(settings: Settings, *, tell: Callable[[str], None] = lambda _: None) -> int | None:
    """End the daemon with SIGTERM, one that hangs with SIGKILL; its pid, or None where none ran. Raises
    DeadlineExceeded, Busy."""
    pid = holder(settings.state)
    if pid is None:
        return None
    try:
        Address.read(settings.state.daemon)
    except NotRunning:
        raise Busy(
            f"process {pid} uses the vault but is not a daemon", hint=f"let it end; ps -p {pid} shows it"
        ) from None
    try:
        connect(settings)
    except DeadlineExceeded:
        try:
            end_holder(settings.state, pid, within_s=KILL_AFTER_S)
        except DeadlineExceeded:
            tell(f"process {pid} hangs, so it is killed; everything it has answered is on disk")
            end_holder(settings.state, pid, signal.SIGKILL)
    else:
        end_holder(settings.state, pid)
    return pid


def _hung(settings: Settings) -> DeadlineExceeded | None:
    """The error for a daemon that says nothing although it has long been up; None for one that may still be starting,
    and where a process that is no daemon holds the lock."""
    pid = holder(settings.state)
    with suppress(NotRunning, FileNotFoundError):
        up_s = time.time() - settings.state.daemon.stat().st_mtime
        if Address.read(settings.state.daemon).pid == pid and not 0 <= up_s < LISTEN_DEADLINE_S:
            return DeadlineExceeded(f"the daemon (pid {pid}) hangs: it does not answer", hint="mcp-memory restart")
    return None


def _taken_port(settings: Settings) -> Busy | None:
    """The error for a port of ours on which another program listens."""
    port = settings.daemon.port or kept_port(settings.state)
    if settings.daemon.uds or not port:
        return None
    try:
        bind_tcp(settings.daemon.host, port).close()
    except Busy as busy:
        return busy
    except ConfigInvalid:
        return None
    return None


@contextmanager
def _turn(settings: Settings) -> Generator[Callable[[], bool]]:
    """Whether it is this process that starts the daemon: of many that want one, one starts it and the others wait."""
    file = settings.state.root / "start.lock"
    descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def is_ours() -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    try:
        yield is_ours
    finally:
        os.close(descriptor)


def _answering(settings: Settings) -> DaemonConnection | None:
    """`running`, where one that has the port already, and imports what it needs to answer, is none yet."""
    with suppress(DeadlineExceeded, Busy):
        return connect(settings)
    return None


def _spawn(settings: Settings, arguments: list[str], output: Path) -> Detached:
    options = ["--vault", str(settings.vault_path)]
    if settings.file:
        options += ["--config", str(settings.file.resolve())]
    environ = {**os.environ, **{k: v for k, v in settings.environ.items() if k.startswith(PREFIX)}}
    environ |= {PREFIX + "STATE": str(settings.state.home), PREFIX + "MODELS": str(settings.state.models)}
    with os.fdopen(os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600), "wb") as out:
        return Detached([*options, "serve", *arguments], environ, out.fileno())


def _reason(exit_code: int | None, output: Path) -> McpMemoryError:
    """What the daemon itself said on its way out: its message, then its hint after an arrow."""
    said = output.read_text(encoding="utf-8", errors="replace")
    message, _, hint = said.rpartition("mcp-memory: ")[2].partition("→")
    kind = {2: ConfigInvalid, 3: Busy}.get(exit_code or 1, McpMemoryError)
    return kind(
        " ".join(message.split())
        or f"the daemon ended at once{'' if exit_code is None else f' (exit code {exit_code})'}",
        hint=" ".join(hint.split()) or f"see {output}",
    )
