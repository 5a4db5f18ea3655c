"""Give bytes their name so that neither a crash nor an editor's save loses anything.

Temp: our new bytes, complete and fsynced, under a hidden name in the target's own folder. Displaced: the file that a
publish put aside. Held: a displaced file that is checked again later, because an editor may still be writing to it
through a descriptor that it opened before.

Callers hold the path's lock, so only programs without locks (editors, sync clients) can race. All functions raise
OSError if the file system refuses; then the old bytes are under the name, as far as it lets us put them back.
"""

import errno
import os
import stat
import threading
import time
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import NamedTuple

from mcp_memory.errors import McpMemoryError, NotFound, PathRefused, PreconditionFailed
from mcp_memory.models import Etag
from mcp_memory.runtime.atomic_rename import KernelRenames, is_supported, move_free, publish_free, sync
from mcp_memory.storage.folders import etag_of_file, opened_file
from mcp_memory.storage.leftovers import NEW_FILE_MODE, TempName, conflict_name, discard, temp
from mcp_memory.text.escape_invisible import printable

_MAX_COPIES = 1000


class PublishTarget(NamedTuple):
    """A name in an open folder; `folder_path` finds the folder again when the descriptor is closed."""

    folder: int
    folder_path: str
    name: str


class CompareResult(NamedTuple):
    """The still open file that a write was compared with; its inode distinguishes it from a later file of that name."""

    descriptor: int
    mode: int
    etag: Etag
    group: int | None = None  # the group of the new file, if not the process's own


class DisplacedFile(NamedTuple):
    """A displaced file: its place, its bytes' etag, and the name it had."""

    folder_path: str
    hidden: str
    name: str
    etag: Etag
    since_s: float  # monotonic


