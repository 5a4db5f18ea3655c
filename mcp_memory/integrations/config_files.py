"""Configuration files on disk: read, backed up, replaced whole or not at all.

A link is followed and stays a link; mode and owner stay. Everything that could refuse a write is looked at before the
first file of a plan is written.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
import time
from collections.abc import Generator
from contextlib import ExitStack, contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Any

from mcp_memory.errors import Busy, McpMemoryError, NotFound, PreconditionFailed, Refused
from mcp_memory.integrations import jsonc, toml
from mcp_memory.integrations.config_plan import ConfigChange, ConfigTarget
from mcp_memory.integrations.config_tree import table_at
from mcp_memory.models import Etag
from mcp_memory.runtime.os_errors import naming_the_cause
from mcp_memory.runtime.private_files import sync_folder
from mcp_memory.runtime.renames import KernelRenames
from mcp_memory.storage.folders import etag_of, opened_file
from mcp_memory.storage.publish import CompareResult, Publisher, PublishTarget
from mcp_memory.storage.temp_files import NEW_FILE_MODE

MARK = ".mcp-memory-"
"""In the name of a backup, before its date."""

_RENAMES = KernelRenames()

MAX_BYTES = 64_000_000
"""More than any configuration that a client could load."""

LOCK_S, STALE_S = 5.0, 10.0
"""How long to wait for a client that writes its file, and after how long without a sign of life (as `proper-lockfile`
has it, which Claude Code uses) its lock is left over."""


def read(file: Path) -> bytes | None:
    """The file's bytes, None where there is none. Raises Refused for what is no regular file, StorageFailed."""
    with naming_the_cause(str(file)):
        try:
            # O_NONBLOCK: opening a FIFO must not wait for its writer.
            descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
        except FileNotFoundError:
            return None
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise Refused(f"{file} is no regular file", hint="move it away, then try again")
            with open(descriptor, "rb", closefd=False) as opened:
                content = opened.read(MAX_BYTES + 1)
        finally:
            os.close(descriptor)
    if len(content) > MAX_BYTES:
        raise Refused(f"{file} has more than {MAX_BYTES:,} bytes", hint="that is no configuration; look what it is")
    return content


def read_table(file: Path) -> dict[str, Any]:
    """A parsed TOML or JSON file; empty where it is missing or broken: its client cannot load it then."""
    with suppress(McpMemoryError, UnicodeDecodeError):
        text = (read(file) or b"").decode()
        return table_at(toml.value_of(text) if file.suffix == ".toml" else jsonc.value_of(text))
    return {}


def check(change: ConfigChange) -> None:
    """Raises Refused where the file may not be written, with what to do."""
    if change.is_nothing:
        return
    target = _target(change.target)
    by_hand = "nothing was changed; to see what you could add by hand: the same command with --dry-run"
    with naming_the_cause(str(target)):
        if target.exists():
            facts = target.stat()
            if facts.st_uid != os.geteuid():
                hint = f"run this as the user whose it is; {by_hand}"
                raise Refused(f"{target} belongs to user {facts.st_uid}, not to you", hint=hint)
            if not facts.st_mode & stat.S_IWUSR:
                hint = f"chmod u+w {target}, then again; {by_hand}"
                raise Refused(f"{target} is read-only", hint=hint)
            if change.brings_secret and facts.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
                raise Refused(f"{target} can be read by other users", hint=f"chmod go-rwx {target}, then again")
        folder = next(place for place in target.parents if place.exists())
        is_mine = folder.stat().st_uid == os.geteuid()
        if not os.access(folder, os.W_OK | os.X_OK) or (os.geteuid() == 0 and not is_mine):
            raise Refused(f"the folder {folder} is not yours to write in", hint=f"check its owner and mode; {by_hand}")


def apply(change: ConfigChange, now: datetime) -> Path | None:
    """Carry it out; the backup that was made, if any. Raises PreconditionFailed where the file is not what the plan
    saw, or a program saves it at this very moment, Busy where its program is writing it, and StorageFailed; the old
    bytes, or what that program saved, are there then, and no backup."""
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
                    with suppress(OSError, McpMemoryError):  # what stays is hidden: it is in nobody's way
                        for held in publisher.due(0):
                            publisher.look_again(folder, held)
        except PreconditionFailed as error:
            raise PreconditionFailed(f"{change.file} was changed meanwhile", hint="the same command again") from error
    if change.new is None:
        _remove_empty(target.parent)
    for place in change.spent:
        with suppress(OSError):  # a backup too many
            place.unlink()
    return backup


