"""Choose the notes for every session's start, so that no part crowds out another part."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import compress, islice

from mcp_memory.errors import McpMemoryError
from mcp_memory.index.base import Index
from mcp_memory.models import Filters, NoteId, NotePath, NoteRecord, PrivateMarks
from mcp_memory.projects.repository_facts import name_in
from mcp_memory.recall.context_budget import BudgetedText, fit, fit_kinds, length, size
from mcp_memory.recall.current_values import CurrentValues
from mcp_memory.recall.excerpts import Excerpt, latest_entries, note_excerpts, without_private_lines
from mcp_memory.recall.moments.lasting_statements import LASTING, LastingStatement, choose_statements, told_in
from mcp_memory.recall.moments.workspace_files import workspace_files
from mcp_memory.text.language.sentences import statement_of
from mcp_memory.text.tokens import truncate
from mcp_memory.usage.note_use import NoteUse
from mcp_memory.vault.config import COMMITMENT
from mcp_memory.vault.note_file import MEMORY, NoteFile, is_memory
from mcp_memory.vault.project_state import PLAN, PROGRESS, state_path
from mcp_memory.vault.vault import Vault

KINDS_AHEAD = (frozenset({"preference"}), frozenset({"decision"}))
"""The kinds whose statements come first, in this order."""

OTHERS_SHARE = 0.4
"""The share of a usual start that is kept for other notes if the curated part fills it."""

LINES_UNASKED, LINES_ASKED = 12, 30
"""The most statements in a start that an agent gets unasked, and in a start that it requests."""

MOST_OF_KINDS, MOST_LATEST, MOST_READ = 100, 5, 1000

NO_BUDGETS: Mapping[str, int] = {}

WORKSPACE_SHARE = 0.12
"""The share of a start that each of up to six files of OpenClaw's workspace gets."""

STATE_TOKENS = 50
"""The most tokens of the line on a project's plan, and on its progress."""

BEGINNING_CHARS = 600
"""The most characters of a log entry or note that isn't shown as a line."""


NewestNotes = Callable[[Filters], Sequence[NotePath]]
"""A function of a feature that returns the notes which every start shows whole, the newest first."""


