"""Commits our files as they are on disk to the checked-out branch, and nothing that you have staged."""

import os
import shutil
import tempfile
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from mcp_memory.errors import Busy, GitUnavailable, McpMemoryError
from mcp_memory.git.file_changes import FileChange, find_changes
from mcp_memory.git.repository import Repository

COMMITTER = "mcp-memory"
"""The committer if git has no user.name and user.email."""

_CONTENTION = ("index.lock", "cannot lock ref")
"""Git's messages when another git changes the index or the branch in the same instant."""


@dataclass(frozen=True, slots=True)
class CommitPart:
    """A commit to make."""

    message: str
    changes: Sequence[FileChange]


@dataclass(frozen=True, slots=True)
class CommitResult:
    """The outcome. `commits` are hashes, oldest first. `waiting` are paths that need an action of yours first, each
    with the reason."""

    commits: Sequence[str]
    waiting: Mapping[str, McpMemoryError]


def commit_files(
    repository: Repository,
    paths: Sequence[str],
    parts_of: Callable[[Sequence[FileChange]], Sequence[CommitPart]],
    objection: Callable[[FileChange], McpMemoryError | None] = lambda _: None,
) -> CommitResult:
    """Commit these paths as they are now, in the parts that `parts_of` returns; skip changes with an objection.

    Raises Busy while something else is in progress in the repository, GitUnavailable, StorageFailed."""
    repository.require_idle()
    repository = repository.writing_like(paths)
    found = find_changes(repository, paths)
    objections = {change.path: why for change in found.changes if (why := objection(change))}
    changes = [change for change in found.changes if change.path not in objections]
    commits: list[str] = []
    if changes:
        identity = _identity(repository)
        new = [change.path for change in changes if change.path in found.untracked]
        if new:  # `git commit` accepts only paths that the index has
            _run(repository, ("add", "--intent-to-add"), new)
        commits += [_commit(repository, part, identity) for part in parts_of(changes)]
    return CommitResult(tuple(commits), {**found.waiting, **objections})


def _commit(repository: Repository, part: CommitPart, identity: Mapping[str, str]) -> str:
    command = ("commit", "--only", "--no-verify", "--quiet", f"--message={part.message}")
    with _own_folder(repository) as places:
        _run(repository, command, [change.path for change in part.changes], {**identity, **places})
    return repository.head() or ""


def _run(
    repository: Repository, command: Sequence[str], paths: Sequence[str], environ: Mapping[str, str] | None = None
) -> None:
    listed = b"".join(repository.to_git_path(path) + b"\0" for path in paths)
    try:
        repository.git.run(
            *command, "--pathspec-from-file=-", "--pathspec-file-nul",
            stdin=listed, environ=environ,
        )  # fmt: skip
    except GitUnavailable as error:
        if any(sign in error.message for sign in _CONTENTION):
            lock = repository.folder / "index.lock"
            raise Busy(
                f"another git is at work in {repository.top}", hint=f"if no git is running there: rm -f {lock}"
            ) from error
        raise


@contextmanager
def _own_folder(repository: Repository) -> Generator[Mapping[str, str]]:
    """Make a git folder for one commit that shares everything with yours except the message. Yields environment
    variables.

    Git keeps the message in a file. There it overwrites your message that a hook has refused, and deletes the message
    that `git merge --squash` has prepared. A commit that you make in the same instant would read our message as its
    own."""
    with tempfile.TemporaryDirectory(prefix="mcp-memory-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        for entry in repository.folder.iterdir():
            if entry.name not in {"COMMIT_EDITMSG", "HEAD", "commondir", "index"}:
                (folder / entry.name).symlink_to(entry)
        shutil.copy(repository.folder / "HEAD", folder)  # git refuses a link
        (folder / "commondir").write_bytes(os.fsencode(repository.common_folder()))
        yield {
            "GIT_DIR": name,
            "GIT_INDEX_FILE": str(repository.folder / "index"),
            "GIT_WORK_TREE": str(repository.top),
        }


def _identity(repository: Repository) -> dict[str, str]:
    """Return environment variables for the author; none if git knows your name and email address."""
    out = repository.git.run("config", "--get-regexp", "^user\\.(name|email)$", accepted=(0, 1))
    known = {line.split(" ", 1)[0] for line in out.decode("utf-8", "replace").splitlines() if " " in line}
    if {"user.name", "user.email"} <= known:
        return {}
    user = {"NAME": COMMITTER, "EMAIL": f"{COMMITTER}@localhost"}
    return {f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER") for key, value in user.items()}
