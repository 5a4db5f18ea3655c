"""Stores the proposals that you ticked in `DREAMS.md`, then proposes new recurring statements."""

import re
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, islice
from secrets import token_hex

import anyio

from mcp_memory.core.core import Core
from mcp_memory.core.serializers import ACCEPT, DROP, EDIT, ReviewItem
from mcp_memory.curation.dreams.dream_files import DreamFiles
from mcp_memory.curation.dreams.dream_page import (
    PageLine,
    content_and_kind,
    find_demotions,
    link_to,
    with_box,
    with_proposals,
)
from mcp_memory.curation.dreams.dream_sources import DreamSources
from mcp_memory.curation.dreams.recurrence import Proposal, Recurrence
from mcp_memory.errors import McpMemoryError, NotFound
from mcp_memory.models import Receipt
from mcp_memory.runs.job_runner import RunReport
from mcp_memory.runtime.json_lines import Facts
from mcp_memory.runtime.threads import in_thread
from mcp_memory.text.markdown import frontmatter
from mcp_memory.text.pluralize import counted
from mcp_memory.vault.draft import MAX_TITLE, Draft
from mcp_memory.vault.journals.change_journal import DREAM, acting
from mcp_memory.vault.journals.tombstones import Caller
from mcp_memory.vault.note_file import ALWAYS_LOAD, entries_of

MOST_PROPOSED = 20
"""The most proposals of a run, which a person reads in some minutes."""

MODEL_WAIT_S = 60.0
"""The seconds to wait for the model, which may be at rest; after that, only words decide."""

PROPOSED = "dream-"
"""The prefix of a proposal's id, to distinguish it from ids of notes."""
PROPOSAL = "proposal"
_ACCEPT = replace(ACCEPT, about="accept: the next mcp-memory dream does it")
_DROP = replace(DROP, about="drop: never propose it again")
_SAID = re.compile(r" \(\[?2\d{3}-.*")
"""Matches the source after the words of an entry: when and where it was said."""


@dataclass
class DreamReport:
    """The result of a run; with `dry_run`, the result that a run would have. `moved` are entries moved out of MEMORY.md
    into notes, `done` is what else was done, in words. `refused` are entries that couldn't be
    stored, with the reasons."""

    run: str
    promoted: list[str] = field(default_factory=list[str])
    moved: list[str] = field(default_factory=list[str])
    done: list[str] = field(default_factory=list[str])
    proposed: list[Facts] = field(default_factory=list[Facts])
    refused: list[str] = field(default_factory=list[str])
    staged: int = 0
    seen: str = ""


