"""Finds links to files that are about to move, and rewrites those in our own files."""

import os
import threading
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace

from mcp_memory.compaction.journal import JobEntry, MoveStep, RelinkStep, WriteStep
from mcp_memory.errors import NotFound, PathRefused, Refused, StorageFailed
from mcp_memory.models import Etag, NotePath, NoteState
from mcp_memory.text.markdown.link_targets import destinations, endings, redirected, redirects
from mcp_memory.topics.page import etag_of
from mcp_memory.vault.note_file import NoteFile
from mcp_memory.vault.vault import Vault


class LinkRewriter:
    """Remembers the link targets of each file, and reads a file again when its bytes change.

    Reads files: for worker threads; one that missed its deadline may still run beside the next.
    """

    def __init__(
        self,
        vault: Vault,
        etags: Callable[[], Mapping[NotePath, Etag]],
        faulty: Callable[[], Collection[str]] = tuple,
    ) -> None:
        """`etags`: all files; `faulty`: files that are already reported as unreadable."""
        self._vault = vault
        self._current_etags = etags
        self._faulty = faulty
        self._read_etags: dict[NotePath, Etag] = {}
        self._targets: dict[NotePath, set[str]] = {}
        self._holders: dict[str, set[NotePath]] = defaultdict(set)
        """Target → files that link to it."""
        self._lock = threading.Lock()

    def follow_moves(self, entry: JobEntry) -> tuple[JobEntry, dict[NotePath, int]]:
        """The job with steps that update links to the files it moves, in files that we own; and the number of such
        links in files that we don't. Pages that the job writes are left out.

        Raises StorageFailed for a file that can't be read now, because its links are unknown.
        """
        moved: dict[str, NotePath] = {step.source: step.target for step in entry.steps if isinstance(step, MoveStep)}
        if not moved:
            return entry, {}
        etags = self._current_etags()
        written = {step.path for step in entry.steps if isinstance(step, WriteStep)}
        relinks: list[RelinkStep] = []
        foreign: dict[NotePath, int] = {}

        def exists(path: str) -> bool:
            return path in etags or os.path.exists(f"{self._vault.absolute('')}/{path}")  # noqa: PTH110 -- raises nothing

        for path in sorted({*map(NotePath, moved), *self._linking_to(moved, etags)}):
            target = moved.get(path, path)
            file = self._read(path)
            if file is None or target in written or file.record.state is NoteState.DELETED:
                continue
            found = redirects(file.text, file.body_start, path, moved, exists)
            if not found:
                continue
            if self._vault.filing.owns(file):
                after = etag_of(redirected(file.body, found).encode())
                relinks.append(RelinkStep(target, etag_of(file.body.encode()), after, found))
            else:
                foreign[path] = len(found)
        at = max(number for number, step in enumerate(entry.steps) if isinstance(step, MoveStep)) + 1
        return replace(entry, steps=[*entry.steps[:at], *relinks, *entry.steps[at:]]), foreign

    def _linking_to(self, moved: Iterable[str], etags: Mapping[NotePath, Etag]) -> set[NotePath]:
        with self._lock:
            for path in self._read_etags.keys() | etags.keys():
                if not path.startswith("@"):  # a source's links stay within it
                    self._update(path, etags.get(path))
            return {holder for path in moved for end in endings(path) for holder in self._holders.get(end, ())}

    def _update(self, path: NotePath, etag: Etag | None) -> None:
        if self._read_etags.get(path) == etag:
            return
        for target in self._targets.pop(path, ()):
            self._holders[target].discard(path)
        self._read_etags.pop(path, None)
        file = self._read(path) if etag else None
        if file and etag:
            self._read_etags[path] = etag
            may_link = any(mark in file.body for mark in ("[[", "](", "]:"))
            if targets := destinations(file.text, file.body_start, path) if may_link else None:
                self._targets[path] = targets
                for target in targets:
                    self._holders[target].add(path)

    def _read(self, path: NotePath) -> NoteFile | None:
        try:
            return self._vault.read(path)
        except (NotFound, Refused, PathRefused):
            return None
        except StorageFailed:
            if path in self._faulty():
                return None
            raise
