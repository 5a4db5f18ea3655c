"""Recall: what a session should start with, notes in full, or what fits a question, within a token budget."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import PurePosixPath

from mcp_memory.engine.assemble import Assembly, Excerpt, excerpt_of, merge, pack, render
from mcp_memory.engine.config import RecallConfig
from mcp_memory.engine.notes import ALWAYS_LOAD, NoteFile
from mcp_memory.engine.search import Searcher
from mcp_memory.engine.threads import in_thread
from mcp_memory.engine.vault import Vault
from mcp_memory.errors import InvalidInput, McpMemoryError, NotFound
from mcp_memory.index.base import Index
from mcp_memory.models import Filters, NotePath, Shelf
from mcp_memory.text import logs
from mcp_memory.text.links import find_links, resolve
from mcp_memory.text.tokens import count_tokens

FRAME_TOKENS = 60
"""What title, marks and remarks cost."""

READ_DEADLINE_S = 10.0


class Recaller:
    """Three ways to recall; each returns text whose length stays within its budget (4 characters a token)."""

    def __init__(
        self, vault: Vault, index: Index, searcher: Searcher, config: RecallConfig, clock: Callable[[], datetime]
    ) -> None:
        self._vault = vault
        self._index = index
        self._searcher = searcher
        self._config = config
        self._clock = clock

    async def question(self, query: str, filters: Filters, budget_tokens: int, remarks: Sequence[str] = ()) -> str:
        """What search finds, packed: whole entries, best first, neighbours joined."""
        ranked = await self._searcher.rank(query, filters=filters)
        passages = pack((r.passage for r in ranked.passages), budget_tokens - FRAME_TOKENS)
        excerpts = merge([excerpt_of(p) for p in passages])
        said = [*remarks, *([f"Note: {ranked.degraded}."] if ranked.degraded else [])]
        return self._render("Relevant memories", Assembly(tuple(excerpts)), said)

    async def notes(self, paths: Sequence[tuple[NotePath, str | None]], lines: str | None, budget_tokens: int) -> str:
        """Notes verbatim, or the lines `"10-20"` of them; a path with an entry hash means that log entry."""
        files = await in_thread(
            lambda: [(self._visible(path), entry) for path, entry in paths],
            deadline_s=READ_DEADLINE_S,
            what="reading notes",
        )
        excerpts = [_whole(file, entry, lines) for file, entry in files]
        fitted, omitted = _fit(excerpts, budget_tokens - FRAME_TOKENS)
        children = [link for file, _ in files for link in _children(file)]
        remarks = [f"Links: {', '.join(children[:20])}"] if children else []
        return self._render("Notes", Assembly(tuple(fitted), tuple(omitted)), remarks)

    async def start(self, project: str | None, budget_tokens: int, kinds: frozenset[str] | None = None) -> str:
        """What every session should know: standing orders, MEMORY.md, preferences, the latest logs."""
        excerpts = await in_thread(
            lambda: list(self._standing(project, kinds)), deadline_s=READ_DEADLINE_S, what="reading notes"
        )
        fitted, omitted = _fit(excerpts, budget_tokens - FRAME_TOKENS)
        return self._render("Memory at session start", Assembly(tuple(fitted), tuple(omitted)))

    def _standing(self, project: str | None, kinds: frozenset[str] | None) -> Iterable[Excerpt]:
        now = self._clock()
        always = Filters(path_prefix=self._vault.layout.in_home(f"{ALWAYS_LOAD}/"), now=now, project=project)
        paths = sorted(record.path for record in self._index.notes(always))
        paths.append(NotePath("MEMORY.md"))
        wanted = Filters(kinds=kinds or frozenset({"preference"}), now=now, project=project)
        paths += [record.path for record in self._index.notes(wanted, limit=100)]
        days = (now.date() - timedelta(days=back) for back in range(self._config.log_days))
        paths += [NotePath(f"memory/{day.isoformat()}.md") for day in days]
        for path in dict.fromkeys(paths):
            try:
                file = self._visible(path)
            except McpMemoryError:
                continue  # not there, or retired since it was indexed: nothing to start with
            if file.body.strip():
                yield _whole(file, None, None)

    def _visible(self, path: NotePath) -> NoteFile:
        """Raises NotFound for a forgotten note: it is in no answer, whoever asks."""
        file = self._vault.read(path)
        if file.record.shelf is Shelf.DELETED:
            raise NotFound(f"{path} was forgotten", hint="memory_forget with restore=true brings it back")
        return file

    def _render(self, title: str, assembly: Assembly, remarks: Sequence[str] = ()) -> str:
        as_of = self._clock().isoformat(timespec="minutes")
        return render(title, assembly, as_of=as_of, remarks=remarks)


def _whole(file: NoteFile, entry: str | None, lines: str | None) -> Excerpt:
    """One note, log entry or stretch of lines; forgotten entries of a log are left out."""
    record = file.record
    when = record.updated or record.created
    label = " · ".join(p for p in (record.title, record.kind, when.date().isoformat() if when else "") if p)
    all_lines = file.text.split("\n")
    hidden = _forgotten_lines(file)
    if entry is not None:
        found = next((e for e in logs.entries(file.text, file.body_start) if e.hash == entry), None)
        if found is None or found.start_line in hidden:
            raise NotFound(f"no entry {entry} in {record.path}")
        first, last = found.start_line, found.end_line
    elif lines is not None:
        first, last = _line_range(lines, len(all_lines))
    else:
        first, last = file.text.count("\n", 0, file.body_start) + 1, len(all_lines)
    while first < last and not all_lines[first - 1].strip():
        first += 1
    shown = [line for number, line in enumerate(all_lines[first - 1 : last], first) if number not in hidden]
    return Excerpt(record.path, first, max(first, last), "\n".join(shown).rstrip(), label)


def _forgotten_lines(file: NoteFile) -> set[int]:
    forgotten = set(file.record.meta.get("forgotten", []))
    return {
        number
        for entry in (logs.entries(file.text, file.body_start) if forgotten else [])
        if entry.hash in forgotten
        for number in range(entry.start_line, entry.end_line + 1)
    }


def _line_range(lines: str, count: int) -> tuple[int, int]:
    match = re.fullmatch(r"\s*(\d{1,9})\s*(?:-\s*(\d{1,9})?\s*)?", lines)
    if not match or int(match[1]) < 1:
        raise InvalidInput(f"lines is {lines[:40]!r}", hint='pass "12", "12-20" or "12-"')
    first = int(match[1])
    last = int(match[2]) if match[2] else (count if "-" in lines else first)
    if first > count or last < first:
        raise InvalidInput(f"lines {lines.strip()} is outside the note", hint=f"it has {count} lines")
    return first, min(last, count)


def _fit(excerpts: Sequence[Excerpt], budget_tokens: int) -> tuple[list[Excerpt], list[str]]:
    """Whole excerpts while they fit, the first one too long cut at a line; the rest is named, never silently cut."""
    left = budget_tokens
    fitted: list[Excerpt] = []
    omitted: list[str] = []
    for excerpt in excerpts:
        cost = count_tokens(excerpt.text) + count_tokens(excerpt.label + excerpt.path) + 6
        if cost <= left:
            fitted.append(excerpt)
            left -= cost
            continue
        head = _head(excerpt, left - 40)
        if head:
            fitted.append(head)
            left = 0
        rest = head.end_line + 1 if head else excerpt.start_line
        missing = f'{excerpt.path} (memory_recall path="{excerpt.path}" lines="{rest}-")'
        omitted.append(f"Not shown for lack of budget: {missing}")
    if len(omitted) > 10:
        omitted = [*omitted[:10], f"… and {len(omitted) - 10} more notes"]
    return fitted, omitted


def _head(excerpt: Excerpt, budget_tokens: int) -> Excerpt | None:
    """The first lines that fit; of one huge line, as much as fits."""
    taken: list[str] = []
    left = budget_tokens * 4 - len(excerpt.label) - len(excerpt.path)
    for line in excerpt.text.split("\n"):
        if len(line) + 1 > left:
            break
        taken.append(line)
        left -= len(line) + 1
    if not taken:
        if left < 200:
            return None
        return replace(excerpt, text=excerpt.text[:left] + " …", end_line=excerpt.start_line)
    return replace(excerpt, text="\n".join(taken), end_line=excerpt.start_line + len(taken) - 1)


def _children(file: NoteFile) -> list[str]:
    targets = (resolve(link.target, file.record.path) for link in find_links(file.body) if link.kind == "markdown")
    return [t for t in dict.fromkeys(targets) if t and PurePosixPath(t).suffix.lower() == ".md"]
