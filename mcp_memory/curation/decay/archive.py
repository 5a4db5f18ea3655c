"""Finds notes that are outdated (expired, superseded, or unused for long), and moves them to `_archive/`."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime

from mcp_memory.core.core import Core
from mcp_memory.core.requests import ReviewRequest
from mcp_memory.core.serializers import Choice, Payload, ReviewItem
from mcp_memory.core.verbs.forgetting import forget_note
from mcp_memory.core.verbs.storing import append_for_source
from mcp_memory.curation.config import DecayConfig
from mcp_memory.errors import InvalidInput, McpMemoryError, NotFound, Refused
from mcp_memory.jobs.job import JobReport, JobTurn
from mcp_memory.models import Filters, NoteId, NotePath, NoteRecord, NoteState
from mcp_memory.runs.journal import MoveStep
from mcp_memory.runtime.threads import in_thread
from mcp_memory.statements.statement_rules import classify
from mcp_memory.statements.user_sentences import user_sentences
from mcp_memory.text.markdown.frontmatter import Value
from mcp_memory.text.pluralize import counted
from mcp_memory.topics.page import page_id
from mcp_memory.usage.note_use import NoteUse
from mcp_memory.vault.config import COMMITMENT
from mcp_memory.vault.draft import Draft
from mcp_memory.vault.marks.privacy import PRIVATE
from mcp_memory.vault.note_file import INBOX, Layout, NoteFile, is_memory

TO_ARCHIVE, COLD, LESSON = "archive", "cold", "lesson"
_MOVE = Choice("a", TO_ARCHIVE, "[a]rchive", "archive: move the file to _archive/; links follow, and restore undoes it")
PASSING = frozenset({"task", "agent", "note", "idea"})
"""Kinds of notes that leave only a lesson behind."""
TEACHES = frozenset({"preference", "decision", "lesson", "fix"})
MOST_NOTES, MOST_CHARS = 100_000, 200

COLD_DAYS = 365
"""The age from which a note that was never used is proposed, so a note of a yearly task has come up once."""

ALWAYS_LOAD_DAYS = 90
"""The time after which a standing order that nothing has asked for is named: it costs each session's start."""


def lesson_in(text: str) -> str:
    """Return the part of a text that outlasts its occasion; may be empty."""
    found = ((sentence.text, classify(sentence)) for sentence in user_sentences(text))
    return " ".join(words for words, stated in found if stated and stated.kind in TEACHES)


def find_over(
    notes: Sequence[NoteRecord], uses: Mapping[NoteId, NoteUse], config: DecayConfig, layout: Layout, now: datetime
) -> Iterator[tuple[NoteRecord, str]]:
    """Yield notes that may go to `_archive/`, or need no longer be loaded at each start, with the reason. Commitments
    are shown until they are done, so they are never proposed. A note without a date, or with a future date, isn't
    cold."""
    for note in notes:
        kept = note.is_log or note.kind == COMMITMENT or is_memory(note.path) or note.is_foreign
        if kept or note.state not in {NoteState.ACTIVE, NoteState.ARCHIVED} or not layout.in_archive(note.path):
            continue
        use, end, at = uses.get(note.id, NoteUse()), note.counts_until, note.date
        over = (now - end).days if end else -1
        idle = min([(now.date() - day).days for day in use.used_days], default=(now - at).days if at else -1)
        if note.always_load:
            if at and (now - at).days >= ALWAYS_LOAD_DAYS <= idle:
                yield note, f"always loaded, but neither found nor told for {idle} days"
        elif over >= config.over_days:
            yield note, f"{'superseded' if end == note.superseded_at else 'expired'} for {over} days"
        elif at and (now - at).days >= COLD_DAYS <= idle:
            yield note, f"{COLD}: not used for {idle} days"


