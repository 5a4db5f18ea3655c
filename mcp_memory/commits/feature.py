"""Commits changed files once the vault has been quiet, and keeps the list of uncommitted files on disk."""

import asyncio
import shlex
import stat
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from time import monotonic

import anyio

from mcp_memory.commits.commit_messages import split_into_commits
from mcp_memory.commits.config import GitConfig
from mcp_memory.core.core import Core, Feature
from mcp_memory.errors import Busy, McpMemoryError, Refused, StorageFailed
from mcp_memory.git.commits import CommitResult, FileChange, commit_files
from mcp_memory.git.repository import find_repository
from mcp_memory.models import NotePath
from mcp_memory.runtime.health import Finding, Health
from mcp_memory.runtime.json_lines import JsonLines
from mcp_memory.runtime.private_files import naming_the_cause
from mcp_memory.runtime.threads import in_thread
from mcp_memory.text.pluralize import counted
from mcp_memory.text.secrets.finder import find_secret
from mcp_memory.vault.marker import MARKER, README
from mcp_memory.vault.vault import Vault


class UncommittedFiles:
    """Changed files, kept on disk so that a restart commits them. Thread-safe."""

    def __init__(self, file: Path) -> None:
        self._lines = JsonLines(file, synced=False)
        self._lock = threading.Lock()
        self._wake: Callable[[], None] = lambda: None
        self._number = 0
        self._paths: dict[NotePath, int] = {}
        """Path → number of its latest change."""
        with suppress(StorageFailed):
            self._paths |= {NotePath(str(line["path"])): 0 for line in self._lines.read() if "path" in line}

    def __len__(self) -> int:
        return len(self._paths)

    def add(self, path: NotePath) -> None:
        """Record a changed file. Raises nothing: an answer must not fail because of a later commit."""
        with self._lock:
            is_new = path not in self._paths
            self._number += 1
            self._paths[path] = self._number
            if is_new:
                self._lines.try_append({"path": path})
        self._wake()

    def snapshot(self) -> Mapping[NotePath, int]:
        """Return the files in the order of their first change."""
        with self._lock:
            return dict(self._paths)

    def settle(self, done: Mapping[NotePath, int]) -> None:
        """Drop the files that have not changed again. Raises StorageFailed."""
        with self._lock:
            self._paths = {path: number for path, number in self._paths.items() if done.get(path) != number}
            self._lines.replace({"path": path} for path in self._paths)

    def on_change(self, wake: Callable[[], None]) -> None:
        """Set the function that is called in the thread that changed a file."""
        self._wake = wake


MOST_QUIETS = 6
"""After this many quiet periods, a commit is made even while changes continue."""
COMMIT_S = 20.0
"""The deadline for a commit of thousands of files; a few files take 0.1 s. The engine waits this long when it
closes."""
MOST_FILES = 500
"""The most files in one attempt, so that thousands of files are committed in steps, however slow git is."""
CLOSING_S = 5.0
"""The deadline when the engine closes; the remaining files are committed at the next start."""
FIRST_RETRY_S, LAST_RETRY_S = 1.0, 30.0
"""The waits while git is busy or fails; doubled each time."""


@dataclass(frozen=True)
class CommitHealth:
    """The state of the commits to your git repository."""

    waiting: int = 0  # files that are in no commit yet
    last: str | None = None  # the latest commit since the start
    why: str | None = None  # the reason why files wait for more than a moment
    remedy: str | None = None
    passes: bool = False  # whether the wait will end by itself


