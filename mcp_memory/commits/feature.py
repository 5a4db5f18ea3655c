"""Commits the files that the program writes, if you want it, and shows the history of a note."""

import shlex
import stat
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

from mcp_memory.commits.committer import Committer, UncommittedFiles
from mcp_memory.commits.config import GitConfig
from mcp_memory.commits.note_history import HISTORY_S, describe_history
from mcp_memory.commits.observed_backend import ObservedBackend
from mcp_memory.core.core import Core
from mcp_memory.core.feature import Feature, Operation
from mcp_memory.core.serializers import Payload
from mcp_memory.errors import McpMemoryError
from mcp_memory.git.repository import find_repository
from mcp_memory.models import NotePath
from mcp_memory.runtime.health import Finding
from mcp_memory.runtime.threads import in_thread
from mcp_memory.text.pluralize import counted
from mcp_memory.vault.marker import MARKER, README

EXAMINATION_S = 60.0


@dataclass(frozen=True, slots=True)
class LogRequest:
    """The git history of `target` (an id or path) or of the whole vault. `at`: a commit, for the note's text in it."""

    target: str | None = None
    at: str | None = None
    limit: int = 20


def build(core: Core) -> Feature:
    async def log(request: LogRequest) -> Payload:
        """Return the history of a note, a folder or the vault, or a note as it was in a commit."""
        target = await core.search.lookup.full_id(request.target) if request.target else None
        describe = partial(describe_history, core.vault, core.index, target, request.at, request.limit)
        return await in_thread(describe, deadline_s=HISTORY_S + 10, what="reading the history")

    operations = {"log": Operation(LogRequest, log)}
    config = core.config.section("git", GitConfig)
    if not config.auto_commit:
        return Feature(operations, status=lambda: {"git": None})
    pending = UncommittedFiles(core.config.state / "uncommitted")
    core.vault.wrap_backend(lambda backend: ObservedBackend(backend, pending.add))
    if core.vault.marker.made:
        pending.add(NotePath(MARKER))
        pending.add(core.vault.layout.in_home(README))
    committer = Committer(core.config.root, pending, core.vault, core.background.health, config)
    return Feature(
        operations,
        tasks=[committer.run],
        status=lambda: {"git": asdict(committer.state())},
        findings=lambda: [*_waiting(committer), *_open_objects(core)],
    )


def _waiting(committer: Committer) -> Sequence[Finding]:
    state = committer.state()
    if not state.why:
        return ()
    waiting = f"{counted(state.waiting, 'file')} {'is' if state.waiting == 1 else 'are'} not committed yet"
    severity = "info" if state.passes else "warning"
    return [Finding(severity, f"{waiting}: {state.why}", f"{state.remedy}")]


def _open_objects(core: Core) -> Sequence[Finding]:
    """Find a repository that other users may read although they may not read the notes."""
    root = core.vault.roots()[""]
    own = (root / path for path in core.vault.list().files if path[0] != "@")
    if all(map(_is_open, own)):
        return ()
    try:
        found = find_repository(root, EXAMINATION_S).open_objects()
    except McpMemoryError:
        return ()  # no repository, or git doesn't answer: another finding reports the waiting files
    if not found:
        return ()
    what = f"notes that only you may read are in {found}, which other users can read"
    return [Finding("warning", what, f"chmod go-rwx {shlex.quote(str(found))}")]


def _is_open(file: Path) -> bool:
    try:
        return bool(file.stat().st_mode & (stat.S_IRGRP | stat.S_IROTH))
    except OSError:
        return True
