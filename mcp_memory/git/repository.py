"""Finds the repository that holds the vault, its current commit, and whether you are in the middle of something."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic, time

from mcp_memory.errors import Busy, GitUnavailable, NotFound
from mcp_memory.git.git_command import Git

IN_PROGRESS = {
    "rebase-merge": "a rebase",
    "rebase-apply": "a rebase",
    "MERGE_HEAD": "a merge",
    "CHERRY_PICK_HEAD": "a cherry-pick",
    "REVERT_HEAD": "a revert",
    "sequencer": "a cherry-pick or revert",
    "BISECT_LOG": "a bisection",
}
"""Files in the repository's own folder that are there as long as something is going on."""

MESSAGE_S = 900.0
"""For so long we believe that somebody is still writing a commit message: the commit would fail when they are done, if
the branch had moved meanwhile."""


_READABLE = stat.S_IRGRP | stat.S_IROTH
_NONE = ("not a git repository", "must be run in a work tree", "cannot use bare repository")
"""What git says where there is none that we would use."""


@dataclass(frozen=True, slots=True)
class Repository:
    """`top` is its work tree, `folder` its own folder (of a linked work tree, that one's); `prefix` is where the vault
    is below `top`, empty or with a slash at its end."""

    git: Git
    top: Path
    folder: Path
    prefix: str

    @property
    def index(self) -> Path:
        return self.folder / "index"

    def to_git_path(self, path: str) -> bytes:
        """A path of the vault, as git names it."""
        return os.fsencode(self.prefix + path)

    def from_git_path(self, path: bytes) -> str:
        """The other way round."""
        return os.fsdecode(path).removeprefix(self.prefix)

    def head(self) -> str | None:
        """The commit that is checked out; None where there is none yet. Raises GitUnavailable."""
        code, out = self.git.ended("rev-parse", "--verify", "--quiet", "HEAD^{commit}", accepted=(0, 1))
        if code:
            self.git.run("symbolic-ref", "--quiet", "HEAD")  # else it is no branch without commits, but broken
            return None
        return out.decode().strip()

    def writing_like(self, paths: Iterable[str]) -> Repository:
        """One that gives nobody else more to read than these files of the vault do: git would write their texts for
        all to read. What the person allows by `core.sharedRepository` stays allowed."""
        modes = [mode for path in paths if (mode := _mode_of(self.top / f"{self.prefix}{path}")) is not None]
        if all(mode & _READABLE == _READABLE for mode in modes):
            return self
        return replace(self, git=replace(self.git, umask=stat.S_IRWXG | stat.S_IRWXO))

    def open_objects(self) -> Path | None:
        """The folder of all texts, if other users can get into it. Raises GitUnavailable."""
        objects = self.top / _line(self.git.run("rev-parse", "--git-path", "objects"))
        folders = [objects, *objects.resolve().parents]
        return objects if all((_mode_of(folder) or 0) & (stat.S_IXGRP | stat.S_IXOTH) for folder in folders) else None

    def require_idle(self) -> None:
        """Raises Busy while a person is in the middle of something that a commit would disturb, or that would lose it;
        GitUnavailable."""
        for name, what in IN_PROGRESS.items():
            if (self.folder / name).exists():
                raise Busy(f"{what} is in progress in {self.top}", hint="nothing to do: it is committed afterwards")
        if self.git.ended("symbolic-ref", "--quiet", "HEAD", accepted=(0, 1))[0]:
            raise Busy(f"no branch is checked out in {self.top}", hint="git switch to one: it is committed then")
        if _is_writing_a_message(self.folder):
            raise Busy(
                f"a commit message is being written in {self.top}", hint="nothing to do: it is committed afterwards"
            )


def find_repository(root: Path, deadline_s: float) -> Repository:
    """The repository around a vault; its commands end within `deadline_s`, all together.

    Raises NotFound where there is none with a work tree, GitUnavailable.
    """
    git = Git(root, monotonic() + deadline_s)
    try:
        top = Path(_line(git.run("rev-parse", "--show-toplevel")))
        folder = Path(_line(git.run("rev-parse", "--absolute-git-dir")))
    except GitUnavailable as error:
        if any(said in error.message for said in _NONE):
            raise NotFound(f"{root} is in no git repository", hint="to make one: git init, in that folder") from error
        raise
    inner = os.path.relpath(os.path.realpath(root), top)
    return Repository(Git(top, git.latest), top, folder, "" if inner == "." else f"{inner}/")


def _mode_of(file: Path) -> int | None:
    try:
        return file.stat().st_mode
    except OSError:
        return None


def _line(out: bytes) -> str:
    """A path, which may hold line breaks of its own."""
    return os.fsdecode(out.removesuffix(b"\n"))


def _is_writing_a_message(folder: Path) -> bool:
    """An editor's message file is older than the branch's last step once the commit is made."""
    begun, stepped = _changed_at(folder / "COMMIT_EDITMSG"), _changed_at(folder / "logs" / "HEAD")
    return stepped < begun and 0 <= time() - begun < MESSAGE_S


def _changed_at(file: Path) -> float:
    try:
        return file.stat().st_mtime
    except OSError:
        return 0.0