class Archivist:
    """Moves notes to `_archive/`."""

    prefix = f"{TO_ARCHIVE}-"
    kinds = (TO_ARCHIVE,)

    def __init__(self, core: Core) -> None:
        self._core = core
        self.vault = core.vault
        self.index = core.index
        self.uses = core.recall.uses
        self.runs = core.runs
        self.config = core.config.section("decay", DecayConfig)
        self.clock = core.clock

    async def run(self, _: JobTurn) -> JobReport | None:
        """Move the outdated notes of the configured kinds, propose their lessons, and count the rest."""
        found = await self._find()
        lessons = await self._propose_lessons([note for note, _ in found])
        sure = [note for note, why in found if not (note.always_load or why.startswith(COLD))]
        moved = await self.archive([note for note in sure if note.kind in self.config.archive_kinds])
        about = f"{counted(len(moved), 'note')} moved to _archive/"
        about += f"; {len(found) - len(moved)} proposed: mcp-memory archive"
        about += f"; {counted(lessons, 'lesson')}: mcp-memory review" if lessons else ""
        figures = {"archived": len(moved), "proposed": len(found), "lessons": lessons}
        return JobReport(about, moved, figures) if found else None

    async def waiting(self) -> Sequence[ReviewItem]:
        """Return the outdated notes. A standing order is only shown."""

        def describe(found: Sequence[tuple[NoteRecord, str]]) -> list[ReviewItem]:
            return [self._item(note, why) for note, why in found]

        found = await self._find()
        return await in_thread(describe, found, what="reading what is over")

    async def decide(self, request: ReviewRequest) -> Sequence[Payload]:
        """Move outdated notes to `_archive/` as a single run, and propose their lessons. Notes that had to stay are
        missing in the answer. Raises InvalidInput for another choice, NotFound, and Refused if all had to stay."""
        if request.choice != TO_ARCHIVE:
            raise InvalidInput(f"unknown choice {request.choice[:40]!r}", hint=TO_ARCHIVE)
        items = {*request.items}
        wanted = [note for note, _ in await self._find() if _item_id(note) in items and not note.always_load]
        if not wanted:
            raise NotFound("the note isn't outdated", hint="mcp-memory archive lists those that are")
        await self._propose_lessons(wanted)
        done = await self.archive(wanted)
        if not done:
            raise Refused("the note had to stay: it has changed, or another is in the way", hint="mcp-memory archive")
        places = {self.vault.layout.in_archive(note.path): note for note in wanted}
        moved = [(path, places[NotePath(path)]) for path in done]
        return [{"id": note.id, "path": path, "title": note.title} for path, note in moved]

    def _item(self, note: NoteRecord, why: str) -> ReviewItem:
        passages = (one.chunk.text for one in self.index.passages(note.path))
        text = " ".join(next(passages, "").split())[:MOST_CHARS]
        return ReviewItem(
            id=_item_id(note),
            what=TO_ARCHIVE,
            text=text if text.startswith(note.title.rstrip("….")) else f"{note.title}: {text}",
            why=why,
            choices=() if note.always_load else (_MOVE,),
            path=note.path,
            title=note.title,
            kind=note.kind,
            project=note.project,
        )

    async def _find(self) -> list[tuple[NoteRecord, str]]:
        def find() -> list[tuple[NoteRecord, str]]:
            filters = Filters(states=frozenset({NoteState.ACTIVE, NoteState.ARCHIVED}))
            found, may_move = self.index.notes(filters, MOST_NOTES), self.vault.filing.may_move
            notes = [one for one in found if one.always_load or may_move(one.path, one.id)]
            return list(find_over(notes, self.uses.read(), self.config, self.vault.layout, self.clock()))

        return await in_thread(find, what="looking for what is over")

    async def archive(self, notes: Collection[NoteRecord]) -> list[str]:
        """Move notes to `_archive/` and return their new paths. A note that has changed meanwhile, or whose new path is
        taken, stays."""
        targets = [(note, self.vault.layout.in_archive(note.path)) for note in notes]
        moves = [MoveStep(note.id, note.path, target) for note, target in targets if target]
        return (await self.runs.relocate(moves, "moved to _archive/, because it is over")).done if moves else []

    async def withdraw_lesson(self, note: NoteFile) -> None:
        """Forget the lesson made from a note that was restored, waiting or accepted, unless somebody has edited it."""
        for lesson in self.index.note_by_id(page_id(LESSON, note.record.id)):
            file = await in_thread(lambda lesson=lesson: self.vault.read(lesson.path), what="reading the lesson")
            is_as_made = file.body.strip() == lesson_in(note.body)
            if is_as_made and lesson.state in {NoteState.INBOX, NoteState.ACTIVE}:
                await forget_note(self._core, lesson.path, None, reason="its note was brought back")

    async def _propose_lessons(self, notes: Sequence[NoteRecord]) -> int:
        """Put the lessons of these notes into the inbox, without duplicates. A superseded note has no lesson: its
        successor replaces it."""

        def draft(note: NoteRecord) -> Draft | None:
            lesson_id = page_id(LESSON, note.id)
            text = "" if self.index.note_by_id(lesson_id) else lesson_in(self.vault.read(note.path).body)
            kind, more = self.vault.kinds.get(LESSON), dict[str, Value](derived_from=[str(note.id)], score=0.5)
            lesson = Draft(
                text, kind, tags=(PRIVATE,) * note.is_private, project=note.project, source="decay", once=True,
                folder=INBOX, id=lesson_id, more=more,
            )  # fmt: skip
            return lesson if text else None

        proposed = 0
        for note in (note for note in notes if note.kind in PASSING and not note.superseded_at):
            with suppress(McpMemoryError):  # the note is gone, or seems to contain a secret
                if one := await in_thread(lambda note=note: draft(note), what="reading what is over"):
                    await append_for_source(self._core, one)
                    proposed += 1
        return proposed


def _item_id(note: NoteRecord) -> str:
    return f"{TO_ARCHIVE}-{note.id}"
