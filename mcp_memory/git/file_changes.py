"""Finds the files of ours that differ from the checked-out commit, and those of them that a person has staged."""

import stat
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from mcp_memory.errors import Busy, McpMemoryError
from mcp_memory.git.history import files_at
from mcp_memory.git.repository import Repository

_UNTRACKED = "??"


@dataclass(frozen=True, slots=True)
class FileChange:
    """One file that a commit changes. `path` is relative to the vault. `before` has its committed bytes, None for a new
    file. `after` has the bytes on disk, None for a removed file."""

    path: str
    before: bytes | None
    after: bytes | None


@dataclass(frozen=True, slots=True)
class FoundChanges:
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
    if unmerged := [path for path in changed if _is_unmerged(status[path])]:
        raise Busy(f"{min(unmerged)} has a conflict in git's index", hint="resolve it, then git add or git restore it")
    waiting: dict[str, McpMemoryError] = {
        path: Busy(f"{path} is staged, in another version", hint=f"git commit it, or git restore --staged {path}")
        for path in changed
        if _is_staged_differently(status[path])
    }
    ours = [path for path in changed if path not in waiting]
    committed = files_at(repository, "HEAD", ours) if ours and repository.head() else {}
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


def _is_unmerged(status: str) -> bool:
    return "U" in status or status in {"AA", "DD"}


def _is_staged_differently(status: str) -> bool:
    """Return whether a version other than the one on disk is staged, which a commit of ours would replace in your
    index."""
    is_staged = status[0] not in " ?"
    return is_staged and status[1:] != " "


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
