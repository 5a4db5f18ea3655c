"""Locks a vault for one process; the kernel frees the lock when the process dies, however it dies."""

import fcntl
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Generator
from contextlib import ExitStack, contextmanager, suppress
from io import FileIO
from pathlib import Path

from mcp_memory.client.connection import Address
from mcp_memory.errors import Busy, DeadlineExceeded, NotRunning
from mcp_memory.settings.state import StateFolder

STOP_DEADLINE_S = 20.0
POLL_S = 0.05

LOOK_S = 0.2
"""How long a daemon that starts waits for the lock, since `is_held` shares it for an instant."""

LOOK_AFTER_S = 1.0
"""How often a daemon checks that its lock file still has its name. It acts when two checks in a row fail. Each check
costs an idle daemon 0.75 ms."""

PREDECESSOR_S = 3 * LOOK_AFTER_S
"""How long to leave a new lock file to a daemon that may still be running and have lost its own file."""


class HeldLock(Busy):
    """Another process has the vault's lock."""


class InstanceLock:
    """The vault's lock, which this process keeps until it is closed."""

    def __init__(self, state: StateFolder) -> None:
        """Take the lock. Raises HeldLock naming the process that has it, and OSError."""
        self._state = state
        self._file = _locked(state)

    def is_current(self) -> bool:
        """Return whether our file is still the file that others would lock."""
        return _is_at(self._file, self._state.lock)

    def take_again(self) -> None:
        """Lock the file that has the name now, and create it if needed. Raises HeldLock and OSError."""
        lost, self._file = self._file, _locked(self._state)
        lost.close()

    def close(self) -> None:
        self._file.close()


@contextmanager
def only_instance(state: StateFolder, *, known_vault: bool = False) -> Generator[InstanceLock]:
    """Take the vault's lock within the block. `known_vault`: the vault was served before, so a missing lock file may
    have been removed under a running daemon. Raises HeldLock naming the process that has the lock."""
    if known_vault:
        # A running daemon that has lost its file writes its id into an empty lock file.
        os.close(os.open(state.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        until = time.monotonic() + PREDECESSOR_S
        while time.monotonic() < until and state.lock.exists() and not state.lock.stat().st_size:
            time.sleep(0.02)  # between two looks, as a file doesn't say when it is written
    instance = InstanceLock(state)
    try:
        state.daemon.unlink(missing_ok=True)  # otherwise a killed daemon's address would pass for ours
        yield instance
    finally:
        instance.close()


def is_held(state: StateFolder) -> bool:
    """Return whether a process has the lock now; many processes may ask at once."""
    try:
        with FileIO(state.lock) as file:  # opened for reading: a sandbox may forbid writing
            return not take_lock(file, fcntl.LOCK_SH)
    except FileNotFoundError:
        return False


def holder(state: StateFolder) -> int | None:
    """Return the id of the process that has the lock, which it has written into the file."""
    if not is_held(state):
        return None
    text = Path(state.lock).read_text(encoding="ascii", errors="replace").strip()
    return int(text) if text.isdecimal() else None


def end_holder(
    state: StateFolder, pid: int, by: signal.Signals = signal.SIGTERM, *, within_s: float = STOP_DEADLINE_S
) -> None:
    """Signal process `pid` if it has the lock, and wait until it has released the lock. Raises HeldLock if we can't see
    that this process has the lock, and DeadlineExceeded."""
    deadline = time.monotonic() + within_s
    if holder(state) == pid:
        _signal_holder(state, pid, by)
    while time.monotonic() < deadline:
        if holder(state) != pid:
            return
        time.sleep(POLL_S)
    raise DeadlineExceeded(f"process {pid} is still running after {within_s:g} s", hint=f"kill -9 {pid}")


def find_stranger(state: StateFolder) -> HeldLock | None:
    """Return the error for a lock holder that isn't visible here. It wrote its process id in another container, or on
    another machine where a home folder is shared. Here, the same id may be any process."""
    for wait_s in (POLL_S, 0):
        pid = holder(state)
        if pid is None or has_open(pid, state.lock):
            return None
        time.sleep(wait_s)  # a process that has just taken the lock needs an instant to write its own number
    who = f"process {pid} of another container, sandbox, machine or user is using this vault"
    return HeldLock(who, hint="run this where that process runs")


def has_open(pid: int, file: Path) -> bool:
    """Return whether the process with this id has the file open, as this system sees it."""
    if not Path("/proc/self/fd").exists():
        return _has_open_by_lsof(pid, file)
    try:
        if os.readlink("/proc/self") != str(os.getpid()):  # noqa: PTH115 -- of another namespace, with other numbers
            return False
        wanted = file.stat()
        with os.scandir(f"/proc/{pid}/fd") as descriptors:
            return any(_is_same(wanted, descriptor) for descriptor in descriptors)
    except OSError:  # it has ended, or it belongs to another user
        return False


def _is_same(wanted: os.stat_result, descriptor: os.DirEntry[str]) -> bool:
    try:
        return os.path.samestat(wanted, descriptor.stat())
    except OSError:  # closed just now
        return False


def _has_open_by_lsof(pid: int, file: Path) -> bool:
    program = shutil.which("lsof", path=f"{os.environ.get('PATH', os.defpath)}:/usr/sbin")
    if program is None:
        return False
    command = [program, "-t", "-w", "-a", "-p", str(pid), str(file)]
    found = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    return str(pid) in found.stdout.split()


def _signal_holder(state: StateFolder, pid: int, by: signal.Signals) -> None:
    """Signal the process if it has the lock. Where the system can, open the process before the check, because its id
    may be reused in between."""
    with suppress(ProcessLookupError), ExitStack() as at_the_end:
        process: int | None = None
        with suppress(AttributeError, OSError):  # not on macOS, nor in every sandbox
            process = os.pidfd_open(pid)
            at_the_end.callback(os.close, process)
        if stranger := find_stranger(state):
            raise stranger
        if holder(state) != pid:
            return
        if process is None:
            os.kill(pid, by)
        else:
            signal.pidfd_send_signal(process, by)


def _locked(state: StateFolder) -> FileIO:
    while True:
        file = FileIO(os.open(state.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600), "r+")
        try:
            if not take_lock(file, fcntl.LOCK_EX, within_s=LOOK_S):
                raise _held(state)
            if _is_at(file, state.lock):
                os.register_at_fork(after_in_child=file.close)  # a child that doesn't exec would keep the lock
                file.truncate(0)
                file.write(f"{os.getpid()}\n".encode())
                return file
        except BaseException:
            file.close()
            raise
        file.close()  # another process removed the file just now


def _is_at(opened: FileIO, file: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(opened.fileno()), file.stat())
    except FileNotFoundError:
        return False


def take_lock(file: FileIO, kind: int, *, within_s: float = 0) -> bool:
    """Try to take a lock of this kind (`fcntl.LOCK_EX` or `LOCK_SH`); return whether that succeeded."""
    deadline = time.monotonic() + within_s
    while True:
        try:
            fcntl.flock(file, kind | fcntl.LOCK_NB)
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
        if stranger := find_stranger(state):
            return stranger
        pid = holder(state)
        who = f"another mcp-memory process (pid {pid}) is using this vault"
        return HeldLock(who, hint=f"wait for it to end; ps -p {pid} shows it")
    who = f"a daemon (pid {address.pid}, version {address.version}) already serves this vault at {address.place}"
    return HeldLock(who, hint="mcp-memory status")
