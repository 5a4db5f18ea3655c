"""Records what someone changed on disk: in an editor, with a sync client or git. A sweep finds it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from mcp_memory.index.base import Index
from mcp_memory.indexing.index_rows import IndexedFile
from mcp_memory.models import NotePath
from mcp_memory.vault.journals.change_journal import DISK, ChangeKind, NoteChange
from mcp_memory.vault.vault import Vault

MOST_A_SWEEP = 200
"""More files than this, as of a checkout, are recorded as one change, so that they don't displace all others."""

Files = Mapping[NotePath, IndexedFile]


def record_disk_changes(
    vault: Vault, index: Index, known: Files, now: Files, read: Iterable[NotePath], gone: Sequence[NotePath],
    since: float,
) -> None:  # fmt: skip
    """Call it before the rows of the `gone` are removed. `known` and `now` are the index's files before and after the
    sweep, which began at `since` (monotonic seconds) and `read` these. A new index has nothing to compare with."""
    if not known:
        return
    found = list(_changes(vault, index, known, now, read, gone, since))
    if len(found) > MOST_A_SWEEP:
        found = [replace(found[0], path=NotePath(""), entry=None, before=None, after=None, count=len(found))]
    for change in found:
        vault.changes.record(change)


def _changes(
    vault: Vault, index: Index, known: Files, now: Files, read: Iterable[NotePath], gone: Sequence[NotePath],
    since: float,
) -> Iterator[NoteChange]:  # fmt: skip
    at = vault.clock().timestamp()
    left = {known[path].etag: path for path in gone}
    for path in read:
        was, file = known.get(path), now.get(path)
        if file is None or (was and was.etag == file.etag) or vault.is_own_change(path, file.etag, since):
            continue
        if note := index.note(path):
            kind, other = ChangeKind.EDITED if was else ChangeKind.STORED, None
            if not was and (other := left.pop(file.etag, None)):
                kind = ChangeKind.MOVED
            before = was and was.etag
            yield NoteChange(at, kind, path, note.id, None, before, file.etag, DISK, project=note.project, other=other)
    for etag, path in left.items():
        if (note := index.note(path)) and not vault.is_own_change(path, None, since):
            yield NoteChange(at, ChangeKind.REMOVED, path, note.id, None, etag, None, DISK, project=note.project)
