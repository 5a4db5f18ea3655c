"""Parses the bytes of one file as a note. Pure."""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, tzinfo
from pathlib import PurePosixPath
from typing import Any

from mcp_memory.errors import PathRefused, Refused
from mcp_memory.models import EVERYWHERE, Etag, NoteId, NotePath, NoteRecord, NoteState, Status
from mcp_memory.storage.path_rules import validate_new
from mcp_memory.text.instruction_files import are_orders
from mcp_memory.text.language.sentences import beginning, first_sentence
from mcp_memory.text.markdown import frontmatter, logs, properties, sections
from mcp_memory.text.markdown.logs import LogEntry
from mcp_memory.text.markdown.sections import CuratedEntry
from mcp_memory.text.markdown.tags import head_tags
from mcp_memory.text.text_hash import text_hash
from mcp_memory.topics.page import MAP, NODE, PAGE, is_generated, is_page
from mcp_memory.vault.config import LOG, TRANSCRIPTS, NoteKinds
from mcp_memory.vault.marks.head_values import fixed, kept_of, marks_of, text_of, when_of, words_of

ARCHIVE, INBOX, ALWAYS_LOAD, FOR_ALL = "_archive", "_inbox", "_always-load", "shared"
HISTORIES = f"{ARCHIVE}/history/"
"""The folder with the pages of superseded values."""
MEMORY = NotePath("MEMORY.md")
"""The name that agents use for the curated file, wherever it is."""
DREAMS = NotePath("DREAMS.md")  # what is proposed for it
SOUL = NotePath("SOUL.md")
"""A file at the root of every OpenClaw workspace, and of no other folder."""
MAX_ID = 200

_UNKNOWN = datetime(1, 1, 2, tzinfo=UTC)
_MARKS = re.compile(
    r"`([^`]+)`|[*`]+|^[>\s]+|(?<!\w)_+|_+(?!\w)"
)  # of emphasis and quotes; not in code or within a word
_MEMORY_PATH = re.compile(r"(?:[^/@][^/]*/)?MEMORY\.md")
_OF_ENTRY = re.compile(r"[0-9a-f]{16}(?: |$)")  # a mute of one entry
_LIKE_A_PATH = re.compile(r"^path:|[/#]|\.md$", re.IGNORECASE)


@dataclass(frozen=True)
class Layout:
    """The places inside a vault."""

    home: str  # the managed folder; empty for the vault's root
    tz: tzinfo
    at_root: bool = True  # whether agents write `MEMORY.md`, `DREAMS.md` and the daily logs at the root

    @property
    def memory(self) -> NotePath:
        return self._of_all(MEMORY)

    @property
    def dreams(self) -> NotePath:
        return self._of_all(DREAMS)

    @property
    def log_folder(self) -> NotePath:
        return self._of_all("memory")

    def _of_all(self, name: str) -> NotePath:
        return NotePath(name) if self.at_root else self.in_home(name)

    def below_home(self, path: str) -> str | None:
        """Return the path below the managed folder, or None outside; `MEMORY.md` and a `memory/` at the root are
        outside."""
        if path.startswith("@") or path == self.memory or path.startswith("memory/"):
            return None
        if not self.home:
            return path
        return path.removeprefix(f"{self.home}/") if path.startswith(f"{self.home}/") else None

    def log_of(self, day: date, part: int = 1) -> NotePath:
        """Return the path of a day's log. Parts count from 1."""
        number = f".{part}" if part > 1 else ""
        return NotePath(f"{self.log_folder}/{day.isoformat()}{number}.md")

    def place_of(self, path: NotePath) -> NotePath:
        """Return the place of a note that agents may name without the managed folder."""
        return self.memory if path == MEMORY else path

    def in_home(self, inner: str) -> NotePath:
        return NotePath(f"{self.home}/{inner}" if self.home else inner)

    def in_archive(self, path: NotePath) -> NotePath | None:
        """Return the same place below `_archive/`; None for a note that is there, or outside the managed folder."""
        below = self.below_home(path)
        if below is None or below.startswith(f"{ARCHIVE}/"):
            return None
        return self.in_home(f"{ARCHIVE}/{below}")

    def in_inbox(self, path: NotePath | None) -> str:
        """Return the place of a proposal in the managed folder, without `.md`; empty for another note."""
        below = (path and self.below_home(path)) or ""
        return below.removesuffix(".md") if below.startswith(f"{INBOX}/") else ""

    def before_archive(self, path: NotePath) -> NotePath | None:
        """Return the place from which a note came to `_archive/`; None for a note that isn't there."""
        below = self.below_home(path)
        if below is None or not below.startswith(f"{ARCHIVE}/"):
            return None
        return self.in_home(below.removeprefix(f"{ARCHIVE}/"))


