"""Record changes on disk that someone made in an editor, with a sync client or git. A sweep finds them."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import islice

from mcp_memory.index.base import Index
from mcp_memory.indexing.index_rows import IndexedFile
from mcp_memory.models import NotePath, NoteRecord
from mcp_memory.text.language.terms import coverage, runs
from mcp_memory.vault.journals.change_journal import DISK, NoteChange
from mcp_memory.vault.vault import Vault

MOST_A_SWEEP = 200
"""The most files recorded one by one. More files, as after a checkout, are recorded as a single change, so that they
don't displace all others."""
MOST_MOVES = 2_000
"""The most moves of a sweep; each is recorded, since links follow them."""
MOST_COMPARED = 10_000
"""The most pairs of a file that has gone and a new file."""
LEAST_ALIKE, LEAST_OF_ONE_FILE = 0.8, 0.5
"""The share of words, in their order, that a note without an id keeps where it was moved and edited at once; less is
enough for the same file."""
RUN = 3
"""The number of words of the runs that are compared."""

Files = Mapping[NotePath, IndexedFile]


def record_disk_changes(
    vault: Vault, index: Index, known: Files, now: Files, read: Iterable[NotePath], gone: Sequence[NotePath],
    since: float,
) -> None:  # fmt: skip
    """Record the changes; call it before the rows of the `gone` are removed. `known` and `now` are the index's files
    before and after the sweep, which began at `since` (monotonic seconds). `read` are the files that it read. A new
    index has nothing to compare with."""
    if not known:
        return
    at, found = vault.clock().timestamp(), list[NoteChange]()
    read = [path for path in read if path in now and (path not in known or known[path].etag != now[path].etag)]
    changed = [path for path in read if not vault.is_own_change(path, now[path].etag, since)]
    left = [note for path in gone if (note := index.note(path)) and not vault.is_own_change(path, None, since)]
    came = [note for path in changed if path not in known and (note := index.note(path))]
    moved = _same_bytes(known, now, {note.path for note in left}, changed)
    moved |= _same_note(index, left, came, moved)
    for path in changed:
        if note := index.note(path):
            was, file, other = known.get(path), now[path], moved.get(path)
            kind = "moved" if other else "edited" if was else "stored"
            before = known[other].etag if other else was and was.etag
            found.append(
                NoteChange(at, kind, path, note.id, None, before, file.etag, DISK, project=note.project, other=other)
            )
    for note in left:
        if note.path not in moved.values():
            kind, before = "removed", known[note.path].etag
            found.append(NoteChange(at, kind, note.path, note.id, None, before, None, DISK, project=note.project))
    if len(found) > MOST_A_SWEEP:
        moves = list(islice((change for change in found if change.kind == "moved"), MOST_MOVES))
        others = [change for change in found if change not in moves]
        found = [replace(others[0], path=NotePath(""), entry=None, before=None, after=None, count=len(others)), *moves]
    for change in found:
        vault.changes.record(change)


def _same_bytes(
    known: Files, now: Files, gone: Collection[NotePath], changed: Sequence[NotePath]
) -> dict[NotePath, NotePath]:
    """Return where each changed file was before, by its bytes: at a place that has gone, or that another file took. A
    copy of a file that was edited then is another file. If several files have the same bytes, the place is unknown."""
    left = {*gone, *(path for path in changed if path in known)}
    was, became = Counter(known[path].etag for path in left), Counter(now[path].etag for path in changed)
    places = {known[path].etag: path for path in left}
    found = {path: places[etag] for path in changed if was[etag := now[path].etag] == became[etag] == 1}

    def stays(path: NotePath, other: NotePath) -> bool:
        is_free = other in gone or other in found
        return not is_free and _inode(now[path].signature) != _inode(known[other].signature)

    while copies := [path for path, other in found.items() if stays(path, other)]:
        for path in copies:
            del found[path]
    return found


def _same_note(
    index: Index, left: Sequence[NoteRecord], came: Sequence[NoteRecord], known: Mapping[NotePath, NotePath]
) -> dict[NotePath, NotePath]:
    """Return where the remaining files were before: by the note's id, or without an id by its words."""
    left = [note for note in left if note.path not in known.values()]
    came = [note for note in came if note.path not in known]
    ids = Counter(note.id for note in left), Counter(note.id for note in came)
    places = {note.id: note.path for note in left}
    found = {note.path: places[note.id] for note in came if ids[0][note.id] == ids[1][note.id] == 1}
    was = [note for note in left if note.path not in found.values() and _has_no_id(note)]
    now = [note for note in came if note.path not in found and _has_no_id(note)]
    if not was or len(was) * len(now) > MOST_COMPARED:
        return found
    texts = {note.path: runs(_words_of(index, note), RUN) for note in (*was, *now)}
    alike = [
        (one.path, other.path)
        for one in now
        for other in was
        if min(coverage(texts[one.path], texts[other.path]), coverage(texts[other.path], texts[one.path]))
        >= (LEAST_OF_ONE_FILE if _inode(one.signature) == _inode(other.signature) else LEAST_ALIKE)
    ]
    claims = Counter(path for pair in alike for path in pair)
    found |= {path: other for path, other in alike if claims[path] == claims[other] == 1}
    return found


def _words_of(index: Index, note: NoteRecord) -> list[str]:
    return [word for passage in index.passages(note.path) for word in passage.chunk.text.split()]


def _has_no_id(note: NoteRecord) -> bool:
    return note.id.startswith("path:")


def _inode(signature: str) -> str:
    return signature.partition("-")[0]
