"""Checks and renders a new note. Pure."""

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, time, timedelta, tzinfo
from typing import Any

from mcp_memory.errors import InvalidInput, Refused
from mcp_memory.models import NoteId, NoteRecord, Outcome
from mcp_memory.text.dates import parse_argument
from mcp_memory.text.dates.due import DueDate, due_from
from mcp_memory.text.markdown import frontmatter
from mcp_memory.text.secrets.finder import find_secret
from mcp_memory.vault.config import LOG, NoteKind
from mcp_memory.vault.marks.head_values import MAX_PHRASE, MAX_WHEN
from mcp_memory.vault.note_file import NoteFile, content_hash, derive_title

MAX_TAGS, MAX_WORD, MAX_TITLE = 32, 100, 200
MAX_BYTES = 1_000_000
"""The most bytes of an append, a book's worth; the rest of a longer text belongs in a file."""

CLOCKS_DIFFER = timedelta(days=1)


@dataclass(frozen=True)
class Draft:
    """A note to be stored."""

    content: str
    kind: NoteKind
    title: str | None = None
    tags: tuple[str, ...] = ()
    when: tuple[str, ...] = ()  # phrases of what somebody is doing or asking when it should come up
    project: str | None = None
    session: str | None = None
    source: str | None = None
    expires_at: datetime | None = None
    due: DueDate | None = None  # for when it is promised, in the vault's zone
    path: str | None = None  # if it is not to land where its kind does
    etag: str | None = None  # of the note at `path` whose text it replaces
    section: str | None = None  # of `MEMORY.md`
    replaces: str | None = None  # the hash of an entry of `MEMORY.md`
    created: datetime | None = None  # when its content was said, if not now
    once: bool = False  # don't store content again under another kind, or that was forgotten or replaced since
    folder: str | None = None  # below the managed folder, if not its kind's
    id: NoteId | None = None  # None for a new one
    more: Mapping[str, frontmatter.Value] = field(default_factory=dict[str, frontmatter.Value])  # further frontmatter

    @property
    def content_hash(self) -> str:
        return content_hash(self.content)

    @property
    def kind_of_same(self) -> str | None:
        """The kind of a note that counts as the same if it has this content; None for any kind."""
        return None if self.once else self.kind.name

    def is_stored_as(self, record: NoteRecord) -> bool:
        own = self.content_hash, self.kind.name, self.project
        return own == (record.content_hash, record.kind, record.project)

    @property
    def heading(self) -> str:
        """The title, or one derived from the content; a log entry of one line needs none."""
        if self.title is None and self.kind.name == LOG and "\n" not in self.content.strip():
            return ""
        return self.title or derive_title(self.content)


@dataclass(frozen=True)
class WriteResult:
    """A note after a write; `entry` is the hash of the log entry that was written. `replaced`: the note or entry that
    it superseded. `holding`: the later note that is active in place of this note, which was stored before."""

    file: NoteFile
    outcome: Outcome
    entry: str | None = None
    replaced: NoteFile | None = None
    holding: NoteFile | None = None


def check(draft: Draft, *, secrets_allowed: bool) -> None:
    """Check a draft. Raises InvalidInput or Refused, each with a hint on what to pass instead."""
    content = draft.content
    if not content.strip():
        raise InvalidInput("content is empty", hint="pass the text to remember")
    if len(content) > MAX_BYTES or len(content.encode("utf-8", "surrogatepass")) > MAX_BYTES:
        raise InvalidInput(f"content is larger than {MAX_BYTES:,} bytes", hint="store a summary, and where the rest is")
    if bad := control_character(content):
        raise InvalidInput(f"content holds {bad}", hint="pass plain text; binary data does not belong in a note")
    if draft.title is not None:
        one_line("title", draft.title, MAX_TITLE)
    if len(draft.tags) > MAX_TAGS:
        raise InvalidInput(f"{len(draft.tags)} tags", hint=f"at most {MAX_TAGS}")
    for tag in draft.tags:
        one_line("tag", tag)
    if len(draft.when) > MAX_WHEN:
        raise InvalidInput(f"{len(draft.when)} phrases under `when`", hint=f"pass the {MAX_WHEN} likeliest")
    for phrase in draft.when:
        one_line("`when` phrase", phrase, MAX_PHRASE)
    for name, value in (("project", draft.project), ("session", draft.session), ("source", draft.source)):
        if value is not None:
            one_line(name, value)
    texts = [draft.title, content, *draft.tags, *draft.when, draft.project, draft.session, draft.path]
    if not secrets_allowed and (found := find_secret("\n".join(text for text in texts if text))):
        raise Refused(
            f"this seems to hold a secret ({found})",
            hint="store where the secret is kept, not the secret itself; the user may set vault.secrets = 'allow'",
        )


