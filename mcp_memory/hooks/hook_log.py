"""The hooks' log: a line for each call, with what came of it. Ids and figures, never a text."""

from __future__ import annotations

import json
import os
from time import gmtime, strftime

from mcp_memory.errors import McpMemoryError, Unusable
from mcp_memory.hooks.deadline import OverBudget
from mcp_memory.runtime.paths import state_home

TYPE_CHECKING = False  # as in `typing`
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any, Literal

    Outcome = Literal["given", "silent", "failed"]

MOST_BYTES = 1_000_000
"""Of the file; then it becomes the older one of two."""

LATEST_BYTES = 200_000
"""Of the log's end: some 700 calls, with a prompt that asks what came of its session's start."""


class HookLogLine:
    """What is known so far of the call that is under way."""

    def __init__(self) -> None:
        self.event = ""
        self.client = ""
        self.session = ""
        self.outcome: Outcome = "silent"
        self.cause = ""
        self.tokens = 0
        self.notes: Sequence[str] = ()
        self.started = False
        """Whether a prompt brought what its session's start should have."""
        self.degraded = ""
        """Why a prompt may have been told less than it could, as with the model at rest."""
        self.ms = 0.0

    def add_facts(self, facts: Mapping[str, Any]) -> None:
        """What the daemon has to say of it: session, outcome, tokens, notes …"""
        vars(self).update({name: value for name, value in facts.items() if name in vars(self)})

    def add_failure(self, error: BaseException) -> HookLogLine:
        """Without the error's message, which may quote what was said."""
        self.outcome, self.cause = "failed", _cause(error)
        return self

    def write(self, file: str) -> None:
        """Raises OSError."""
        facts = {"at": strftime("%Y-%m-%dT%H:%M:%SZ", gmtime()), **vars(self), "ms": round(self.ms, 1)}
        try:
            descriptor = _opened(file)
        except FileNotFoundError:
            os.makedirs(os.path.dirname(file), mode=0o700, exist_ok=True)
            descriptor = _opened(file)
        try:
            if os.fstat(descriptor).st_size > MOST_BYTES:
                os.replace(file, _older(file))
            os.write(descriptor, json.dumps(facts).encode("ascii") + b"\n")
        finally:
            os.close(descriptor)


def fallback_file(environ: Mapping[str, str]) -> str:
    """The log where nobody can tell the vault. Raises ConfigInvalid where there is no home either."""
    return f"{state_home(environ)}/hooks.jsonl"


def read_lines(file: str) -> Iterator[Mapping[str, Any]]:
    """Oldest first; what is no line of ours is passed over. Raises OSError for a file that cannot be read."""
    for each in (_older(file), file):
        if not os.path.exists(each):
            continue
        with open(each, encoding="utf-8", errors="replace") as text:
            for line in text:
                try:
                    facts: dict[str, Any] = {**json.loads(line)}
                except (ValueError, TypeError, RecursionError):
                    continue
                yield facts


def owes_start(file: str, event: str, client: str, session: str) -> bool:
    """Whether this session's latest start, an `event`, failed, and no prompt has made up for it. Raises OSError."""
    try:
        with open(file, "rb") as log:
            log.seek(max(0, os.fstat(log.fileno()).st_size - LATEST_BYTES))
            latest = log.read().splitlines()
    except FileNotFoundError:
        return False
    wanted = json.dumps(session).encode("ascii")
    for line in reversed(latest):
        if wanted not in line:
            continue
        try:
            facts: dict[str, Any] = {**json.loads(line)}
        except (ValueError, TypeError, RecursionError):
            continue
        if (facts.get("client"), facts.get("session")) != (client, session):
            continue
        if facts.get("event") == event or facts.get("started"):
            return facts.get("outcome") == "failed"
    return False


def _opened(file: str) -> int:
    return os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)


def _older(file: str) -> str:
    return f"{os.path.splitext(file)[0]}.1.jsonl"


def _cause(error: BaseException) -> str:
    """Our own words, a code of ours or the error's type, and for a bug where it was met."""
    if isinstance(error, Unusable):
        return error.message
    if isinstance(error, McpMemoryError):
        return error.code
    if isinstance(error, OverBudget):
        return "over_budget"
    trace = error.__traceback__
    while trace and trace.tb_next:
        trace = trace.tb_next
    where = f" at {os.path.basename(trace.tb_frame.f_code.co_filename)}:{trace.tb_lineno}" if trace else ""
    return f"{type(error).__name__}{where}"
