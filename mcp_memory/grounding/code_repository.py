"""Reads a project's repository: current and past files, renames, and the commit that changed a line."""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from mcp_memory.git.repository import Repository, find_repository

MOST_BYTES = 1_000_000
"""The largest file that is read."""
MOST_COMMITS, MOST_FILES, MOST_RENAMES = 50, 60, 10
"""Limits of the search for a symbol that left its file, and for the new path of a file."""

_NO_PROGRAM = ("--no-textconv", "--no-ext-diff")
_RENAMED = ("-r", "-z", "-M", "-l1000", "--diff-filter=R", "--no-ext-diff")


@dataclass(frozen=True)
class CodeSnapshot:
    """The files of a `commit`, or of the working tree if it is None. `files` are sorted."""

    code: CodeRepository
    commit: str | None
    files: Sequence[str]

    def find(self, path: str) -> str | None:
        """Return the file or folder that a note calls by this path. The end of a path is enough if it is unique."""
        path = path.removesuffix("/")
        at = bisect_left(self.files, path)
        if self.files[at : at + 1] == [path] or (self.commit is None and self.code.exists(path)):
            return path
        below = bisect_left(self.files, f"{path}/")
        if self.files[below : below + 1] and self.files[below].startswith(f"{path}/"):
            return path
        ending = [file for file in self.files if file.endswith(f"/{path}")]
        return ending[0] if len(ending) == 1 else None

    def read(self, path: str) -> bytes | None:
        return self.code.read(path) if self.commit is None else self.code.read_at(self.commit, path)


@dataclass(frozen=True)
class CodeRepository:
    """A Git repository. Every method reads the disk or runs git until the repository's deadline; after it, raises
    GitUnavailable."""

    repository: Repository
    head: str
    _snapshots: dict[str | None, CodeSnapshot] = field(default_factory=dict[str | None, CodeSnapshot])

    @property
    def top(self) -> Path:
        return self.repository.top

    def snapshot(self, commit: str | None) -> CodeSnapshot:
        if commit not in self._snapshots:
            self._snapshots.clear()  # a listing may have 200,000 names
            command = ["ls-tree", "-r", "--full-tree", "--name-only", commit] if commit else ["ls-files", "--cached"]
            listed = self._git(*command, "-z")
            self._snapshots[commit] = CodeSnapshot(self, commit, sorted(_paths(listed)))
        return self._snapshots[commit]

    def commit_before(self, moment: str) -> str | None:
        """Return the latest commit before a time; None if the history doesn't go back far enough."""
        return self._git("rev-list", "-1", f"--before={moment}", self.head).decode().strip() or None

    def exists(self, path: str) -> bool:
        return self._inside(path) is not None

    def signature(self, path: str) -> str:
        """Return a string that differs when the file has changed; empty if the file doesn't exist."""
        file = self._inside(path)
        with suppress(OSError):
            if file:
                facts = file.stat()
                return f"{facts.st_mtime_ns}:{facts.st_size}"
        return ""

    def read(self, path: str) -> bytes | None:
        """Return the file's content; None for a path that isn't a file of the working tree, leads out of it, or is too
        large."""
        file = self._inside(path)
        try:
            if file is None or not file.is_file():
                return None
            with file.open("rb") as opened:
                data = opened.read(MOST_BYTES + 1)
        except OSError:
            return None
        return data if len(data) <= MOST_BYTES else None

    def read_at(self, commit: str, path: str) -> bytes | None:
        size = self._git("cat-file", "-s", f"{commit}:{path}").strip()
        is_small = size.isdigit() and int(size) <= MOST_BYTES
        return self._git("cat-file", "blob", f"{commit}:{path}") if is_small else None

    def has_commit(self, commit: str) -> bool:
        return self._git("cat-file", "-t", f"{commit}^{{commit}}").strip() == b"commit"

    def follow(self, path: str) -> str | None:
        """Return the current path of a file that was renamed in a commit or in the index; None if the file is gone."""
        for _ in range(MOST_RENAMES):
            last = self._git("rev-list", "-1", self.head, "--", path).decode().strip()
            commands = [("diff-index", "--cached", *_RENAMED, self.head)]
            commands += [("diff-tree", "--no-commit-id", "-m", *_RENAMED, last)] if last else []
            found = (new for command in commands for old, new in _renames(self._git(*command)) if old == path)
            path = next(found, "")
            if not path or self.exists(path):
                return path or None
        return None

    def changed_with(self, path: str, since: str) -> list[str]:
        """List the files of the commits that changed this file since then, latest commit first."""
        out = self._git(
            "log", "-z", "--format=", "--name-only", "--full-diff", "--no-renames",
            f"--max-count={MOST_COMMITS}", *_NO_PROGRAM, f"{since}..{self.head}", "--", path,
        )  # fmt: skip
        ending = PurePosixPath(path).suffix
        found = dict.fromkeys(one for one in _paths(out) if one.endswith(ending) and one != path)
        return [one for one in list(found)[: 4 * MOST_FILES] if self.exists(one)][:MOST_FILES]

    def last_change(self, path: str, since: str, lines: tuple[int, int] | None = None) -> str:
        """Return the latest commit since then, with its day, that changed the file or, with `lines`, these lines of
        HEAD; empty if no commit did."""
        show = ("log", "-1", "-s", "--format=%h %cs", *_NO_PROGRAM, f"{since}..{self.head}")
        out = self._git(*show, f"-L{lines[0]},{lines[1]}:{path}") if lines else b""
        return (out or self._git(*show, "--", path)).decode().strip().partition("\n")[0]

    def lines_removed(self, path: str, since: str) -> int:
        """Count the lines of the file that are missing from HEAD."""
        diff = ("diff", "--numstat", "-z", *_NO_PROGRAM, since, self.head, "--", path)
        removed = self._git(*diff).split(b"\t")[1:2]
        return int(removed[0]) if removed and removed[0].isdigit() else 0

    def _git(self, *arguments: str) -> bytes:
        """Run git and return its output; empty if git doesn't know the object, as in a shallow clone."""
        return self.repository.git.run(*arguments, accepted=(0, 1, 128))

    def _inside(self, path: str) -> Path | None:
        try:
            file = (self.top / path).resolve(strict=True)
        except (OSError, RuntimeError, ValueError):
            return None
        inner = file.relative_to(self.top).parts if file.is_relative_to(self.top) else (".git",)
        return file if ".git" not in inner else None


def open_code(folder: str, deadline_s: float) -> CodeRepository:
    """Open the repository of a folder. Raises NotFound for a folder outside any working tree, and GitUnavailable."""
    repository = find_repository(Path(folder), deadline_s)
    return CodeRepository(repository, repository.head() or "HEAD")


def _paths(out: bytes) -> Iterator[str]:
    return (os.fsdecode(path).strip("\n") for path in out.split(b"\0") if path.strip(b"\n"))


def _renames(out: bytes) -> Iterator[tuple[str, str]]:
    fields = list(_paths(out))
    return zip(fields[1::3], fields[2::3], strict=False)
