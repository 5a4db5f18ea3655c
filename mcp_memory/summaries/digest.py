"""Writes a page for each day with several sessions, and a digest of any period on request. The sessions, logs and notes
themselves don't change.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date, timedelta

from mcp_memory.comparison.comparison import say_the_same
from mcp_memory.errors import McpMemoryError
from mcp_memory.index.base import Index
from mcp_memory.models import PAGES, Filters, NotePath, NoteRecord
from mcp_memory.recall.note_list import MOST_NOTES, date_of, newest_notes
from mcp_memory.text.markdown import frontmatter
from mcp_memory.text.text_hash import text_hash
from mcp_memory.topics.page import SESSIONS, SUMMARIES, link, page_id
from mcp_memory.vault.note_file import NoteFile
from mcp_memory.vault.vault import Vault

DAYS = f"{SUMMARIES}/days"
MONTH = timedelta(days=30)
"""The age up to which a day gets a new page."""
LEAST, MOST_LINES, MOST_COMPARED = 2, 15, 200
"""The minimum number of sessions or log entries for a day's page, the most lines in each part of a page, and the number
of latest titles checked for repetition."""

DECISIONS = {"decision", "preference"}
_PARTS = {
    "Sessions": {"session"}, "Decided": DECISIONS, "Learned": {"fix", "lesson", "workflow", "skill"},
    "Promised": {"commitment"}, "Logged": {"log"},
}  # fmt: skip
_OTHER, _LEFT_OPEN = "Noted", "Left open"
_TIMES = _PARTS["Sessions"] | _PARTS["Logged"]


@dataclass(frozen=True)
class Digests:
    """Writes digests of the notes that `wanted` admits. Its methods read files and the index, so call them in a worker
    thread."""

    vault: Vault
    index: Index
    wanted: Filters

    def refresh(self) -> list[NoteFile]:
        """Write the outdated pages of days. Raises StorageFailed, IndexUnavailable."""
        today = self._day(None)
        folder = self.vault.layout.in_home(DAYS)
        known = {note.path: note for note in self._pages(folder)}
        pages = {path: list[NoteRecord]() for path in known}  # also update a page whose notes are all gone
        for note in self._find():
            day = self._day(note)
            path = NotePath(f"{folder}/{day}.md")
            if day < today and (path in known or day >= today - MONTH):
                pages.setdefault(path, []).append(note)
        written: list[NoteFile] = []
        for path, about in sorted(pages.items()):
            covers = text_hash(repr([(note.id, note.etag) for note in about]), 16)
            if path in known:
                title, is_due = known[path].title, known[path].meta.get("covers") != covers
            else:
                title = f"{self._day(about[0]):%A, %Y-%m-%d}"
                is_due = sum(note.kind in _TIMES for note in about) >= LEAST
            page = self._write(path, title, about, covers) if is_due else None
            if page:
                written.append(page)
        return written

    def of_time(self, title: str, path: NotePath | None) -> tuple[str, NoteFile | None]:
        """Return the digest of the period and project in `wanted`, and the page at `path` if it was written."""
        about = self._find()
        text = "\n".join(self._lines(path or self.vault.layout.memory, about))
        return text, self._write(path, title, about, text_hash(text, 16)) if path else None

    def _find(self) -> list[NoteRecord]:
        """Return notes, log entries and sessions, oldest first."""
        found, _ = newest_notes(self.index, self.wanted, MOST_NOTES, self.vault.clock(), None, None)
        sessions = self._pages(self.vault.layout.in_home(SESSIONS))
        return sorted((one for one in [*found, *sessions] if one.created), key=lambda one: (date_of(one), one.id))

    def _pages(self, folder: str) -> list[NoteRecord]:
        among = replace(self.wanted, states=PAGES, path_prefix=folder)
        return self.index.notes(among, MOST_NOTES)

    def _day(self, note: NoteRecord | None) -> date:
        when = date_of(note) if note else self.vault.clock()
        return when.astimezone(self.vault.layout.tz).date()

    def _write(self, path: NotePath, title: str, about: Sequence[NoteRecord], covers: str) -> NoteFile | None:
        lines = list(self._lines(path, about)) or ["Nothing that is stored holds now."]
        meta = {"id": page_id(path), "kind": "digest", "title": title, "node_kind": "digest", "covers": covers}
        if about:
            meta |= {"created": date_of(about[0]), "updated": date_of(about[-1])}
        head = {**meta, "derived_from": [note.id for note in about] or None}
        return self.vault.filing.refresh_page(path, frontmatter.render(head, "\n".join(lines)).encode(errors="replace"))

    def _lines(self, page: NotePath, about: Sequence[NoteRecord]) -> Iterator[str]:
        """Yield a line for each note, by part. If several titles are equivalent, only the first gets a line."""
        parts, told = defaultdict[str, list[str]](list), list[str]()
        for note in about:
            part = next((name for name, kinds in _PARTS.items() if note.kind in kinds), _OTHER)
            if part != "Sessions" and any(say_the_same(one, note.title) for one in told[-MOST_COMPARED:]):
                continue
            told.append(note.title)
            project = f" {note.project}:" if note.project else ""
            parts[part].append(f"- {self._day(note)}{project} {link(page, note.title, note.path)}")
        for project, line in self._left_open(about).items():
            parts[_LEFT_OPEN].append(f"- {project}: {line}" if project else f"- {line}")
        for name in (*_PARTS, _OTHER, _LEFT_OPEN):
            if lines := parts[name]:
                more = [f"- … and {len(lines) - MOST_LINES} more"] if len(lines) > MOST_LINES else []
                yield from (f"## {name}", "", *lines[:MOST_LINES], *more, "")

    def _left_open(self, about: Sequence[NoteRecord]) -> Mapping[str, str]:
        """Map each project to the task that its last session left open."""
        latest, found = {note.project or "": note for note in about if note.kind == "session"}, dict[str, str]()
        for project, note in sorted(latest.items()):
            with suppress(McpMemoryError):  # the note was just moved
                left = self.vault.read(note.path).body.partition("## Left open\n- ")[2].partition("\n")[0]
                found |= {project: left.partition(" (line ")[0]} if left else {}
        return found
