"""Finds which of our files differ from the checked-out commit, as blobs of the repository."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from mcp_memory.errors import Busy, McpMemoryError
from mcp_memory.git.git_command import Git
from mcp_memory.git.repository import Repository


@dataclass(frozen=True, slots=True)
class GitBlob:
    """A file's bytes as the repository names them."""

    mode: str
    oid: str


@dataclass(frozen=True, slots=True)
class FileChange:
    """One file that a commit changes. `path` is that in the vault; `old` is None for a new file, `new` for one that is
    gone. `before` are its bytes where it has both, `after` where it has `new`."""

    path: str
    old: GitBlob | None
    new: GitBlob | None
    before: bytes = b""
    after: bytes = b""


@dataclass(frozen=True, slots=True)
class DraftedCommit:
    """`left`: paths that the repository does not want, or that are no files of ours any more. `waiting`: those that
    wait for a person, and why."""

    changes: Sequence[FileChange]
    left: Sequence[str]
    waiting: Mapping[str, McpMemoryError]


def draft_commit(repository: Repository, head: str | None, paths: Sequence[str], scratch: Path) -> DraftedCommit:
    """What these paths would change, as they are on disk now. `scratch` is a file for an index of our own.

    Raises Busy where a person has yet to say which version of one of them counts, GitUnavailable.
    """
    git = repository.git.on(scratch)
    load_index(git, head)
    fit = [path for path in paths if _fits(repository, path)]
    wanted = dict.fromkeys(fit)
    for unwanted in (*_ignored(git, repository, fit), *_set_aside(repository)):
        wanted.pop(unwanted, None)
    if unmerged := wanted.keys() & set(_unmerged(repository)):
        raise Busy(f"{min(unmerged)} has a conflict in git's index", hint="resolve it, then git add or git restore it")
    git.run("update-index", "--add", "--remove", "--replace", "-z", "--stdin", said=_listed(repository, wanted))
    out = git.run("diff-index", "--cached", "--raw", "--no-abbrev", "--no-renames", "-z", head or empty_tree(git))
    changes = [
        replace(change, path=repository.from_git_path(os.fsencode(change.path))) for change in parse_raw_diff(out)
    ]
    known = staged_changes(repository, repository.git, head)
    waiting = {change.path: _is_staged(change.path) for change in changes if is_theirs(change, known)}
    free = _with_texts(repository.git, [change for change in changes if change.path not in waiting])
    return DraftedCommit(free, [path for path in paths if path not in wanted], waiting)


def staged_changes(repository: Repository, git: Git, head: str | None) -> dict[str, GitBlob | None]:
    """What differs in an index from the commit that is checked out, and how; None is gone."""
    tree = head or empty_tree(git)
    out = git.run(
        "diff-index", "--cached", "--ita-invisible-in-index", "--raw", "--no-abbrev", "--no-renames", "-z", tree
    )
    return {repository.from_git_path(os.fsencode(change.path)): change.new for change in parse_raw_diff(out)}


def is_theirs(change: FileChange, known: Mapping[str, GitBlob | None]) -> bool:
    """Whether another version of it than ours is staged: their next commit would take ours back."""
    return change.path in known and known[change.path] != change.new


def load_index(git: Git, head: str | None) -> None:
    """Make its index that of a commit."""
    git.run("read-tree", head) if head else git.run("read-tree", "--empty")


def index_entries(repository: Repository, changes: Sequence[FileChange]) -> bytes:
    """The changes as `update-index -z --index-info` takes them."""
    return b"".join(_entry(change) + b"\t" + repository.to_git_path(change.path) + b"\0" for change in changes)


def empty_tree(git: Git) -> str:
    """Its name depends on the repository's hash function."""
    return git.run("hash-object", "-t", "tree", "--stdin").decode().strip()


def parse_raw_diff(raw: bytes) -> Iterator[FileChange]:
    """From the output of a diff with `--raw --no-abbrev --no-renames -z`; paths are those in the work tree."""
    fields = iter(raw.split(b"\0"))
    for meta in fields:
        if not meta.startswith(b":"):
            continue
        old_mode, new_mode, old, new, _ = meta[1:].decode().split(" ")
        yield FileChange(os.fsdecode(next(fields)), _blob(old_mode, old), _blob(new_mode, new))


def read_blobs(git: Git, oids: Sequence[str]) -> dict[str, bytes]:
    """The bytes of these blobs; one that is not there is left out."""
    out = git.run("cat-file", "--batch", said="".join(f"{oid}\n" for oid in oids).encode()) if oids else b""
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


def _is_staged(path: str) -> Busy:
    return Busy(f"{path} is staged, in another version", hint=f"git commit it, or git restore --staged {path}")


def _listed(repository: Repository, paths: Iterable[str]) -> bytes:
    return b"".join(repository.to_git_path(path) + b"\0" for path in paths)


def _ignored(git: Git, repository: Repository, paths: Sequence[str]) -> Iterator[str]:
    """What is in the commit already is never ignored."""
    if paths:
        said = b"".join(b"./" + repository.to_git_path(path) + b"\0" for path in paths)  # a name may start with a colon
        out = git.run("check-ignore", "-z", "--stdin", said=said, accepted=(0, 1))
        yield from (repository.from_git_path(path.removeprefix(b"./")) for path in out.split(b"\0") if path)


def _set_aside(repository: Repository) -> Iterator[str]:
    """What a person has told git not to look at: `skip-worktree` (S) and `assume-unchanged` (lower case)."""
    listed = repository.git.run("--literal-pathspecs", "ls-files", "-v", "-z", "--", repository.prefix or ".")
    for line in listed.split(b"\0"):
        if line[:1] == b"S" or line[:1].islower():
            yield repository.from_git_path(line[2:])


def _unmerged(repository: Repository) -> Iterator[str]:
    for line in repository.git.run("ls-files", "--unmerged", "--full-name", "-z").split(b"\0"):
        if line:
            yield repository.from_git_path(line.partition(b"\t")[2])


def _fits(repository: Repository, path: str) -> bool:
    """Whether it is a file or nothing, in folders that are no links and no repositories of their own."""
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