@dataclass(frozen=True)
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
    newest: Sequence[NewestNotes] = ()
    loaded: Set[NotePath] = frozenset()
    """The files that the client reads by itself."""

    def text(
        self,
        room_chars: int,
        uses: Mapping[NoteId, NoteUse],
        usual_chars: int | None = None,
        kind_budgets: Mapping[str, int] = NO_BUDGETS,
    ) -> BudgetedText:
        """Return standing orders and MEMORY.md, and a line for each other note that every session should know. With
        `usual_chars`, the lines get the rest of these, or a share of them. Without it, an agent asks for the start: it
        gets more lines, and the beginnings of other preferences and of the latest logs and notes. Each kind stays
        within its budget of `kind_budgets`."""
        is_asked = usual_chars is None
        newest = [path for find in self.newest for path in find(self.wanted)]
        usual = room_chars if usual_chars is None or newest else usual_chars
        curated, most = self._curated(room_chars), int(OTHERS_SHARE * usual)
        known = fit(curated, room_chars - most).excerpts
        chosen = filter(None, map(self._line, choose_statements(self._lasting(), uses, told_in(known), self._now)))
        lines = [*self._state(), *islice(chosen, LINES_ASKED if is_asked else LINES_UNASKED)]
        whole = [excerpt for path in newest for excerpt in self._excerpts(path)]
        shown = {excerpt.path for excerpt in whole}
        lines = [line for line in lines if line.path not in shown]
        latest = [*whole, *(self._recent([*known, *lines, *whole]) if is_asked else ())]
        recent = list(compress(latest, fit_kinds(latest, kind_budgets)))
        told = [excerpt for excerpt in curated if excerpt.path not in self.loaded]
        text = fit(told, room_chars - min(most, length(lines) + length(recent)))
        left = min(max(usual - size(text), most), room_chars - size(text))
        lines = _fitting(lines, left - min(length(recent), left // 2))
        rest = fit(recent, left - length(lines), 0)
        shown = (*text.excerpts, *lines, *rest.excerpts)
        return BudgetedText(shown, (*text.notices, *rest.notices), (*curated, *latest))

    def orders(self, room_chars: int) -> BudgetedText:
        """Return the standing orders that fit; the others are named."""
        return fit([excerpt for path in self._orders() for excerpt in self._excerpts(path)], room_chars)

    def lines_of_memory(self, room_chars: int, usual_chars: int) -> tuple[int, int]:
        """Return how many lines of MEMORY.md a start has room for, and how many MEMORY.md has."""
        known = self.text(room_chars, {}, usual_chars).excerpts, self._curated(room_chars)
        shown, there = (sum(e.text.count("\n") + 1 for e in excerpts if is_memory(e.path)) for excerpts in known)
        return shown, there

    def _recent(self, shown: Sequence[Excerpt]) -> Iterator[Excerpt]:
        """Yield the beginnings of preferences, log entries and the latest notes, or of all notes of the wanted kinds,
        unless they are `shown` already."""
        kinds = self.wanted.kinds
        known, told = {excerpt.path for excerpt in shown}, {*told_in(shown)}
        latest = self._paths(kinds)[: MOST_OF_KINDS if kinds else MOST_LATEST]
        for path in dict.fromkeys([*(() if kinds else self._paths(KINDS_AHEAD[0])), *self._logs(), *latest]):
            for excerpt in self._excerpts(path):
                if excerpt.path not in known and statement_of(excerpt.text) not in told:
                    yield from fit([excerpt], BEGINNING_CHARS, 0).excerpts

    def _curated(self, room_chars: int) -> list[Excerpt]:
        """Return standing orders, `MEMORY.md`, and the beginnings of the files of OpenClaw's workspace."""
        memories = dict.fromkeys((self.vault.layout.memory, MEMORY))  # the agents' file, and a person's own at the root
        found = [excerpt for path in [*self._orders(), *memories] for excerpt in self._excerpts(path)]
        for path in workspace_files(self.vault, self._now):
            found += fit(self._excerpts(path), int(WORKSPACE_SHARE * room_chars), 0).excerpts
        return found

    def _state(self) -> Iterator[Excerpt]:
        """Yield a line each on the project's plan and on the latest entry of its progress."""
        project = self.wanted.project
        for name in (PLAN, PROGRESS) if project else ():
            for excerpt in self._excerpts(state_path(self.vault.layout, name_in(project or ""), name)):
                text = f"\n{excerpt.text}".rpartition("\n## ")[2] if name == PROGRESS else excerpt.text
                words = " ".join(told_in([replace(excerpt, text=text)])).split()
                yield replace(excerpt, text=truncate(" ".join(words), STATE_TOKENS), remark=name, is_line=True)

    def _lasting(self) -> Iterator[tuple[NoteRecord, str]]:
        """Yield the notes that may last, each with the beginning of its text: preferences, then decisions, then the
        others, each the newest first, so that none crowds out another kind. None if some kinds are wanted."""
        for kinds in () if self.wanted.kinds else (*KINDS_AHEAD, LASTING.difference(*KINDS_AHEAD)):
            for note in self._stored(kinds):
                for passage in self.index.passages(note.path)[:1]:
                    yield note, passage.chunk.text

    def _line(self, line: LastingStatement) -> Excerpt | None:
        """Return the excerpt that shows the line, or why it is perhaps outdated; None for a note that may not be shown
        or is outdated."""
        found = self._excerpts(line.note.path)[:1]
        if not found or found[0].path != line.note.path or found[0].remark == "outdated":
            return None
        remark = found[0].remark
        text, remark = (remark, "") if "outdated" in remark else (line.text, remark)
        return replace(found[0], text=text, remark=remark, is_line=True)

    @property
    def _now(self) -> datetime:
        return self.wanted.now or datetime.now(UTC)

    def _logs(self) -> list[NotePath]:
        """Return the logs of the last days, a person's own at the root behind the agents'."""
        found: list[NotePath] = []
        for day in (self._now.date() - timedelta(days=back) for back in range(self.log_days)):
            found += [*reversed(self.vault.daily_log.parts(day)), NotePath(f"memory/{day}.md")]
        return found

    def _orders(self) -> list[NotePath]:
        orders = self.index.notes(replace(self.wanted, kinds=None, always_load=True))
        return sorted(order.path for order in orders if self.vault.provenance.is_standing_order(order))

    def _stored(self, kinds: frozenset[str] | None) -> list[NoteRecord]:
        """Return the notes of the managed folder, the newest first: a file from elsewhere must not reach every session,
        whatever its kind."""
        wanted = replace(self.wanted, kinds=kinds, foreign=False, path_prefix=self.vault.layout.in_home("") or None)
        wanted = wanted if kinds else replace(wanted, kinds_out=frozenset({COMMITMENT}))
        found = self.index.notes(wanted, limit=MOST_OF_KINDS if kinds else MOST_READ)
        return [
            note
            for note in found
            if not note.is_log and (note.date or kinds) and self.vault.layout.below_home(note.path) is not None
        ]

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
        if not (file.body.strip() and self.wanted.sees(file.record)):
            return []
        excerpts = without_private_lines(note_excerpts(file))
        return [replace(excerpt, asking=self.wanted.project, remark=remark) for excerpt in excerpts]


def memory_over_budget(vault: Vault, most_lines: int) -> str | None:
    """Return a remark on a MEMORY.md with too many lines, or None. Reads MEMORY.md: call it in a thread."""
    with suppress(McpMemoryError):
        if (lines := len(vault.read(vault.layout.memory).text.splitlines())) > most_lines:
            what = f"MEMORY.md has {lines} lines, over its budget of {most_lines}"
            return f"{what}: mcp-memory dream proposes what to move into notes"
    return None


def _fitting(excerpts: Iterable[Excerpt], room_chars: int) -> list[Excerpt]:
    """Return the excerpts that fit; those that don't are skipped."""
    kept: list[Excerpt] = []
    for excerpt in excerpts:
        if length([*kept, excerpt]) <= room_chars:
            kept.append(excerpt)
    return kept
