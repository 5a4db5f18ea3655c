"""A git repository, and the commits that touch a file or folder of the vault."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic, time

from mcp_memory.errors import Busy, GitUnavailable, NotFound
from mcp_memory.models import Etag, etag_of
from mcp_memory.runtime.git_command import Git

IN_PROGRESS = {
    "rebase-merge": "a rebase",
    "rebase-apply": "a rebase",
    "MERGE_HEAD": "a merge",
    "CHERRY_PICK_HEAD": "a cherry-pick",
    "REVERT_HEAD": "a revert",
    "sequencer": "a cherry-pick or revert",
    "BISECT_LOG": "a bisection",
}
"""Files in the `.git` folder that exist while something is in progress."""

MESSAGE_S = 900.0
"""The time for which a commit message is assumed to be still edited; that commit would fail if the branch moved."""

_READABLE = stat.S_IRGRP | stat.S_IROTH
_NONE = ("not a git repository", "must be run in a work tree", "cannot use bare repository")
"""Git's messages for a folder without a usable repository."""


@dataclass(frozen=True)
class Repository:
    """The repository of a vault. `top` is the work tree. `folder` is its `.git` folder (a linked work tree has its
    own). `prefix` is the path of the vault below `top`, empty or with a slash at its end."""

    git: Git
    top: Path
    folder: Path
    prefix: str

    def file(self, path: str) -> Path:
        """Return the file at a path in the vault."""
        return self.top / f"{self.prefix}{path}"

    def to_git_path(self, path: str) -> bytes:
        """Return a path in the vault as git names it."""
        return os.fsencode(self.prefix + path)

    def from_git_path(self, path: bytes) -> str:
        return os.fsdecode(path).removeprefix(self.prefix)

    def common_folder(self) -> Path:
        """Return the `.git` folder that all work trees share. Raises GitUnavailable."""
        return self.top / _line(self.git.run("rev-parse", "--git-common-dir"))

    def head(self) -> str | None:
        """Return the checked-out commit; None before the first. Raises GitUnavailable."""
        commit = self.git.run("rev-parse", "--verify", "--quiet", "HEAD^{commit}", accepted=(0, 1))
        if not commit:
            self.git.run("symbolic-ref", "--quiet", "HEAD")  # fails if HEAD is broken, not just without commits
        return commit.decode().strip() or None

    def writing_like(self, paths: Iterable[str]) -> Repository:
        """Return a copy whose git makes objects as private as these files; by default git makes them readable by
        everyone. `core.sharedRepository` still applies."""
        modes = [mode for path in paths if (mode := _mode_of(self.file(path))) is not None]
        if all(mode & _READABLE == _READABLE for mode in modes):
            return self
        return replace(self, git=replace(self.git, umask=stat.S_IRWXG | stat.S_IRWXO))

    def open_objects(self) -> Path | None:
        """Return the folder of git's objects if other users can enter it, else None. Raises GitUnavailable."""
        objects = self.top / _line(self.git.run("rev-parse", "--git-path", "objects"))
        folders = [objects, *objects.resolve().parents]
        return objects if all((_mode_of(folder) or 0) & (stat.S_IXGRP | stat.S_IXOTH) for folder in folders) else None

    def require_idle(self) -> None:
        """Check that you aren't in the middle of something that a commit would disturb. Raises Busy if you are,
        GitUnavailable."""
        later = "nothing to do: your notes are committed afterwards"
        for name, what in IN_PROGRESS.items():
            if (self.folder / name).exists():
                raise Busy(f"{what} is in progress in {self.top}", hint=later)
        if not self.git.run("symbolic-ref", "--quiet", "HEAD", accepted=(0, 1)):
            raise Busy(
                f"no branch is checked out in {self.top}", hint="git switch to one: your notes are committed then"
            )
        # An editor's message file is older than the branch's last step once the commit is made.
        begun, stepped = _changed_at(self.folder / "COMMIT_EDITMSG"), _changed_at(self.folder / "logs" / "HEAD")
        if stepped < begun and 0 <= time() - begun < MESSAGE_S:
            raise Busy(f"a commit message is being written in {self.top}", hint=later)


def find_repository(root: Path, deadline_s: float) -> Repository:
    """Find the repository around a vault. All its commands together end within `deadline_s`.

    Raises NotFound for a vault outside of any work tree, GitUnavailable."""
    git = Git(root, monotonic() + deadline_s)
    try:
        top = Path(_line(git.run("rev-parse", "--show-toplevel")))
        folder = Path(_line(git.run("rev-parse", "--absolute-git-dir")))
    except GitUnavailable as error:
        if any(message in error.message for message in _NONE):
            raise NotFound(
                f"{root} is not in a git repository", hint="to make one: git init, in that folder"
            ) from error
        raise
    inner = os.path.relpath(os.path.realpath(root), top)
    return Repository(Git(top, git.latest), top, folder, "" if inner == "." else f"{inner}/")


def _mode_of(file: Path) -> int | None:
    try:
        return file.stat().st_mode
    except OSError:
        return None


def _line(out: bytes) -> str:
    """Return a path, which may itself contain line breaks."""
    return os.fsdecode(out.removesuffix(b"\n"))


def _changed_at(file: Path) -> float:
    try:
        return file.stat().st_mtime
    except OSError:
        return 0.0


_NO_PROGRAM = ("--no-textconv", "--no-ext-diff")
"""Options against programs that your configuration may run to show a difference."""


def find_version(repository: Repository, path: str, etag: Etag) -> bytes | None:
    """Return the bytes with this etag from the latest 100 commits of the file; None if they aren't there. Raises
    GitUnavailable."""
    if repository.head() is None:
        return None
    options = ("--max-count=100", "-z", "--format=", "--raw", "--no-abbrev", *_NO_PROGRAM, "--no-renames")
    out = repository.git.run("log", *options, "--", os.fsdecode(repository.to_git_path(path)))
    changes = (field.decode().split(" ") for field in out.split(b"\0") if field.lstrip(b"\n").startswith(b":"))
    found = read_blobs(repository.git, list(dict.fromkeys(oid for change in changes for oid in (change[3], change[2]))))
    return next((data for data in found.values() if etag_of(data) == etag), None)


def committed_files(repository: Repository, paths: Sequence[str]) -> dict[str, bytes]:
    """Return the bytes of those files that the checked-out commit contains. Raises GitUnavailable."""
    inside = [os.fsdecode(repository.to_git_path(path)) for path in paths]
    listed = repository.git.run("ls-tree", "-r", "-z", "HEAD", "--", *inside)
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
