"""Updates your index to match a commit of ours, for its files only, and only where nothing else is staged.

Git's own protocol: who makes `index.lock` may change the index, and everybody else fails meanwhile. So it is held for
three short commands, around the step of the branch: no staging can come between looking and writing.
"""

from __future__ import annotations

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
from mcp_memory.git.file_changes import FileChange, empty_tree, index_entries, is_theirs, parse_raw_diff, staged_changes
from mcp_memory.git.repository import Repository
from mcp_memory.runtime.os_errors import naming_the_cause

_MARK = "mcp-memory"
_LIFE = token_hex(8)
"""A lock of ours says with the mark who made it: the process id, and which of the processes that ever had that; then
for which commit."""
_MOST_BYTES = 200
_LOOK_S = 5.0
"""For a look at the branch after the deadline."""


@contextmanager
def updated_index(
    repository: Repository, head: str | None, made: str, changes: Sequence[FileChange], scratch: Path
) -> Generator[None]:
    """Within the block the branch takes its step from `head` to the commit `made` with these changes; where that fails,
    the index is put back.

    The index goes first: after a crash in between our files are staged, and `put_right` finds them so. Raises Busy
    where somebody else has the index or has just staged one of the files, GitUnavailable, StorageFailed.
    """
    with _locked(repository, made), naming_the_cause(str(repository.index)):
        before = scratch.with_suffix(".before")
        there = repository.index.exists()
        if there:
            # With its time: git looks at the bytes of what is no older than the index, and trusts the rest.
            shutil.copy2(repository.index, before)
            shutil.copy2(repository.index, scratch)
        if changed := _changed(repository, head, changes, scratch):
            _put(repository, scratch)
        try:
            yield
        except BaseException:
            if changed and not _may_be_at(repository, made):
                _put(repository, before) if there else repository.index.unlink()
            raise


def repair_index(repository: Repository, scratch: Path) -> None:
    """After a crash between index and branch: what we staged, and no commit holds, is staged no more. Raises as
    `agreeing`."""
    made = _left_behind(repository.folder / "index.lock")
    if not made:
        return
    head = repository.head()
    with _locked(repository, made), naming_the_cause(str(repository.index)):
        if head == made or not repository.index.exists():
            return
        shutil.copy2(repository.index, scratch)
        git = repository.git.on(scratch)
        known = staged_changes(repository, git, head)
        out = git.run("diff-tree", "-r", "--raw", "--no-abbrev", "--no-renames", "-z", made, head or empty_tree(git))
        ours = (
            replace(change, path=repository.from_git_path(os.fsencode(change.path))) for change in parse_raw_diff(out)
        )
        back = [change for change in ours if change.path in known and known[change.path] == change.old]
        if back:
            git.run("update-index", "-z", "--index-info", said=index_entries(repository, back))
            _put(repository, scratch)


def _may_be_at(repository: Repository, made: str) -> bool:
    """Whether the branch is at our commit after all: the step was late, but not too late. Where git does not say, it
    may be: files of ours that stay staged do less harm than their reversal."""
    try:
        return replace(repository, git=replace(repository.git, latest=monotonic() + _LOOK_S)).head() == made
    except GitUnavailable:
        return True


def _changed(repository: Repository, head: str | None, changes: Sequence[FileChange], scratch: Path) -> bool:
    """Whether anything had to be changed in the copy of the index."""
    git = repository.git.on(scratch)
    known = staged_changes(repository, git, head)
    if theirs := [change.path for change in changes if is_theirs(change, known)]:
        raise Busy(f"{min(theirs)} has just been staged", hint="nothing to do: it is tried again")
    free = [change for change in changes if change.path not in known]
    if free:
        git.run("update-index", "-z", "--index-info", said=index_entries(repository, free))
    return bool(free)


def _put(repository: Repository, index: Path) -> None:
    """Under the index's name, whole or not at all, with its own time and the mode that the repository's files have."""
    near = repository.folder / f"index.{token_hex(8)}.{_MARK}"
    descriptor = os.open(near, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as out, index.open("rb") as made:
            shutil.copyfileobj(made, out)
        shutil.copymode(repository.index if repository.index.exists() else repository.folder / "HEAD", near)
        changed = index.stat()
        os.utime(near, ns=(changed.st_atime_ns, changed.st_mtime_ns))
        near.replace(repository.index)
    except BaseException:
        near.unlink(missing_ok=True)
        raise


@contextmanager
def _locked(repository: Repository, made: str) -> Generator[None]:
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
        try:
            with os.fdopen(descriptor, "w") as out:
                out.write(f"{_MARK} {os.getpid()} {_LIFE} {made}")
            yield
        finally:
            lock.unlink(missing_ok=True)


def _left_behind(lock: Path) -> str | None:
    """Which commit it was for (empty where it does not say), if it is ours and who made it is dead."""
    try:
        said = lock.read_bytes()[:_MOST_BYTES].decode("ascii", "replace").split()
    except (FileNotFoundError, PermissionError):
        return None
    match said:
        case [mark, pid, life, *rest] if mark == _MARK and pid.isdigit():
            made = rest[0] if rest and set(rest[0]) <= set(hexdigits) else ""
            return None if _is_alive(int(pid), life) else made
        case _:
            return None


def _is_alive(pid: int, life: str) -> bool:
    if pid == os.getpid():
        return life == _LIFE
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        pass
    return True
