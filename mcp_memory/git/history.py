"""Lists the commits that touch a file or folder of the vault, and reads the files of a commit."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mcp_memory.errors import InvalidInput, NotFound
from mcp_memory.git.repository import Repository
from mcp_memory.models import Etag, etag_of
from mcp_memory.runtime.git_command import Git

_FORMAT = "--format=tformat:%H%x00%aI%x00%an%x00%s"

_NO_PROGRAM = ("--no-textconv", "--no-ext-diff")
"""Options against programs that your configuration may run to show a difference; `-S` would run them, too."""


@dataclass(frozen=True, slots=True)
class FileTouch:
    """A commit's change to one file: its path after and before the commit (None if absent), and the hashes of its
    bytes."""

    path: str | None
    before: str | None
    new: str
    old: str


@dataclass(frozen=True, slots=True)
class HistoryStep:
    """One commit; `when` is its author's time in ISO 8601 with offset."""

    commit: str
    when: str
    who: str
    message: str
    touched: Sequence[FileTouch]


def list_commits(
    repository: Repository, paths: Sequence[str], *, limit: int, follow: bool = False
) -> list[HistoryStep]:
    """List the latest commits that touch one of these files (none = the whole vault), newest first. `follow`: also
    under the earlier names of a single file. Raises GitUnavailable."""
    if repository.head() is None:
        return []
    inside = [os.fsdecode(repository.to_git_path(path)) for path in paths] or [repository.prefix or "."]
    renames = ("--follow", "-M") if follow else ("--no-renames",) if paths else ("-M",)
    out = repository.git.run(
        "log", f"--max-count={limit}", "-z", "--raw", "--no-abbrev", *_NO_PROGRAM, *renames,
        _FORMAT, "--", *inside,
    )  # fmt: skip
    return list(_parsed(repository, out))


def find_version(repository: Repository, path: str, etag: Etag) -> bytes | None:
    """Return the bytes with this etag from the latest 100 commits of the file; None if they aren't there. Raises
    GitUnavailable."""
    touches = (touch for step in list_commits(repository, [path], limit=100) for touch in step.touched)
    found = read_blobs(repository.git, list(dict.fromkeys(oid for touch in touches for oid in (touch.new, touch.old))))
    return next((data for data in found.values() if etag_of(data) == etag), None)


def find_paths(repository: Repository, words: str) -> list[str]:
    """List the files to or from which a commit added or removed these words. For an id, these are all paths that its
    note ever had. Raises GitUnavailable."""
    if repository.head() is None:
        return []
    out = repository.git.run(
        "log", "-z", "--format=", "--name-only", "--no-renames", *_NO_PROGRAM, f"-S{words}",
        "--", repository.prefix or ".",
    )  # fmt: skip
    return list(dict.fromkeys(repository.from_git_path(path) for path in out.split(b"\0") if path))


def files_at(repository: Repository, commit: str, paths: Sequence[str]) -> dict[str, bytes]:
    """Return the bytes of those files that a commit contains. Raises InvalidInput, NotFound for an unknown commit,
    GitUnavailable."""
    if commit.startswith("-") or not commit.isprintable() or not commit:
        raise InvalidInput(f"{commit!r} names no commit", hint="git log lists them")
    out = repository.git.run("rev-parse", "--verify", "--quiet", f"{commit}^{{commit}}", accepted=(0, 1, 128))
    if not out:
        raise NotFound(f"no commit {commit[:100]}", hint="git log lists them")
    inside = [os.fsdecode(repository.to_git_path(path)) for path in paths]
    listed = repository.git.run("ls-tree", "-r", "-z", out.decode().strip(), "--", *inside)
    oids: dict[str, str] = {}
    for line in listed.split(b"\0"):
        meta, _, path = line.partition(b"\t")
        if path:
            oids[repository.from_git_path(path)] = meta.decode().split(" ")[2]
    found = read_blobs(repository.git, list(oids.values()))
    return {path: found[oid] for path, oid in oids.items() if oid in found}


def read_blobs(git: Git, oids: Sequence[str]) -> dict[str, bytes]:
    """Return the bytes of these blobs; missing blobs are skipped."""
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


def _parsed(repository: Repository, out: bytes) -> Iterator[HistoryStep]:
    fields = out.split(b"\0")
    at = 0
    while at + 3 < len(fields):
        commit, when, who, message = (field.decode("utf-8", "replace") for field in fields[at : at + 4])
        at += 4
        touched: list[FileTouch] = []
        while at < len(fields) and (meta := fields[at].lstrip(b"\n")).startswith(b":"):
            _, _, old, new, status = meta.decode().split(" ")
            path = repository.from_git_path(fields[at + 1])
            if status[0] in "RC":
                touched.append(FileTouch(repository.from_git_path(fields[at + 2]), path, new, old))
                at += 3
            else:
                touched.append(FileTouch(None if status == "D" else path, None if status == "A" else path, new, old))
                at += 2
        yield HistoryStep(commit, when, who, message, touched)
