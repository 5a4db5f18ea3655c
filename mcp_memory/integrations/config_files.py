"""Backs configuration files up, and replaces each one whole or not at all.

A symbolic link is followed and stays a link; mode and owner stay. Before the first file of a plan is written,
everything that could prevent a write is checked.
"""

import os
import re
import stat
import sys
import time
from collections.abc import Generator
from contextlib import ExitStack, contextmanager, suppress
from datetime import datetime
from itertools import takewhile
from pathlib import Path

from mcp_memory.errors import Busy, McpMemoryError, NotFound, PreconditionFailed, Refused
from mcp_memory.integrations.config_plan import ConfigChange, ConfigTarget
from mcp_memory.integrations.text_file import read
from mcp_memory.models import etag_of
from mcp_memory.runtime.atomic_rename import KernelRenames
from mcp_memory.runtime.private_files import naming_the_cause, sync_folder
from mcp_memory.storage.folders import etag_of_file, opened_file, opened_root
from mcp_memory.storage.leftovers import NEW_FILE_MODE
from mcp_memory.storage.publish import CompareResult, Publisher, PublishTarget

MARK = ".mcp-memory-"
"""Precedes the date in a backup's name."""

MADE_BY_US = "user.mcp-memory.made"
"""The extended attribute of folders that we made."""

_RENAMES = KernelRenames()

LOCK_S, STALE_S = 5.0, 10.0
"""The time to wait for a client that is writing its file, and the age at which its lock is treated as stale (as in
`proper-lockfile`, which Claude Code uses)."""


def check(change: ConfigChange) -> None:
    """Check that the file may be written. Raises Refused, with a remedy."""
    if change.is_nothing:
        return
    target = _target(change.target)
    by_hand = "nothing was changed; to see what you could add by hand: the same command with --dry-run"
    with naming_the_cause(str(target)):
        if target.exists():
            facts = target.stat()
            if facts.st_uid != os.geteuid():
                hint = f"run this as its owner; {by_hand}"
                raise Refused(f"{target} belongs to user {facts.st_uid}, not to you", hint=hint)
            if not facts.st_mode & stat.S_IWUSR:
                raise Refused(f"{target} is read-only", hint=f"chmod u+w {target}, then try again; {by_hand}")
        folder = next(place for place in target.parents if place.exists())
        is_mine = folder.stat().st_uid == os.geteuid()
        if not os.access(folder, os.W_OK | os.X_OK) or (os.geteuid() == 0 and not is_mine):
            raise Refused(f"you may not write to the folder {folder}", hint=f"check its owner and mode; {by_hand}")


def apply(change: ConfigChange, now: datetime) -> Path | None:
    """Apply the change and return the backup, if one was made. Raises PreconditionFailed if the file differs from the
    planned state or is being saved right now, Busy if its program holds the lock, StorageFailed. After an error, the
    file has the old bytes, or those that its program saved, and no backup remains."""
    if change.is_nothing:
        return None
    target, backup = _target(change.target), None
    with naming_the_cause(str(target)), _locked(change.target.lock), _made(target.parent, change.new):
        publisher = Publisher(_RENAMES)
        try:
            with _opened(target, change) as (folder, old):
                try:
                    if change.keeps_old and change.old is not None:
                        backup = _keep(change.file, change.old, old, now)
                    _publish(publisher, PublishTarget(folder, "", target.name), change.new, old)
                except (OSError, McpMemoryError):
                    if backup:
                        with suppress(OSError):
                            backup.unlink()
                    raise
                finally:
                    with suppress(OSError, McpMemoryError):  # any leftover is hidden and does no harm
                        for held in publisher.due(0):
                            publisher.look_again(folder, held)
        except PreconditionFailed as error:
            raise _changed(change.file) from error
    for place in change.spent:
        with suppress(OSError):
            place.unlink()
    if change.new is None:
        with suppress(OSError):  # a folder that holds something, or is gone
            for folder in takewhile(_is_made_by_us, target.parents):
                folder.rmdir()
    return backup


def _is_made_by_us(folder: Path) -> bool:
    return sys.platform == "linux" and MADE_BY_US in os.listxattr(folder)


def _changed(file: Path) -> PreconditionFailed:
    return PreconditionFailed(f"{file} was changed meanwhile", hint="run the same command again")


