"""Commits our files as they are on disk to the checked-out branch, with plumbing commands only.

The tree is built in an index of our own from the checked-out commit, so it contains nothing that you staged. The branch
moves by compare-and-swap: a commit of yours in the same instant wins, and ours is made again on top of it.
"""

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mcp_memory.errors import Busy, GitUnavailable, McpMemoryError
from mcp_memory.git.file_changes import FileChange, draft_commit, index_entries, load_index
from mcp_memory.git.repository import Repository
from mcp_memory.git.staging_index import repair_index, updated_index

TRIES = 5

COMMITTER = "mcp-memory"
"""Used if git has no user.name and user.email."""


@dataclass(frozen=True, slots=True)
class CommitPart:
    """One commit to be made."""

    message: str
    changes: Sequence[FileChange]


@dataclass(frozen=True, slots=True)
class CommitResult:
    """`commits` are hashes, oldest first; `waiting` are paths that need something from you first, and what."""

    commits: Sequence[str]
    waiting: Mapping[str, McpMemoryError]


def commit_files(
    repository: Repository,
    paths: Sequence[str],
    parts_of: Callable[[Sequence[FileChange]], Sequence[CommitPart]],
    objection: Callable[[FileChange], McpMemoryError | None] = lambda _: None,
) -> CommitResult:
    """Commits these paths as they are now, in the parts that `parts_of` returns; leaves out changes with an objection.

    Raises Busy while something else is in progress in the repository, GitUnavailable, StorageFailed.
    """
    repository.require_idle()
    repository = repository.writing_like(paths)
    with tempfile.TemporaryDirectory(prefix="mcp-memory-", ignore_cleanup_errors=True) as folder:
        repair_index(repository, Path(folder) / "repaired")
        for number in range(TRIES):
            scratch = Path(folder) / str(number)
            head = repository.head()
            drafted = draft_commit(repository, head, paths, scratch)
            objections = {change.path: why for change in drafted.changes if (why := objection(change))}
            changes = [change for change in drafted.changes if change.path not in objections]
            waiting = {**drafted.waiting, **objections}
            if not changes:
                return CommitResult((), waiting)
            parts = parts_of(changes)
            commits = _create_commits(repository, head, parts, scratch)
            try:
                with updated_index(repository, head, commits[-1], changes, scratch.with_suffix(".index")):
                    repository.require_idle()
                    reason = f"commit: {parts[-1].message}"
                    repository.git.run("update-ref", "-m", reason, "HEAD", commits[-1], head or "")
            except GitUnavailable:
                if repository.head() == head:
                    raise
                continue
            return CommitResult(commits, waiting)
    raise Busy(f"others keep committing in {repository.top}", hint="nothing to do: it will be tried again")


def _create_commits(repository: Repository, head: str | None, parts: Sequence[CommitPart], scratch: Path) -> list[str]:
    """Each on top of the one before; no branch refers to them yet."""
    git = repository.git.on(scratch)
    load_index(git, head)
    identity = _identity(repository)
    commits: list[str] = []
    for part in parts:
        git.run("update-index", "-z", "--index-info", stdin=index_entries(repository, part.changes))
        tree = git.run("write-tree").decode().strip()
        parent = commits[-1] if commits else head
        onto = ("-p", parent) if parent else ()
        commit = git.run("commit-tree", *onto, tree, stdin=part.message.encode(), environ=identity)
        commits.append(commit.decode().strip())
    return commits


def _identity(repository: Repository) -> dict[str, str]:
    """Environment variables; none if git knows your name and email address."""
    out = repository.git.run("config", "--get-regexp", "^user\\.(name|email)$", accepted=(0, 1))
    known = {line.split(" ", 1)[0] for line in out.decode("utf-8", "replace").splitlines() if " " in line}
    if {"user.name", "user.email"} <= known:
        return {}
    user = {"NAME": COMMITTER, "EMAIL": f"{COMMITTER}@localhost"}
    return {f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER") for key, value in user.items()}
