"""Writes and reads the hooks' log: a line for each call, with ids and figures, never the text of a note."""

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
"""The most bytes of the file; a full file becomes the older one of two."""

LATEST_BYTES = 200_000
"""The bytes at the log's end, some 700 calls, that are searched for a session's start."""


class HookLogLine:
    """The facts of the running call so far. `started`: whether a prompt brought the missing text of its session's
    start. `project`: of a start or prompt, empty for none. `told_person`: whether you saw why memory is unavailable.
    `degraded`: the reason why a prompt may have got less than usual, such as an unloaded model."""

    def __init__(self) -> None:
        self.event = ""
        self.client = ""
        self.session = ""
        self.outcome: Outcome = "silent"
        self.cause = ""
        self.tokens = 0
        self.notes: Sequence[str] = ()
        self.started = False
        self.project: str | None = None
        self.told_person = False
        self.degraded = ""
        self.ms = 0.0

    def add_facts(self, facts: Mapping[str, Any]) -> None:
        """Add the daemon's facts: session, outcome, tokens, notes …"""
        vars(self).update({name: value for name, value in facts.items() if name in vars(self)})

    def add_failure(self, error: BaseException) -> HookLogLine:
        """Record a failure without the error's message, which may quote the input."""
        self.outcome, self.cause = "failed", _cause(error)
        return self

    def write(self, file: str) -> None:
        """Append the line to the file. Raises OSError."""
        facts = {"at": strftime("%Y-%m-%dT%H:%M:%SZ", gmtime()), **vars(self), "ms": round(self.ms, 1)}
        try:
            descriptor = _open(file)
        except FileNotFoundError:
            make_folder(os.path.dirname(file))
            descriptor = _open(file)
        try:
            if os.fstat(descriptor).st_size > MOST_BYTES:
                os.replace(file, _older(file))
            os.write(descriptor, json.dumps(facts).encode("ascii") + b"\n")
        finally:
            os.close(descriptor)


def fallback_file(environ: Mapping[str, str]) -> str:
    """Return the log for calls whose vault is unknown. Raises ConfigInvalid without a home folder."""
    return f"{state_home(environ)}/hooks.jsonl"


def read_lines(file: str) -> Iterator[Mapping[str, Any]]:
    """Yield the lines, oldest first; broken lines are skipped. Raises OSError for a file that can't be read."""
    for part in (_older(file), file):
        if os.path.exists(part):
            with open(part, encoding="utf-8", errors="replace") as text:
                for line in text:
                    if facts := _facts(line):
                        yield facts


def owes_start(file: str, event: str, client: str, session: str, project: str) -> set[str] | None:
    """Return the notes shown to this session if it lacks the text of its start or of its current project; else None. A
    start (an `event`) or a later prompt brings that text. Raises OSError."""
    projects, notes = set[str](), set[str]()
    for facts in lines_of(file, client, session):
        if facts.get("outcome") != "failed" and facts.get("project") is not None:  # not a tool's or sub-agent's line
            notes.update(map(str, facts.get("notes") or ()))
            projects.add(str(facts["project"]))
        if facts.get("event") == event:
            break
    return notes if not projects or (project and project not in projects) else None


def lines_of(file: str, client: str, session: str) -> Iterator[Mapping[str, Any]]:
    """Yield the latest lines of a session, the last first. Raises OSError."""
    try:
        with open(file, "rb") as log:
            log.seek(max(0, os.fstat(log.fileno()).st_size - LATEST_BYTES))
            latest = log.read().splitlines()
    except FileNotFoundError:
        return
    wanted = json.dumps(session).encode("ascii")
    for line in reversed(latest):
        if wanted in line:
            facts = _facts(line)
            if (facts.get("client"), facts.get("session")) == (client, session):
                yield facts


def _facts(line: str | bytes) -> Mapping[str, Any]:
    """Parse a line; empty for a broken line."""
    try:
        return {**json.loads(line)}
    except (ValueError, TypeError, RecursionError):
        return {}


def make_folder(folder: str) -> None:
    """Make the folder and its missing parents for the user only, unlike `os.makedirs`. Raises OSError."""
    if not os.path.isdir(folder):
        make_folder(os.path.dirname(folder))
        try:
            os.mkdir(folder, 0o700)
        except FileExistsError:
            return  # another hook made it first


def _open(file: str) -> int:
    return os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)


def _older(file: str) -> str:
    return f"{os.path.splitext(file)[0]}.1.jsonl"


def _cause(error: BaseException) -> str:
    """Return our own message, our code or the error's type, and for a bug its place."""
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