@dataclass(frozen=True)
class NoteFile:
    """A note as read: `text` is the decoded file, `text[body_start:]` its body."""

    record: NoteRecord
    text: str
    body_start: int
    settled: bool = True  # False if the file is too young for its signature to prove that it has not changed

    @property
    def body(self) -> str:
        return self.text[self.body_start :]

    @property
    def forgotten_entries(self) -> list[str]:
        """The hashes of a log's forgotten entries."""
        return [str(entry) for entry in self.record.meta.get("forgotten", [])]

    def has_entry(self, entry: str) -> bool:
        """Return whether a log or `MEMORY.md` has the entry with this hash."""
        return find_entry(self.record.path, self.text, entry) is not None


def read_note(path: NotePath, data: bytes, etag: Etag, signature: str, layout: Layout, kinds: NoteKinds) -> NoteFile:
    """Any bytes are a note; `record.problem` names what can't be parsed."""
    decoded = frontmatter.decode(data)
    text = decoded.text or ""
    document = frontmatter.parse(text)
    meta = properties.by_hand(document.meta)
    problem = decoded.problem or document.problem
    day = logs.is_log_path(path)
    folder = layout.below_home(path) or ""
    kind = LOG if day else text_of(meta.get("kind")) or kinds.of_folder(str(PurePosixPath(folder).parent))
    created = when_of(meta.get("created"), layout.tz)
    updated = when_of(meta.get("updated"), layout.tz)
    if day:
        created = updated = fixed(datetime.combine(day, time(), layout.tz))
    expires = when_of(meta.get("expires_at"), layout.tz)
    if meta.get("expires_at") and expires is None:
        problem = problem or "`expires` is not a date that can be read, so the note stays: write it as 2026-12-31"
    superseded = None
    if text_of(meta.get("status")) == Status.SUPERSEDED:
        superseded = when_of(meta.get("superseded_at"), layout.tz) or updated or created or _UNKNOWN
    marks = marks_of(path, text, document, is_curated=is_memory(path))
    if document.problem and not document.meta and marks.get("private"):
        problem = f"{problem}; until its head can be read, the note is private"
    record = NoteRecord(
        path=path,
        id=_id(meta, path),
        etag=etag,
        signature=signature,
        title=text_of(meta.get("title")) or (None if day else first_heading(document.body)) or PurePosixPath(path).stem,
        kind=kind,
        state=_state(meta, path, folder),
        project=text_of(meta.get("project")),
        tags=tuple(dict.fromkeys([*head_tags(document.meta), *(logs.tags_in(document.body) if day else ())])),
        session=text_of(meta.get("session")),
        source=text_of(meta.get("source")),
        created=created,
        updated=updated,
        expires_at=expires,
        always_load=(
            meta.get("always_load") is not False
            if folder.startswith(f"{ALWAYS_LOAD}/")
            else bool(folder) and meta.get("always_load") is True
        ),
        content_hash=content_hash(document.body),
        is_log=day is not None,
        problem=problem,
        meta={**kept_of(meta, document, layout.tz, is_log=day is not None), **marks},
        supersedes=_ids(meta.get("supersedes")),
        superseded_by=_ids(meta.get("superseded_by")),
        superseded_at=superseded,
    )
    return NoteFile(record, text, document.body_start)


def is_memory(path: str) -> bool:
    """Return whether a path is that of a curated `MEMORY.md`: at the root, or in a folder there."""
    return _MEMORY_PATH.fullmatch(path) is not None


def entries_of(path: NotePath, text: str) -> Sequence[LogEntry] | Sequence[CuratedEntry]:
    """Return the entries of a log or of `MEMORY.md`."""
    start = frontmatter.parse(text).body_start
    return sections.entries(text, start) if is_memory(path) else logs.entries(text, start)


def find_entry(path: NotePath, text: str, entry: str) -> LogEntry | CuratedEntry | None:
    """Return the first entry with this hash."""
    return next((found for found in entries_of(path, text) if found.hash == entry), None)


def muted_projects(marks: Sequence[str], entry: str | None) -> list[str]:
    """Return the projects in which a note is muted, or in which this entry of it is muted (`hash` or `hash project` in
    its head)."""
    own = [mark[len(entry) :].strip() or EVERYWHERE for mark in marks if mark.startswith(entry)] if entry else []
    return [*(mark for mark in marks if not _OF_ENTRY.match(mark)), *own]


