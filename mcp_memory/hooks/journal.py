"""The hooks' log: a line for each call, with what came of it. Ids and figures, never a text."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from time import gmtime, strftime
from typing import Any, Literal, cast

from mcp_memory.errors import McpMemoryError
from mcp_memory.hooks.deadline import OverBudget
from mcp_memory.hooks.said import Unusable
from mcp_memory.settings.state import state_home

MOST_BYTES = 1_000_000
"""Of the file; then it becomes the older one of two."""

Outcome = Literal["given", "silent", "failed"]


class Line:
    """What is known so far of the call that is under way."""

    def __init__(self) -> None:
        self.event = ""
        self.client = ""
        self.session = ""
        self.outcome: Outcome = "silent"
        self.cause = ""
        self.tokens = 0
        self.notes: Sequence[str] = ()
        self.ms = 0.0

    def failed(self, error: BaseException) -> Line:
        """Without the error's message, which may quote what was said."""
        self.outcome, self.cause = "failed", _cause(error)
        return self

    def write(self, file: Path) -> None:
        """Raises OSError."""
        facts = {"at": strftime("%Y-%m-%dT%H:%M:%SZ", gmtime()), **vars(self), "ms": round(self.ms, 1)}
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            if os.fstat(descriptor).st_size > MOST_BYTES:
                file.replace(_older(file))
            os.write(descriptor, json.dumps(facts).encode("ascii") + b"\n")
        finally:
            os.close(descriptor)


def fallback(environ: Mapping[str, str]) -> Path:
    """The log where nobody can tell the vault. Raises ConfigInvalid where there is no home either."""
    return state_home(environ) / "hooks.jsonl"


def lines(file: Path) -> Iterator[Mapping[str, Any]]:
    """Oldest first; what is no line of ours is passed over. Raises OSError for a file that cannot be read."""
    for each in (_older(file), file):
        if not each.exists():
            continue
        with each.open(encoding="utf-8", errors="replace") as text:
            for line in text:
                try:
                    facts: object = json.loads(line)
                except (ValueError, RecursionError):
                    continue
                if isinstance(facts, dict):
                    yield cast("Mapping[str, Any]", facts)


def _older(file: Path) -> Path:
    return file.with_suffix(".1.jsonl")


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
    where = f" at {Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}" if trace else ""
    return f"{type(error).__name__}{where}"
