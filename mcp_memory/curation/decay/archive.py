"""Finds notes that are over (expired, superseded, or not used for long), and moves them to `_archive/` and back."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from mcp_memory.compaction.compactor import Compactor
from mcp_memory.compaction.journal import MoveStep
from mcp_memory.curation.decay.config import DecayConfig
from mcp_memory.curation.proposal import Proposal
from mcp_memory.errors import Refused
from mcp_memory.index.base import Index
from mcp_memory.jobs.job import JobReport, JobTurn
from mcp_memory.models import Filters, NoteId, NotePath, NoteRecord, NoteState
from mcp_memory.runtime.threads import in_thread
from mcp_memory.text.pluralize import counted
from mcp_memory.usage.note_use import NoteUse
from mcp_memory.usage.use_counter import UseCounter
from mcp_memory.vault.note_file import ARCHIVE, MEMORY, Layout
from mcp_memory.vault.vault import Vault

TO_ARCHIVE, COMMITMENT, COLD = "archive", "commitment", "cold"
MOST_NOTES, MOST_CHARS = 100_000, 200


def archive_path(path: NotePath, layout: Layout) -> NotePath | None:
    """The same place below `_archive/`; None for what is there already, or outside the managed folder."""
    below = layout.below_home(path)
    if below is None or below.startswith(f"{ARCHIVE}/"):
        return None
    return NotePath("/".join(filter(None, (layout.home, ARCHIVE, below))))


def unarchive_path(path: NotePath, layout: Layout) -> NotePath | None:
    """Where a note of `_archive/` was; None for any other."""
    below = layout.below_home(path)
    if below is None or not below.startswith(f"{ARCHIVE}/"):
        return None
    return NotePath("/".join(filter(None, (layout.home, below.removeprefix(f"{ARCHIVE}/")))))


def find_over(
    notes: Sequence[NoteRecord],
    uses: Mapping[NoteId, NoteUse],
    config: DecayConfig,
    layout: Layout,
    now: datetime,
    first_words: Callable[[NoteRecord], str],
) -> Iterator[tuple[Proposal, NoteRecord]]:
    """What to archive, and the note. Commitments are told until they are done, and what is always loaded counts as
    used: neither is proposed. A note without a date, or with one in the future, isn't cold."""
    for note in notes:
        kept = note.is_log or note.always_load or note.kind == COMMITMENT or note.path == MEMORY or note.is_foreign
        if kept or note.state not in {NoteState.ACTIVE, NoteState.ARCHIVED} or not archive_path(note.path, layout):
            continue
        use, end, at = uses.get(note.id, NoteUse()), note.counts_until, note.updated or note.created
        over = (now - end).days if end else -1
        idle = min([(now.date() - day).days for day in use.used_days], default=(now - at).days if at else -1)
        if over >= config.over_days:
            why = f"{'superseded' if end == note.superseded_at else 'expired'} for {over} days"
        elif at and (now - at).days >= config.cold_days <= idle:
            why = f"{COLD}: not used for {idle} days"
        else:
            continue
        figures = {"days": max(over, idle), "found": use.total.found, "told": use.total.told}
        text = f"{note.title}: {first_words(note)}"
        yield Proposal(note.id, text, note.path, TO_ARCHIVE, [why], figures, (note.id,)), note


@dataclass(frozen=True, slots=True)
class Archivist:
    vault: Vault
    index: Index
    uses: UseCounter
    compactor: Compactor
    config: DecayConfig
    clock: Callable[[], datetime]

    async def run(self, _: JobTurn) -> JobReport | None:
        """Archives what is over of the kinds that are configured so, and counts what it proposes."""
        found = await self.find()
        wanted = [note for one, note in found if note.kind in self.config.archive_kinds and COLD not in one.reasons[0]]
        moved = await self.archive(wanted)
        about = f"{counted(len(moved), 'note')} archived; {len(found) - len(moved)} proposed: mcp-memory over"
        return JobReport(about, moved, {"archived": len(moved), "proposed": len(found)}) if found else None

    async def answer(self, ids: Collection[str] | None) -> dict[str, Any]:
        """What is proposed; with `ids`, moves those of them."""
        found = await self.find()
        if ids is None:
            return {"proposed": [asdict(one) for one, _ in found]}
        return {"archived": await self.archive([note for _, note in found if note.id in ids])}

    async def find(self) -> list[tuple[Proposal, NoteRecord]]:
        def first_words(note: NoteRecord) -> str:
            passages = (one.chunk.text for one in self.index.passages(note.path))
            return " ".join(next(passages, "").split())[:MOST_CHARS]

        def find() -> list[tuple[Proposal, NoteRecord]]:
            filters, may_move = (
                Filters(states=frozenset({NoteState.ACTIVE, NoteState.ARCHIVED})),
                self.vault.filing.may_move,
            )
            notes = [one for one in self.index.notes(filters, MOST_NOTES) if may_move(one.path, one.id)]
            return list(find_over(notes, self.uses.read(), self.config, self.vault.layout, self.clock(), first_words))

        return await in_thread(find, what="looking for what is over")

    async def archive(self, notes: Collection[NoteRecord]) -> list[str]:
        """Returns where they are now; what has changed meanwhile, or finds its place taken, stays."""
        targets = [(note, archive_path(note.path, self.vault.layout)) for note in notes]
        moves = [MoveStep(note.id, note.path, target) for note, target in targets if target]
        return (await self.compactor.relocate(moves, "archived, because it is over")).done if moves else []

    async def unarchive(self, path: NotePath) -> NotePath | None:
        """Returns where it is now; None for a note that isn't in `_archive/`. Raises Refused."""
        back = unarchive_path(path, self.vault.layout)
        if back:
            note = await in_thread(lambda: self.vault.read(path), what="reading the note")
            report = await self.compactor.relocate([MoveStep(note.record.id, path, back)], "unarchived")
            if report.left:
                raise Refused(report.left[0], hint="it stays in the archive")
        return back
