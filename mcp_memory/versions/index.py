"""The person's index: made to agree with a commit of ours, for its files alone, and only where nothing is staged.

Git's own protocol: who makes `index.lock` may change the index, and everybody else fails meanwhile. So it is held for
three short commands, around the step of the branch: no staging can come between looking and writing.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex

from mcp_memory.errors import Busy
from mcp_memory.storage.causes import naming_the_cause
from mcp_memory.versions.drafting import Change, empty_tree, entries
from mcp_memory.versions.repository import Repository

_MARK = "mcp-memory"
_LIFE = token_hex(8)
"""A lock of ours says with the mark who made it: the process id, and which of the processes that ever had that."""


@contextmanager
def agreeing(repository: Repository, head: str | None, changes: Sequence[Change], scratch: Path) -> Generator[None]:
    """Within the block the branch takes its step from `head` to these changes; where that fails, the index is put back.

    The index goes first: after a crash in between our files are staged, and the next commit finds them so. Raises Busy
    where somebody else has the index, GitUnavailable, StorageFailed.
    """
    with _locked(repository), naming_the_cause(str(repository.index)):
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
            if changed and there:
                _put(repository, before)
            elif changed:
                repository.index.unlink()
            raise


def _changed(repository: Repository, head: str | None, changes: Sequence[Change], scratch: Path) -> bool:
    """Whether anything had to be changed in the copy of the index."""
    git = repository.git.on(scratch)
    tree = head or empty_tree(git)
    out = git.run("diff-index", "--cached", "--ita-invisible-in-index", "--name-only", "--no-renames", "-z", tree)
    staged = set(out.split(b"\0"))
    free = [change for change in changes if repository.inside(change.path) not in staged]
    if free:
        git.run("update-index", "-z", "--index-info", said=entries(repository, free))
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
def _locked(repository: Repository) -> Generator[None]:
    lock = repository.folder / "index.lock"
    with naming_the_cause(str(lock)):
        if _is_left_behind(lock):
            lock.unlink(missing_ok=True)
        try:
            descriptor = os.open(lock, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        except FileExistsError:
            raise Busy(
                f"git's index is locked in {repository.top}", hint=f"if no git is running there: rm {lock}"
            ) from None
        try:
            with os.fdopen(descriptor, "w") as out:
                out.write(f"{_MARK} {os.getpid()} {_LIFE}")
            yield
        finally:
            lock.unlink(missing_ok=True)


def _is_left_behind(lock: Path) -> bool:
    """Whether it is ours, and who made it is dead."""
    try:
        match lock.read_bytes()[:100].decode("ascii", "replace").split():
            case [mark, pid, life] if mark == _MARK and pid.isdigit():
                if int(pid) == os.getpid():
                    return life != _LIFE
                os.kill(int(pid), 0)
            case _:
                pass
    except ProcessLookupError:
        return True
    except (FileNotFoundError, PermissionError, OverflowError):
        pass
    return False
