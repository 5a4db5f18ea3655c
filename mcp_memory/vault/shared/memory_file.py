"""Add, replace, remove and restore entries of `MEMORY.md`, and leave every other byte as it is."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, replace

from mcp_memory.errors import InvalidInput, McpMemoryError, NotFound, Refused, StorageFailed
from mcp_memory.models import Etag, NotePath, Outcome
from mcp_memory.text.escape_invisible import in_quotes
from mcp_memory.text.markdown import frontmatter, sections
from mcp_memory.text.markdown.frontmatter import newline_of
from mcp_memory.text.text_hash import text_hash
from mcp_memory.vault.draft import Draft, WriteResult, one_line
from mcp_memory.vault.journals.append_journal import AppendJournal, AppendOutcome, JournaledAppend
from mcp_memory.vault.journals.tombstones import Caller, Tombstone, Tombstones
from mcp_memory.vault.note_file import NoteFile, entries_of, find_entry, read_note
from mcp_memory.vault.note_store import NoteStore
from mcp_memory.vault.ownership import Provenance

Fits = Callable[[NoteFile], bool]
"""A function that returns whether a session's start shows all of a file."""

SHOW_IDS = "memory_recall path=MEMORY.md shows the ids of its entries"
NEW_FILE = "# Memory\n"
OTHERS = "Other entries"
"""The section of a restored entry that had none."""


@dataclass(frozen=True)
class KeptEntry:
    """The bytes of an entry that was taken out, and where they were."""

    text: str
    section: str
    start: int  # offset in characters
    before: str  # the digest of all text before it
    replaced_by: str | None = None  # the hash of the entry in its place


