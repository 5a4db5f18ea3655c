"""Finds and erases what was made from a note: its item in files that `teach` wrote, proposals of dreams, runs of jobs
that name it, and candidates that wait for review."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from mcp_memory.curation.dreams.dream_files import squeezed
from mcp_memory.engine.parts import EngineParts
from mcp_memory.errors import McpMemoryError
from mcp_memory.integrations import config_files
from mcp_memory.integrations.config_plan import ConfigChange, ConfigTarget
from mcp_memory.integrations.marked_block import taught_block, taught_items, with_taught_items
from mcp_memory.models import Filters, NoteId, NotePath, NoteRecord, NoteState
from mcp_memory.text.pluralize import counted
from mcp_memory.vault.note_file import DREAMS, MEMORY, NoteFile, entries_of, find_entry
from mcp_memory.vault.withheld_pages import sources_of

MOST_NOTES = 1_000_000
_MADE_KINDS = frozenset({"commitment", "lesson"})
"""Kinds that are also stored without review."""


@dataclass(frozen=True, slots=True)
class ErasedText:
    """A whole note, or one entry of a log, that is erased. The text is empty if the file has gone."""

    path: NotePath
    entry: str | None
    ids: Collection[NoteId]
    text: str

    @classmethod
    def of(cls, path: NotePath, entry: str | None, ids: Collection[NoteId], file: NoteFile | None) -> "ErasedText":
        if file is None or entry is None:
            return cls(path, entry, ids, file.body if file else "")
        found = find_entry(path, file.text, entry)
        return cls(path, entry, ids, file.text[found.start : found.end] if found else "")


class NoteCopies:
    """Synchronous."""

    def __init__(self, parts: EngineParts) -> None:
        self._parts = parts

    def describe(self, erased: ErasedText) -> Iterator[str]:
        """Yields a line for each place that `erase` cleans. Raises StorageFailed."""
        for file in self._taught(erased)[0]:
            yield f"its lines in {file}, which teach put there"
        proposals, runs = self._parts.dreamer.files.find_traces(erased.path, erased.text)
        if proposals:
            yield f"in DREAMS.md: {counted(len(proposals), 'proposal')}"
        if runs:
            yield f"the journal of {counted(len(runs), 'dream')}, which can't be taken back then"
        if lines := self._parts.scheduler.journal.count_naming(self._paths(erased)):
            yield f"in the journal of jobs: {counted(lines, 'run')}"
        for path in self.waiting(erased):
            yield f"what was made of it and waits for review: {path}"

    def beyond(self, erased: ErasedText) -> Iterator[str]:
        """Yields a line for each copy that stays."""
        for file in self._taught(erased)[1]:
            yield f"perhaps lines in {file}, which can't be read: look at it"
        for note in self._made_of(erased):
            if note.state not in {NoteState.INBOX, NoteState.SUMMARY}:
                yield f"the note {note.path}, which was made of it: mcp-memory erase {note.id}"
        for entry in self._curated(erased):
            yield f"the entry of {MEMORY} that quotes it: mcp-memory erase {MEMORY}#{entry}"
        linking = {link.source for link in self._parts.index.links_to(erased.path)[0]} - {erased.path}
        if linking and not erased.entry:
            yield f"links with its file's name in {', '.join(sorted(linking)[:5])}: mcp-memory lint names them"

    def erase(self, erased: ErasedText) -> list[NotePath]:
        """Returns the files of the vault that were changed. Raises StorageFailed, and Refused or PreconditionFailed for
        a file of `teach` that can't be written."""
        for file in self._taught(erased)[0]:
            text = config_files.read_text(file)
            items = [item for note, item in taught_items(text).items() if note not in erased.ids]
            new = with_taught_items(file.name, text, items).encode() or None
            target = ConfigTarget(file, (taught_block(file.name, items),))
            change = ConfigChange(target, text.encode(), new)
            config_files.check(change)
            config_files.apply(change, self._parts.clock())
        self._parts.scheduler.erase(self._paths(erased))
        if not self._parts.dreamer.files.erase_traces(erased.path, erased.text):
            return []
        self._parts.vault.changes.drop_versions(NoteId(f"path:{DREAMS}"))
        return [NotePath(DREAMS)]

    def waiting(self, erased: ErasedText) -> list[NotePath]:
        """Candidates that were made of it, and that nobody has accepted."""
        return [note.path for note in self._made_of(erased) if note.state is NoteState.INBOX]

    def _curated(self, erased: ErasedText) -> Iterator[str]:
        """The entries of MEMORY.md that a dream took from it."""
        said, memory = squeezed(erased.text), self._parts.dreamer.files.text_of(MEMORY) or ""
        for entry in entries_of(MEMORY, memory) if erased.path != MEMORY else ():
            words = squeezed(getattr(entry, "title", "")).partition(" ([")[0]
            if words and words in said:
                yield entry.hash

    def _taught(self, erased: ErasedText) -> tuple[list[Path], list[Path]]:
        """The files that have it, and those that can't be read."""
        found, unreadable = list[Path](), list[Path]()
        for file in self._parts.taught.read() if erased.ids else ():
            try:
                if {*erased.ids} & taught_items(config_files.read_text(file)).keys():
                    found.append(file)
            except McpMemoryError:
                unreadable.append(file)
        return found, unreadable

    def _paths(self, erased: ErasedText) -> set[NotePath]:
        """Every path that the whole note has had: they have words of it."""
        return set() if erased.entry else {erased.path, *self._parts.vault.ledger.paths_of(erased.ids)}

    def _made_of(self, erased: ErasedText) -> Iterator[NoteRecord]:
        for note in self._parts.index.notes(Filters(states=frozenset(NoteState)), MOST_NOTES):
            if note.state is NoteState.INBOX or note.kind in _MADE_KINDS:
                file = self._parts.vault.read(note.path)
                if any(_is_from(file, source, erased) for source in sources_of(file.text)):
                    yield note


def _is_from(file: NoteFile, source: str, erased: ErasedText) -> bool:
    """Whether a note with this source quotes what is erased; an entry of a log is named with its line."""
    if source.startswith(f"{erased.path}@"):
        body = file.body.strip()
        return erased.entry is None or (bool(body) and body in erased.text)
    return source in erased.ids
