"""Read whole notes, their entries and lines for an answer, with remarks on what replaced them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from mcp_memory.capture.transcript_store import SegmentOrigin
from mcp_memory.errors import NotFound
from mcp_memory.index.base import Index
from mcp_memory.models import Clock, Filters, NotePath, NoteState, PrivateMarks
from mcp_memory.recall.current_values import CurrentValues
from mcp_memory.recall.excerpts import Excerpt, forgotten_lines, note_excerpts, without_repeats
from mcp_memory.recall.remarks.note_remarks import describe_links, successor_of
from mcp_memory.recall.topic_page import TopicPages
from mcp_memory.text.escape_invisible import in_quotes
from mcp_memory.text.language.terms import content_words
from mcp_memory.text.markdown import sections
from mcp_memory.vault.config import TRANSCRIPTS
from mcp_memory.vault.note_file import NoteFile
from mcp_memory.vault.project_state import is_state
from mcp_memory.vault.succession.entry_marks import superseded
from mcp_memory.vault.vault import Vault
from mcp_memory.vault.withheld_pages import is_made, quotes_forgotten, sources_of, withheld

BEGINNING_CHARS = 30
"""The characters of an entry that appear beside its id."""

ETAG_CHARS = 12
"""The characters of an etag that are enough to replace a text."""

SAID_IN_SESSIONS = f"What was said in sessions: memory_search path=@{TRANSCRIPTS}"


class TranscriptPlace(NamedTuple):
    """A line of a captured session."""

    session: str
    path: NotePath
    line: int

    def __str__(self) -> str:
        return f"Said in session {self.session}: {self.path}:{self.line}"


@dataclass(frozen=True)
class NoteReader:
    """Reads files and the index: for worker threads."""

    vault: Vault
    index: Index
    topics: TopicPages
    current: CurrentValues
    private: PrivateMarks
    clock: Clock

    def text(self, path: NotePath, entry: str | None) -> tuple[NoteFile, str]:
        """Return one note, or one log entry, with its text as on disk, without forgotten entries."""
        file = self.visible(path)
        if entry is None and not forgotten_lines(file):
            return file, file.text
        return file, "\n".join(excerpt.text for excerpt in note_excerpts(file, entry))

    def excerpts(
        self, paths: Sequence[tuple[NotePath, str | None]], lines: str | None, wanted: Filters
    ) -> tuple[list[Excerpt], list[str], list[str]]:
        """Return the excerpts with lines about them: the notes of pages, the nearest links, superseded notes, the
        entries of `MEMORY.md`, and the session that wrote a note."""
        files = [(self.visible(path, with_candidates=False), entry) for path, entry in paths]
        shown, replaced = list[Excerpt](), list[str]()
        for file, entry in files:
            mark = "ended" if file.record.has_ended(self.clock()) else ""
            for known in superseded(file, entry):
                remark, head = successor_of(self.vault.chains, known)
                replaced.append(remark)
                if head and not lines and (entry or not file.record.is_log):
                    shown += note_excerpts(head)
                    mark = "superseded"
            found = note_excerpts(file, entry, lines, wanted.own)
            shown += [replace(one, remark=mark or self.current.remark_on(one.shown_id)) for one in found]
        told = replace(wanted, private=self.private)
        links = describe_links(self.index, [file for file, entry in files if not entry], told)
        path = self.vault.layout.memory
        if (path, None) in paths:
            memory = self.vault.read(path)
            known = sections.entries(memory.text, memory.body_start)
            ids = ", ".join(f"#{entry.hash} {in_quotes(entry.title[:BEGINNING_CHARS])}" for entry in known)
            replaced += [f"Entries, for supersedes and memory_forget: {ids}"] if ids else []
        for file, _ in files:
            if is_state(file.record.path, self.vault.layout):
                etag = file.record.etag[:ETAG_CHARS]
                replaced.append(f"To replace this text: memory_append path={file.record.path} etag={etag}")
        said = [] if lines else [self.said_at(file) for file, _ in files if file.record.session]
        replaced += dict.fromkeys(str(place) if place else SAID_IN_SESSIONS for place in said)
        return without_repeats(shown), links, replaced

    def said_at(self, file: NoteFile) -> TranscriptPlace | None:
        """Return where a note was extracted from, while that is kept."""
        source = next(iter(sources_of(file.text)), "").rpartition("@")[0]
        origin = SegmentOrigin(file.record.source or "", source, file.record.session or "", None)
        pages = Filters(states=frozenset({NoteState.TRANSCRIPT}), path_prefix=f"@{TRANSCRIPTS}/{origin.folder}")
        words, found = content_words(file.body), list[tuple[int, NotePath, int]]()
        for page in self.index.notes(pages):
            lines = enumerate(self.vault.read(page.path).text.splitlines(), 1)
            found += ((-len(words & content_words(line)), page.path, number) for number, line in lines)
        return TranscriptPlace(origin.thread, *min(found)[1:]) if found else None

    def visible(self, path: NotePath, *, with_candidates: bool = True) -> NoteFile:
        """Return a note that may be shown. Raises NotFound for a forgotten note, for a file that isn't a note (ignored,
        or something else in the vault), and unless `with_candidates`, for a candidate, which no person has reviewed."""
        file = self.vault.read(path)
        if self.index.note(path) is None and path not in self.vault.list().files:
            raise NotFound(f"{path} is not one of the vault's notes", hint="memory_search finds notes")
        if file.record.state is NoteState.DELETED:
            raise NotFound(f"{path} was forgotten", hint="memory_forget with restore=true brings it back")
        if file.record.state is NoteState.INBOX and not with_candidates:
            raise NotFound(f"{path} waits for a person to review it", hint="mcp-memory review")
        if is_made(file.record) and (
            quotes_forgotten(file.text, self.vault, self.index) or self.topics.is_overtaken(file.record)
        ):
            return withheld(file, self.vault, self.index)
        return file
