"""Words the line that you, not the agent, see when memory is unavailable. Standard library only."""

from __future__ import annotations

import errno

from mcp_memory.errors import ConfigInvalid, IndexUnavailable, NotRunning, Refused, StillReading, StorageFailed
from mcp_memory.hooks.hook_log import lines_of

TYPE_CHECKING = False  # as in `typing`
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

SHOWN_BY = frozenset({"claude-code", "codex", "gemini"})
"""Clients that show you a `systemMessage`."""

START_LOG = "log/start.log"
"""A file in the state folder: the last output of a daemon at its start."""

_TAIL_BYTES = 4000
_MOST_CHARS = 400
_DISK = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO})


def why_out(error: BaseException, state: str) -> str:
    """Return why the call failed and what to do; empty if you needn't do anything, as for a daemon that is starting."""
    if isinstance(error, NotRunning):
        return _why_not_started(f"{state}/{START_LOG}")
    if isinstance(error, (ConfigInvalid, StorageFailed, IndexUnavailable, Refused)):
        return "" if isinstance(error, StillReading) else _line(error.message, error.hint)
    if isinstance(error, OSError) and error.errno in _DISK:
        return _line(f"{error.strerror}: {error.filename or state}", "mcp-memory doctor")
    return ""


def trouble_of(status: Mapping[str, Any]) -> str:
    """Return the message for a daemon that answers but has a fault. `status`: its facts."""
    if paused := status["pruning_paused"]:
        return _line(str(paused), "bring the files back (mount the disk, finish the sync); mcp-memory doctor says more")
    if status["read_only"]:
        return _line(f"nothing can be stored in {status['vault']}", "check its permissions and its mount")
    return _line(f"the disk of {status['vault']} is full", "make room") if status["full"] else ""


def waiting_line(items: int) -> str:
    """Return how many items wait for a decision; empty for none."""
    return f"Memory: {items} {'item waits' if items == 1 else 'items wait'} for you: mcp-memory review" if items else ""


def was_told(log: str, client: str, session: str) -> bool:
    """Return whether this session has shown the message; True if that can't be known."""
    try:
        return not session or any(facts.get("told_person") for facts in lines_of(log, client, session))
    except OSError:
        return True


def _why_not_started(file: str) -> str:
    """Return the error that the daemon printed as it ended."""
    try:
        with open(file, "rb") as log:
            log.seek(max(0, log.seek(0, 2) - _TAIL_BYTES))
            printed = log.read().decode("utf-8", "replace")
    except OSError:
        return ""
    _, failed, rest = printed.rpartition("mcp-memory: ")
    message, _, hint = rest.partition("→")
    return _line(message, hint) if failed else ""


def _line(message: str, hint: str | None) -> str:
    text = " ".join(f"Memory is out: {message}{f' → {hint}' if hint and hint.strip() else ''}".split())
    plain = "".join(c if c.isprintable() else "?" for c in text)
    return plain if len(plain) <= _MOST_CHARS else f"{plain[:_MOST_CHARS]} …"
