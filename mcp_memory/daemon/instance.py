"""The instance lock: the kernel holds it and frees it when its process dies, however it dies."""

from __future__ import annotations

import fcntl
import os
import signal
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from mcp_memory.client.connection import Address
from mcp_memory.errors import Busy, DeadlineExceeded, NotRunning
from mcp_memory.settings.state import StateFolder

STOP_DEADLINE_S = 20.0
POLL_S = 0.05

LOOK_S = 0.2
"""Whoever asks whether the lock is held shares it for an instant; a daemon that starts then must not give up."""

LOOK_AFTER_S = 1.0
"""How often a daemon looks whether its lock is still under its name; it acts at the second look that misses it. Each
look costs an idle daemon 0.75 ms."""

PREDECESSOR_S = 3 * LOOK_AFTER_S
"""How long a lock file that nobody has held yet is left to a daemon that may be running and have lost its own."""


class HeldLock(Busy):
    """Another process holds the vault's lock."""


class InstanceLock:
    """The lock, held by this process until it is closed."""

    def __init__(self, state: StateFolder) -> None:
        """Raises Held that names the process that has it, and OSError."""
        self._state = state
        self._lock = _locked(state)

    def is_current(self) -> bool:
        """Whether the file that we hold is still the one that others would lock."""
        return _is_at(self._lock.number, self._state.lock)

    def take_again(self) -> None:
        """Hold the file that is under the name now, made anew if need be. Raises Held, and OSError."""
        lost, self._lock = self._lock, _locked(self._state)
        lost.close()

    def close(self) -> None:
        self._lock.close()


@contextmanager
def only_instance(state: StateFolder, *, known_vault: bool = False) -> Generator[InstanceLock]:
    """Hold the vault's lock. Raises Held that names the process that has it.

    `known_vault`: it was served before, so a lock file that is missing may have been removed under a running daemon.
    """
    if known_vault:
        _leave_to_predecessor(state.lock)
    instance = InstanceLock(state)
    try:
        state.daemon.unlink(missing_ok=True)  # of a daemon that was killed: its address must not pass for ours
        yield instance
    finally:
        instance.close()


def is_held(state: StateFolder) -> bool:
    """Whether a process holds the lock now; many may ask at once."""
    try:
        descriptor = os.open(state.lock, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        return not _taken(descriptor, fcntl.LOCK_SH, within_s=0)
    finally:
        os.close(descriptor)


def holder(state: StateFolder) -> int | None:
    """The process that holds the lock, as it wrote itself into the file."""
    if not is_held(state):
        return None
    text = Path(state.lock).read_text(encoding="ascii", errors="replace").strip()
    return int(text) if text.isdecimal() else None


def end_holder(
    state: StateFolder, pid: int, by: signal.Signals = signal.SIGTERM, *, within_s: float = STOP_DEADLINE_S
) -> None:
    """The signal to process `pid` if it holds the lock; returns when it does no more. Raises DeadlineExceeded."""
    deadline = time.monotonic() + within_s
    if holder(state) == pid:
        with suppress(ProcessLookupError):
            os.kill(pid, by)
    while time.monotonic() < deadline:
        if holder(state) != pid:
            return
        time.sleep(POLL_S)
    raise DeadlineExceeded(f"process {pid} is still running after {within_s:g} s", hint=f"kill -9 {pid}")


class _Descriptor:
    """Closed once, however often it is asked to: its number may be another file's by then."""

    def __init__(self, number: int) -> None:
        self.number = number

    def close(self) -> None:
        if self.number >= 0:
            os.close(self.number)
        self.number = -1


def _leave_to_predecessor(file: Path) -> None:
    """Waits while the lock file is empty, since whoever holds it writes into it."""
    os.close(os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
    until = time.monotonic() + PREDECESSOR_S
    while time.monotonic() < until and file.exists() and not file.stat().st_size:
        time.sleep(0.02)


def _locked(state: StateFolder) -> _Descriptor:
    while True:
        lock = _Descriptor(os.open(state.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        try:
            if not _taken(lock.number, fcntl.LOCK_EX, within_s=LOOK_S):
                raise _held(state)
            if _is_at(lock.number, state.lock):
                os.register_at_fork(after_in_child=lock.close)  # a child that does not exec would outlive us with it
                os.ftruncate(lock.number, 0)
                os.write(lock.number, f"{os.getpid()}\n".encode())
                return lock
        except BaseException:
            lock.close()
            raise
        lock.close()  # somebody removed it in this instant


def _is_at(descriptor: int, file: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), file.stat())
    except FileNotFoundError:
        return False


def _taken(descriptor: int, kind: int, *, within_s: float) -> bool:
    deadline = time.monotonic() + within_s
    while True:
        try:
            fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                return False
            time.sleep(0.01)
        else:
            return True


def _held(state: StateFolder) -> HeldLock:
    try:
        address = Address.read(state.daemon)
    except NotRunning:
        pid = holder(state)
        return HeldLock(
            f"another mcp-memory process (pid {pid}) is using this vault",
            hint=f"wait for it to end; ps -p {pid} shows it",
        )
    who = f"a daemon (pid {address.pid}, version {address.version}) already serves this vault at {address.place}"
    return HeldLock(who, hint="mcp-memory status")
