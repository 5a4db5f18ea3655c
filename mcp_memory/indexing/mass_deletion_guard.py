"""Keep notes that vanished all at once in the index until you confirm the loss or they come back.

A file in the state folder marks such a loss, so that a restart does not forget it.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from mcp_memory.indexing.index_rows import IndexedFile
from mcp_memory.models import Etag, NotePath
from mcp_memory.runtime.os_errors import naming_the_cause
from mcp_memory.runtime.private_files import sync_folder
from mcp_memory.storage.base import Listing
from mcp_memory.vault.config import TRANSCRIPTS

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
