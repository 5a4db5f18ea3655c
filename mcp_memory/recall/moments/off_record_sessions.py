"""Remember when each session's person last wrote, and whether nothing may be kept of what they write next. A small file
in the state folder has the sessions and times of such requests, no text."""

import threading
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

from mcp_memory.errors import StorageFailed
from mcp_memory.recall.context_budget import BudgetedText, TextFrame, render
from mcp_memory.runtime.json_lines import JsonLines
from mcp_memory.text.conversation.off_record import OffRecord, off_record, on_record_again, open_sentences
from mcp_memory.text.conversation.typed_words import typed_words
from mcp_memory.vault.journals.change_journal import Caller

NOT_FOUND = (
    "Nothing was taken out of memory: no earlier message of this session names what the person asked to forget. Tell "
    "the person. What is stored of other sessions, memory_search finds and memory_forget deletes."
)

MOST_SESSIONS = 1000
MOST_BYTES = 100_000
"""The most bytes of each of the two files: some thousand requests."""

LASTS = timedelta(days=1)
"""The time without a new prompt after which a session counts as ended, so its client's searches may be kept again."""

_LASTING = OffRecord.NEXT | OffRecord.SESSION
_START = datetime.min.replace(tzinfo=UTC)


class OffRecordSessions:
    """The requests of sessions. Thread-safe. A session is named `client/id`."""

    def __init__(self, state: Path) -> None:
        self._lines = JsonLines(state / "off-record.jsonl", synced=False, most_bytes=MOST_BYTES)
        self._lock = threading.Lock()
        self._last: dict[str, tuple[datetime, OffRecord]] | None = None
        self._missing: set[str] = set()

    def hear(self, session: str, prompt: str, at: datetime) -> tuple[bool, datetime | None]:
        """Return whether this prompt must not be kept, and the time from which earlier messages must be dropped, if the
        prompt asks for that. If the time of the previous prompt is unknown, the whole session is dropped."""
        with self._lock:
            last = self._known()
            if not typed_words(prompt).strip():
                return bool(last.get(session, (_START, OffRecord.NOTHING))[1]), None
            began, before = last.pop(session, (_START, OffRecord.NOTHING))
            wish = off_record(prompt)
            if open_sentences(prompt) != prompt:
                wish |= OffRecord.THIS  # the agent's questions and its answer may repeat what is private
            began = _START if OffRecord.ALL in wish else began
            if OffRecord.SESSION in before and not on_record_again(prompt):
                wish |= OffRecord.SESSION
            last[session] = (at.replace(microsecond=0), wish)  # records have whole seconds
            while len(last) > MOST_SESSIONS:
                del last[next(iter(last))]
            if (wish | before) & _LASTING:
                self._lines.try_append({"session": session, "lasts": (wish & _LASTING).value})
        return bool(wish) or OffRecord.NEXT in before, began if OffRecord.BEFORE in wish else None

    def silences(self, caller: Caller, now: datetime) -> bool:
        """Return whether the last prompt of a session of this client must not be kept. A search may come from there: it
        doesn't name its session."""
        with self._lock:
            of_client = [last for session, last in self._known().items() if session.startswith(f"{caller.client}/")]
        return any(bool(wish) and began >= now - LASTS for began, wish in of_client)

    def note_missing(self, session: str) -> None:
        """Remember that no message was found about the thing that the session's person asked to forget."""
        with self._lock:
            self._missing.add(session)

    def tell_missing(self, session: str) -> str:
        """Return a line about that, once; else nothing."""
        with self._lock:
            if session not in self._missing:
                return ""
            self._missing.remove(session)
        return render(TextFrame("memory", None), BudgetedText((), (NOT_FOUND,)))

    def _known(self) -> dict[str, tuple[datetime, OffRecord]]:
        if self._last is None:
            self._last = {}
            with suppress(StorageFailed):  # the file starts over
                for line in self._lines.read():
                    self._last[line["session"]] = (_START, OffRecord(line["lasts"]))
        return self._last
