"""Finds which of our files differ from the checked-out commit, as blobs of the repository."""

import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from mcp_memory.errors import Busy, McpMemoryError
from mcp_memory.git.repository import Repository
from mcp_memory.runtime.git_command import Git

_RAW = ("--raw", "--no-abbrev", "--no-renames", "-z")


@dataclass(frozen=True, slots=True)
class GitBlob:
    mode: str
    oid: str


@dataclass(frozen=True, slots=True)
class FileChange:
    """One file that a commit changes. `path` is relative to the vault; `old` is None for a new file, `new` for a gone
    one. `before` holds its old bytes if both exist, `after` the new ones."""

    path: str
    old: GitBlob | None
    new: GitBlob | None
    before: bytes = b""
    after: bytes = b""


@dataclass(frozen=True, slots=True)
class DraftedCommit:
    """`waiting`: paths that need something from you first, and why."""

    changes: Sequence[FileChange]
    waiting: Mapping[str, McpMemoryError]


def draft_commit(repository: Repository, head: str | None, paths: Sequence[str], scratch: Path) -> DraftedCommit:
    """What these paths change, as they are on disk now. `scratch` is a file for an index of our own.

    Raises Busy while one of them has an unresolved conflict, GitUnavailable.
    """
    git = repository.git.on(scratch)
    load_index(git, head)
    regular = [path for path in paths if _is_regular_or_gone(repository, path)]
    wanted = dict.fromkeys(regular)
    for unwanted in (*_ignored(git, repository, regular), *_set_aside(repository)):
        wanted.pop(unwanted, None)
    if unmerged := wanted.keys() & set(_unmerged(repository)):
        raise Busy(f"{min(unmerged)} has a conflict in git's index", hint="resolve it, then git add or git restore it")
    listed = b"".join(repository.to_git_path(path) + b"\0" for path in wanted)
    git.run("update-index", "--add", "--remove", "--replace", "-z", "--stdin", stdin=listed)
    changes = parse_raw_diff(repository, git.run("diff-index", "--cached", *_RAW, head or empty_tree(git)))
    staged = staged_changes(repository, repository.git, head)
    waiting: dict[str, McpMemoryError] = {
        change.path: Busy(
            f"{change.path} is staged, in another version", hint=f"git commit it, or git restore --staged {change.path}"
        )
        for change in changes
        if is_staged_differently(change, staged)
    }
    return DraftedCommit(
        _with_texts(repository.git, [change for change in changes if change.path not in waiting]), waiting
    )


def staged_changes(repository: Repository, git: Git, head: str | None) -> dict[str, GitBlob | None]:
    """How an index differs from the checked-out commit; None for a removed file."""
    out = git.run("diff-index", "--cached", "--ita-invisible-in-index", *_RAW, head or empty_tree(git))
    return {change.path: change.new for change in parse_raw_diff(repository, out)}


def is_staged_differently(change: FileChange, staged: Mapping[str, GitBlob | None]) -> bool:
    """Whether a version other than ours is staged: your next commit would revert ours."""
    return change.path in staged and staged[change.path] != change.new


def load_index(git: Git, head: str | None) -> None:
    """Fills the index of `git` from a commit."""
    git.run("read-tree", head or "--empty")


def index_entries(repository: Repository, changes: Sequence[FileChange]) -> bytes:
    """The changes as `update-index -z --index-info` takes them."""
    return b"".join(_entry(change) + b"\t" + repository.to_git_path(change.path) + b"\0" for change in changes)


def empty_tree(git: Git) -> str:
    """Its name depends on the repository's hash function."""
    return git.run("hash-object", "-t", "tree", "--stdin").decode().strip()


def diff_trees(repository: Repository, git: Git, old: str, new: str | None) -> list[FileChange]:
    return parse_raw_diff(repository, git.run("diff-tree", "-r", *_RAW, old, new or empty_tree(git)))


def parse_raw_diff(repository: Repository, raw: bytes) -> list[FileChange]:
    """From the output of a diff with the options `_RAW`."""
    fields = iter(raw.split(b"\0"))
    changes: list[FileChange] = []
    for meta in fields:
        if meta.startswith(b":"):
            old_mode, new_mode, old, new, _ = meta[1:].decode().split(" ")
            path = repository.from_git_path(next(fields))
            changes.append(FileChange(path, _blob(old_mode, old), _blob(new_mode, new)))
    return changes


def read_blobs(git: Git, oids: Sequence[str]) -> dict[str, bytes]:
    """The bytes of these blobs; missing ones are left out."""
    out = git.run("cat-file", "--batch", stdin="".join(f"{oid}\n" for oid in oids).encode()) if oids else b""
    found: dict[str, bytes] = {}
    at = 0
    while at < len(out):
        end = out.index(b"\n", at)
        oid, _, rest = out[at:end].decode().partition(" ")
        at = end + 1
        kind, _, size = rest.partition(" ")
        if size:
            if kind == "blob":
                found[oid] = out[at : at + int(size)]
            at += int(size) + 1
    return found


def _entry(change: FileChange) -> bytes:
    if change.new:
        return f"{change.new.mode} {change.new.oid}".encode()
    return b"0 " + b"0" * len(change.old.oid if change.old else "")


def _blob(mode: str, oid: str) -> GitBlob | None:
    return None if mode == "000000" else GitBlob(mode, oid)


def _with_texts(git: Git, changes: Sequence[FileChange]) -> list[FileChange]:
    blobs = [blob for change in changes if change.new for blob in (change.old, change.new) if blob]
    found = read_blobs(git, list(dict.fromkeys(blob.oid for blob in blobs)))
    return [
        replace(
            change,
            before=found.get(change.old.oid, b"") if change.old and change.new else b"",
            after=found.get(change.new.oid, b"") if change.new else b"",
        )
        for change in changes
    ]


def _ignored(git: Git, repository: Repository, paths: Sequence[str]) -> Iterator[str]:
    """A file in the commit is never ignored."""
    if paths:
        names = b"".join(b"./" + repository.to_git_path(path) + b"\0" for path in paths)  # a name may start with ":"
        out = git.run("check-ignore", "-z", "--stdin", stdin=names, accepted=(0, 1))
        yield from (repository.from_git_path(path.removeprefix(b"./")) for path in out.split(b"\0") if path)


def _set_aside(repository: Repository) -> Iterator[str]:
    """Files that you told git to skip: `skip-worktree` (S) and `assume-unchanged` (lower case)."""
    listed = repository.git.run("--literal-pathspecs", "ls-files", "-v", "-z", "--", repository.prefix or ".")
    for line in listed.split(b"\0"):
        if line[:1] == b"S" or line[:1].islower():
            yield repository.from_git_path(line[2:])


def _unmerged(repository: Repository) -> Iterator[str]:
    for line in repository.git.run("ls-files", "--unmerged", "--full-name", "-z").split(b"\0"):
        if line:
            yield repository.from_git_path(line.partition(b"\t")[2])


def _is_regular_or_gone(repository: Repository, path: str) -> bool:
    """In folders that are neither links nor repositories of their own."""
    file = repository.top / f"{repository.prefix}{path}"
    for folder in file.parents:
        if folder == repository.top:
            break
        if folder.is_symlink() or (folder / ".git").exists():
            return False
    try:
        return stat.S_ISREG(file.lstat().st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return True