class Committer:
    """The only code that runs git to change anything."""

    def __init__(self, root: Path, pending: UncommittedFiles, vault: Vault, health: Health, config: GitConfig) -> None:
        self._root = root
        self._pending = pending
        self._vault = vault
        self._health = health
        self._config = config
        self._changed = anyio.Event()
        self._last = monotonic()
        self._state = CommitHealth()

    def state(self) -> CommitHealth:
        return replace(self._state, waiting=len(self._pending))

    async def run(self) -> None:
        """Run until cancelled; then commit pending files if that takes at most `CLOSING_S`."""
        loop = asyncio.get_running_loop()
        self._pending.on_change(lambda: _call(loop, self._note))
        try:
            while True:
                if not self._pending:
                    await self._changed.wait()
                await self._quiet()
                retry_s = FIRST_RETRY_S
                while not await self._attempt(COMMIT_S):
                    await anyio.sleep(retry_s)
                    retry_s = min(LAST_RETRY_S, 2 * retry_s)
        finally:
            with anyio.CancelScope(shield=True):
                if self._pending:
                    await self._attempt(CLOSING_S)

    def _note(self) -> None:
        self._last = monotonic()
        self._changed.set()

    async def _quiet(self) -> None:
        latest = monotonic() + MOST_QUIETS * self._config.quiet_s
        while (left := min(self._last + self._config.quiet_s, latest) - monotonic()) > 0:  # noqa: ASYNC110 -- by the clock
            await anyio.sleep(left)

    async def _attempt(self, deadline_s: float) -> bool:
        """Commit the pending files, and return whether none is left. `state` reports failures; no answer waits for a
        commit."""
        self._changed = anyio.Event()
        pending = self._pending.snapshot()
        paths = sorted(pending)
        latest, waiting = monotonic() + deadline_s, list[McpMemoryError]()
        with self._health.watching("git"), anyio.CancelScope(shield=True):  # the index must not stay locked
            for start in range(0, len(paths), MOST_FILES):
                some = {path: pending[path] for path in paths[start : start + MOST_FILES]}
                try:
                    made = await in_thread(
                        self._commit, some, deadline_s, deadline_s=deadline_s + 10, what="committing"
                    )
                except McpMemoryError as error:
                    self._waits(error)
                    return False
                waiting += made.waiting.values()
                self._state = replace(self._state, last=made.commits[-1] if made.commits else self._state.last)
                if monotonic() > latest:
                    return False
            self._state = CommitHealth(0, self._state.last)
            if waiting:
                self._waits(min(waiting, key=lambda error: isinstance(error, Busy)))
            return not waiting
        return False

    def _waits(self, error: McpMemoryError) -> None:
        hint = error.hint or "nothing to do: it will be tried again"
        self._state = CommitHealth(0, self._state.last, error.message, hint, isinstance(error, Busy))

    def _commit(self, some: Mapping[NotePath, int], deadline_s: float) -> CommitResult:
        """Commit some files in a worker thread; ends by itself at the deadline."""
        layout = self._vault.layout
        with naming_the_cause(str(self._root)):
            repository = find_repository(self._root, deadline_s)
            made = commit_files(
                repository, list(some), lambda changes: list(split_into_commits(changes, layout)), self._objection
            )
            self._pending.settle({path: number for path, number in some.items() if path not in made.waiting})
            return made

    def _objection(self, change: FileChange) -> McpMemoryError | None:
        """Refuse a file that seems to contain a secret: a commit may be pushed, and then the secret stays public."""
        if self._vault.secrets_allowed or not (found := find_secret((change.after or b"").decode("utf-8", "replace"))):
            return None
        return Refused(
            f"{change.path} seems to hold a secret ({found})", hint='take it out, or set vault.secrets = "allow"'
        )


def _call(loop: asyncio.AbstractEventLoop, work: Callable[[], None]) -> None:
    with suppress(RuntimeError):  # the loop is closed; the list on disk has the change
        loop.call_soon_threadsafe(work)


EXAMINATION_S = 60.0


def build(core: Core) -> Feature:
    config = core.config.section("git", GitConfig)
    if not config.auto_commit:
        return Feature(status=lambda: {"git": None})
    pending = UncommittedFiles(core.config.state / "uncommitted")
    core.vault.on_write(pending.add)
    if core.vault.marker.made:
        pending.add(NotePath(MARKER))
        pending.add(core.vault.layout.in_home(README))
    committer = Committer(core.config.root, pending, core.vault, core.background.health, config)
    return Feature(
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
