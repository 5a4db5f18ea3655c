"""Choose the notes for every session's start, so that no part crowds out another part."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from mcp_memory.errors import McpMemoryError
from mcp_memory.index.base import Index
from mcp_memory.models import Filters, NoteId, NotePath, NoteRecord, PrivateMarks
from mcp_memory.recall.context_budget import BudgetedText, fit, length, size, with_notice
from mcp_memory.recall.current_values import CurrentValues
from mcp_memory.recall.excerpts import Excerpt, latest_entries, note_excerpts, stretches, without_private_lines
from mcp_memory.recall.moments.standing_lines import LASTING, StandingLine, choose_lines
from mcp_memory.text.pluralize import counted
from mcp_memory.usage.note_use import NoteUse
from mcp_memory.vault.config import COMMITMENT
from mcp_memory.vault.note_file import MEMORY, NoteFile
from mcp_memory.vault.vault import Vault

STANDING_KINDS = (frozenset({"preference"}), frozenset({"decision"}))
"""The kinds shown to every session of their project, in this order."""

CURATED_SHARE, STANDING_SHARES, LOG_SHARE, LATEST_SHARE = 0.4, (0.15, 0.2), 0.15, 0.1
"""The shares of the room: standing orders and MEMORY.md; each of the standing kinds; the logs of the last days; the
latest notes. Each part passes its unused room on to the others."""

LINES_SHARE = 0.4
"""The share of a usual start that lines of other notes get if the curated part fills it."""

MOST_STANDING, MOST_LATEST, MOST_READ = 100, 5, 1000
_COUNT_CHARS = 32
"""The characters of the line that counts the skipped notes, besides the room that each section reserves for its number.
"""
_READ_AT_ONCE = 8

_WORD = re.compile(r"\w+")
_TIME_AHEAD = re.compile(r"^[#>\s*+-]*[0-9]{1,2}:[0-9]{2}\b")
_FEWEST_WORDS = 4


class StartSection(NamedTuple):
    """A group of excerpts, its share of the room, whether all of the group was read, and its name in singular and
    plural."""

    excerpts: Sequence[Excerpt]
    share: float
    is_whole: bool
    names: tuple[str, str]


@dataclass(frozen=True, slots=True)
class SessionStart:
    """The start of a session. Reads files and the index: for worker threads. `read` raises an error for a note that may
    not be shown."""

    vault: Vault
    index: Index
    read: Callable[[NotePath], NoteFile]
    log_days: int
    private: PrivateMarks
    wanted: Filters
    current: CurrentValues

    def text(self, room_chars: int) -> BudgetedText:
        """Return standing orders and MEMORY.md, then preferences (or the kinds wanted), decisions, the latest logs and
        the latest notes, each newest first. No note and no statement appears twice."""
        parts = self._parts(room_chars)
        return _fit_parts(parts, _rooms(parts, room_chars))

    def brief(self, room_chars: int, usual_chars: int, uses: Mapping[NoteId, NoteUse]) -> BudgetedText:
        """Return standing orders and MEMORY.md, and a line for each other note that every session should know. The
        lines get the rest of `usual_chars`, or a share of it."""
        curated = fit(self._curated(), room_chars)
        known = "\n".join(excerpt.text for excerpt in curated.excerpts)
        left = max(usual_chars - size(curated), int(LINES_SHARE * usual_chars))
        left = min(left, room_chars - size(curated))
        shown = list(curated.excerpts)
        for line in choose_lines(self._lasting(), uses, known):
            excerpt = self._line(line)
            if excerpt and length([excerpt]) <= left:
                left -= length([excerpt])
                shown.append(excerpt)
        return replace(curated, excerpts=tuple(shown))

    def orders(self, room_chars: int) -> BudgetedText:
        """Return the standing orders that fit; the others are named."""
        return fit([excerpt for path in self._orders() for excerpt in self._excerpts(path)], room_chars)

    def lines_of_memory(self, room_chars: int) -> tuple[int, int]:
        """Return how many lines of MEMORY.md a start has room for, and how many MEMORY.md has."""
        parts = self._parts(room_chars)
        known = _fit_parts(parts, _rooms(parts, room_chars)).excerpts, parts[0].excerpts
        shown, there = (sum(e.text.count("\n") + 1 for e in excerpts if e.path == MEMORY) for excerpts in known)
        return shown, there

    def _parts(self, room_chars: int) -> list[StartSection]:
        """Read the parts of a start, each beyond its share of the room."""
        kinds = self.wanted.kinds
        standing = [(kinds, sum(STANDING_SHARES))] if kinds else list(zip(STANDING_KINDS, STANDING_SHARES, strict=True))
        parts: list[tuple[list[NotePath], float, tuple[str, str]]] = [
            ([*self._orders(), MEMORY], CURATED_SHARE, ("standing order", "standing orders")),
            *((self._paths(wanted), share, _called(wanted)) for wanted, share in standing),
            (self._logs(), LOG_SHARE, ("log entry", "log entries")),
            (self._paths(kinds)[:MOST_LATEST], LATEST_SHARE, ("note", "notes")),
        ]
        seen: set[NotePath] = set()
        stated: set[str] = set()
        found: list[StartSection] = []
        for paths, share, names in parts:
            new = [path for path in dict.fromkeys(paths) if path not in seen]
            seen.update(new)
            excerpts = list[Excerpt]()
            while new and (not found or length(excerpts) <= room_chars):
                read, new = new[:_READ_AT_ONCE], new[_READ_AT_ONCE:]
                excerpts += _unstated((excerpt for path in read for excerpt in self._excerpts(path)), stated)
            found.append(StartSection(excerpts, share, not new, names))
        return found

    def _curated(self) -> list[Excerpt]:
        return [excerpt for path in [*self._orders(), MEMORY] for excerpt in self._excerpts(path)]

    def _lasting(self) -> Iterator[tuple[NoteRecord, str]]:
        """Yield the notes that may last, each with the beginning of its text: preferences, then decisions, then the
        others, each the newest first, so that none crowds out another kind."""
        for kinds in (*STANDING_KINDS, LASTING.difference(*STANDING_KINDS)):
            for note in self._stored(kinds):
                for passage in self.index.passages(note.path)[:1]:
                    yield note, passage.chunk.text

    def _line(self, line: StandingLine) -> Excerpt | None:
        """Return the excerpt that shows the line; None for a note that may not be shown or may be outdated."""
        found = self._excerpts(line.note.path)[:1]
        if not found or found[0].path != line.note.path or "outdated" in found[0].remark:
            return None
        return replace(found[0], text=line.text, remark="", is_line=True)

    def _logs(self) -> list[NotePath]:
        now = self.wanted.now or datetime.now(UTC)
        days = (now.date() - timedelta(days=back) for back in range(self.log_days))
        return [path for day in days for path in reversed(self.vault.daily_log.parts(day))]

    def _orders(self) -> list[NotePath]:
        orders = self.index.notes(replace(self.wanted, kinds=None, always_load=True))
        return sorted(order.path for order in orders if self.vault.provenance.is_standing_order(order))

    def _stored(self, kinds: frozenset[str] | None) -> list[NoteRecord]:
        """Return the notes of the managed folder, the newest first: a file from elsewhere must not reach every session,
        whatever its kind."""
        wanted = replace(self.wanted, kinds=kinds, foreign=False, path_prefix=self.vault.layout.in_home("") or None)
        wanted = wanted if kinds else replace(wanted, kinds_out=frozenset({COMMITMENT}))
        found = self.index.notes(wanted, limit=MOST_STANDING if kinds else MOST_READ)
        below_home = self.vault.layout.below_home
        dated = [note for note in found if not note.is_log and (note.date or kinds)]
        return [note for note in dated if below_home(note.path) is not None]

    def _paths(self, kinds: frozenset[str] | None) -> list[NotePath]:
        return [note.path for note in self._stored(kinds)]

    def _excerpts(self, path: NotePath) -> list[Excerpt]:
        try:
            now, remark = self.current.note_now(path, self.wanted)
            is_ours = now == path or self.vault.layout.below_home(now) is not None
            file = self.read(now) if is_ours else self.read(path)
            remark = remark if is_ours else "outdated"
        except McpMemoryError:
            return []  # not there, or retired since it was indexed
        if self.private.cover(file.record) or file.record.is_muted_in(self.wanted.project):
            return []
        if file.record.is_log:
            return latest_entries(file, self.wanted, self.private)
        if not self.wanted.admits_project(file.record.project):
            return []
        return (
            [
                replace(excerpt, asking=self.wanted.project, remark=remark)
                for excerpt in without_private_lines(note_excerpts(file))
            ]
            if file.body.strip()
            else []
        )


def memory_over_budget(vault: Vault, most_lines: int) -> str | None:
    """Return a remark on a MEMORY.md with too many lines, or None. Reads MEMORY.md: call it in a thread."""
    with suppress(McpMemoryError):
        if (lines := len(vault.read(MEMORY).text.splitlines())) > most_lines:
            what = f"MEMORY.md has {lines} lines, over its budget of {most_lines}"
            return f"{what}: mcp-memory dream proposes what to move into notes"
    return None


def _rooms(parts: Sequence[StartSection], room_chars: int) -> list[int]:
    """Return the room of each part: its share, and the room that other parts leave unused, in the order of the
    parts."""
    wanted = [length(part.excerpts) for part in parts]
    rooms = [min(chars, int(part.share * room_chars)) for chars, part in zip(wanted, parts, strict=True)]
    for at, chars in enumerate(wanted):
        rooms[at] += min(chars - rooms[at], room_chars - sum(rooms))
    return rooms


def _fit_parts(parts: Sequence[StartSection], rooms: Sequence[int]) -> BudgetedText:
    """Fit the parts into their rooms. Notes that don't fit whole are cut to their first paragraphs before any is
    skipped. Skipped notes of the first section are named; one line counts the others by section."""
    shown: list[Excerpt] = []
    notices: list[str] = []
    missing: list[str] = []
    for at, (part, room) in enumerate(zip(parts, rooms, strict=True)):
        if at == 0 or length(part.excerpts) <= room:
            text = fit(part.excerpts, room)
        else:
            reserved = 0 if missing else _COUNT_CHARS
            text = fit(list(map(_first_paragraph, part.excerpts)), max(0, room - reserved), 0)
        shown += text.excerpts
        left = len({excerpt.item for excerpt in part.excerpts} - {excerpt.item for excerpt in text.excerpts})
        if at == 0:
            notices += text.notices
        elif left and part.is_whole:
            missing.append(counted(left, *part.names))
        if not part.is_whole:
            missing.append(part.names[1])
    text = BudgetedText(tuple(shown), tuple(notices))
    return with_notice(text, f"More in memory_search: {', '.join(missing)}", sum(rooms)) if missing else text


def _called(kinds: frozenset[str]) -> tuple[str, str]:
    one = min(kinds) if kinds in STANDING_KINDS else "note"
    return one, f"{one}s"


def _unstated(excerpts: Iterable[Excerpt], stated: set[str]) -> list[Excerpt]:
    """Yield the excerpts without statements that are in `stated`, to which the others are added."""
    kept: list[Excerpt] = []
    for excerpt in excerpts:
        lines = dict(enumerate(excerpt.text.split("\n"), excerpt.start_line))
        statements = {number: _statement(line) for number, line in lines.items()}
        kept += stretches(excerpt, {number: line for number, line in lines.items() if statements[number] not in stated})
        stated.update(filter(None, statements.values()))
    return kept


def _first_paragraph(excerpt: Excerpt) -> Excerpt:
    text = excerpt.text.partition("\n\n")[0]
    return replace(excerpt, text=text, end_line=excerpt.start_line + text.count("\n"))


def _statement(line: str) -> str:
    """Return a line's words, without marks and the time of a log entry; empty for a short line, which may be
    repeated."""
    words = _WORD.findall(_TIME_AHEAD.sub("", line).lower())
    return " ".join(words) if len(words) >= _FEWEST_WORDS else ""