def one_line(name: str, value: str, most: int = MAX_WORD) -> str:
    """Return `value` stripped. Raises InvalidInput unless it is one non-empty line of at most `most` characters."""
    plain = value.strip()
    if not plain:
        raise InvalidInput(f"{name} is empty", hint=f"pass a {name} or leave it out")
    if len(plain) > most:
        raise InvalidInput(f"{name} has {len(plain)} characters", hint=f"at most {most}")
    if any(c in "\n\r\u2028\u2029" for c in plain) or control_character(plain):
        raise InvalidInput(f"{name} must be one line of plain text", hint="remove line breaks and control characters")
    return plain


def render(draft: Draft, note_id: NoteId, now: datetime, supersedes: NoteId | None) -> bytes:
    """Return the file's bytes: frontmatter, an empty line, the unchanged content."""
    expires = draft.expires_at
    if expires is None and draft.kind.ttl_days:
        expires = now.replace(microsecond=0) + timedelta(days=draft.kind.ttl_days)
    elif expires and "derived_from" in draft.more and expires.time() == time():
        expires -= timedelta(seconds=1)  # the day shown is the last on which a session's statement applies
    meta: dict[str, Any] = {
        "id": note_id,
        "title": draft.heading,
        "kind": draft.kind.name,
        "project": draft.project,
        "created": (draft.created or now).replace(microsecond=0),
        "tags": list(dict.fromkeys(tag.strip() for tag in draft.tags)) or None,
        "when": list(dict.fromkeys(phrase.strip() for phrase in draft.when)) or None,
        "supersedes": [supersedes] if supersedes else None,
        "due": draft.due and (draft.due.moment(now.tzinfo or UTC) if draft.due.at else draft.due.day),
        "expires_at": expires,
        "source": draft.source,
        "session": draft.session,
        **draft.more,
    }
    body = draft.content if draft.content.endswith("\n") else draft.content + "\n"
    present = {key: value for key, value in meta.items() if value is not None}
    return frontmatter.render(present, "\n" + body).encode()


def control_character(text: str) -> str | None:
    for character in text:
        if character in "\n\r\t\f":
            continue
        category = unicodedata.category(character)
        if category == "Cs":
            return "half of a surrogate pair"
        if category == "Cc" and character != "\x85":
            return f"the control character U+{ord(character):04X}"
    return None


def expiry(text: str | None, tz: tzinfo) -> datetime | None:
    """Parse the time of expiry. Raises InvalidInput."""
    return parse_argument("expires", text, tz)


def due_day(text: str | None, zone: tzinfo) -> DueDate | None:
    """Parse the due day. Raises InvalidInput."""
    due = due_from(text, zone) if text else None
    if text and due is None:
        raise InvalidInput("due: not an ISO 8601 date or time", hint="pass for example 2026-11-27 or 2026-11-27T15:00")
    return due


def creation(text: str | None, tz: tzinfo, now: datetime) -> datetime | None:
    """Parse the time of creation. Raises InvalidInput, also for the future; another machine's clock may be ahead by
    CLOCKS_DIFFER."""
    moment = parse_argument("created", text, tz)
    if moment and not past(moment, now):
        raise InvalidInput("created is in the future", hint="pass when it was said, or leave it out")
    return moment


def past(when: datetime | None, now: datetime) -> datetime | None:
    """Return the date; None if it is in the future, and so can't say which of two notes is newer."""
    return when if when and when <= now + CLOCKS_DIFFER else None
