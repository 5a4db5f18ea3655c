"""Starts, finds and stops a daemon from outside. Standard library only."""

import fcntl
import os
import signal
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from io import FileIO
from pathlib import Path
from typing import Any

from mcp_memory import __version__
from mcp_memory.client.connection import Address, DaemonConnection, is_newer
from mcp_memory.client.credentials import Credentials
from mcp_memory.client.detached_process import Detached
from mcp_memory.daemon.instance import end_holder, find_stranger, holder, is_held, take_lock
from mcp_memory.daemon.listen import bind_tcp, kept_port
from mcp_memory.daemon.moved_vault import follow
from mcp_memory.daemon.reachability import find_barrier, require_startable
from mcp_memory.embedders.providers import SERVICES, fill_in
from mcp_memory.errors import Busy, ConfigInvalid, DeadlineExceeded, McpMemoryError, NotRunning, StorageFailed
from mcp_memory.runtime.paths import PREFIX
from mcp_memory.settings.settings import Settings

LISTEN_DEADLINE_S = 30.0
STALLED_S = 120.0
POLL_S = 0.05

HUNG_S = 4.0
"""How long a daemon that isn't starting may be silent before it is treated as hung: two attempts of two seconds."""

KILL_AFTER_S = 3.0
"""How long a hung daemon may take to end by itself. Everything that it has answered is on disk."""


def connect(settings: Settings) -> DaemonConnection | None:
    """Return a verified connection to this vault's daemon, or None. Raises DeadlineExceeded if the daemon hangs, Busy
    if all its connections are in use."""
    try:
        connection = DaemonConnection(Address.read(settings.state.daemon), Credentials(settings.state.tokens))
        connection.verify()
    except NotRunning:
        return None
    except Busy:
        if is_held(settings.state):
            raise
        return None  # another program has that port now
    return connection


def launch(
    settings: Settings, arguments: list[str], *, tell: Callable[[str], None] = lambda _: None
) -> tuple[DaemonConnection, bool]:
    """Return the vault's daemon, started in the background if none runs, and whether this call started it. A daemon of
    an older version is ended first: it finishes its running calls, and the new daemon gets its port. `arguments` are
    passed on to `serve`. Raises the reason why the daemon ended, and DeadlineExceeded if it hangs."""
    follow(settings)
    try:
        settings.state.make()
    except StorageFailed:
        if found := connect(settings):  # we run in a sandbox that may not write
            return found, False
        raise
    output = settings.state.log.with_name("start.log")
    child: Detached | None = None
    deadline = time.monotonic() + LISTEN_DEADLINE_S
    silent_since: float | None = None
    with _open_private(settings.state.root / "start.lock", os.O_RDWR) as turn, ExitStack() as at_the_end:
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
            # While the lock is held, a daemon is starting or ending: wait for the result.
            elif child and child.has_ended and not is_held(settings.state):
                raise _reason(child.exit_code, output)
            # Several processes may want a daemon: one starts it, and the others wait.
            elif not child and (barrier := find_barrier(settings)):
                raise barrier
            elif not child and take_lock(turn, fcntl.LOCK_EX) and not is_held(settings.state):
                child = _start(settings, arguments, output, tell)
                at_the_end.callback(child.close)
            time.sleep(POLL_S)
    raise DeadlineExceeded(f"no answer within {LISTEN_DEADLINE_S:g} s", hint=f"see {output} and {settings.state.log}")


def _start(settings: Settings, arguments: list[str], output: Path, tell: Callable[[str], None]) -> Detached:
    """Start a daemon, and say at once if the service that embeds lacks its key or address."""
    require_startable(settings)
    try:
        if settings.embedder.provider in SERVICES:
            fill_in(settings.embedder)
    except ConfigInvalid as error:
        tell(f"searches will use keywords only: {error}")
    return _spawn(settings, arguments, output)


def wait_for_other_daemon(settings: Settings) -> DaemonConnection | None:
    """Return the daemon that has the vault's lock, once it answers; None if the lock is released. Raises Busy if
    another process, such as a command, has the lock, and DeadlineExceeded if the daemon hangs."""
    begun = time.monotonic()
    while time.monotonic() < begun + LISTEN_DEADLINE_S:
        try:
            with suppress(Busy):
                if found := connect(settings):
                    return found
        except DeadlineExceeded:  # it has the port already, but is still importing or hangs
            if time.monotonic() - begun >= HUNG_S and (hung := _hung(settings)):
                raise hung from None
        if not is_held(settings.state):
            return None
        if barrier := find_barrier(settings):
            raise barrier
        time.sleep(POLL_S)
    what = f"process {holder(settings.state)} uses this vault and does not answer"
    raise Busy(what, hint="mcp-memory status")


def wait_ready(
    connection: DaemonConnection, settings: Settings, on_status: Callable[[dict[str, Any]], None]
) -> dict[str, Any]:
    """Poll until the first index is complete, and pass on each status. Raises DeadlineExceeded if the index makes no
    progress; the daemon keeps running."""
    embedder = settings.embedder
    patience = StartWait(time.monotonic(), loading_s=embedder.hub_timeout_s + embedder.compile_timeout_s)
    while True:
        status = connection.call("status", {}, deadline_s=30)
        on_status(status)
        if status["ready"]:
            return status
        if patience.is_over(status, time.monotonic()):
            what = f"the first index makes no progress (phase {status['phase']}, model {status['model_state']})"
            raise DeadlineExceeded(what, hint=f"see {settings.state.log}; mcp-memory doctor says what is wrong")
        time.sleep(0.2)


