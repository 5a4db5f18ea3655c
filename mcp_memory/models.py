"""The frozen values that rooms pass to one another. No I/O, no clock.

This module is over 300 lines because every room may need any of these values.
"""

import hashlib
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple, NewType

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]

NotePath = NewType("NotePath", str)  # relative POSIX path inside the vault; `@name/…` in a read-only source
Etag = NewType("Etag", str)  # sha256 of a file's bytes, 64 hexadecimal digits
NoteId = NewType("NoteId", str)  # the frontmatter's ULID, else `path:<path>`; `<path>#<entry hash>` for a log entry
TextHash = NewType("TextHash", str)  # sha256 of an embedded text, the key of the embedding cache
Clock = Callable[[], datetime]
Meta = Mapping[str, Any]  # frontmatter as plain values: str, int, float, bool, None, datetime, date, list, dict
IMPORTED_ID = "0" * 10  # begins the id of an imported note, in place of the time in a ULID
IMPORTED = "imported"  # the folder of all imports in the managed folder
INCUBATOR = "_idea-incubator"  # the folder of ideas that are not ripe, in the managed folder

ABSENT = frozenset({"null", "none", "undefined"})
"""Words that clients pass for a value that they don't have."""

EVERYWHERE = "*"  # among the projects in which a note is muted


class Status(StrEnum):
    """A note's status in its frontmatter; absent = active."""

    ACTIVE = "active"
    SUPERSEDED = "superseded"
    ARCHIVED = "archived"
    DELETED = "deleted"


class NoteState(StrEnum):
    """The states of a note for search and recall, which use only `ACTIVE` notes unless asked otherwise. `REPLACED`
    notes are superseded and in `_archive/`."""

    ACTIVE = "active"
    ARCHIVED = "archived"  # in `_archive/`, or superseded, or archived by status
    REPLACED = "replaced"
    INBOX = "inbox"  # a candidate in `_inbox/` that awaits review
    SUMMARY = "summary"  # a page of the topic tree: made from other notes, so it would repeat them in an answer
    TRANSCRIPT = "transcript"  # a captured session: searched only if its folder is asked for
    ASIDE = "aside"  # another version of a note, a merge conflict or a template: see `vault.marks`
    DELETED = "deleted"  # forgotten: known by id so that it can be restored, but has no chunks


PAGES = frozenset({NoteState.SUMMARY})
WRITTEN = frozenset(NoteState) - PAGES
"""The states of pages, and of notes that people and agents wrote."""


@dataclass(frozen=True, slots=True)
class FileStat:
    """A file in a listing."""

    path: NotePath
    signature: str  # inode, size, mtime and ctime: differs when the file has changed
    size_bytes: int
    settled: bool = True  # False for a file younger than the clock's grain: read it to be sure


@dataclass(frozen=True)
class Problem:
    """A reason why a file can't be used as it is, for `status` and `doctor`."""

    path: str
    reason: str
    unread: bool = False  # its bytes couldn't be read, so its rows in the index may be out of date
    is_put_off: bool = False  # we wrote it, but the index doesn't have it yet


@dataclass(frozen=True, slots=True)
class Chunk:
    """An exact slice of a note's text: `text == whole[start:end]`."""

    text: str
    start: int  # offset in characters of the decoded file, frontmatter included
    end: int
    start_line: int  # 1-based; both ends included
    end_line: int
    headings: tuple[str, ...] = ()  # the headings above the chunk, outermost first, without `#`
    section: int = 0  # number of the section (the stretch under one heading) inside the note
    entry: str | None = None  # in a log: the hash of the `## HH:MM` entry that the chunk is in
    time: str | None = None  # in a log: that entry's `HH:MM`


def etag_of(data: bytes) -> Etag:
    """Return the sha256 of a file's bytes."""
    return Etag(hashlib.sha256(data).hexdigest())