@contextmanager
def _opened(target: Path, change: ConfigChange) -> Generator[tuple[int, CompareResult | None]]:
    """Open the folder, and the file in the state that the plan saw. Raises PreconditionFailed if the file has
    changed."""
    with ExitStack() as opened:
        folder = opened.enter_context(opened_root(target.parent))
        try:
            file, facts = opened.enter_context(opened_file(folder, target.name, str(target)))
        except NotFound:
            old = None
        else:
            old = CompareResult(file, stat.S_IMODE(facts.st_mode), etag_of_file(file), facts.st_gid)
        if (old and old.etag) != (None if change.old is None else etag_of(change.old)):
            raise _changed(change.file)
        yield folder, old


def _publish(publisher: Publisher, place: PublishTarget, new: bytes | None, old: CompareResult | None) -> None:
    if old is None:
        # Private, because its program adds tokens later, and doesn't change the mode.
        try:
            publisher.create(place, new or b"", etag_of(new or b""))
        except FileExistsError as error:
            raise _changed(Path(place.name)) from error
    elif new is None:
        publisher.remove(place, old)
    else:
        publisher.replace(place, new, etag_of(new), old, yields=True)


def backups(file: Path) -> list[tuple[Path, bytes]]:
    """Return the earlier states of the file that `apply` has kept beside it, oldest first."""
    name = re.compile(re.escape(file.name + MARK) + r"\d{8}-\d{6}(-\d{3})?\.bak")
    try:
        found = sorted((p for p in file.parent.iterdir() if name.fullmatch(p.name)), key=lambda p: p.stem)
    except (FileNotFoundError, NotADirectoryError):
        return []
    return [(place, content) for place in found if (content := read(place)) is not None]


def _target(target: ConfigTarget) -> Path:
    """Return the real file behind a link, so that the link itself stays. Raises Refused if it leads out of the
    repository."""
    file, root = target.file, target.within
    try:
        real, root = file.resolve(), root and root.resolve()
    except (OSError, RuntimeError) as error:
        raise Refused(f"{file} is a link that leads nowhere", hint="correct or remove the link") from error
    if root and (not real.is_relative_to(root) or real.is_relative_to(root / ".git")):
        hint = "nothing was changed; check who made that link and remove it, or: --scope user"
        raise Refused(f"{file} leads out of the repository, to {real}", hint=hint)
    return real


def _keep(file: Path, content: bytes, like: CompareResult | None, now: datetime) -> Path:
    """Make a backup beside the file, with its mode and group."""
    stem = f"{file.name}{MARK}{now:%Y%m%d-%H%M%S}"
    numbers = ("", *(f"-{number:03}" for number in range(1, 1000)))
    backup = next(place for n in numbers if not (place := file.with_name(f"{stem}{n}.bak")).exists())
    mode, group = (like.mode, like.group) if like else (NEW_FILE_MODE, None)
    with opened_root(backup.parent) as folder:
        target = PublishTarget(folder, "", backup.name)
        Publisher(_RENAMES).create(target, content, etag_of(content), mode=mode, group=group)
    return backup


@contextmanager
def _made(folder: Path, new: bytes | None) -> Generator[None]:
    """Make the folder for the block that writes the `new` bytes, and remove it again if the block fails."""
    missing = [above for above in (folder, *folder.parents) if not above.exists()] if new is not None else []
    try:
        for above in reversed(missing):
            with suppress(FileExistsError):
                above.mkdir(mode=0o700)
                if sys.platform == "linux":  # where a file system can't, the empty folder stays when our file goes
                    with suppress(OSError):
                        os.setxattr(above, MADE_BY_US, b"1")
            sync_folder(above.parent)
        yield
    except BaseException:
        for above in missing:
            with suppress(OSError):
                above.rmdir()
        raise


@contextmanager
def _locked(lock: Path | None) -> Generator[None]:
    """Hold the client's own lock during the block. Raises Busy."""
    if lock is None:
        yield
        return
    lock.parent.mkdir(parents=True, exist_ok=True)
    until = time.monotonic() + LOCK_S
    while not _taken(lock):
        if time.monotonic() > until:
            raise Busy(f"another program is writing {lock.with_suffix('')}", hint="run the same command again")
        time.sleep(0.05)
    try:
        yield
    finally:
        with suppress(OSError):  # if it stays, it becomes stale after STALE_S
            lock.rmdir()


def _taken(lock: Path) -> bool:
    try:
        lock.mkdir()
    except FileExistsError:
        with suppress(OSError):
            if time.time() - lock.stat().st_mtime > STALE_S:
                lock.rmdir()
        return False
    return True