class Publisher:
    """Publish into open folders and remember the displaced files. Thread-safe."""

    def __init__(self, renames: KernelRenames) -> None:
        self._renames = renames
        self._held: list[DisplacedFile] = []
        self._guard = threading.Lock()

    def create(
        self, place: PublishTarget, data: bytes, etag: Etag, *, mode: int = NEW_FILE_MODE, group: int | None = None
    ) -> os.stat_result:
        """Publish under a free name. Raises FileExistsError."""
        folder, name = place.folder, place.name
        hidden = TempName.for_etags(etag, None).fresh()
        with temp(folder, hidden, data, mode, group) as descriptor:
            try:
                publish_free(self._renames, folder, hidden, name)
            except OSError:
                discard(folder, hidden, descriptor)
                raise
            try:
                sync(folder)
            except OSError:
                # The caller gets an error, so the file must go. It is held, not unlinked, since an editor may have
                # opened it.
                with suppress(OSError):
                    move_free(self._renames, folder, name, folder, hidden)
                    self._hold(place, hidden, etag)
                raise
            return os.fstat(descriptor)

    def replace(
        self, place: PublishTarget, data: bytes, etag: Etag, old: CompareResult, *, yields: bool = False
    ) -> tuple[os.stat_result, str | None]:
        """Publish over the file `old`; return the new file's stat, and the name of the conflict copy if another file
        was displaced.

        Raises PreconditionFailed if the name has gone; if it `yields`, also if another file was displaced, which then
        gets its name back."""
        label = TempName.for_etags(etag, old.etag)
        hidden = label.fresh()
        with temp(place.folder, hidden, data, old.mode, old.group) as descriptor:
            try:
                if yields and not _still(place.folder, place.name, old):  # so that ours is hardly ever seen in between
                    raise _overtaken(place.name)
                displaced = self._swap(place, hidden, label, old.etag)
            except (OSError, PreconditionFailed):
                discard(place.folder, hidden, descriptor)
                raise
            conflict = None
            try:
                unchanged = _still(place.folder, displaced, old)
                if not unchanged and not yields:
                    displaced = conflict = self._copy_aside(place.folder, displaced, place.name)
                sync(place.folder)
            except OSError:
                with suppress(OSError, McpMemoryError):
                    self._put_back(place, displaced, label, etag)
                raise
            if not unchanged and yields:
                self._put_back(place, displaced, label, etag)
                sync(place.folder)
                raise _overtaken(place.name)
            if conflict is None:
                self._hold(place, displaced, old.etag)
            return os.fstat(descriptor), conflict

    def remove(self, place: PublishTarget, old: CompareResult) -> None:
        """Remove the file `old`. Raises PreconditionFailed if another file has its name now, and keeps that file."""
        folder, name = place.folder, place.name
        hidden = TempName.for_etags(old.etag, old.etag).fresh()
        try:
            self._renames.rename(folder, name, folder, hidden)
        except FileNotFoundError:
            raise _vanished(name) from None
        try:
            unchanged = _still(folder, hidden, old)
            if unchanged:
                sync(folder)
        except OSError:
            with suppress(OSError):
                move_free(self._renames, folder, hidden, folder, name)
            raise
        if unchanged:
            self._hold(place, hidden, old.etag)
            return
        try:
            move_free(self._renames, folder, hidden, folder, name)
        except FileExistsError:
            self._copy_aside(folder, hidden, name)
        raise PreconditionFailed(f"'{name}' was changed in the last instant", hint="read it again")

    def due(self, min_age_s: float, *place: str) -> list[DisplacedFile]:
        """Take out the held files that are old enough; with `place` (folder's path, name), only those of that file."""
        latest = time.monotonic() - min_age_s
        with self._guard:
            everything, self._held, ready = self._held, [], list[DisplacedFile]()
            for held in everything:
                is_due = held.since_s <= latest and place in {(), (held.folder_path, held.name)}
                (ready if is_due else self._held).append(held)
        return ready

    def hold_again(self, held: list[DisplacedFile]) -> None:
        """Give back files that could not be checked."""
        with self._guard:
            self._held.extend(held)

    def look_again(self, folder: int, held: DisplacedFile) -> str | None:
        """Remove a held file that has not changed; keep a changed one and return the copy's name."""
        try:
            with opened_file(folder, held.hidden, held.hidden) as (descriptor, _):
                unchanged = etag_of_file(descriptor) == held.etag
        except (NotFound, PathRefused):
            return None
        if unchanged:
            with suppress(FileNotFoundError):
                os.unlink(held.hidden, dir_fd=folder)
            return None
        copy = self._copy_aside(folder, held.hidden, held.name)
        sync(folder)
        return copy

    def _swap(self, place: PublishTarget, source: str, label: TempName, displaced_etag: Etag) -> str:
        """Put `source` under the name, and return the displaced file's new name."""
        try:
            if is_supported(lambda: self._renames.exchange(place.folder, source, place.name)):
                return source
        except FileNotFoundError:
            raise _vanished(place.name) from None
        return self._swap_in_steps(place, source, label, displaced_etag)

    def _swap_in_steps(self, place: PublishTarget, source: str, label: TempName, displaced_etag: Etag) -> str:
        """Put the old file aside, then the new one under the free name, on systems without EXCHANGE.

        The name is free for a moment. If the process dies then, the next start puts the old file back (its hidden name
        contains the old one). A rename over the old file would avoid that, but would destroy a save of the last
        instant."""
        folder, name = place.folder, place.name
        aside = replace(label, was=name).fresh()
        if len(aside.encode()) > os.fpathconf(folder, "PC_NAME_MAX"):
            raise OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG), name)
        try:
            self._renames.rename(folder, name, folder, aside)
        except FileNotFoundError:
            raise _vanished(name) from None
        try:
            publish_free(self._renames, folder, source, name)
        except FileExistsError:
            # An editor saved under the free name: its version stays, and the old file is checked later.
            self._hold(place, aside, displaced_etag)
            raise _overtaken(name) from None
        except OSError:
            with suppress(OSError):
                move_free(self._renames, folder, aside, folder, name)
            raise
        return aside

    def _put_back(self, place: PublishTarget, displaced: str, label: TempName, etag: Etag) -> None:
        """Undo a swap: the displaced file gets its name back from ours, which is held, since an editor may have opened
        it already.

        If another file has the name, it is a later save and gets the name back in the same way. The latest file ends up
        under the name."""
        for _ in range(_MAX_COPIES):
            put = _etag_at(place.folder, displaced)
            displaced = self._swap(place, displaced, label, etag)
            if _etag_at(place.folder, displaced) == etag:
                break
            etag = put
        if TempName.parse(displaced) is None:
            hidden = label.fresh()
            move_free(self._renames, place.folder, displaced, place.folder, hidden)
            displaced = hidden
        self._hold(place, displaced, etag)

    def _copy_aside(self, folder: int, hidden: str, name: str) -> str:
        """Give a displaced file a readable name beside `name`, and return the name."""
        moment = datetime.now()  # local: a label for the person whose editor it was
        for number in range(1, _MAX_COPIES):
            copy = conflict_name(name, moment, number)
            try:
                publish_free(self._renames, folder, hidden, copy)
            except FileExistsError:
                continue
            return copy
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), name)

    def _hold(self, place: PublishTarget, hidden: str, etag: Etag) -> None:
        with self._guard:
            self._held.append(DisplacedFile(place.folder_path, hidden, place.name, etag, time.monotonic()))


def compare(path: str, descriptor: int, found: os.stat_result, expected: Etag) -> CompareResult:
    """Compare an open file with the etag that a write expects. Raises PreconditionFailed if it has another one."""
    if etag_of_file(descriptor) != expected:
        raise PreconditionFailed(f"'{printable(path)}' was changed by another program", hint="read it again")
    return CompareResult(descriptor, stat.S_IMODE(found.st_mode) & 0o777, expected)


def _still(folder: int, displaced: str, old: CompareResult) -> bool:
    """Return whether the displaced file has the bytes that were compared. Raises OSError if it cannot be read."""
    found = os.stat(displaced, dir_fd=folder, follow_symlinks=False)
    if os.path.samestat(found, os.fstat(old.descriptor)):
        return etag_of_file(old.descriptor) == old.etag
    try:
        with opened_file(folder, displaced, displaced) as (descriptor, _):
            return etag_of_file(descriptor) == old.etag
    except PathRefused:
        return False


def _etag_at(folder: int, name: str) -> Etag:
    """Return a regular file's etag; empty for anything else. Raises OSError."""
    try:
        with opened_file(folder, name, name) as (descriptor, _):
            return etag_of_file(descriptor)
    except PathRefused:
        return Etag("")


def _vanished(name: str) -> PreconditionFailed:
    return PreconditionFailed(f"'{name}' was moved or deleted in the last instant", hint="list or search again")


def _overtaken(name: str) -> PreconditionFailed:
    return PreconditionFailed(f"'{name}' was saved by another program", hint="read it again")