@dataclass(frozen=True, slots=True)
class NoteRecord:
    """A note as the index has it, without its chunks."""

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
    updated: datetime | None = None  # aware; a daily log's day at midnight
    expires_at: datetime | None = None
    always_load: bool = False  # its folder or its head asks for it; anyone may have written a head: ask the Provenance
    content_hash: str = ""  # sha256 of the body without outer white space; equal for equal content
    is_log: bool = False
    problem: str | None = None  # why part of the file was not used (broken YAML, invalid UTF-8 …)
    meta: Meta = field(default_factory=dict[str, Any])
    supersedes: tuple[NoteId, ...] = ()  # the notes that it claims to replace
    superseded_by: tuple[NoteId, ...] = ()  # the notes that replaced it, the latest last; some may be forgotten
    superseded_at: datetime | None = None  # since when it is superseded; None if it isn't, or is active again

    @property
    def folder(self) -> str:
        return self.path.rpartition("/")[0]

    @property
    def date(self) -> datetime | None:
        """The time of its last change, or else when it was made."""
        return self.updated or self.created

    @property
    def first_date(self) -> datetime | None:
        """The time when it was made, or else of its last change."""
        return self.created or self.updated

    @property
    def day(self) -> str | None:
        """The day of its `date`, in ISO 8601."""
        return self.date.date().isoformat() if self.date else None

    @property
    def counts_until(self) -> datetime | None:
        """The time at which it expires or was superseded; None if it has no known end."""
        return min(filter(None, (self.superseded_at, self.expires_at)), default=None)

    def has_ended(self, now: datetime) -> bool:
        return self.expires_at is not None and self.expires_at <= now and not self.superseded_at

    def status(self, now: datetime) -> str:
        """Return active, superseded, archived, expired, candidate, set aside or forgotten."""
        if self.superseded_at:
            return "superseded"
        if self.state is NoteState.ACTIVE and self.has_ended(now):
            return "expired"
        words = {"archived": "archived", "inbox": "candidate", "aside": "set aside", "deleted": "forgotten"}
        return words.get(self.state, "active")

    @property
    def has_returned(self) -> bool:
        """Return whether it is active although its file says superseded: what replaced it has ended or is gone."""
        return self.state is NoteState.ACTIVE and bool(self.superseded_by) and not self.superseded_at

    @property
    def is_foreign(self) -> bool:
        """Return whether it doesn't say what holds here: it was imported, is in a read-only source, or is an idea that
        is being incubated."""
        folders = f"/{self.path}"
        is_imported = self.id.startswith(IMPORTED_ID) or f"/{IMPORTED}/" in folders
        return is_imported or self.path.startswith("@") or f"/{INCUBATOR}/" in folders

    @property
    def all_tags(self) -> tuple[str, ...]:
        """The tags of its head, or of a log's entries, and the tags in its text."""
        return tuple(dict.fromkeys((*self.tags, *self.meta.get("text_tags", ()))))

    @property
    def when(self) -> tuple[str, ...]:
        """Phrases of what somebody is doing or asking when the note should come up."""
        return tuple(self.meta.get("when", ()))

    @property
    def is_private(self) -> bool:
        """Return whether the note itself or its folder is marked; `PrivateMarks` adds the settings."""
        return self.meta.get("private") is True

    @property
    def properties(self) -> str:
        """The text of its head without our fields; empty for a page or candidate, whose head the program made."""
        made = self.state in {NoteState.SUMMARY, NoteState.TRANSCRIPT, NoteState.INBOX}
        return "" if made else str(self.meta.get("properties", ""))

    def is_muted_in(self, project: str | None) -> bool:
        """Return whether a person has muted it, everywhere or in this project, so that agents get it only if they
        ask."""
        muted = self.meta.get("muted", ())
        return EVERYWHERE in muted or project in muted


def tag_name(tag: str) -> str:
    """Normalize a tag as filters compare it: in any case, with or without `#`."""
    return unicodedata.normalize("NFC", tag).casefold().strip().lstrip("#").strip("/")


def tags_in(lists: Iterable[str]) -> list[str]:
    """Return the tags of lists with commas."""
    return [tag.strip() for tags in lists for tag in tags.split(",")]


def tag_names(tags: Iterable[str]) -> frozenset[str]:
    """Return the names that find these tags: `kiln` also finds the nested tag `kiln/hot`."""
    parts = [tag_name(tag).split("/") for tag in tags]
    return frozenset("/".join(names[:length]) for names in parts for length in range(1, len(names) + 1))


NO_PROJECT = ""
"""The project in filters for only notes without a project."""
CHANNEL = "channel:"
"""The beginning of the project of a conversation with others, such as a group chat. It sees only its own notes, and
other sessions get these only if they ask."""
SESSION = "session:"
"""The beginning of the project of a session that is kept apart from other sessions."""


def is_channel(project: str | None) -> bool:
    return project is not None and project.startswith(CHANNEL)


def is_closed(project: str | None) -> bool:
    """Return whether only one conversation or session sees the project's notes."""
    return project is not None and project.startswith((CHANNEL, SESSION))


@dataclass(frozen=True)
class PrivateMarks:
    """The folders, kinds and tags that make a note private, besides its own mark."""

    folders: tuple[str, ...] = ()  # `/notes/health/` at the vault's root, `private/` at any depth
    kinds: frozenset[str] = frozenset()
    tags: frozenset[str] = frozenset()

    def cover(self, note: NoteRecord) -> bool:
        """Return whether the note is private. The tags of a log are collected from its entries, so they don't make the
        whole log private."""
        whole = f"/{note.path}"
        return (
            note.is_private
            or note.kind in self.kinds
            or (not note.is_log and self.name_any(note.all_tags))
            or any(
                whole.startswith(folder) if folder.startswith("/") else f"/{folder}" in whole for folder in self.folders
            )
        )

    def name_any(self, tags: Iterable[str]) -> bool:
        """Return whether one of these tags is private."""
        return bool(self.tags) and not frozenset(map(tag_name, self.tags)).isdisjoint(tag_names(tags))


