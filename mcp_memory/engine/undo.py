"""What a restore needs: the bytes that a note had before we marked it, by the etag of the marked file."""

from __future__ import annotations

import os
import threading
import time
from contextlib import suppress
from pathlib import Path

from mcp_memory.engine.durable import sync_folder
from mcp_memory.errors import StorageFailed
from mcp_memory.models import Etag

KEPT_DAYS = 400
"""After that a restore takes out the marks instead, which gives the same note but not always the same bytes."""


class Undo:
    """One file a change, in a private folder. Thread-safe."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def keep(self, after: Etag, before: bytes) -> None:
        """To be called before the change is published: a crash in between costs a file here, never the way back.

        Raises StorageFailed.
        """
        target = self._folder / after
        draft = target.with_suffix(f".{threading.get_ident()}")
        try:
            descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
            with os.fdopen(descriptor, "wb") as out:
                out.write(before)
                out.flush()
                os.fsync(out.fileno())
            draft.replace(target)
            sync_folder(self._folder)
        except OSError as error:
            raise StorageFailed(
                f"cannot keep what a restore needs: {error.strerror}", hint=str(self._folder)
            ) from error

    def find(self, after: Etag) -> bytes | None:
        """What stood there before; None where that is not known (any more)."""
        try:
            return (self._folder / after).read_bytes()
        except OSError:
            return None

    def prune(self, older_than_days: float = KEPT_DAYS) -> int:
        """Removes what is older, drafts of interrupted changes too; how many files that were."""
        oldest, pruned = time.time() - older_than_days * 86_400, 0
        with suppress(OSError):  # nothing depends on it: what cannot be removed now goes another time
            for file in self._folder.iterdir():
                if file.stat().st_mtime < oldest:
                    file.unlink()
                    pruned += 1
        return pruned
