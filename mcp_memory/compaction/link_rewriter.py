"""Finds links to files that are about to move, and rewrites those in our own files."""

from __future__ import annotations

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
    """Where the links of each file lead, as far as it has any; a file is read again when its bytes are other ones.
    Reads files: for worker threads; one that nobody waits for any more may still be at work beside the next."""

    def __init__(
        self,
        vault: Vault,
        standing: Callable[[], Mapping[NotePath, Etag]],
        faulty: Callable[[], Collection[str]] = tuple,
    ) -> None:
        """`standing`: the files that there are; `faulty`: those of which a person knows that they cannot be read."""
        self._vault = vault
        self._standing = standing
        self._faulty = faulty
        self._etags: dict[NotePath, Etag] = {}
        self._leads: dict[NotePath, set[str]] = {}
        self._from: dict[str, set[NotePath]] = defaultdict(set)
        self._lock = threading.Lock()

    def follow_moves(self, entry: JobEntry) -> tuple[JobEntry, dict[NotePath, int]]:
        """A job whose moves are followed by the links in files that we own; and how many links to what it moves there
        are in those that we do not. Files whose page the job writes anew are its own affair.

        Raises StorageFailed for a file that cannot be read now: nobody knows where its links lead.
        """
        moved: dict[str, NotePath] = {step.source: step.target for step in entry.steps if isinstance(step, MoveStep)}
        if not moved:
            return entry, {}
        standing = self._standing()
        written = {step.path for step in entry.steps if isinstance(step, WriteStep)}
        relinks: list[RelinkStep] = []
        foreign: dict[NotePath, int] = {}

        def exists(path: str) -> bool:
            return path in standing or os.path.exists(f"{self._vault.absolute('')}/{path}")  # noqa: PTH110 -- raises nothing

        for path in sorted({*map(NotePath, moved), *self._linking_to(moved, standing)}):
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

    def _linking_to(self, moved: Iterable[str], standing: Mapping[NotePath, Etag]) -> set[NotePath]:
        with self._lock:
            for path in self._etags.keys() | standing.keys():
                if not path.startswith("@"):  # a source's links stay within it
                    self._look(path, standing.get(path))
            return {holder for path in moved for end in endings(path) for holder in self._from.get(end, ())}

    def _look(self, path: NotePath, etag: Etag | None) -> None:
        if self._etags.get(path) == etag:
            return
        for lead in self._leads.pop(path, ()):
            self._from[lead].discard(path)
        self._etags.pop(path, None)
        file = self._read(path) if etag else None
        if file and etag:
            self._etags[path] = etag
            leads = destinations(file.text, file.body_start, path) if _may_link(file.body) else set[str]()
            for lead in leads:
                self._from[lead].add(path)
            if leads:
                self._leads[path] = leads

    def _read(self, path: NotePath) -> NoteFile | None:
        try:
            return self._vault.read(path)
        except (NotFound, Refused, PathRefused):
            return None
        except StorageFailed:
            if path in self._faulty():
                return None
            raise


def _may_link(body: str) -> bool:
    return "[[" in body or "](" in body or "]:" in body
