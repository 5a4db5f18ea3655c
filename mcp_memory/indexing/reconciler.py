"""Sweeps the vault and makes the index equal to the files, without relying on file-system events. Notes that
vanished all at once stay until you confirm the loss.

A file in the state folder marks such a loss, so that a restart does not forget it.
"""

from collections import Counter
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from time import monotonic
from typing import NamedTuple

import anyio

from mcp_memory.errors import IndexReplaced
from mcp_memory.index.base import Index
from mcp_memory.indexing.disk_changes import record_disk_changes
from mcp_memory.indexing.index_rows import BATCH_FILES, IndexedFile
from mcp_memory.indexing.writer import IndexWriter
from mcp_memory.models import Etag, NotePath
from mcp_memory.runtime.health import Health
from mcp_memory.runtime.private_files import naming_the_cause, sync_folder
from mcp_memory.runtime.threads import in_thread
from mcp_memory.storage.base import FolderId, Listing
from mcp_memory.vault.config import TRANSCRIPTS
from mcp_memory.vault.vault import Vault

MASS_LOSS_SHARE, MASS_LOSS_FILES = 0.9, 50
"""The share and number of files from which a loss is taken for an accident."""


class MassDeletionGuard:
    """The guard. Methods raise StorageFailed if the state folder cannot be read or written. Call them in worker
    threads."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self.why: str | None = None
        """Why vanished notes must stay in the index now, or None."""

    def removable(
        self, listing: Listing, gone: Sequence[NotePath], known: Mapping[NotePath, IndexedFile], arrived: Iterable[Etag]
    ) -> Sequence[NotePath]:
        """Return the missing files that may leave the index: all, or only the moved ones while a loss is suspected."""
        lost = {path for path in vanished(gone, known, arrived) if not _is_transcript(path)}
        was_marked = self._is_marked()
        notes = sum(not _is_transcript(path) for path in known)
        self.why = suspicion(listing, len(lost), notes, unaccepted=was_marked)
        is_loss = self.why is not None and (listing.complete or was_marked)
        if is_loss != was_marked:
            self._mark(is_loss=is_loss)
        if self.why is None:
            return gone
        return [path for path in gone if path not in lost] if listing.complete else []

    def accept(self) -> None:
        """Confirm the loss."""
        self._mark(is_loss=False)
        self.why = None

    def _is_marked(self) -> bool:
        with naming_the_cause(str(self._file)):
            return self._file.exists()

    def _mark(self, *, is_loss: bool) -> None:
        with naming_the_cause(str(self._file)):
            if is_loss:
                self._file.touch(mode=0o600)
            else:
                self._file.unlink(missing_ok=True)
            sync_folder(self._file.parent)


def _is_transcript(path: NotePath) -> bool:
    """Return whether this is a captured transcript: we prune these ourselves, and their number must not hide the loss
    of notes."""
    return path.startswith(f"@{TRANSCRIPTS}/")


def vanished(
    gone: Sequence[NotePath], known: Mapping[NotePath, IndexedFile], arrived: Iterable[Etag]
) -> list[NotePath]:
    """Return the missing files whose bytes have not come back under a new name; the others were moved. Each `arrived`
    file accounts for one missing file."""
    left = Counter(arrived)
    lost: list[NotePath] = []
    for path in gone:
        if left[known[path].etag]:
            left[known[path].etag] -= 1
        else:
            lost.append(path)
    return lost


def suspicion(listing: Listing, gone: int, known: int, *, unaccepted: bool) -> str | None:
    """Return why the loss of `gone` of the `known` notes needs your confirmation, or None.

    `unaccepted`: a loss was suspected before, so any file that is still missing needs it."""
    if not listing.complete:
        return "the vault or its marker is missing, or can't be read"
    if gone and (unaccepted or (gone >= MASS_LOSS_FILES and gone >= MASS_LOSS_SHARE * known)):
        return f"{gone} of {known} notes vanished at once"
    return None


READING = "reading"
"""The phase of progress in which a sweep reads many files."""


class ReconcileResult(NamedTuple):
    """A finished sweep. `at` is when it ended, in monotonic seconds."""

    files: int
    changed: int
    gone: int
    took_s: float
    at: float
    folders: Mapping[NotePath, FolderId]


class Reconciler:
    """The sweeper, which runs one sweep at a time. Files that could not be read are in the writer's `problems`."""

    def __init__(
        self, vault: Vault, index: Index, writer: IndexWriter, loss: MassDeletionGuard, health: Health
    ) -> None:
        self._vault = vault
        self._index = index
        self._writer = writer
        self._loss = loss
        self._health = health
        self._sweeping = anyio.Lock()
        self._faults_seen = 0
        self.last: ReconcileResult | None = None
        self.ignored = 0

    @property
    def pruning_paused(self) -> str | None:
        """Return why vanished notes must stay in the index now, or None."""
        return self._loss.why

    @property
    def replaced(self) -> bool:
        """Return whether the index was damaged or lost since the last sweep, and is now an empty one."""
        return len(self._index.problems) != self._faults_seen

    async def reconcile(self) -> ReconcileResult:
        """Make the index equal to the disk, from scratch if it turns out to be damaged."""
        async with self._sweeping:
            try:
                return await self._reconcile()
            except IndexReplaced:
                return await self._reconcile()

    @asynccontextmanager
    async def paused(self) -> AsyncGenerator[None]:
        """Pause sweeps while files are moved and the index is updated for each."""
        async with self._sweeping:
            yield

    async def accept_loss(self) -> int:
        """Prune vanished notes after your confirmation; return how many."""
        async with self._sweeping:
            known = self._writer.indexed_files
            _, gone = await self._compared(await self._listing(), known)
            await self._writer.remove(gone, known)
            await in_thread(self._loss.accept, what="writing the state folder")
            return len(gone)

    async def _reconcile(self) -> ReconcileResult:
        start = monotonic()
        faults = len(self._index.problems)
        await self._writer.reopened()
        known = self._writer.indexed_files  # before the listing, or a note written after it would seem to be gone
        listing = await self._listing()
        to_read, gone = await self._compared(listing, known)
        self._writer.update_problems(listing)
        with self._health.progress.tracking(READING, len(to_read), at_least=BATCH_FILES) as done:
            changed = await self._writer.read_and_write(to_read, known, done)
        arrived = [now.etag for path, now in self._writer.indexed_files.items() if path not in known]
        gone = await in_thread(self._loss.removable, listing, gone, known, arrived, what="looking for what vanished")
        if changed or gone:
            now, away = self._writer.indexed_files, gone
            record = partial(record_disk_changes, self._vault, self._index, known, now, to_read, away, start)
            await in_thread(record, what="recording changes")
        await self._writer.remove(gone, known)
        await self._writer.follow_expired()
        self.last = ReconcileResult(
            len(listing.files), changed, len(gone), monotonic() - start, monotonic(), listing.folders
        )
        self.ignored = listing.ignored
        self._faults_seen = faults
        return self.last

    async def _compared(
        self, listing: Listing, known: Mapping[NotePath, IndexedFile]
    ) -> tuple[Sequence[NotePath], Sequence[NotePath]]:
        """Return the files to read, and the missing files."""
        found = compare(listing, known)
        also_gone = await in_thread(
            lambda: [path for path in found.doubtful if self._vault.is_gone(path)], what="looking for notes"
        )
        return found.to_read, [*found.gone, *also_gone]

    async def _listing(self) -> Listing:
        return await in_thread(self._vault.list, what="listing the vault")


