"""Stores the proposals that you ticked in `DREAMS.md`, then proposes new recurring statements."""

import re
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from secrets import token_hex

import anyio

from mcp_memory.core.core import Core
from mcp_memory.core.serializers import ACCEPT, DROP, EDIT, ReviewItem
from mcp_memory.curation.config import DreamsConfig
from mcp_memory.curation.dreams.dream_files import DreamFiles, Facts, MemoryChanges
from mcp_memory.curation.dreams.dream_page import (
    Demotion,
    PageLine,
    content_and_kind,
    find_demotions,
    link_to,
    read_page,
    with_box,
    with_proposals,
    without,
)
from mcp_memory.curation.dreams.dream_sources import DreamSources
from mcp_memory.curation.dreams.recurrence import Recurrence
from mcp_memory.errors import McpMemoryError
from mcp_memory.models import Receipt
from mcp_memory.runs.execute_job import SKIPPED_ERRORS
from mcp_memory.runs.job_runner import RunReport
from mcp_memory.runtime.threads import in_thread
from mcp_memory.text.pluralize import counted
from mcp_memory.vault.draft import Draft
from mcp_memory.vault.journals.change_journal import DREAM, acting
from mcp_memory.vault.journals.tombstones import Caller
from mcp_memory.vault.note_file import entries_of

MOST_PROPOSED = 20
"""The most proposals of a run, which a person reads in some minutes."""

MODEL_WAIT_S = 60.0
"""The seconds to wait for the model, which may be at rest; after that, only words decide."""

PROPOSED = "dream-"
"""The prefix of a proposal's id, to distinguish it from ids of notes."""
PROPOSAL = "proposal"
_ACCEPT = replace(ACCEPT, about="accept: the next mcp-memory dream stores it in MEMORY.md")
_DROP = replace(DROP, about="drop: never propose it again")
_SAID = re.compile(r" \(\[?2\d{3}-.*")
"""Matches the source after the words of an entry: when and where it was said."""


@dataclass
class DreamReport:
    """The result of a run; with `dry_run`, the result that a run would have. `moved` are entries moved out of MEMORY.md
    into notes. `refused` are entries that couldn't be stored, with the reasons."""

    run: str
    promoted: list[str] = field(default_factory=list[str])
    moved: list[str] = field(default_factory=list[str])
    proposed: list[Facts] = field(default_factory=list[Facts])
    refused: list[str] = field(default_factory=list[str])
    staged: int = 0
    seen: str = ""


