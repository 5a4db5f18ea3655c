"""Find entries of shared files that another program's save removed, and put them back on request.

No entry is restored automatically, because it may have been removed on purpose.
"""

import threading
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from mcp_memory.errors import NotFound, PathRefused, Refused
from mcp_memory.models import Etag, NoteId, NotePath
from mcp_memory.text.language.terms import coverage
from mcp_memory.vault.draft import WriteResult
from mcp_memory.vault.journals.append_journal import AppendJournal, JournaledAppend
from mcp_memory.vault.note_file import NoteFile, entries_of, is_memory
from mcp_memory.vault.note_store import NoteStore
from mcp_memory.vault.shared.daily_log import DailyLog
from mcp_memory.vault.shared.memory_file import MemoryFile

Why = Literal["overwritten", "missing", "edited", "unanswered"]
"""The reason why an entry is gone, as far as the bytes show it. `overwritten`: the file went back to its state before
the entry. `missing`: the entry went while other things changed, perhaps on purpose. `edited`: another entry is nearly
the same. `unanswered`: the append was cut short."""

SERIOUS: frozenset[Why] = frozenset({"overwritten", "missing"})  # reported to the user
EDITED = 0.5
"""The share of its words above which another entry is taken for an edit of this one."""
SHOWN_CHARS = 60

_Seen = tuple[str | None, tuple[JournaledAppend, ...]]  # a file's signature (None: no file), its lines in the journal


class LostEntry(NamedTuple):
    """An entry that is gone; `text` is the whole entry."""

    added: JournaledAppend
    why: Why
    text: str

    @property
    def id(self) -> NoteId:
        return NoteId(f"{self.added.path}#{self.added.entry}")

    @property
    def gist(self) -> str:
        """Return the entry's time and first words."""
        heading, _, body = self.text.partition("\n")
        words = f"{heading.lstrip('# ')} {' '.join(body.split())}".strip()
        return words if len(words) <= SHOWN_CHARS else words[:SHOWN_CHARS].rstrip() + "…"


def find_lost(added: Sequence[JournaledAppend], texts: Mapping[str, str], file: NoteFile | None) -> list[LostEntry]:
    """Return the entries, oldest first, that the file (None: it is missing) no longer has, without those forgotten or
    taken back."""
    entries = entries_of(file.record.path, file.text) if file else ()
    standing = {entry.hash for entry in entries} | set(file.forgotten_entries if file else ())
    answered = {line.content for line in added if line.fate in {"landed", "overwritten"}}
    undone = overwritten(added, file.record.etag if file else None)
    ours = {line.entry for line in added}
    others = [_words(file.text[entry.start : entry.end]) for entry in entries if file and entry.hash not in ours]
    lost: list[LostEntry] = []
    for line in added:
        text = texts.get(line.entry)
        if text is None or line.entry in standing or line.fate in {"announced", "dismissed"}:
            continue
        if line.fate == "cut short" and line.content in answered:
            continue  # the append was retried
        # If you went on writing below an entry, its hash has changed, but its words are there.
        if file is None or text.strip() not in file.text.replace("\r\n", "\n"):
            lost.append(LostEntry(line, _why(line, line.entry in undone, text, others), text))
    return lost


def overwritten(added: Sequence[JournaledAppend], now: Etag | None) -> frozenset[str]:
    """Return entries between two moments at which the file had the same bytes: it went back to before them."""
    states = [line.before for line in added] + [now]
    first: dict[Etag, int] = {}
    undone: set[str] = set()
    for at, state in enumerate(states):
        if state is not None:
            undone |= {line.entry for line in added[first.setdefault(state, at) : at]}
    return frozenset(undone)


class SharedFiles:
    """The comparison of files with the append journal, each only if either has changed. Thread-safe."""

    def __init__(self, notes: NoteStore, journal: AppendJournal, daily_log: DailyLog, memory: MemoryFile) -> None:
        self._notes = notes
        self._journal = journal
        self._daily_log = daily_log
        self._memory = memory
        self._comparing = threading.Lock()
        self._seen: dict[NotePath, _Seen] = {}
        self._lost: dict[NotePath, list[LostEntry]] = {}

    def compare(self) -> list[LostEntry]:
        """Return every entry that is gone from its file. Raises StorageFailed."""
        with self._comparing:
            if not self._notes.is_away:  # a folder that is not mounted has lost nothing
                for path in self._journal.paths():
                    self._compare_file(path)
            return self.last()

    def last(self) -> list[LostEntry]:
        """Return the entries that the last comparison found."""
        return [lost for path in sorted(self._lost) for lost in self._lost[path]]

    def put_back(self, lost: LostEntry) -> WriteResult:
        """Add an entry again, at the end of its file or section and with its old time. Raises the errors of an
        append."""
        if is_memory(lost.added.path):
            stored = self._memory.put_back(lost.added, lost.text)
        else:
            stored = self._daily_log.add(lost.added.path, lost.text)
        self._journal.mark(lost.added, "landed")
        return stored

    def dismiss(self, lost: LostEntry) -> None:
        """Stop listing an entry that was removed on purpose. Raises StorageFailed."""
        self._journal.mark(lost.added, "dismissed")

    def _compare_file(self, path: NotePath) -> None:
        added = tuple(self._journal.entries_of(path))
        try:
            if self._seen.get(path) == (self._signature(path), added):
                return
            file = self._notes.find(path)
        except (PathRefused, Refused):
            return  # not a file that we could have written: the result of the last comparison stays
        self._lost[path] = find_lost(added, self._journal.texts(path), file)
        for lost in self._lost[path]:
            if lost.why == "overwritten":
                # Recorded at once: the editor's next save hides that the file had gone back.
                self._journal.mark(lost.added, "overwritten")
        if file is None or file.settled:
            self._seen[path] = (file.record.signature if file else None, added)

    def _signature(self, path: NotePath) -> str | None:
        try:
            return self._notes.stat(path).signature
        except NotFound:
            return None


def _why(added: JournaledAppend, undone: bool, text: str, others: Sequence[set[str]]) -> Why:
    if added.fate == "cut short":
        return "unanswered"
    if undone or added.fate == "overwritten":
        return "overwritten"
    words = _words(text)
    return "edited" if any(coverage(words, other) > EDITED for other in others) else "missing"


def _words(entry: str) -> set[str]:
    """Return an entry's words without the time of the heading, which entries of one minute share."""
    return set(entry.split()[2:])