def unicode_forms(path: str) -> tuple[str, ...]:
    """Return a path as it is, and as keyboards (NFC) and macOS (NFD) spell its accents."""
    if path.isascii():
        return (path,)
    return tuple(dict.fromkeys([path, *(unicodedata.normalize(form, path) for form in ("NFC", "NFD"))]))


def is_below(path: str, folder: str) -> bool:
    """Return whether a path is this one, or in this folder."""
    return path == folder or path.startswith(f"{folder.removesuffix('/')}/")


@dataclass(frozen=True)
class Filters:
    """The filters of a search, applied inside each retriever, so that k rows come back whenever k match."""

    states: frozenset[NoteState] = frozenset({NoteState.ACTIVE})
    path_prefix: str | None = None  # a folder (`notes/fix` or `notes/fix/`) or one file
    kinds: frozenset[str] | None = None
    tags: frozenset[str] | None = None  # all of them must be present
    project: str | None = None  # this project's notes and those without one; None = all; see NO_PROJECT, CHANNEL
    aliases: frozenset[str] = frozenset()  # its other names, and the projects that a question names
    own: str | None = None  # the project of a session that is kept apart; empty for one without a name
    granted: frozenset[str] = frozenset()  # folders and notes that also pass, whatever their project
    since: datetime | None = None  # by the note's date (for logs, the day); aware; included
    until: datetime | None = None  # excluded
    session: str | None = None
    always_load: bool = False  # only notes that ask to be in every session
    due: bool = False  # only those with a `due`
    authors: frozenset[str | None] | None = None  # only these sources; see `admits_author`
    shared: str = ""  # the folder of notes for all agents
    kinds_out: frozenset[str] = frozenset()  # notes of these kinds are excluded
    now: datetime | None = None  # notes whose `counts_until` is not after this are excluded
    ended: datetime | None = None  # only notes whose `counts_until` is not after this
    foreign: bool | None = None  # True: only notes that are `is_foreign`; False: only others
    private: PrivateMarks | None = None  # notes that these cover are excluded, and muted notes

    def admits(self, note: NoteRecord) -> bool:
        """Return whether a note passes; every index engine must decide the same."""
        date, prefix = note.date, self.path_prefix
        return (
            note.state in self.states
            and (not prefix or any(is_below(note.path, spelling) for spelling in unicode_forms(prefix)))
            and (self.kinds is None or note.kind in self.kinds)
            and (not self.tags or frozenset(map(tag_name, self.tags)) <= tag_names(note.all_tags))
            and self.sees(note)
            and (self.session is None or note.session == self.session)
            and (note.always_load or not self.always_load)
            and ("due" in note.meta or not self.due)
            and note.kind not in self.kinds_out
            and (note.is_log or self.admits_author(note))
            and (self.since is None or (date is not None and date >= self.since))
            and (self.until is None or (date is not None and date < self.until))
            and (self.now is None or (end := note.counts_until) is None or end > self.now)
            and (self.ended is None or ((end := note.counts_until) is not None and end <= self.ended))
            and (self.foreign is None or note.is_foreign is self.foreign)
            and (self.private is None or not (self.private.cover(note) or any(map(note.is_muted_in, self.names))))
        )

    def sees(self, note: NoteRecord) -> bool:
        """Return whether the note's project passes. For a session that is kept apart, what is granted passes, too, and
        no page but its own, since a page may be about other sessions."""
        if any(is_below(note.path, place) for place in self.granted):
            return True
        is_page = self.own is not None and note.state in PAGES
        return note.project == self.own if is_page else self.admits_project(note.project)

    def admits_project(self, project: str | None) -> bool:
        """Return whether notes of this project pass."""
        if self.own is not None and project and project.startswith(SESSION):
            return project == self.own
        if self.project is None:
            return self.private is None or not is_channel(project)
        return project in self.names or (project is None and not is_channel(self.project))

    def admits_author(self, note: NoteRecord) -> bool:
        """Return whether notes of this author pass; a log has the authors of its entries. With the person (None), all
        notes pass that no agent wrote on its own, and shared ones."""
        if self.authors is None or note.source in self.authors:
            return True
        return None in self.authors and ("voice" in note.meta or note.is_foreign or is_below(note.path, self.shared))

    @property
    def names(self) -> frozenset[str | None]:
        """All names of the project in notes."""
        return frozenset((self.project, *self.aliases))


