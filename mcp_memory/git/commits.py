"""Commits files of ours that differ from the checked-out commit, and leaves what a person has staged."""

import os
import shutil
import stat
import tempfile
from collections import defaultdict
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from mcp_memory.errors import Busy, GitUnavailable, McpMemoryError
from mcp_memory.git.repository import Repository, committed_files

_UNTRACKED = "??"


class FileChange(NamedTuple):
    """One file that a commit changes. `path` is relative to the vault. `before` has its committed bytes, None for a new
    file. `after` has the bytes on disk, None for a removed file."""

    path: str
    before: bytes | None
    after: bytes | None


class FoundChanges(NamedTuple):
    """The changed files. `untracked` are paths that git doesn't know yet. `waiting` are paths that need an action of
    yours first, each with the reason; they are in no change."""

    changes: Sequence[FileChange]
    untracked: Collection[str]
    waiting: Mapping[str, McpMemoryError]


def find_changes(repository: Repository, paths: Sequence[str]) -> FoundChanges:
    """Compare these paths, as they are on disk now, with the checked-out commit. Raises Busy while a file has an
    unresolved conflict, GitUnavailable.

    Git lists no file that it ignores, that you made it skip, or that belongs to another repository."""
    status = _read_status(repository)
    changed = [path for path in dict.fromkeys(paths) if path in status and _is_regular_or_gone(repository, path)]
    if unmerged := [path for path in changed if "U" in status[path] or status[path] in {"AA", "DD"}]:
        raise Busy(f"{min(unmerged)} has a conflict in git's index", hint="resolve it, then git add or git restore it")
    waiting: dict[str, McpMemoryError] = {
        path: Busy(f"{path} is staged, in another version", hint=f"git commit it, or git restore --staged {path}")
        for path in changed
        if status[path][0] not in " ?" and status[path][1:] != " "  # a commit of ours would replace it in your index
    }
    ours = [path for path in changed if path not in waiting]
    committed = committed_files(repository, ours) if ours and repository.head() else {}
    changes = [FileChange(path, committed.get(path), _read(repository, path)) for path in ours]
    return FoundChanges(changes, {path for path in ours if status[path] == _UNTRACKED}, waiting)


def _read_status(repository: Repository) -> Mapping[str, str]:
    """Return path → the two letters of `git status` for each change: the first compares the index with the commit, the
    second the file with the index. A file that you took out of the index is in two changes: removed, and untracked."""
    listed = repository.git.run(
        "status", "--porcelain", "-z", "--no-renames", "--untracked-files=all",
        "--ignore-submodules=all", "--", repository.prefix or ".",
    )  # fmt: skip
    status: dict[str, str] = defaultdict(str)
    for line in listed.split(b"\0"):
        if line:
            status[repository.from_git_path(line[3:])] += line[:2].decode()
    return status


def _is_regular_or_gone(repository: Repository, path: str) -> bool:
    """Return whether the path is a regular file, or gone, and no folder above it is a link."""
    file = repository.file(path)
    if file.parent.resolve() != file.parent:
        return False
    try:
        return stat.S_ISREG(file.lstat().st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return True


def _read(repository: Repository, path: str) -> bytes | None:
    try:
        return repository.file(path).read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None


COMMITTER = "mcp-memory"
"""The committer if git has no user.name and user.email."""

_CONTENTION = ("index.lock", "cannot lock ref")
"""Git's messages when another git changes the index or the branch in the same instant."""


class CommitPart(NamedTuple):
    """A commit to make."""

    message: str
    changes: Sequence[FileChange]


class CommitResult(NamedTuple):
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
