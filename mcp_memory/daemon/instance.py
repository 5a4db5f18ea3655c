"""The instance lock: the kernel holds it and frees it when its process dies, however it dies."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from mcp_memory.client.connection import Address
from mcp_memory.errors import Busy, NotRunning
from mcp_memory.settings.state import StateFolder

LOOK_S = 0.2
"""Whoever asks whether the lock is held takes it for an instant; a daemon that starts then must not give up."""


@contextmanager
def only_instance(state: StateFolder) -> Generator[None]:
    """Hold the vault's lock. Raises Busy that names the process that holds it."""
    descriptor = os.open(state.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        if not _taken(descriptor, within_s=LOOK_S):
            raise Busy(_who(state), hint="mcp-memory status")
        os.ftruncate(descriptor, 0)
        os.write(descriptor, f"{os.getpid()}\n".encode())
        state.daemon.unlink(missing_ok=True)  # of a daemon that was killed: its address must not pass for ours
        yield
    finally:
        os.close(descriptor)


def is_held(state: StateFolder) -> bool:
    """Whether a process holds the lock now."""
    try:
        descriptor = os.open(state.lock, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        return not _taken(descriptor, within_s=0)
    finally:
        os.close(descriptor)


def holder(state: StateFolder) -> int | None:
    """The process that holds the lock, as it wrote itself into the file."""
    if not is_held(state):
        return None
    text = Path(state.lock).read_text(encoding="ascii", errors="replace").strip()
    return int(text) if text.isdecimal() else None


def _taken(descriptor: int, *, within_s: float) -> bool:
    deadline = time.monotonic() + within_s
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                return False
            time.sleep(0.01)
        else:
            return True


def _who(state: StateFolder) -> str:
    try:
        address = Address.read(state.daemon)
    except NotRunning:
        return f"another mcp-memory process (pid {holder(state)}) uses this vault"
    return f"a daemon (pid {address.pid}, version {address.version}) already serves this vault at {address.place}"
