"""Updates your index to match a commit of ours, for its files only, and only where nothing else is staged.

Follows git's own protocol: whoever creates `index.lock` may change the index, and every other git fails meanwhile. We
hold it for three short commands, while the branch moves, so nothing can be staged between our check and our write.
"""

import fcntl
import os
import shutil
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from secrets import token_hex
from string import hexdigits
from time import monotonic

from mcp_memory.errors import Busy, GitUnavailable
from mcp_memory.git.file_changes import FileChange, diff_trees, index_entries, is_staged_differently, staged_changes
from mcp_memory.git.repository import Repository
from mcp_memory.runtime.os_errors import naming_the_cause

_MARK = "mcp-memory"
"""Begins the text of our lock, which ends with its commit. A living process of ours keeps the file under `flock`."""
_MOST_BYTES = 200
_LOOK_S = 5.0
"""For reading the branch after the deadline."""


@contextmanager
def updated_index(
    repository: Repository, head: str | None, commit: str, changes: Sequence[FileChange], scratch: Path
) -> Generator[None]:
    """Updates the index for these changes; within the block the branch moves from `head` to `commit`. If that fails, it
    is restored.

    The index goes first: a crash in between leaves our files staged, and `repair_index` unstages them. Raises Busy if
    another git holds the index or one of the files has just been staged, GitUnavailable, StorageFailed.
    """
    with _locked(repository, commit), naming_the_cause(str(repository.index)):
        before = scratch.with_suffix(".before")
        existed = repository.index.exists()
        if existed:
            # With its time: git compares the bytes of files that are no older than the index, and trusts the rest.
            shutil.copy2(repository.index, before)
            shutil.copy2(repository.index, scratch)
        git = repository.git.on(scratch)
        staged = staged_changes(repository, git, head)
        if theirs := [change.path for change in changes if is_staged_differently(change, staged)]:
            raise Busy(f"{min(theirs)} has just been staged", hint="nothing to do: it will be tried again")
        unstaged = [change for change in changes if change.path not in staged]
        if unstaged:
            git.run("update-index", "-z", "--index-info", stdin=index_entries(repository, unstaged))
            replace_index(repository, scratch)
        try:
            yield
        except BaseException:
            if unstaged and not _may_be_at(repository, commit):
                replace_index(repository, before) if existed else repository.index.unlink()
            raise


def repair_index(repository: Repository, scratch: Path) -> None:
    """Unstages what we staged for a commit that a crash prevented. Raises as `updated_index`."""
    commit = _left_behind(repository.folder / "index.lock")
    if not commit:
        return
    head = repository.head()
    with _locked(repository, commit), naming_the_cause(str(repository.index)):
        if head == commit or not repository.index.exists():
            return
        shutil.copy2(repository.index, scratch)
        git = repository.git.on(scratch)
        staged = staged_changes(repository, git, head)
        ours = diff_trees(repository, git, commit, head)
        back = [change for change in ours if change.path in staged and staged[change.path] == change.old]
        if back:
            git.run("update-index", "-z", "--index-info", stdin=index_entries(repository, back))
            replace_index(repository, scratch)


def _may_be_at(repository: Repository, commit: str) -> bool:
    """Whether the branch is at our commit after all, because it moved late. If git can't tell, assume so: our files
    left staged do less harm than their reversal."""
    try:
        return replace(repository, git=replace(repository.git, latest=monotonic() + _LOOK_S)).head() == commit
    except GitUnavailable:
        return True


def replace_index(repository: Repository, index: Path) -> None:
    """Atomically, keeping the file's own time, with the mode of the repository's files."""
    near = repository.folder / f"index.{token_hex(8)}.{_MARK}"
    descriptor = os.open(near, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as out, index.open("rb") as made:
            shutil.copyfileobj(made, out)
        shutil.copymode(repository.index if repository.index.exists() else repository.folder / "HEAD", near)
        times = index.stat()
        os.utime(near, ns=(times.st_atime_ns, times.st_mtime_ns))
        near.replace(repository.index)
    except BaseException:
        near.unlink(missing_ok=True)
        raise


@contextmanager
def _locked(repository: Repository, commit: str) -> Generator[None]:
    lock = repository.folder / "index.lock"
    with naming_the_cause(str(lock)):
        if _left_behind(lock) is not None:
            lock.unlink(missing_ok=True)
        try:
            descriptor = os.open(lock, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        except FileExistsError:
            raise Busy(
                f"git's index is locked in {repository.top}", hint=f"if no git is running there: rm {lock}"
            ) from None
        with os.fdopen(descriptor, "w") as out:
            try:
                fcntl.flock(out, fcntl.LOCK_EX)
                out.write(f"{_MARK} {commit}")
                out.flush()
                yield
            finally:
                lock.unlink(missing_ok=True)


def _left_behind(lock: Path) -> str | None:
    """The commit that a lock of a dead process of ours was for, empty if unknown; None for any other lock or none."""
    try:
        with lock.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            words = file.read(_MOST_BYTES).decode("ascii", "replace").split()
    except (FileNotFoundError, PermissionError, BlockingIOError):
        return None
    match words:
        case [mark, *_, commit] if mark == _MARK:
            return commit if set(commit) <= set(hexdigits) else ""
        case _:
            return None
