"""Commits our files as they are on disk to the checked-out branch, with plumbing commands only.

The tree is made in an index of our own from the commit that is checked out, so nothing that a person staged gets into
it. The branch moves by compare-and-swap: a person's commit in the same instant wins, and ours is made anew upon it.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mcp_memory.errors import Busy, GitUnavailable, McpMemoryError
from mcp_memory.git.file_changes import FileChange, draft_commit, index_entries, load_index
from mcp_memory.git.repository import Repository
from mcp_memory.git.staging_index import repair_index, updated_index

TRIES = 5

WE = "mcp-memory"
"""Who commits where git knows nobody."""


@dataclass(frozen=True, slots=True)
class CommitPart:
    """One commit to be made."""

    message: str
    changes: Sequence[FileChange]


@dataclass(frozen=True, slots=True)
class CommitResult:
    """`commits` are their names, oldest first; `left` paths that the repository does not want; `waiting` those that a
    person has to do something about, and what."""

    commits: Sequence[str] = ()
    left: Sequence[str] = ()
    waiting: Mapping[str, McpMemoryError] = field(default_factory=dict[str, McpMemoryError])


def _nothing(_: FileChange) -> McpMemoryError | None:
    return None


def commit_files(
    repository: Repository,
    paths: Sequence[str],
    parts_of: Callable[[Sequence[FileChange]], Sequence[CommitPart]],
    objection: Callable[[FileChange], McpMemoryError | None] = _nothing,
) -> CommitResult:
    """Commit what these paths of the vault are now, in the parts that `parts_of` makes of their changes; but none that
    there is an objection to.

    Raises Busy where something is going on in the repository, which will be over; GitUnavailable, StorageFailed.
    """
    repository.require_idle()
    repository = repository.writing_like(paths)
    with tempfile.TemporaryDirectory(prefix="mcp-memory-", ignore_cleanup_errors=True) as folder:
        repair_index(repository, Path(folder) / "right")
        for number in range(TRIES):
            scratch = Path(folder) / str(number)
            head = repository.head()
            drafted = draft_commit(repository, head, paths, scratch)
            objections = {change.path: why for change in drafted.changes if (why := objection(change))}
            changes = [change for change in drafted.changes if change.path not in objections]
            waiting = {**drafted.waiting, **objections}
            if not changes:
                return CommitResult((), drafted.left, waiting)
            parts = parts_of(changes)
            commits = _made(repository, head, parts, scratch)
            try:
                with updated_index(repository, head, commits[-1], changes, scratch.with_suffix(".index")):
                    repository.require_idle()
                    said = f"commit: {parts[-1].message}"
                    repository.git.run("update-ref", "-m", said, "HEAD", commits[-1], head or "")
            except GitUnavailable:
                if repository.head() == head:
                    raise
                continue
            return CommitResult(commits, drafted.left, waiting)
    raise Busy(f"others commit in {repository.top} all the time", hint="nothing to do: it is tried again")


def _made(repository: Repository, head: str | None, parts: Sequence[CommitPart], scratch: Path) -> list[str]:
    """Their commits, each upon the one before; no branch knows them yet."""
    git = repository.git.on(scratch)
    load_index(git, head)
    who = _identity(repository)
    made: list[str] = []
    for part in parts:
        git.run("update-index", "-z", "--index-info", said=index_entries(repository, part.changes))
        tree = git.run("write-tree").decode().strip()
        parent = made[-1] if made else head
        upon = ("-p", parent) if parent else ()
        made.append(git.run("commit-tree", *upon, tree, said=part.message.encode(), more=who).decode().strip())
    return made


def _identity(repository: Repository) -> dict[str, str]:
    """Nothing where the person has told git who they are."""
    code, out = repository.git.ended("config", "--get-regexp", "^user\\.(name|email)$", accepted=(0, 1))
    told = {line.split(" ", 1)[0] for line in out.decode("utf-8", "replace").splitlines() if " " in line}
    if not code and {"user.name", "user.email"} <= told:
        return {}
    email = f"{WE}@localhost"
    return {
        "GIT_AUTHOR_NAME": WE, "GIT_AUTHOR_EMAIL": email, "GIT_COMMITTER_NAME": WE, "GIT_COMMITTER_EMAIL": email
    }  # fmt: skip