@contextmanager
def _opened(target: Path, change: ConfigChange) -> Generator[tuple[int, CompareResult | None]]:
    """The folder and the file in it, still open, that the plan saw. Raises PreconditionFailed where it saw another."""
    folder = os.open(target.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    with ExitStack() as opened:
        opened.callback(os.close, folder)
        try:
            file, facts = opened.enter_context(opened_file(folder, target.name, str(target)))
        except NotFound:
            old = None
        else:
            old = CompareResult(file, stat.S_IMODE(facts.st_mode), etag_of(file), facts.st_gid)
        if (old and old.etag) != (None if change.old is None else _etag(change.old)):
            raise PreconditionFailed(f"{change.file} was changed meanwhile", hint="the same command again")
        yield folder, old


def _publish(publisher: Publisher, place: PublishTarget, new: bytes | None, old: CompareResult | None) -> None:
    if old is None:
        # Nobody else may read it: its program puts tokens in later, and leaves the mode as it is.
        try:
            publisher.create(place, new or b"", _etag(new or b""))
        except FileExistsError as error:
            raise PreconditionFailed(f"{place.name} was made meanwhile", hint="the same command again") from error
    elif new is None:
        publisher.remove(place, old)
    else:
        publisher.replace(place, new, _etag(new), old, yields=True)


def backups(file: Path) -> list[tuple[Path, bytes]]:
    """Earlier states of the file that `apply` has kept beside it, oldest first."""
    name = re.compile(re.escape(file.name + MARK) + r"\d{8}-\d{6}(-\d{3})?\.bak")
    try:
        found = sorted((p for p in file.parent.iterdir() if name.fullmatch(p.name)), key=lambda p: p.stem)
    except (FileNotFoundError, NotADirectoryError):
        return []
    return [(place, content) for place in found if (content := read(place)) is not None]


def _target(target: ConfigTarget) -> Path:
    """Where a link leads, so that the link itself stays. Raises Refused where a repository's leads out of it."""
    file, root = target.file, target.within
    try:
        real, root = file.resolve(), root and root.resolve()
    except (OSError, RuntimeError) as error:
        raise Refused(f"{file} is a link that leads nowhere", hint="mend or remove the link") from error
    if root and (not real.is_relative_to(root) or real.is_relative_to(root / ".git")):
        hint = "nothing was changed; look who made that link and remove it, or: --scope user"
        raise Refused(f"{file} leads out of the repository, to {real}", hint=hint)
    return real


def _free_name(file: Path, now: datetime) -> Path:
    stem = f"{file.name}{MARK}{now:%Y%m%d-%H%M%S}"
    numbers = ("", *(f"-{number:03}" for number in range(1, 1000)))
    return next(place for n in numbers if not (place := file.with_name(f"{stem}{n}.bak")).exists())


def _keep(file: Path, content: bytes, like: CompareResult | None, now: datetime) -> Path:
    """A backup beside the file, with its mode and group."""
    backup = _free_name(file, now)
    folder = os.open(backup.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        place = PublishTarget(folder, "", backup.name)
        rights = (like.mode, like.group) if like else (NEW_FILE_MODE, None)
        Publisher(_RENAMES).create(place, content, _etag(content), mode=rights[0], group=rights[1])
    finally:
        os.close(folder)
    return backup


def _etag(content: bytes) -> Etag:
    return Etag(hashlib.sha256(content).hexdigest())


@contextmanager
def _made(folder: Path, new: bytes | None) -> Generator[None]:
    """The folder is there while the block writes what is `new`, and no part of it is left where that fails."""
    missing = [each for each in (folder, *folder.parents) if not each.exists()] if new is not None else []
    try:
        for each in reversed(missing):
            each.mkdir(mode=0o700, exist_ok=True)
            sync_folder(each.parent)
        yield
    except BaseException:
        for each in missing:
            with suppress(OSError):
                each.rmdir()
        raise


def _remove_empty(folder: Path) -> None:
    """A client's own folder (`~/.codex`, say) that was made for our file goes with it."""
    if folder.name.startswith("."):
        with suppress(OSError):
            folder.rmdir()


@contextmanager
def _locked(lock: Path | None) -> Generator[None]:
    """While the client's own lock is ours. Raises Busy."""
    if lock is None:
        yield
        return
    lock.parent.mkdir(parents=True, exist_ok=True)
    until = time.monotonic() + LOCK_S
    while not _taken(lock):
        if time.monotonic() > until:
            raise Busy(f"another program is writing {lock.with_suffix('')}", hint="the same command again")
        time.sleep(0.05)
    try:
        yield
    finally:
        with suppress(OSError):  # one that stays is left over after STALE_S
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
