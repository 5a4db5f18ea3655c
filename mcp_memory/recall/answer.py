"""Answers a recall: what a session starts with, notes in full, or what fits a question, within a token budget."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from mcp_memory.errors import InvalidInput, McpMemoryError, NotFound
from mcp_memory.index.base import Index
from mcp_memory.models import TRANSCRIPTS, Filters, NotePath, NoteState, Passage
from mcp_memory.recall.config import RecallConfig
from mcp_memory.recall.context_budget import BudgetedText, TextFrame, choose, fit, render, size, with_notice
from mcp_memory.recall.excerpts import Excerpt, heading_of, kind_and_dates, stretches, without_repeats
from mcp_memory.recall.topic_page import TopicPage, TopicPages, fit_page
from mcp_memory.runtime.threads import in_thread
from mcp_memory.search.confidence_config import UNSURE
from mcp_memory.search.searcher import Searcher
from mcp_memory.text.escape_invisible import in_line
from mcp_memory.text.language.terms import topic_asked_about
from mcp_memory.text.markdown import logs
from mcp_memory.text.markdown.frontmatter import BOM
from mcp_memory.text.markdown.links import find_links, resolve
from mcp_memory.text.tokens import CHARS_PER_TOKEN
from mcp_memory.vault.note_file import ALWAYS_LOAD, NoteFile
from mcp_memory.vault.vault import Vault
from mcp_memory.vault.withheld_pages import quotes_forgotten, withheld

MOST_LINKS = 20

MOST_PASSAGES = 100
LEAST_PASSAGES = 10
PASSAGE_CHARS = 80
"""So many passages are ranked as would fill the budget at this length each: ranking 100 takes half of a recall. At 100
characters nothing is lost on dialogues and documentation, at 150 .2 points of evidence."""

START_TITLE = "Memory at session start"
MEMORY = NotePath("MEMORY.md")
_WORD = re.compile(r"\w+")
_TIME_AHEAD = re.compile(r"^[#>\s*+-]*[0-9]{1,2}:[0-9]{2}\b")
_FEWEST_WORDS = 4
STANDING_KINDS = (frozenset({"preference"}), frozenset({"commitment"}))
"""Of which every session is told, in this order; a commitment until it expires."""

WHOLE_NOTE = "Whole note: memory_recall path=…"
SAID_IN_SESSIONS = f"What was said in sessions: memory_search path=@{TRANSCRIPTS}"

PAGE_SHARE = 0.6
"""Of the room of an answer, a topic's page has at most so much: the rest is for what notes of other topics say."""

READ_DEADLINE_S = 10.0
TOPIC_S = 2.0

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RecalledText:
    """What is recalled, and which passages of the index it is made of; none are named where it is whole notes.
    `degraded`: why less was found than could be, as with the model at rest."""

    frame: TextFrame
    assembly: BudgetedText
    passages: tuple[Passage, ...] = ()
    degraded: str | None = None

    @property
    def text(self) -> str:
        return render(self.frame, self.assembly)


