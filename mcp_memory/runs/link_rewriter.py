"""Finds links to files that are about to move, and rewrites those in our own files."""

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from mcp_memory.errors import NotFound, PathRefused, Refused
from mcp_memory.models import NotePath, NoteState, etag_of
from mcp_memory.runs.journal import JobEntry, MoveStep, RelinkStep, WriteStep
from mcp_memory.text.markdown.link_targets import redirected, redirects
from mcp_memory.vault.note_file import NoteFile
from mcp_memory.vault.vault import Vault


@dataclass(frozen=True)
class LinkRewriter:
    """Rewrites links. `is_known` returns whether there is a note at a path; `linking_to` returns the notes that link to
    a path. Reads files, so use it in worker threads."""

    vault: Vault
    is_known: Callable[[NotePath], bool]
    linking_to: Callable[[NotePath], Iterable[NotePath]]

    def follow_moves(
        self, entry: JobEntry, replaced: Mapping[NotePath, NotePath] | None = None
    ) -> tuple[JobEntry, dict[NotePath, int]]:
        """Return the job with added steps that update links to the moved files in files that we own, and the number of
        such links in files that we don't own. Pages that the job writes are skipped. `replaced` maps pages that the job
        removes to the new targets of their links.

        Raises StorageFailed for an unreadable file."""
        moved: dict[str, NotePath] = {step.source: step.target for step in entry.steps if isinstance(step, MoveStep)}
        if not moved:
            return entry, {}
        gone = dict(replaced or {})
        led: dict[str, NotePath] = {**moved, **gone}
        written = {step.path for step in entry.steps if isinstance(step, WriteStep)}
        relinks: list[RelinkStep] = []
        foreign: dict[NotePath, int] = {}

        def exists(path: str) -> bool:
            return self.is_known(NotePath(path)) or os.path.exists(f"{self.vault.absolute('')}/{path}")  # noqa: PTH110 -- raises nothing

        paths = {NotePath(path) for path in moved}
        for path in sorted(paths.union(*map(self.linking_to, paths | gone.keys())) - gone.keys()):
            target = moved.get(path, path)
            file = self._read(path)
            if file is None or target in written or file.record.state is NoteState.DELETED:
                continue
            found = redirects(file.text, file.body_start, path, led, exists)
            if not found:
                continue
            if self.vault.filing.owns(file):
                after = etag_of(redirected(file.body, found).encode())
                relinks.append(RelinkStep(target, etag_of(file.body.encode()), after, found))
            else:
                foreign[path] = len(found)
        at = max(number for number, step in enumerate(entry.steps) if isinstance(step, MoveStep)) + 1
        return replace(entry, steps=[*entry.steps[:at], *relinks, *entry.steps[at:]]), foreign

    def _read(self, path: NotePath) -> NoteFile | None:
        try:
            return self.vault.read(path)
        except (NotFound, Refused, PathRefused):
            return None