@dataclass(frozen=True)
class MemoryFile:
    """The verbs on `MEMORY.md`. An entry is kept in a tombstone before it is taken out of the file.

    Thread-safe. Every public method raises NotFound for an unknown entry, Refused for a file that isn't text,
    StorageFailed."""

    notes: NoteStore
    journal: AppendJournal
    tombstones: Tombstones
    provenance: Provenance

    @property
    def path(self) -> NotePath:
        return self.notes.layout.memory

    def append(self, draft: Draft, fits: Fits) -> WriteResult:
        """Add an entry at the end of `draft.section`, or in place of the entry `draft.replaces`; the same call again
        changes nothing. Also raises InvalidInput, and Refused if the file would no longer fit."""
        if draft.title or draft.tags or draft.when or draft.expires_at or draft.created:
            raise InvalidInput("an entry of MEMORY.md has no title, tags, `when` or dates", hint="leave them out")
        if not (draft.section or draft.replaces):
            raise InvalidInput("an entry of MEMORY.md needs a section", hint="pass section, for example Preferences")
        section = one_line("section", (draft.section or "").lstrip("# ") or OTHERS)
        entry = entries_of(self.path, sections.render_entry(draft.content))[0].hash
        added = JournaledAppend(
            self.path, entry, None, self.notes.clock().timestamp(), draft.content_hash, session=draft.session,
            section=section,
        )  # fmt: skip
        outcome, is_announced = Outcome.DUPLICATE, False

        def changed(_: NoteFile | None, before: str) -> str:
            nonlocal outcome, is_announced
            is_there, old = find_entry(self.path, before, entry), None
            if draft.replaces and not (old := _only_entry(before, draft.replaces)):
                kept = self._kept(draft.replaces)
                if not (is_there and kept and kept.replaced_by == entry):
                    raise self._missing(before, draft.replaces)
            if is_there and (old is None or old.hash == entry):
                outcome = Outcome.DUPLICATE
                return before
            if isinstance(old, sections.CuratedEntry):
                outcome, text = Outcome.SUPERSEDED, sections.render_entry(draft.content, old.mark)
                after = _replaced(before, old, "" if is_there else text)
            else:
                outcome, text = Outcome.CREATED, sections.render_entry(draft.content)
                after = sections.add_entry(before or NEW_FILE, section, text)
            data = after.encode("utf-8", "surrogateescape")
            future = read_note(self.path, data, Etag(""), "", self.notes.layout, self.notes.kinds)
            if len(after) > len(before) and not fits(future):
                raise Refused(
                    "MEMORY.md is full: a session's start would not show all of it",
                    hint="replace an entry (supersedes), forget one, or store a note instead, without path",
                )
            place = added
            if isinstance(old, sections.CuratedEntry):
                self._keep(before, old, Caller(draft.source, draft.session), replaced_by=entry)
                place = replace(added, section=old.section or OTHERS)
            if not is_announced:
                self.provenance.announce_entry(draft, entry, self.notes.clock())
                self.journal.announce(place, sections.render_entry(draft.content).removeprefix("- "))
                is_announced = True
            return after

        try:
            file = self.notes.change(self.path, changed)
        except McpMemoryError:
            if is_announced:
                self._mark(entry, "dismissed")
                self._release(draft.replaces)
            raise
        if outcome is not Outcome.DUPLICATE:
            self._mark(entry, "landed")
            self._mark(draft.replaces, "dismissed")
        return WriteResult(file, outcome, entry)

    def forget(self, entry: str, reason: str | None, by: Caller) -> NoteFile:
        """Take an entry out; its bytes are kept. Idempotent."""

        def changed(file: NoteFile | None, before: str) -> str:
            found = _only_entry(before, entry)
            if not isinstance(found, sections.CuratedEntry):
                if file and entry in self.tombstones.entries(self.path):
                    return before
                raise self._missing(before, entry)
            self._keep(before, found, by, reason)
            return before[: found.start] + before[found.end :]

        file = self.notes.change(self.path, changed)
        self._mark(entry, "dismissed")
        return file

    def restore(self, entry: str, by: Caller) -> NoteFile:
        """Put an entry back in place of its replacement, and keep the replacement. Without a replacement, the entry
        returns to its old place, or to the end of its section if the text before it has changed. Idempotent."""

        def changed(_: NoteFile | None, before: str) -> str:
            if find_entry(self.path, before, entry):
                return before
            kept = self._kept(entry)
            if kept is None:
                raise NotFound(f"no entry {entry} of MEMORY.md was forgotten", hint="mcp-memory list --deleted")
            now = find_entry(self.path, before, kept.replaced_by) if kept.replaced_by else None
            if isinstance(now, sections.CuratedEntry):
                self._keep(before, now, by, replaced_by=entry)
                return before[: now.start] + kept.text + before[now.end :]
            if text_hash(before[: kept.start]) == kept.before:
                return before[: kept.start] + kept.text + before[kept.start :]
            return sections.add_entry(before or NEW_FILE, kept.section or OTHERS, sections.render_entry(kept.text))

        known = self._kept(entry)
        file = self.notes.change(self.path, changed)
        self._release(entry)
        self._mark(entry, "landed")
        self._mark(known and known.replaced_by, "dismissed")
        return file

    def put_back(self, added: JournaledAppend, text: str) -> WriteResult:
        """Add an entry again that another program's save removed."""
        section, entry = added.section or OTHERS, sections.render_entry(text)
        file = self.notes.change(self.path, lambda _, before: sections.add_entry(before, section, entry))
        return WriteResult(file, Outcome.CREATED, added.entry)

    def _keep(
        self,
        before: str,
        old: sections.CuratedEntry,
        by: Caller,
        reason: str | None = None,
        *,
        replaced_by: str | None = None,
    ) -> None:
        text = before[old.start : old.end]
        kept = KeptEntry(text, old.section, old.start, text_hash(before[: old.start]), replaced_by)
        why = f"replaced by {self.path}#{replaced_by}" if replaced_by else reason
        at = self.notes.clock().replace(microsecond=0)
        self.tombstones.keep_entry(Tombstone(self.path, old.hash, at, by.client, by.session, why, kept=asdict(kept)))

    def _missing(self, before: str, entry: str) -> NotFound:
        """Return the error for an unknown entry; it names the current entry, if this one was replaced."""
        chain = [entry]
        while (kept := self._kept(chain[-1])) and kept.replaced_by and kept.replaced_by not in chain:
            chain.append(kept.replaced_by)
        if len(chain) > 1 and find_entry(self.path, before, chain[-1]):
            return NotFound(
                f"entry {entry} of MEMORY.md was replaced", hint=f"what holds now is {self.path}#{chain[-1]}"
            )
        return NotFound(f"no entry {entry} in MEMORY.md", hint=SHOW_IDS)

    def _kept(self, entry: str) -> KeptEntry | None:
        kept = self.tombstones.read_entry(self.path, entry).kept
        return KeptEntry(**kept) if kept else None

    def _mark(self, entry: str | None, fate: AppendOutcome) -> None:
        with suppress(StorageFailed):  # the change's own outcome is decided
            for added in self.journal.entries_of(self.path):
                if added.entry == entry:
                    self.journal.mark(added, fate)

    def _release(self, entry: str | None) -> None:
        with suppress(StorageFailed):  # it hides nothing
            if entry:
                self.tombstones.release_entry(self.path, entry)


def _replaced(before: str, old: sections.CuratedEntry, text: str) -> str:
    whole = before[old.start : old.end]
    new = text.replace("\n", newline_of(before)) + whole[len(whole.rstrip()) :] if text else ""
    return before[: old.start] + new + before[old.end :]


def _only_entry(text: str, entry: str) -> sections.CuratedEntry | None:
    """Return the entry. Raises InvalidInput if several entries say the same, since a retried call would take the next
    one."""
    known = sections.entries(text, frontmatter.parse(text).body_start)
    same = [one for one in known if one.hash == entry]
    if len(same) > 1:
        places = ", ".join(in_quotes(one.section or OTHERS) for one in same)
        raise InvalidInput(f"{len(same)} entries of MEMORY.md say this: {places}", hint="mcp-memory edit MEMORY.md")
    return same[0] if same else None
