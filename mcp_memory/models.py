"""The values that rooms hand to one another. Frozen, without behaviour that touches a disk or a clock."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NewType

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]

NotePath = NewType("NotePath", str)
"""Relative POSIX path of a note inside its vault; `@name/…` for a read-only source."""

Etag = NewType("Etag", str)
"""sha256 of a file's bytes, 64 hexadecimal digits."""

NoteId = NewType("NoteId", str)
"""A ULID from the frontmatter, `path:<path>` without one, `<path>#<entry hash>` for a log entry."""

TextHash = NewType("TextHash", str)
"""sha256 of an embedded text, the key of the embedding cache."""

Meta = Mapping[str, Any]
"""Frontmatter as plain values: str, int, float, bool, None, datetime, date, list, dict."""

TRANSCRIPTS = "transcripts"
"""The name of the read-only source that holds captured sessions: `@transcripts/…`."""


class Status(StrEnum):
    """What the frontmatter says of a note; absent = active."""

    ACTIVE = "active"
    SUPERSEDED = "superseded"
    ARCHIVED = "archived"
    DELETED = "deleted"


class NoteState(StrEnum):
    """Where a note stands for search and recall: only `ACTIVE` is looked at unless asked otherwise."""

    ACTIVE = "active"
    ARCHIVED = "archived"
    """In `_archive/`, or superseded, or archived by status."""
    INBOX = "inbox"
    """A candidate in `_inbox/` that awaits review."""
    SUMMARY = "summary"
    """A page of the topic tree: made from other notes, so that no answer says the same thing twice."""
    TRANSCRIPT = "transcript"
    """What was said in a session, as captured: looked at only where it is asked for by its folder."""
    DELETED = "deleted"
    """Forgotten: known by id so that it can be restored, but without any chunk."""


@dataclass(frozen=True, slots=True)
class FileStat:
    """One file as a listing sees it."""

    path: NotePath
    signature: str
    """inode, size, mtime and ctime: differs when the file changed (a file younger than the clock's grain
    must be read to be sure; then `settled` is false)."""
    size_bytes: int
    settled: bool = True


@dataclass(frozen=True, slots=True)
class Problem:
    """A fact about a file that could not be used as it is, for `status` and `doctor`."""

    path: str
    reason: str
    unread: bool = False
    """Its bytes could not be had: what is known of it, if anything, may be out of date."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """An exact slice of a note's text: `text == whole[start:end]`."""

    text: str
    start: int
    """Offset in characters of the decoded file, frontmatter included."""
    end: int
    start_line: int
    """1-based; both ends included."""
    end_line: int
    headings: tuple[str, ...] = ()
    """The heading path above the chunk, outermost first, without `#`."""
    section: int = 0
    """Number of the section (the stretch under one heading) inside the note."""
    entry: str | None = None
    """In a log: the hash of the `## HH:MM` entry that holds the chunk."""
    time: str | None = None
    """In a log: that entry's `HH:MM`."""


@dataclass(frozen=True, slots=True)
class NoteRecord:
    """What the index knows of one note, besides its chunks."""

    path: NotePath
    id: NoteId
    etag: Etag
    signature: str
    title: str
    kind: str
    state: NoteState
    project: str | None = None
    tags: tuple[str, ...] = ()
    session: str | None = None
    source: str | None = None
    created: datetime | None = None
    updated: datetime | None = None
    """Aware; for a daily log the day itself at midnight. `updated or created` is the note's date."""
    expires_at: datetime | None = None
    always_load: bool = False
    """By its place alone: a head may come from anybody."""
    content_hash: str = ""
    """sha256 of the body with outer white space stripped: tells whether the same content is stored."""
    is_log: bool = False
    problem: str | None = None
    """Why part of the file was not used (broken YAML, invalid UTF-8 …)."""
    meta: Meta = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class Filters:
    """A closed set, applied inside each leg of a search: k rows come back whenever k match."""

    states: frozenset[NoteState] = frozenset({NoteState.ACTIVE})
    path_prefix: str | None = None
    """A folder (`notes/fix` or `notes/fix/`) or one file."""
    kinds: frozenset[str] | None = None
    tags: frozenset[str] | None = None
    """All of them must be present."""
    project: str | None = None
    """This project's notes and those without a project; None = all."""
    since: datetime | None = None
    """On the note's date (for logs, the day); aware; `since` included, `until` excluded."""
    until: datetime | None = None
    session: str | None = None
    now: datetime | None = None
    """Notes whose `expires_at` is not after this are left out like archived ones."""

    def admits(self, note: NoteRecord) -> bool:
        """Whether a note as it is now passes; an index applies the same to the notes that it knows."""
        date, prefix = note.updated or note.created, self.path_prefix
        return (
            note.state in self.states
            and (not prefix or note.path == prefix or note.path.startswith(f"{prefix.removesuffix('/')}/"))
            and (self.kinds is None or note.kind in self.kinds)
            and (not self.tags or self.tags <= set(note.tags))
            and (self.project is None or note.project in (None, self.project))
            and (self.session is None or note.session == self.session)
            and (self.since is None or (date is not None and date >= self.since))
            and (self.until is None or (date is not None and date < self.until))
            and (self.now is None or note.expires_at is None or note.expires_at > self.now)
        )


@dataclass(frozen=True, slots=True)
class Scored:
    """One row of one leg; scores of different legs or engines are not comparable."""

    chunk_id: int
    score: float


@dataclass(frozen=True, slots=True)
class Passage:
    """A chunk as the index stores it, with its note."""

    chunk_id: int
    ordinal: int
    """0-based position of the chunk in its note; neighbours are ordinal ± 1."""
    chunk: Chunk
    note: NoteRecord

    @property
    def shown_id(self) -> NoteId:
        """What names it to a caller: its note, or the log entry that it is of."""
        return NoteId(f"{self.note.path}#{self.chunk.entry}") if self.chunk.entry else self.note.id


@dataclass(frozen=True, slots=True)
class Hit:
    """One answer of a search, best first."""

    id: NoteId
    path: NotePath
    start_line: int
    end_line: int
    heading: str
    title: str
    kind: str
    date: str | None
    score: float
    """0 to 1, comparable between queries."""
    snippet: str
    explain: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class FilteredOut:
    """A passage that would be among the hits, but for filters."""

    id: NoteId
    path: NotePath
    start_line: int
    end_line: int
    title: str
    filters: tuple[str, ...]
    """Those that its note does not pass, by the names that a caller knows them by."""


@dataclass(frozen=True, slots=True)
class SearchResult:
    """`confidence` is 0 to 1; `degraded` says why the answer is not the full one, or is None. `signs`: by name, what
    the confidence was taken from."""

    hits: tuple[Hit, ...]
    confidence: float
    as_of: datetime
    degraded: str | None = None
    note: str | None = None
    """One line for the reader, say which filter emptied the set."""
    signs: Mapping[str, float] = field(default_factory=dict[str, float])
    left_out: tuple[FilteredOut, ...] = ()
    """Told where the ranking is explained; best first."""


class Outcome(StrEnum):
    """What became of an append."""

    CREATED = "created"
    DUPLICATE = "duplicate"
    SUPERSEDED = "superseded"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Receipt:
    """The answer to an append: with `CREATED` and `SUPERSEDED` the bytes are on disk, durably."""

    id: NoteId
    path: NotePath
    etag: Etag
    outcome: Outcome
    indexed: str
    """`"full"` (keywords and vectors), `"keywords"` (vectors follow at once) or `"pending"` (with the next sweep)."""
    similar: tuple[NoteId, ...] = ()