def editable_text(path: NotePath, data: bytes) -> str:
    """Return the text with undecodable bytes as surrogates, so that they are written back unchanged. Raises Refused for
    a file that isn't text."""
    decoded = frontmatter.decode(data)
    if decoded.text is None:
        raise Refused(f"{path} cannot be changed: {decoded.problem}", hint="repair the file by hand first")
    return data.decode("utf-8", "surrogateescape")


def content_hash(body: str) -> str:
    """Return the sha256 of a body without its outer white space and with LF line ends."""
    plain = body.replace("\r\n", "\n").strip()
    return text_hash(plain)


def is_whole(text: str, headings: Sequence[str], digest: str) -> bool:
    """Return whether a text below these headings is all of the note or log entry with this hash, apart from the heading
    right above."""
    above = [f"{level} {headings[-1]}{gap}" for level in ("#", "##") for gap in ("\n\n", "\n")] if headings else []
    return bool(digest) and any(content_hash(before + text)[: len(digest)] == digest for before in ("", *above))


def first_heading(body: str) -> str | None:
    """Return the first ATX heading's text within the first 50 lines."""
    for line in body[:10_000].splitlines()[:50]:
        if line.startswith("#") and (words := line.lstrip("#").strip().rstrip("#").strip()):
            return words
    return None


def derive_title(content: str) -> str:
    """Return the first heading or sentence, or the beginning of a long one."""
    for line in content[:4000].splitlines():
        plain = line.lstrip("#-+ \t")
        if not any(map(str.isalnum, plain)):
            continue
        return beginning(_MARKS.sub(lambda mark: mark[1] or "", first_sentence(plain)))
    return "Untitled note"


def slug(title: str) -> str:
    """Return a file name's stem: lower case, words joined by `-`, letters of any script, at most 60 characters."""
    folded = re.sub("[\ufe00-\ufe0f]", "", unicodedata.normalize("NFKC", title).lower())
    marked = (char if char.isalnum() or unicodedata.category(char)[0] == "M" else " " for char in folded)  # vowel signs
    words = "-".join("".join(marked).split())
    short = words[:60].rsplit("-", 1)[0] if len(words) > 60 and "-" in words[:60] else words[:60]
    while len(short.encode()) > 150:
        short = short[:-1]
    stem = short.strip("-") or "note"
    try:
        validate_new(f"{stem}.md")
    except PathRefused:  # a device on Windows: con, aux, com1
        return f"{stem}-note"
    return stem


def file_stem(title: str) -> str:
    """Return a note's file name without `.md`: the title's slug, changed if agents would read the file as
    instructions."""
    stem = slug(title)
    return f"{stem}-note" if are_orders(f"{stem}.md") else stem


def short_slug(title: str) -> str:
    """Return a folder's name from the title's first phrase, at most 40 characters."""
    return slug(title.partition(",")[0])[:40].strip("-")


def _id(meta: Mapping[str, Any], path: NotePath) -> NoteId:
    """Return the file's own id, unless it could be taken for another note's path."""
    own = text_of(meta.get("id"))
    return NoteId(f"path:{path}" if own is None or len(own) > MAX_ID or _LIKE_A_PATH.search(own) else own)


def _state(meta: Mapping[str, Any], path: str, inner: str) -> NoteState:
    status = text_of(meta.get("status"))
    if status == Status.DELETED:
        return NoteState.DELETED
    if path.startswith(f"@{TRANSCRIPTS}/"):
        return NoteState.TRANSCRIPT
    is_shared = path.startswith("@") and meta.get("node_kind") == NODE and path.rpartition("/")[2] in {PAGE, MAP}
    if is_shared or DREAMS in {path, inner} or is_page(inner) or is_generated(inner, meta.get("node_kind")):
        return NoteState.SUMMARY
    is_in_archive = inner.startswith(f"{ARCHIVE}/")
    if status in (Status.SUPERSEDED, Status.ARCHIVED) or is_in_archive:
        return NoteState.REPLACED if status == Status.SUPERSEDED and is_in_archive else NoteState.ARCHIVED
    return NoteState.INBOX if inner.startswith(f"{INBOX}/") else NoteState.ACTIVE


def _ids(value: object) -> tuple[NoteId, ...]:
    return tuple(dict.fromkeys(map(NoteId, words_of(value))))
