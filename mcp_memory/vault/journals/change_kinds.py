"""Derive the kind of a note's change from its bytes before and after. Pure."""

from typing import Any, cast

from mcp_memory.models import NotePath, Status
from mcp_memory.text.markdown import frontmatter
from mcp_memory.text.markdown.logs import PLACE
from mcp_memory.vault.journals.change_journal import ChangeKind
from mcp_memory.vault.note_file import MEMORY, NoteFile, entries_of

_BY_STATUS = {
    Status.DELETED.value: ChangeKind.FORGOTTEN,
    Status.SUPERSEDED.value: ChangeKind.SUPERSEDED,
    Status.ARCHIVED.value: ChangeKind.ARCHIVED,
}


def describe_difference(before: NoteFile, after: NoteFile) -> dict[str, Any]:
    """Describe the difference between two versions of a note: the `kind` of the change, its `entry` and `other`."""
    for file, other, kind in ((after, before, ChangeKind.FORGOTTEN), (before, after, ChangeKind.RESTORED)):
        entries = {*file.forgotten_entries} - {*other.forgotten_entries}
        if len(entries) == 1:
            return {"kind": kind, "entry": entries.pop()}
    if after.record.path == MEMORY and (facts := changed_entry(before.text, after.text)):
        return facts
    if after.record.is_log:
        gone, new = _difference(after.record.path, before.text, after.text)
        if len(gone) == len(new) == 1:
            return {"kind": ChangeKind.EDITED, "entry": new.pop(), "other": gone.pop()}
    was, now = (frontmatter.parse(file.text).meta for file in (before, after))
    status, successors = now.get("status"), now.get("superseded_by")
    if status == Status.SUPERSEDED and was.get("superseded_by") != successors:
        latest = cast("list[object]", successors)[-1] if successors and isinstance(successors, list) else successors
        return {"kind": ChangeKind.SUPERSEDED, "other": str(latest)}
    old, new = (cast("list[object]", meta.get("superseded") or []) for meta in (was, now))
    if marked := [str(mark) for mark in new if mark not in old]:  # an entry of a log, with its replacement and the time
        entry, _, by = PLACE.sub("", marked[0]).partition(" ")
        return {"kind": ChangeKind.SUPERSEDED, "entry": entry, "other": by.rpartition(" ")[0]}
    if was.get("status") == status:
        return {"kind": ChangeKind.EDITED if was.get("muted") == now.get("muted") else ChangeKind.MUTED}
    return {
        "kind": _BY_STATUS.get(str(status), ChangeKind.RESTORED),
        "other": str(was["status"]) if was.get("status") else None,
    }


def changed_entry(before: str, after: str) -> dict[str, Any]:
    """Return the one entry of `MEMORY.md` that was added, taken out or replaced; empty for several entries, or none."""
    gone, new = _difference(MEMORY, before, after)
    if max(len(gone), len(new)) != 1:
        return {}
    kind = ChangeKind.EDITED if gone and new else ChangeKind.FORGOTTEN if gone else ChangeKind.STORED
    return {"kind": kind, "entry": (gone or new).pop()}


def _difference(path: NotePath, before: str, after: str) -> tuple[set[str], set[str]]:
    """Return the hashes of the entries that only one of the two texts has."""
    was = {entry.hash for entry in entries_of(path, before)}
    now = {entry.hash for entry in entries_of(path, after)}
    return was - now, now - was
