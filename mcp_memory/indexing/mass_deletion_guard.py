"""The unaccepted loss: notes that vanished, while no person has agreed and they have not come back.

A file in the state folder says that there is one, so that no restart forgets it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from mcp_memory.indexing.diff import IndexedFile, suspicion, vanished
from mcp_memory.models import TRANSCRIPTS, Etag, NotePath
from mcp_memory.runtime.os_errors import naming_the_cause
from mcp_memory.runtime.private_files import sync_folder
from mcp_memory.storage.base import Listing


class MassDeletionGuard:
    """Methods raise StorageFailed where the state folder cannot be read or written. For worker threads."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self.why: str | None = None
        """Why nothing that vanished may leave the index now, or None."""

    def believable(
        self, listing: Listing, gone: Sequence[NotePath], known: Mapping[NotePath, IndexedFile], arrived: Iterable[Etag]
    ) -> Sequence[NotePath]:
        """Those of the gone that may leave the index: all, or only the moved ones while a loss is suspected."""
        lost = {path for path in vanished(gone, known, arrived) if not _is_ours(path)} if gone else set[NotePath]()
        stood = self._stands()
        notes = sum(not _is_ours(path) for path in known)
        self.why = suspicion(listing, len(lost), notes, unaccepted=stood)
        stands = self.why is not None and (listing.complete or stood)
        if stands != stood:
            self._remember(stands=stands)
        if self.why is None:
            return gone
        return [path for path in gone if path not in lost] if listing.complete else []

    def accept(self) -> None:
        """A person says that it is meant."""
        self._remember(stands=False)
        self.why = None

    def _stands(self) -> bool:
        with naming_the_cause(str(self._file)):
            return self._file.exists()

    def _remember(self, *, stands: bool) -> None:
        with naming_the_cause(str(self._file)):
            if stands:
                self._file.touch(mode=0o600)
            else:
                self._file.unlink(missing_ok=True)
            sync_folder(self._file.parent)


def _is_ours(path: NotePath) -> bool:
    """A captured transcript: pruned by ourselves, and never so many that they hide the loss of notes."""
    return path.startswith(f"@{TRANSCRIPTS}/")