class DiskDiff(NamedTuple):
    """`doubtful` files were not listed, but something was odd at their path or above it, so they must be checked."""

    to_read: tuple[NotePath, ...]
    gone: tuple[NotePath, ...]
    doubtful: tuple[NotePath, ...] = ()


def compare(listing: Listing, known: Mapping[NotePath, IndexedFile]) -> DiskDiff:
    """Return files to read again, and missing files.

    A file is read if its signature is new, or if it is too new for its signature to be reliable. No file counts as
    missing from a root that could not be listed."""
    to_read = [
        path
        for path, stat in listing.files.items()
        if not stat.settled or (was := known.get(path)) is None or was.signature != stat.signature
    ]
    absent = [path for path in known if path not in listing.files and not path.startswith(tuple(listing.missing))]
    odd = {problem.path for problem in listing.problems}
    doubtful = [path for path in absent if odd and _below(path, odd)]
    gone = set(absent) - set(doubtful)
    return DiskDiff(tuple(to_read), tuple(path for path in absent if path in gone), tuple(doubtful))


def _below(path: str, odd: set[str]) -> bool:
    """Return whether the file is in a folder that cannot be read now; `.` is a root itself."""
    parts = path.split("/")
    above = {"/".join(parts[:n]) for n in range(1, len(parts) + 1)}
    return not odd.isdisjoint({*above, ".", f"{parts[0]}/."})