class Dreamer:
    """Runs dreaming. `append` stores a note; `forget` takes a path, the hash of an entry or None, and a `reason`."""

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
        known, lines, deleted = await in_thread(self.files.read, what="reading DREAMS.md")
        found, report.seen = await in_thread(self.sources.find, backfill, known, what="reading logs", deadline_s=1800)
        changed, is_any_done = {name: known[name] | {"status": "rejected"} for name in deleted}, False
        for line in lines:
            facts, status = known.get(line.id, {}), {"x": "promoted", "-": "rejected"}.get(line.box)
            if not line.box and await in_thread(self.sources.is_over, facts, what="reading the note"):
                status = "withdrawn"
            is_stored = status == "promoted" == facts.get("status")  # by a run that was killed, or on another machine
            if line.box == "x" and line.text and not dry_run and not is_stored:
                status = status if await self._carry_out(line, facts, report) else None
            if status and not dry_run:
                decided = {"text": line.text, **facts, "status": status}
                await in_thread(self.files.finish, line, decided, what="writing")
                is_any_done = True
        if backfill and stage:
            seldom = [one for one in found if not one.recalled and one.id not in known]
            staged = {one.id: one.facts | {"status": "short-term"} for one in seldom}
            changed, report.staged, found = changed | staged, len(staged), []
        texts = [facts["text"] for facts in known.values() if facts["status"] not in {"short-term", "withdrawn"}]
        memory = await in_thread(lambda: self.files.text_of(self.files.memory) or "", what="reading MEMORY.md")
        entered = entries_of(self.files.memory, memory)
        texts += [line.text for line in lines] + [_SAID.sub("", entry.title) for entry in entered]
        fresh = (one for one in found if one.passes and not self.sources.is_known(one.text, texts))
        waiting: list[Recurrence | Proposal] = [*islice(fresh, MOST_PROPOSED)]
        waiting += await in_thread(self._find_further, memory, known, what="looking further", deadline_s=1800)
        changed |= {one.id: one.facts for one in waiting}
        report.proposed = [one.facts for one in waiting]
        report.seen += f": {counted(len(report.proposed), 'new proposal')}, {len(report.promoted)} stored"
        if not dry_run and (changed or is_any_done):
            told = f"{self.clock().astimezone(self.vault.layout.tz):%Y-%m-%d %H:%M}: {report.seen}"
            edited = partial(with_proposals, proposals=waiting, seen=told) if waiting or is_any_done else None
            await in_thread(self.files.write, report.run, edited, changed, what="writing")
        return report

    async def waiting(self, limit: int | None = None) -> list[ReviewItem]:
        """Return the proposals on the page without a tick."""

        def read() -> list[ReviewItem]:
            known, lines, _ = self.files.read()
            unticked = [(line, known[line.id]) for line in lines if line.id in known and not line.box]
            return [
                ReviewItem(
                    id=f"{PROPOSED}{line.id}",
                    what=PROPOSAL,
                    text=line.text,
                    why=facts.get("why", ""),
                    choices=[_ACCEPT, _DROP] if "always_load" in facts else [_ACCEPT, EDIT, _DROP],
                    path=self.files.page,
                    title=line.text,
                    kind=f"{self.files.memory}, {line.section}" if "days" in facts else line.section,
                    score=facts.get("score", 0.0),
                    derived_from=facts.get("sources", [])[-5:],
                )
                for line, facts in unticked
                if not self.sources.is_over(facts)
            ][:limit]

        return await in_thread(read, what="reading DREAMS.md")

    async def tick(self, proposal: str, box: str, text: str | None) -> None:
        """Tick (`x`) or reject (`-`) a proposal on the page, optionally with a new text; the next run carries it out.
        Raises NotFound, PreconditionFailed, StorageFailed."""
        async with self._lock:
            ticked = partial(with_box, proposal=proposal.removeprefix(PROPOSED), box=box, text=text)
            await in_thread(self.files.edit, self.files.page, ticked, what="writing DREAMS.md")

    def undoable(self, among: Collection[str]) -> set[str]:
        """Return those of these runs whose proposals nobody has decided about."""
        return {*among} & self.files.open_by_run().keys()

    async def undo(self, run: str) -> RunReport:
        """Remove what a run proposed; the change journal has what it did. Raises StorageFailed."""
        async with self._lock:
            proposed = await in_thread(self.files.open_by_run, what="reading DREAMS.md")
            await in_thread(self.files.remove, proposed.get(run, ()), what="writing DREAMS.md")
        return RunReport(run, [f"the proposals of the dream {run}"])

    async def _carry_out(self, line: PageLine, facts: Facts, report: DreamReport) -> bool:
        """Carry out a proposal, or store a line of your own; return whether it is done."""
        try:
            if line.id and not facts:
                raise NotFound(
                    "its proposal was taken back, or isn't synced yet",
                    hint=f"to store the line as it is, remove ^{PROPOSED}{line.id}",
                )
            if "entry" in facts:
                await self._move_out(line.text, facts, report)
            elif "always_load" in facts:
                await in_thread(self._change_order, facts, report, what="changing the note")
            elif "steps" in facts:
                await self._store_how_to(line.text, facts, report)
            else:
                await self._promote(line, facts, report)
        except McpMemoryError as error:
            report.refused.append(f"{line.text[:80]}: {error}")
            return False
        return True

    async def _move_out(self, text: str, facts: Facts, report: DreamReport) -> None:
        """Move an entry of MEMORY.md into a note, whole unless you have changed its text on the page; an entry that is
        gone, perhaps after a killed run, is done."""
        if found := content_and_kind(self.files.text_of(self.files.memory) or "", facts["entry"]):
            content, kind = text if text != facts["text"] else found[0], self.vault.kinds.get(found[1])
            more = {"derived_from": [f"{self.files.memory}#{facts['entry']}"]}
            stored = await self.append(Draft(content, kind, source=DREAM, more=more))
            await self.forget(self.files.memory, facts["entry"], reason=f"moved to {stored.path}")
            report.moved.append(text)

    def _change_order(self, facts: Facts, report: DreamReport) -> None:
        """Set or end a note's `always_load`. In `_always-load/`, the note stays where its owner put it. Raises NotFound
        for a note that is gone."""
        path = self.vault.chains.require(facts["notes"][0]).record.path
        ends = False if f"/{ALWAYS_LOAD}/" in f"/{path}" else None
        self.files.edit(path, partial(frontmatter.patch, changes={"always_load": facts["always_load"] or ends}))
        report.done.append(f"{facts['section'].lower()}: {facts['text']}")

    async def _store_how_to(self, text: str, facts: Facts, report: DreamReport) -> None:
        steps = "\n".join(f"{number}. {step}" for number, step in enumerate(facts["steps"], 1))
        kind, more = self.vault.kinds.get("workflow"), {"derived_from": facts["notes"]}
        draft = Draft(steps, kind, text[:MAX_TITLE], project=facts["project"], source=DREAM, more=more)
        report.done.append(f"stored: {(await self.append(draft)).path}")

    async def _promote(self, line: PageLine, facts: Facts, report: DreamReport) -> None:
        said = ""
        if facts.get("sources"):
            day, link = facts["days"][-1], link_to(facts["sources"][-1])
            said = f" ({link})" if link.startswith(f"[{day}]") else f" ({day}, {link})"
        kind, text = self.vault.kinds.get("note"), line.text + said
        await self.append(Draft(text, kind, path=self.files.memory, section=line.section, source=DREAM))
        report.promoted.append(line.text)

    def _find_further(self, memory: str, known: Mapping[str, Facts]) -> list[Proposal]:
        """Return the new proposals to move entries out of MEMORY.md, to change standing orders, and for how-tos. A
        proposal that was withdrawn, or carried out the other way, is new again."""
        own = f"{self.files.memory}#"
        uses = self.uses.read().items()
        days = {note.removeprefix(own): len(use.used_days) for note, use in uses if note.startswith(own)}
        demotions = islice(find_demotions(memory, days, self.memory_lines), MOST_PROPOSED)
        found = chain(demotions, self.sources.find_orders(), self.sources.find_how_tos())
        return list(islice((one for one in found if _is_new(one, known.get(one.id, {}))), MOST_PROPOSED))


def _is_new(one: Proposal, before: Facts) -> bool:
    is_open = before.get("status", "withdrawn") == "withdrawn"
    return is_open or before.get("always_load") is not one.more.get("always_load")