class StartWait:
    """Decides how long to wait for a first index. Counts that each sweep repeats aren't progress."""

    def __init__(self, now_s: float, *, loading_s: float) -> None:
        """Start waiting. `loading_s` is how long a model may load without progress, in addition to STALLED_S."""
        self._loading_s = loading_s
        self._moved_s = now_s
        self._facts: list[Any] = []
        self._furthest: dict[str, int] = {}

    def is_over(self, status: Mapping[str, Any], now_s: float) -> bool:
        """Return whether this status, seen at `now_s`, shows no progress for too long."""
        facts = [status[name] for name in ("notes", "chunks", "pending", "model_state", "generation")]
        phase, done = status["phase"], status["progress"][0]
        if facts != self._facts or done > self._furthest.get(phase, -1):
            self._moved_s = now_s
        self._facts = facts
        self._furthest[phase] = max(done, self._furthest.get(phase, -1))
        allowed_s = STALLED_S + (self._loading_s if status["model_state"] == "loading" else 0)
        return now_s - self._moved_s > allowed_s


def explain_absence(settings: Settings, *, start_command: str) -> McpMemoryError:
    """Return an error that explains why no daemon answers, and what helps. `start_command` is the command that you
    would type."""
    pid = holder(settings.state)
    if pid is None:
        return _taken_port(settings) or NotRunning(f"no daemon runs for {settings.vault_path}", hint=start_command)
    if barrier := find_barrier(settings) or find_stranger(settings.state):
        return barrier
    if hung := _hung(settings):
        return hung
    what = f"process {pid} uses {settings.vault_path} and does not answer: a daemon that starts, or another command"
    return Busy(what, hint=f"try again in a few seconds; ps -p {pid} shows what it is")


def stop(settings: Settings, *, tell: Callable[[str], None] = lambda _: None) -> int | None:
    """End the daemon with SIGTERM, or with SIGKILL if it hangs. Returns its pid, or None if none ran. Raises
    DeadlineExceeded. Raises Busy if a process that isn't our daemon, or isn't visible here, uses the vault."""
    pid = holder(settings.state)
    if pid is None:
        return None
    if stranger := find_stranger(settings.state):
        raise stranger
    if not _is_daemon(settings, pid):
        what = f"process {pid} uses the vault but is not a daemon"
        raise Busy(what, hint=f"let it end; ps -p {pid} shows it")
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


def _is_daemon(settings: Settings, pid: int) -> bool:
    """Return whether this process published its address. A killed daemon leaves an address with its own pid."""
    with suppress(NotRunning):
        return Address.read(settings.state.daemon).pid == pid
    return False


def _hung(settings: Settings) -> DeadlineExceeded | None:
    """Return the error for a daemon that was started long ago and is silent. Return None if it may still be starting,
    or if another process has the lock."""
    pid = holder(settings.state)
    with suppress(NotRunning, FileNotFoundError):
        up_s = time.time() - settings.state.daemon.stat().st_mtime
        if Address.read(settings.state.daemon).pid == pid and not 0 <= up_s < LISTEN_DEADLINE_S:
            return DeadlineExceeded(f"the daemon (pid {pid}) hangs: it does not answer", hint="mcp-memory restart")
    return None


def _taken_port(settings: Settings) -> Busy | None:
    """Return the error for a port of ours on which another program listens."""
    port = settings.daemon.port or kept_port(settings.state)
    if settings.daemon.uds or not port:
        return None
    try:
        bind_tcp(settings.daemon.host, port).close()
    except Busy as busy:
        return busy
    except ConfigInvalid:
        pass
    return None


def _open_private(file: Path, flags: int) -> FileIO:
    return FileIO(os.open(file, flags | os.O_CREAT | os.O_CLOEXEC, 0o600), "r+" if flags & os.O_RDWR else "w")


def _spawn(settings: Settings, arguments: list[str], output: Path) -> Detached:
    options = ["--vault", str(settings.vault_path)]
    if settings.file:
        options += ["--config", str(settings.file.resolve())]
    environ = {**os.environ, **{k: v for k, v in settings.environ.items() if k.startswith(PREFIX)}}
    environ |= {PREFIX + "STATE": str(settings.state.home), PREFIX + "MODELS": str(settings.state.models)}
    with _open_private(output, os.O_WRONLY | os.O_TRUNC) as out:
        return Detached([*options, "serve", *arguments], environ, out.fileno())


def _reason(exit_code: int | None, output: Path) -> McpMemoryError:
    """Return the error that the daemon printed when it ended: its message, then its hint after an arrow."""
    printed = output.read_text(encoding="utf-8", errors="replace")
    message, _, hint = (" ".join(part.split()) for part in printed.rpartition("mcp-memory: ")[2].partition("→"))
    kind = {2: ConfigInvalid, 3: Busy}.get(exit_code or 1, McpMemoryError)
    ended = f"the daemon ended at once{'' if exit_code is None else f' (exit code {exit_code})'}"
    return kind(message or ended, hint=hint or f"see {output}")