class RecallAnswerer:
    """Three ways to recall; the text of each stays within its budget (4 characters a token)."""

    def __init__(
        self, vault: Vault, index: Index, searcher: Searcher, config: RecallConfig, clock: Callable[[], datetime]
    ) -> None:
        self._vault = vault
        self._index = index
        self._searcher = searcher
        self._config = config
        self._clock = clock
        self._topics = TopicPages(vault, index)

    async def question(
        self,
        query: str,
        filters: Filters,
        budget_tokens: int,
        remarks: Sequence[str] = (),
        least_confidence: float = 0.0,
        known: Callable[[Passage], bool] | None = None,
    ) -> RecalledText:
        """What search finds, packed: whole entries, best first, neighbours joined; before it the page of a topic that
        is asked about as a whole, in place of its notes. Nothing below this confidence: then the query is taken for a
        whole prompt, which may want nothing that is stored. What is `known` to the reader is left out, and so is any
        page."""
        most = min(MOST_PASSAGES, max(LEAST_PASSAGES, budget_tokens * CHARS_PER_TOKEN // PASSAGE_CHARS))
        ranked = await self._searcher.rank(query, filters=filters, limit=most, is_prompt=least_confidence > 0)
        said = [*remarks, *([f"Note: {ranked.degraded}."] if ranked.degraded else [])]
        # What is stored tells less about a prompt than its meaning does: without that the bar is a question's.
        least = least_confidence if ranked.signs.wanting is not None else min(least_confidence, UNSURE)
        if ranked.confidence < least:
            return RecalledText(
                self._frame("Relevant memories", budget_tokens, said), BudgetedText(()), (), ranked.degraded
            )
        note = await self._searcher.remark(ranked, filters)
        said += [f"Note: {note}."] if note else []
        frame = self._frame("Relevant memories", budget_tokens, said, "" if known else WHOLE_NOTE)
        stale = "; ".join(ranked.stale)[: frame.room(budget_tokens) // 4]
        room = frame.room(budget_tokens) - (len(stale) + 1 if stale else 0)
        wants_page = ranked.passages and self._config.topic_pages and known is None
        topic = await self._topic(query, filters) if wants_page else None
        found, passages = _chosen([each.passage for each in ranked.passages], topic, room, known)
        if stale:
            found = with_notice(found, stale, frame.room(budget_tokens))
        return RecalledText(frame, found, passages, ranked.degraded)

    async def notes(self, paths: Sequence[tuple[NotePath, str | None]], lines: str | None, budget_tokens: int) -> str:
        """Notes verbatim, or the lines `"10-20"` of them; a path with an entry hash means that log entry."""
        excerpts, children, of_sessions, replaced = await in_thread(
            lambda: self._verbatim(paths, lines), deadline_s=READ_DEADLINE_S, what="reading notes"
        )
        behind = SAID_IN_SESSIONS if of_sessions else ""
        frame = self._frame("Notes", budget_tokens, replaced, more=WHOLE_NOTE if lines else behind)
        assembly = fit(excerpts, frame.room(budget_tokens))
        if children:
            assembly = with_notice(assembly, f"Links: {', '.join(children)}", frame.room(budget_tokens))
        return render(frame, assembly)

    async def verbatim(self, path: NotePath, entry: str | None) -> tuple[NoteFile, str]:
        """One note, and its text as on disk, or that of one log entry; forgotten entries of a log are left out."""

        def look() -> tuple[NoteFile, str]:
            file = self._visible(path)
            if entry is None and not _forgotten_lines(file):
                return file, file.text
            return file, "\n".join(excerpt.text for excerpt in _excerpts(file, entry, None))

        return await in_thread(look, deadline_s=READ_DEADLINE_S, what="reading the note")

    async def start(self, project: str | None, budget_tokens: int, kinds: frozenset[str] | None = None) -> RecalledText:
        """What every session should know: standing orders, MEMORY.md, preferences, open commitments, the latest
        logs."""
        excerpts = await in_thread(
            lambda: list(self._standing(project, kinds)), deadline_s=READ_DEADLINE_S, what="reading notes"
        )
        frame = self._frame(START_TITLE, budget_tokens)
        return RecalledText(frame, fit(excerpts, frame.room(budget_tokens)))

    async def _topic(self, query: str, filters: Filters) -> TopicPage | None:
        subject = topic_asked_about(query)
        if not subject:
            return None
        meaning = self._searcher.meaning(query)
        try:
            return await in_thread(
                lambda: self._topics.page_about(subject, meaning, filters),
                deadline_s=TOPIC_S,
                what="looking for a topic",
            )
        except McpMemoryError as error:  # the passages answer, too
            log.warning("recall: without a topic's page: %s", error.code)
            return None

    def _verbatim(
        self, paths: Sequence[tuple[NotePath, str | None]], lines: str | None
    ) -> tuple[list[Excerpt], list[NotePath], bool, list[str]]:
        """The excerpts, the notes that these notes link to, whether a session is known that wrote any of them, and a
        line for each that counts no longer since another superseded it."""
        files = [(self._vetted(path), entry) for path, entry in paths]
        excerpts = [excerpt for file, entry in files for excerpt in _excerpts(file, entry, lines)]
        linked = list(dict.fromkeys(path for file, _ in files for path in _children(file)))[: 10 * MOST_LINKS]
        children = [path for path in linked if (note := self._index.note(path)) and note.state is not NoteState.DELETED]
        heads = [
            (file.record.path, head.record)
            for file, _ in files
            if (head := self._vault.provenance.find_successor(file))
        ]
        replaced = [in_line(f"Note: {path} was superseded by {head.id} ({head.path}).") for path, head in heads]
        return without_repeats(excerpts), children[:MOST_LINKS], any(file.record.session for file, _ in files), replaced

    def _standing(self, project: str | None, kinds: frozenset[str] | None) -> Iterable[Excerpt]:
        now = self._clock()
        always = Filters(path_prefix=self._vault.layout.in_home(f"{ALWAYS_LOAD}/"), now=now, project=project)
        paths = sorted(record.path for record in self._index.notes(always))
        paths.append(MEMORY)
        for wanted in [kinds] if kinds else STANDING_KINDS:
            found = self._index.notes(Filters(kinds=wanted, now=now, project=project), limit=100)
            # A stranger's file must not speak to every session, whatever kind it calls itself.
            paths += [record.path for record in found if self._vault.layout.below_home(record.path) is not None]
        days = (now.date() - timedelta(days=back) for back in range(self._config.log_days))
        paths += [path for day in days for path in reversed(self._vault.logs_of(day))]
        said: set[str] = set()
        for path in dict.fromkeys(paths):
            try:
                file = self._visible(path)
            except McpMemoryError:
                continue  # not there, or retired since it was indexed: nothing to start with
            if file.body.strip():
                excerpts = _excerpts(file, None, None, project, said)
                yield from _latest_first(file, excerpts) if file.record.is_log else excerpts

    def lines_shown_of_memory(self) -> tuple[int, int]:
        """How many of the lines of MEMORY.md a session start has room for, and how many there are; (0, 0) for none.

        Reads the file: call it in a thread.
        """
        try:
            excerpts = _excerpts(self._visible(MEMORY), None, None)
        except McpMemoryError:
            return 0, 0
        budget = self._config.start_budget_tokens
        shown = fit(excerpts, self._frame(START_TITLE, budget).room(budget)).excerpts
        told, whole = (sum(each.end_line - each.start_line + 1 for each in some) for some in (shown, excerpts))
        return told, whole

    def _vetted(self, path: NotePath) -> NoteFile:
        """As `_visible`, but no candidate: a person has not looked at it yet."""
        file = self._visible(path)
        if file.record.state is NoteState.INBOX:
            raise NotFound(f"{path} waits for a person to review it", hint="mcp-memory review")
        return file

    def _visible(self, path: NotePath) -> NoteFile:
        """Raises NotFound for a forgotten note, which is in no answer, whoever asks, and for a file that is no note:
        one that is ignored, or something else in the vault."""
        file = self._vault.read(path)
        if self._index.note(path) is None and path not in self._vault.list().files:
            raise NotFound(f"{path} is not one of the vault's notes", hint="memory_search finds notes")
        if file.record.state is NoteState.DELETED:
            raise NotFound(f"{path} was forgotten", hint="memory_forget with restore=true brings it back")
        if file.record.state is NoteState.SUMMARY and (
            quotes_forgotten(file.text, self._vault, self._index) or self._topics.is_overtaken(file.record)
        ):
            return withheld(file, self._vault, self._index)
        return file

    def _frame(self, title: str, budget_tokens: int, remarks: Sequence[str] = (), more: str = "") -> TextFrame:
        as_of = self._clock().isoformat(timespec="minutes")
        return TextFrame(title, as_of, tuple(remarks), more).within(budget_tokens)


def _chosen(
    passages: Sequence[Passage], topic: TopicPage | None, room_chars: int, known: Callable[[Passage], bool] | None
) -> tuple[BudgetedText, tuple[Passage, ...]]:
    """What fits, and of which passages it is: first the page of a topic, then notes that it does not stand for."""
    page = fit_page(topic, int(PAGE_SHARE * room_chars)) if topic else BudgetedText(())
    if topic and page.excerpts:
        passages = [each for each in passages if not topic.covers(each.note.path)]
    found, quoted = choose(passages, room_chars - size(page), known or (lambda _: False))
    return BudgetedText((*page.excerpts, *found.excerpts), (*page.notices, *found.notices)), quoted


def _excerpts(
    file: NoteFile, entry: str | None, lines: str | None, project: str | None = None, said: set[str] | None = None
) -> list[Excerpt]:
    """One note, log entry or stretch of lines; of a log, forgotten entries are left out and, where one is named, those
    of other projects. Of what is `said` already each statement is left out, and its own are added to it.

    Raises NotFound for an entry that is not there or forgotten, InvalidInput for lines that the note does not have.
    """
    record = file.record
    all_lines = file.text.removeprefix(BOM).replace("\r\n", "\n").split("\n")
    hidden = _forgotten_lines(file) | _lines_of_others(file, project)
    if entry is not None:
        found = next((e for e in logs.entries(file.text, file.body_start) if e.hash == entry), None)
        if found is None or found.start_line in hidden:
            raise NotFound(f"no entry {entry} in {record.path}")
        first, last = found.start_line, found.end_line
    elif lines is not None:
        first, last = _line_range(lines, len(all_lines) - (not all_lines[-1]))
    else:
        first, last = file.text.count("\n", 0, file.body_start) + 1, len(all_lines)
    shown = {number: all_lines[number - 1] for number in range(first, last + 1) if number not in hidden}
    if said is not None:
        stated = {number: _statement(line) for number, line in shown.items()}
        shown = {number: line for number, line in shown.items() if not stated[number] or stated[number] not in said}
        said.update(stated.values())
        if not any(line.strip() for line in shown.values()):
            return []
    return stretches(
        Excerpt(record.path, first, last, "", heading_of(record, [record.title]), kind_and_dates(record)), shown
    )


def _statement(line: str) -> str:
    """A line's words, without marks and the time of a log entry; empty for one that may well stand twice."""
    words = _WORD.findall(_TIME_AHEAD.sub("", line).lower())
    return " ".join(words) if len(words) >= _FEWEST_WORDS else ""


def _latest_first(file: NoteFile, excerpts: Sequence[Excerpt]) -> list[Excerpt]:
    """The stretches of a log as a session wants them, that has no room for all of it."""
    entries = tuple(entry.start_line for entry in logs.entries(file.text, file.body_start))
    return [replace(excerpt, entries=entries) for excerpt in reversed(excerpts)]


def _forgotten_lines(file: NoteFile) -> set[int]:
    forgotten = set(file.record.meta.get("forgotten", []))
    return {
        number
        for entry in (logs.entries(file.text, file.body_start) if forgotten else [])
        if entry.hash in forgotten
        for number in range(entry.start_line, entry.end_line + 1)
    }


def _lines_of_others(file: NoteFile, project: str | None) -> set[int]:
    if not file.record.is_log or project is None:
        return set()
    entries = logs.entries(file.text, file.body_start)
    others = (each for each in entries if logs.labels([f"{each.time} {each.title}"]).project not in {None, project})
    return {number for each in others for number in range(each.start_line, each.end_line + 1)}


def _line_range(lines: str, count: int) -> tuple[int, int]:
    match = re.fullmatch(r"\s*(\d{1,9})\s*(?:-\s*(\d{1,9})?\s*)?", lines)
    if not match or int(match[1]) < 1:
        raise InvalidInput(f"lines is {lines[:40]!r}", hint='pass "12", "12-20" or "12-"')
    first = int(match[1])
    last = int(match[2]) if match[2] else (count if "-" in lines else first)
    if first > count or last < first:
        raise InvalidInput(f"lines {lines.strip()} is outside the note", hint=f"it has {count} lines")
    return first, min(last, count)


def _children(file: NoteFile) -> list[NotePath]:
    targets = (resolve(link.target, file.record.path) for link in find_links(file.body) if link.kind == "markdown")
    return [NotePath(target) for target in targets if target and target.lower().endswith(".md")]
