"""Finds entries that we added to a shared file and another program's save took away, and puts them back on request.

Nothing comes back by itself: what is gone may have been removed on purpose.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from mcp_memory.errors import NotFound, PathRefused, Refused
from mcp_memory.models import Etag, NoteId, NotePath
from mcp_memory.text.markdown import logs
from mcp_memory.vault.daily_log import DailyLog
from mcp_memory.vault.draft import WriteResult
from mcp_memory.vault.journals.append_journal import AppendJournal, AppendOutcome, JournaledAppend
from mcp_memory.vault.note_file import NoteFile
from mcp_memory.vault.reader import Reader

Why = Literal["overwritten", "missing", "edited", "unanswered"]
"""How an entry came to be absent, as far as the bytes tell: the file went back to what it was before the entry; it is
gone while other things changed, perhaps on purpose; another entry says much the same; or its append was cut short."""

SERIOUS: frozenset[Why] = frozenset({"overwritten", "missing"})
"""What a person should hear of."""

SHOWN_CHARS = 60

_Seen = tuple[str | None, tuple[JournaledAppend, ...]]
"""A file's signature (None: no file) and the journal's lines about it."""


@dataclass(frozen=True, slots=True)
class LostEntry:
    """`text` is the whole entry, `added` what the journal knows of it."""

    added: JournaledAppend
    why: Why
    text: str

    @property
    def id(self) -> NoteId:
        return NoteId(f"{self.added.path}#{self.added.entry}")

    @property
    def gist(self) -> str:
        """Its time and first words."""
        heading, _, body = self.text.partition("\n")
        words = f"{heading.lstrip('# ')} {' '.join(body.split())}".strip()
        return words if len(words) <= SHOWN_CHARS else words[:SHOWN_CHARS].rstrip() + "…"


def find_lost(added: Sequence[JournaledAppend], texts: Mapping[str, str], file: NoteFile | None) -> list[LostEntry]:
    """The entries, oldest first, that the file (None: there is none) no longer holds and nobody took back.

    A forgotten entry is none of them: it is nobody's wish that it comes back.
    """
    standing = _standing(file)
    answered = {each.content for each in added if each.fate in {AppendOutcome.LANDED, AppendOutcome.OVERWRITTEN}}
    undone = overwritten(added, file.record.etag if file else None)
    others = _others(added, file)
    lost: list[LostEntry] = []
    for each in added:
        text = texts.get(each.entry)
        if text is None or each.entry in standing or each.fate in {AppendOutcome.ANNOUNCED, AppendOutcome.DISMISSED}:
            continue
        if each.fate is AppendOutcome.CUT_SHORT and each.content in answered:
            continue  # it was appended again, as it should be
        # By its very words it stands where a person went on writing below it.
        if file is None or text.strip() not in file.text.replace("\r\n", "\n"):
            lost.append(LostEntry(each, _why(each, each.entry in undone, text, others), text))
    return lost


def overwritten(added: Sequence[JournaledAppend], now: Etag | None) -> frozenset[str]:
    """Entries between two moments at which the file had the very same bytes: it went back to before them."""
    states = [each.before for each in added] + [now]
    first: dict[Etag, int] = {}
    undone: set[str] = set()
    for at, state in enumerate(states):
        if state is not None:
            undone |= {each.entry for each in added[first.setdefault(state, at) : at]}
    return frozenset(undone)


class SharedFiles:
    """Compares files with the recovery journal, each only when either has changed. Thread-safe."""

    def __init__(
        self, reader: Reader, journal: AppendJournal, daily_log: DailyLog, is_there: Callable[[], bool]
    ) -> None:
        """`is_there`: whether the vault can be looked at; a folder that is not mounted has lost nothing."""
        self._reader = reader
        self._journal = journal
        self._daily_log = daily_log
        self._is_there = is_there
        self._comparing = threading.Lock()
        self._seen: dict[NotePath, _Seen] = {}
        self._lost: dict[NotePath, list[LostEntry]] = {}

    def compare(self) -> list[LostEntry]:
        """Every entry that is gone from its file now. Raises StorageFailed."""
        with self._comparing:
            if self._is_there():
                for path in self._journal.paths():
                    self._compare_file(path)
            return self.last()

    def last(self) -> list[LostEntry]:
        """What the last comparison found."""
        return [lost for path in sorted(self._lost) for lost in self._lost[path]]

    def put_back(self, lost: LostEntry) -> WriteResult:
        """Add an entry again, at the end of its file and with its old time. Raises as an append."""
        stored = self._daily_log.add(lost.added.path, lost.text)
        self._journal.mark(lost.added, AppendOutcome.LANDED)
        return stored

    def dismiss(self, lost: LostEntry) -> None:
        """Its removal was meant: it is not listed any more. Raises StorageFailed."""
        self._journal.mark(lost.added, AppendOutcome.DISMISSED)

    def _compare_file(self, path: NotePath) -> None:
        added = tuple(self._journal.entries_of(path))
        try:
            if self._seen.get(path) == (self._signature(path), added):
                return
            file = self._file(path)
        except (PathRefused, Refused):
            return  # no file that we could have written stands there now: what was lost before still is
        self._lost[path] = find_lost(added, self._journal.texts(path), file)
        for lost in self._lost[path]:
            if lost.why == "overwritten":
                # Recorded at once: the next save in that editor hides that the file had gone back.
                self._journal.mark(lost.added, AppendOutcome.OVERWRITTEN)
        if file is None or file.settled:
            self._seen[path] = (file.record.signature if file else None, added)

    def _signature(self, path: NotePath) -> str | None:
        try:
            return self._reader.stat(path).signature
        except NotFound:
            return None

    def _file(self, path: NotePath) -> NoteFile | None:
        try:
            return self._reader.read(path)
        except NotFound:
            return None


def _standing(file: NoteFile | None) -> set[str]:
    if file is None:
        return set()
    return {each.hash for each in logs.entries(file.text, file.body_start)} | set(file.forgotten_entries)


def _others(added: Sequence[JournaledAppend], file: NoteFile | None) -> list[set[str]]:
    """The words of each entry that is not as any of ours was added."""
    ours = {each.entry for each in added}
    entries = logs.entries(file.text, file.body_start) if file else []
    return [_words(file.text[each.start : each.end]) for each in entries if file and each.hash not in ours]


def _why(added: JournaledAppend, undone: bool, text: str, others: Sequence[set[str]]) -> Why:
    if added.fate is AppendOutcome.CUT_SHORT:
        return "unanswered"
    if undone or added.fate is AppendOutcome.OVERWRITTEN:
        return "overwritten"
    words = _words(text)
    return "edited" if any(2 * len(words & other) > len(words) for other in others) else "missing"


def _words(entry: str) -> set[str]:
    """Without the time of the heading, which entries of one minute share."""
    return set(entry.split()[2:])