class Scored(NamedTuple):
    """A row of a retriever; scores of different retrievers or engines are not comparable."""

    chunk_id: int
    score: float


@dataclass(frozen=True, slots=True)
class Passage:
    """A chunk as the index stores it, with its note."""

    chunk_id: int
    ordinal: int  # 0-based position of the chunk in its note; neighbours are ordinal ± 1
    chunk: Chunk
    note: NoteRecord
    remark: str = ""  # a remark for the reader, such as the earlier value

    @property
    def shown_id(self) -> NoteId:
        """The id that callers see: its note's, or its log entry's."""
        return NoteId(f"{self.note.path}#{self.chunk.entry}") if self.chunk.entry else self.note.id


@dataclass(frozen=True)
class Hit:
    """A result of a search."""

    id: NoteId
    path: NotePath
    start_line: int
    end_line: int
    heading: str
    title: str
    kind: str
    date: str | None
    score: float  # 0 to 1, comparable between queries
    snippet: str
    project: str | None = None
    client: str | None = None  # the agent that wrote it; None for the person
    is_whole: bool = False  # whether the snippet is all of its note or log entry
    status: str = "active"  # or superseded, archived, expired, candidate
    superseded_by: NoteId | None = None  # the active note in its place
    outdated: str | None = None  # since when, and what a newer note says; nobody has decided
    private: bool | None = None  # True: lists that nobody asked for must not show it
    explain: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class FilteredOut:
    """A passage that would be among the hits without the filters."""

    id: NoteId
    path: NotePath
    start_line: int
    end_line: int
    title: str
    filters: tuple[str, ...]  # the filters that its note doesn't pass, by their argument names
    private: bool = False


@dataclass(frozen=True)
class SearchResult:
    """The hits of a search, best first."""

    hits: tuple[Hit, ...]
    confidence: float  # 0 to 1
    as_of: datetime
    degraded: str | None = None  # what the answer lacks
    note: str | None = None  # one line for the reader, such as which filter left nothing
    # the features from which the confidence was computed
    signs: Mapping[str, float] = field(default_factory=dict[str, float])
    left_out: tuple[FilteredOut, ...] = ()  # best first; only where the ranking is explained


FORK = "both replace"
"""The beginning of the reason for a conflict between two notes that replaced the same one, on two machines."""
DOUBLE = "say the same"
"""The reason why two notes are listed as doubles, which contradict each other in nothing."""


@dataclass(frozen=True, slots=True)
class Conflict:
    """A contradiction of a note or log entry by a newer one, or a pair of doubles, not decided yet. `before` is the
    older value and `after` the newer value, if it is a single value."""

    older: NoteId
    newer: NoteId
    older_path: NotePath
    newer_path: NotePath
    newer_at: str  # ISO 8601
    before: str
    after: str | None
    why: str

    @property
    def since(self) -> datetime:
        """When the newer note was made."""
        return datetime.fromisoformat(self.newer_at)

    @property
    def is_certain(self) -> bool:
        """Return whether values were compared."""
        return not self.is_double and not self.why.startswith(FORK)

    @property
    def is_double(self) -> bool:
        """Return whether the notes say the same."""
        return self.why == DOUBLE

    def partner_of(self, path: NotePath) -> NotePath | None:
        """Return the file of the other note, if either note is in this file."""
        others = {self.older_path: self.newer_path, self.newer_path: self.older_path}
        return others.get(path)


@dataclass(frozen=True)
class SimilarNote:
    """A note or log entry that says nearly the same as a new one, and the beginning of its text."""

    id: NoteId
    text: str


@dataclass(frozen=True)
class Contradicted:
    """A note or log entry that a new statement contradicts: its text, and the reason."""

    id: NoteId
    text: str
    why: str


class Outcome(StrEnum):
    """The result of an append or an edit."""

    CREATED = "created"
    DUPLICATE = "duplicate"
    SUPERSEDED = "superseded"
    UNKNOWN = "unknown"
    UPDATED = "updated"
    UNCHANGED = "unchanged"


@dataclass(frozen=True)
class Receipt:
    """The answer to an append or an edit; the bytes are on disk, durably, unless the outcome is `UNKNOWN`."""

    id: NoteId
    path: NotePath
    etag: Etag
    outcome: Outcome
    indexed: str  # "full" (keywords and vectors), "keywords" (vectors follow at once) or "pending" (the next sweep)
    similar: tuple[SimilarNote, ...] = ()  # the nearest first, without contradicted notes
    contradicts: tuple[Contradicted, ...] = ()  # the latest first
    superseded: Mapping[str, str] | None = None  # what this note replaced: id, path and the beginning of its text
    superseded_by: Mapping[str, str] | None = None  # of a duplicate: the active note in its place
    due: str | None = None  # of a commitment: when, such as `Fri 2026-11-27`; empty if no date was found
