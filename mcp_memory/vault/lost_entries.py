"""Lost entries: what we added to a shared file and somebody's save took away. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from mcp_memory.models import Etag, NoteId
from mcp_memory.text.markdown import logs
from mcp_memory.vault import marks
from mcp_memory.vault.append_journal import AppendOutcome, JournaledAppend
from mcp_memory.vault.note_file import NoteFile

Why = Literal["overwritten", "missing", "edited", "unanswered"]
"""How an entry came to be absent, as far as the bytes tell: the file went back to what it was before the entry; it is
gone while other things changed, perhaps on purpose; another entry says much the same; or its append was cut short."""

SERIOUS: frozenset[Why] = frozenset({"overwritten", "missing"})
"""What a person should hear of."""

SHOWN_CHARS = 60


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
            continue  # it was said again, as it should be
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


def _standing(file: NoteFile | None) -> set[str]:
    if file is None:
        return set()
    return {each.hash for each in logs.entries(file.text, file.body_start)} | set(marks.forgotten(file))


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
