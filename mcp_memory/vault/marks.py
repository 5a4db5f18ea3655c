"""The marks of a retired note: what forgetting, restoring and superseding change in a frontmatter. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import cast

from mcp_memory.errors import NotFound, Refused
from mcp_memory.models import NoteId, NotePath, NoteState, Status
from mcp_memory.text.dates import as_datetime
from mcp_memory.text.markdown import frontmatter, logs
from mcp_memory.vault.note_file import NoteFile

Changes = Mapping[str, frontmatter.Value | None]

NOT_DELETED: Changes = dict.fromkeys(("status", "deleted_at", "deleted_by", "deleted_in", "deleted_because"))


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks: a client by its name, and its session, as far as they are known. A person at the command line may
    change what no agent may."""

    client: str | None = None
    session: str | None = None
    is_person: bool = False


UNKNOWN = Caller()


@dataclass(frozen=True, slots=True)
class Tombstone:
    """What is known of a forgotten note or entry (`entry`: its hash): when, by which client, in which session, why."""

    path: NotePath
    entry: str | None
    at: datetime | None = None
    client: str | None = None
    session: str | None = None
    reason: str | None = None
    title: str = ""

    @property
    def target(self) -> str:
        """Under which it can be restored."""
        return f"{self.path}#{self.entry}" if self.entry else self.path


def deleted(now: datetime, reason: str | None, by: Caller) -> Changes:
    return {
        "status": Status.DELETED.value,
        "deleted_at": now,
        "deleted_by": by.client,
        "deleted_in": by.session,
        "deleted_because": reason,
    }


def tombstone(file: NoteFile) -> Tombstone:
    """As a forgotten note's file has it; nothing but its place where somebody brought the unmarked bytes back."""
    meta = frontmatter.parse(file.text).meta
    said = {key: str(meta[key]) if meta.get(key) is not None else None for key in NOT_DELETED}
    at = as_datetime(meta.get("deleted_at"), UTC)
    by, session, why = said["deleted_by"], said["deleted_in"], said["deleted_because"]
    return Tombstone(file.record.path, None, at, by, session, why, file.record.title)


def superseded(file: NoteFile, by: NoteId, now: datetime) -> Changes:
    """None where the note has these marks already, so that a retry changes nothing."""
    known = superseded_by(file)
    if by in known and file.record.state is NoteState.ARCHIVED:
        return {}
    return {"status": Status.SUPERSEDED.value, "superseded_by": [*known, by], "updated": now}


def superseded_by(file: NoteFile) -> list[NoteId]:
    """The notes that it names, the latest last."""
    said = frontmatter.parse(file.text).meta.get("superseded_by")
    items = cast("list[object]", said) if isinstance(said, list) else [said]
    return [NoteId(str(each)) for each in items if each]


def retired_at(file: NoteFile) -> datetime | None:
    """When it was forgotten or replaced, or is over; None where nothing tells."""
    meta, record = frontmatter.parse(file.text).meta, file.record
    if record.state is NoteState.DELETED:
        return as_datetime(meta.get("deleted_at"), UTC)
    return record.updated if meta.get("status") == Status.SUPERSEDED else record.expires_at


def forgotten(file: NoteFile) -> list[str]:
    """The hashes of a log's forgotten entries."""
    return [str(entry) for entry in file.record.meta.get("forgotten", [])]


def united(file: NoteFile, entry: str) -> list[str]:
    return list(dict.fromkeys([*forgotten(file), entry]))


def without(file: NoteFile, entry: str) -> list[str] | None:
    return [known for known in forgotten(file) if known != entry] or None


def hash_of(entry: str) -> str:
    """The hash of a rendered log entry."""
    return logs.entries(entry)[0].hash


def holds_entry(file: NoteFile, entry: str) -> bool:
    return any(known.hash == entry for known in logs.entries(file.text, file.body_start))


def without_entry(path: NotePath, data: bytes, entry: str) -> bytes:
    """A log's bytes without this entry, and without its hash among the forgotten ones.

    Raises NotFound, Refused for a file that holds no text.
    """
    text = patchable(path, data)
    meta = frontmatter.parse(text)
    found = [known for known in logs.entries(text, meta.body_start) if known.hash == entry]
    if not found:
        raise NotFound(f"no entry {entry} in {path}")
    for known in reversed(found):
        text = text[: known.start] + text[known.end :]
    said = meta.meta.get("forgotten")
    if isinstance(said, list) and entry in said:
        rest = [str(each) for each in cast("list[object]", said) if each != entry]
        text = without_empty_head(frontmatter.patch(text, {"forgotten": rest or None}))
    return text.encode("utf-8", "surrogateescape")


def patchable(path: NotePath, data: bytes) -> str:
    """The text to be changed; undecodable bytes travel through it as surrogates, so that they come out as they were.

    Raises Refused for a file that holds no text.
    """
    decoded = frontmatter.decode(data)
    if decoded.text is None:
        raise Refused(f"{path} cannot be changed: {decoded.problem}", hint="a person has to repair the file first")
    return data.decode("utf-8", "surrogateescape")


def without_empty_head(text: str) -> str:
    """A head that holds nothing any more goes: the file may have had none before we marked it."""
    head = frontmatter.split_head(text)
    if not head.exists or text[head.start : head.end].strip():
        return text
    bom = frontmatter.BOM if text.startswith(frontmatter.BOM) else ""
    return bom + text[head.body_start :]