class Dreamer:
    """Runs dreaming. `append` stores a note; `forget` takes a path, the hash of an entry or None, a `reason`, and
    whether to `restore` the entry instead."""

    def __init__(
        self,
        core: Core,
        files: DreamFiles,
        sources: DreamSources,
        append: Callable[[Draft], Awaitable[Receipt]],
        forget: Callable[..., Awaitable[object]],
    ) -> None:
        self.vault = core.vault
        self.files = files
        self.sources = sources
        self.uses = core.recall.uses
        self.append = append
        self.forget = forget
        self.config = core.config.section("dreams", DreamsConfig)
        self.clock = core.clock
        self._model = core.search.model
        self.memory_lines = core.config.recall.memory_lines
        self._lock = anyio.Lock()

    async def run(self, *, dry_run: bool = False, backfill: str | None = None, stage: bool = False) -> DreamReport:
        """Carry out ticked proposals, then make new ones. `backfill` is a folder of old daily logs to read as well;
        with `stage`, their recurring statements are only kept as evidence. A run without changes writes nothing. Raises
        StorageFailed, InvalidInput."""
        run = f"{PROPOSED}{self.clock():%Y%m%dT%H%M%S}-{token_hex(2)}"
        with acting(Caller(DREAM, run=run)):
            async with self._lock:
                return await self._run(DreamReport(run), dry_run=dry_run, backfill=backfill, stage=stage)

    async def _run(self, report: DreamReport, *, dry_run: bool, backfill: str | None, stage: bool) -> DreamReport:
        with anyio.move_on_after(MODEL_WAIT_S):
            await self._model.settled.wait()
            await self._model.wait_loaded(MODEL_WAIT_S)
        was, known, lines, deleted = await in_thread(self.files.read, what="reading DREAMS.md")
        find = in_thread(self.sources.find, backfill, known, what="reading logs", deadline_s=1800)
        found, report.seen = await find
        gone, done = set[tuple[str, str, str]](), MemoryChanges()
        changed = {name: known[name] | {"status": "rejected"} for name in deleted}
        for line in lines:
            facts, status = known.get(line.id, {}), {"x": "promoted", "-": "rejected"}.get(line.box)
            if not line.box and await in_thread(self.sources.is_over, facts, what="reading the note"):
                status = "withdrawn"
            if line.box == "x" and line.text and not dry_run:
                is_done = await (
                    self._move_out(line.text, facts, report, done)
                    if "entry" in facts
                    else self._promote(line.text, line.section, facts, report, done)
                )
                status = status if is_done else None
            if status:
                gone.add((line.id, line.box, line.text))
                changed |= {line.id: {"text": line.text, **facts, "status": status}} if line.id else {}
        if backfill and stage:
            staged = {one.id: _facts(one, "short-term") for one in found if not one.recalled and one.id not in known}
            changed, report.staged, found = changed | staged, len(staged), []
        texts = [facts["text"] for facts in known.values() if facts["status"] not in {"short-term", "withdrawn"}]
        memory = await in_thread(lambda: self.files.text_of(self.files.memory) or "", what="reading MEMORY.md")
        entered = [getattr(entry, "title", "") for entry in entries_of(self.files.memory, memory)]
        texts += [line.text for line in lines] + [_SAID.sub("", title) for title in entered]
        waiting = list[Recurrence]()
        for one in [one for one in found if one.passes][: MOST_PROPOSED + len(texts)]:
            facts, is_sure = _facts(one, "promoted"), 0 < self.config.auto_promote <= one.score and not dry_run
            if len(waiting) == MOST_PROPOSED or self.sources.is_known(one.text, texts):
                continue
            if not is_sure or not await self._promote(one.text, one.section, facts, report, done):
                waiting.append(one)
            changed[one.id] = facts | ({"status": "proposed"} if one in waiting else {})
        leaving = [one for one in await self._find_demotions(memory) if one.id not in known]
        for one in leaving:
            changed[one.id] = {"id": one.id, "text": one.text, "entry": one.entry, "status": "proposed"}
        report.proposed = [_facts(one, "proposed") | {"section": one.section} for one in waiting] + [
            one._asdict() | {"id": one.id} for one in leaving
        ]
        report.seen += f": {counted(len(report.proposed), 'new proposal')}, {len(report.promoted)} stored"
        report.seen += f", {len(report.moved)} moved out of MEMORY.md" if report.moved else ""
        if not dry_run and (changed or gone):
            told = f"{self.clock().astimezone(self.vault.layout.tz):%Y-%m-%d %H:%M}: {report.seen}"

            def edited(page: str) -> str:
                done_by_now = [line for line in read_page(page) if (line.id, line.box, line.text) in gone]
                return with_proposals(without(page, done_by_now), [*waiting, *leaving], told)

            edit = edited if report.proposed or gone else None
            await in_thread(self.files.write, report.run, was, edit, changed, done, what="writing")
        return report

    async def waiting(self) -> list[ReviewItem]:
        """Return the proposals on the page without a tick."""

        def read() -> list[ReviewItem]:
            _, known, lines, _ = self.files.read()
            unticked = [(line, known[line.id]) for line in lines if line.id in known and not line.box]
            return [self._item(line, facts) for line, facts in unticked if not self.sources.is_over(facts)]

        return await in_thread(read, what="reading DREAMS.md")

    def _item(self, line: PageLine, facts: Facts) -> ReviewItem:
        score = facts.get("score", 0.0)
        return ReviewItem(
            id=f"{PROPOSED}{line.id}",
            what=PROPOSAL,
            text=line.text,
            why=f"score {score:.2f}",
            choices=[_ACCEPT, EDIT, _DROP],
            path=self.files.page,
            title=line.text,
            kind=f"{self.files.memory}, {line.section}",
            score=score,
            derived_from=facts.get("sources", [])[-5:],
        )

    async def tick(self, proposal: str, box: str, text: str | None) -> None:
        """Tick (`x`) or reject (`-`) a proposal on the page, optionally with a new text; the next run carries it out.
        Raises NotFound, PreconditionFailed, StorageFailed."""
        async with self._lock:
            ticked = partial(with_box, proposal=proposal.removeprefix(PROPOSED), box=box, text=text)
            await in_thread(self.files.edit, self.files.page, ticked, what="writing DREAMS.md")

    def undoable(self, among: Collection[str]) -> set[str]:
        """Return those of these runs whose journals are kept."""
        return {*self.files.runs_kept()} & {*among}

    async def undo(self, run: str) -> RunReport:
        """Undo a run, after the later changes to its entries: every byte that nobody has changed since. Raises
        NotFound, and StorageFailed or DeadlineExceeded; calling it again continues."""
        async with self._lock:
            return await self._undo(run)

    async def _undo(self, run: str) -> RunReport:
        report = RunReport(run)
        journal, later = await in_thread(self.files.read_run, run, what="reading the run")
        for one in later:
            report.left += (await self._undo(one)).left
        before, after = journal["files"].pop(self.files.memory, (None, None))
        is_untouched = await in_thread(self.files.is_memory_of, run, after, what="reading MEMORY.md")
        with acting(Caller(DREAM, undoes=run)):
            kept = await in_thread(lambda: self.files.put_back(journal["files"]), what="writing")
            report.left += [f"{path} was changed since and stays" for path in kept]
            back = [(path, None, False) for _, path in journal["moved"]]
            back += [(self.files.memory, entry, False) for entry in journal["entries"]]
            back += [(self.files.memory, entry, True) for entry, _ in journal["moved"]]
            for path, entry, restore in back:
                why = None if restore else "a dream was taken back"
                try:
                    await self.forget(path, entry, restore=restore, reason=why)
                except SKIPPED_ERRORS as error:  # you have changed or forgotten the entry
                    report.left.append(f"{path}{f'#{entry}' if entry else ''}: {error.message}")
            if is_untouched and before != after:  # otherwise the file also contains changes of later runs or of others
                await in_thread(self.files.put_memory_back, before, after, what="writing MEMORY.md")
        await in_thread(self.files.remove_run, run, what="removing the run")
        report.done.append(f"the dream {run}")
        return report

    async def _move_out(self, text: str, facts: Facts, report: DreamReport, done: MemoryChanges) -> bool:
        """Move an entry of MEMORY.md into a note, whole unless you have changed its text on the page. Return whether it
        is done; an entry that is gone, perhaps after a killed run, is done."""
        if (found := content_and_kind(self.files.text_of(self.files.memory) or "", facts["entry"])) is None:
            return True
        try:
            content, kind = text if text != facts["text"] else found[0], self.vault.kinds.get(found[1])
            more = {"derived_from": [f"{self.files.memory}#{facts['entry']}"]}
            stored = await self.append(Draft(content, kind, source=DREAM, more=more))
            await self.forget(self.files.memory, facts["entry"], reason=f"moved to {stored.path}")
        except McpMemoryError as error:
            report.refused.append(f"{text[:80]}: {error}")
            return False
        report.moved.append(text)
        done.moved.append((facts["entry"], stored.path))
        return True

    async def _promote(self, text: str, section: str, facts: Facts, report: DreamReport, done: MemoryChanges) -> bool:
        said = ""
        if facts.get("sources"):
            day, link = facts["days"][-1], link_to(facts["sources"][-1])
            said = f" ({link})" if link.startswith(f"[{day}]") else f" ({day}, {link})"
        try:
            kind = self.vault.kinds.get("note")
            stored = await self.append(Draft(text + said, kind, path=self.files.memory, section=section, source=DREAM))
        except McpMemoryError as error:
            report.refused.append(f"{text[:80]}: {error}")
            return False
        report.promoted.append(text)
        done.entries += [stored.id.rpartition("#")[2]] if stored.outcome == "created" else []
        return True

    async def _find_demotions(self, memory: str) -> list[Demotion]:
        uses = await in_thread(self.uses.read, what="reading uses")
        prefix = f"{self.files.memory}#"
        days = {note.removeprefix(prefix): len(use.used_days) for note, use in uses.items() if note.startswith(prefix)}
        return list(islice(find_demotions(memory, days, self.memory_lines), MOST_PROPOSED))


def _facts(one: Recurrence, status: str) -> Facts:
    said = {"id": one.id, "text": one.text, "kind": one.kind, "days": list(one.days), "sources": list(one.sources)}
    return {**said, "status": status, "score": one.score, "note": one.note}
