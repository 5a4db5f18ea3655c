"""Finds notes that are outdated (expired, superseded, or unused for long), and moves them to `_archive/`."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from itertools import islice

from mcp_memory.core.core import Core
from mcp_memory.core.requests import ReviewRequest
from mcp_memory.core.serializers import Choice, Payload, ReviewItem
from mcp_memory.core.verbs.forgetting import forget_note
from mcp_memory.core.verbs.storing import append_for_source
from mcp_memory.curation.config import DecayConfig
from mcp_memory.errors import InvalidInput, McpMemoryError, NotFound, Refused
from mcp_memory.jobs.job import JobReport, JobTurn
from mcp_memory.models import Filters, NoteId, NotePath, NoteRecord, NoteState
from mcp_memory.runs.journal import MoveStep, Step, WriteStep
from mcp_memory.runtime.threads import in_thread
from mcp_memory.statements.statement_rules import classify
from mcp_memory.statements.user_sentences import user_sentences
from mcp_memory.text.markdown import frontmatter
from mcp_memory.text.markdown.frontmatter import Value
from mcp_memory.text.markdown.link_targets import unlinked
from mcp_memory.text.pluralize import counted
from mcp_memory.topics.page import page_id
from mcp_memory.usage.note_use import NoteUse
from mcp_memory.vault.config import COMMITMENT
from mcp_memory.vault.draft import Draft
from mcp_memory.vault.marks.privacy import PRIVATE
from mcp_memory.vault.note_file import HISTORIES, INBOX, Layout, NoteFile, is_memory

TO_ARCHIVE, COLD, LESSON, HISTORY = "archive", "cold", "lesson", "history"
_MOVE = Choice("a", TO_ARCHIVE, "[a]rchive", "archive: move the file to _archive/; links follow, and restore undoes it")
PASSING = frozenset({"task", "agent", "note", "idea"})
"""Kinds of notes that leave only a lesson behind."""
TEACHES = frozenset({"preference", "decision", "lesson", "fix"})
MOST_NOTES, MOST_CHARS = 100_000, 200

COLD_DAYS = 365
"""The age from which a note that was never used is proposed, so a note of a yearly task has come up once. A superseded
note stays as long before its text moves to the page of its chain's history."""


def lesson_in(text: str) -> str:
    """Return the part of a text that outlasts its occasion; may be empty."""
    found = ((sentence.text, classify(sentence)) for sentence in user_sentences(text))
    return " ".join(words for words, stated in found if stated and stated.kind in TEACHES)


def find_over(
    notes: Sequence[NoteRecord], uses: Mapping[NoteId, NoteUse], config: DecayConfig, layout: Layout, now: datetime
) -> Iterator[tuple[NoteRecord, str]]:
    """Yield notes that may go to `_archive/`, with the reason. Commitments are shown until they are done, so they are
    never proposed. A note without a date, or with a future date, isn't cold."""
    for note in notes:
        kept = note.is_log or note.kind == COMMITMENT or is_memory(note.path) or note.is_foreign
        if kept or note.state not in {NoteState.ACTIVE, NoteState.ARCHIVED} or not layout.in_archive(note.path):
            continue
        use, end, at = uses.get(note.id, NoteUse()), note.counts_until, note.date
        over = (now - end).days if end else -1
        idle = min([(now.date() - day).days for day in use.used_days], default=(now - at).days if at else -1)
        is_replaced = end == note.superseded_at
        if over >= (COLD_DAYS if is_replaced else config.over_days):
            yield note, f"{'superseded' if is_replaced else 'expired'} for {over} days"
        elif at and not note.superseded_at and (now - at).days >= COLD_DAYS <= idle:
            yield note, f"{COLD}: not used for {idle} days"


class Archivist:
    """Moves notes to `_archive/`."""

    prefix = f"{TO_ARCHIVE}-"
    kinds = (TO_ARCHIVE,)

    def __init__(self, core: Core) -> None:
        self._core = core
        self.vault = core.vault
        self.index = core.index
        self.config = core.config.section("decay", DecayConfig)
        self._last_found: Sequence[tuple[NoteRecord, str]] | None = None
        """What the last look at all notes found."""

    async def run(self, _: JobTurn) -> JobReport | None:
        """Move the outdated notes of the configured kinds, propose their lessons, and count the rest."""
        found = await self._find()
        lessons = await self._propose_lessons([note for note, _ in found])
        kinds = self.config.archive_kinds
        moved = await self.archive([note for note, why in found if note.kind in kinds and not why.startswith(COLD)])
        about = f"{counted(len(moved), 'note')} moved to _archive/"
        about += f"; {len(found) - len(moved)} proposed: mcp-memory archive"
        about += f"; {counted(lessons, 'lesson')}: mcp-memory review" if lessons else ""
        figures = {"archived": len(moved), "proposed": len(found), "lessons": lessons}
        return JobReport(about, moved, figures) if found else None

    async def waiting(self, limit: int | None = None) -> Sequence[ReviewItem]:
        """Return the outdated notes; with a limit, of those that the last look found."""
        found = self._last_found if limit else None
        found = await self._find() if found is None else found

        def read() -> list[ReviewItem]:
            now = ((one, why) for one, why in found if (seen := self.index.note(one.path)) and seen.etag == one.etag)
            return [self._item(note, why) for note, why in islice(now, limit)]

        return await in_thread(read, what="reading what is over")

    async def decide(self, request: ReviewRequest) -> Sequence[Payload]:
        """Move outdated notes to `_archive/` as a single run, and propose their lessons. Notes that had to stay are
        missing in the answer. Raises InvalidInput for another choice, NotFound, and Refused if all had to stay."""
        if request.choice != TO_ARCHIVE:
            raise InvalidInput(f"unknown choice {request.choice[:40]!r}", hint=TO_ARCHIVE)
        wanted = [note for note, _ in await self._find() if _item_id(note) in request.items]
        if not wanted:
            raise NotFound("the note isn't outdated", hint="mcp-memory archive lists those that are")
        await self._propose_lessons(wanted)
        done = await self.archive(wanted)
        if not done:
            raise Refused("the note had to stay: it has changed, or another is in the way", hint="mcp-memory archive")
        moved = [(note, self.vault.layout.in_archive(note.path)) for note in wanted]
        return [{"id": note.id, "path": path, "title": note.title} for note, path in moved if path in done]

    def _item(self, note: NoteRecord, why: str) -> ReviewItem:
        passages = (one.chunk.text for one in self.index.passages(note.path))
        text = " ".join(next(passages, "").split())[:MOST_CHARS]
        return ReviewItem(
            id=_item_id(note),
            what=TO_ARCHIVE,
            text=text if text.startswith(note.title.rstrip("….")) else f"{note.title}: {text}",
            why=why,
            choices=(_MOVE,),
            path=note.path,
            title=note.title,
            kind=note.kind,
            project=note.project,
        )

    async def _find(self) -> list[tuple[NoteRecord, str]]:
        def find() -> list[tuple[NoteRecord, str]]:
            filters = Filters(states=frozenset({NoteState.ACTIVE, NoteState.ARCHIVED}))
            found, may_move = self.index.notes(filters, MOST_NOTES), self.vault.filing.may_move
            notes = [one for one in found if not one.always_load and may_move(one.path, one.id)]
            uses, now = self._core.recall.uses.read(), self._core.clock()
            return list(find_over(notes, uses, self.config, self.vault.layout, now))

        self._last_found = found = await in_thread(find, what="looking for what is over")
        return found

    async def archive(self, notes: Collection[NoteRecord]) -> list[str]:
        """Move notes to `_archive/` and return their new paths. A note that has changed meanwhile, or whose new path is
        taken, stays. The earlier values of a chain move together, and a page has their history."""
        jobs = await in_thread(self._jobs, notes, what="reading what is over")
        return (await self._core.runs.relocate(jobs, "moved to _archive/, because it is over")).done if jobs else []

    def _jobs(self, notes: Collection[NoteRecord]) -> list[list[Step]]:
        moved = self.index.notes(Filters(states=frozenset({NoteState.REPLACED})), MOST_NOTES)
        heads = self.vault.chains.heads(note.id for note in (*notes, *moved) if note.superseded_at)
        jobs = defaultdict[NoteId, list[Step]](list)
        for note in notes:
            if target := self.vault.layout.in_archive(note.path):
                jobs[heads.get(note.id, note.id)].append(MoveStep(note.id, note.path, target))
        for head in {*heads.values()}:
            step = self._history(head, {note.id for note in notes})
            if step is None:
                jobs.pop(head, None)
            elif step.text != step.before:
                jobs[head].insert(0, step)
        return list(jobs.values())

    def _history(self, head_id: NoteId, moving: Collection[NoteId]) -> WriteStep | None:
        """Return the step that writes the page of a chain, with the values that move and those that have moved and
        aren't forgotten. None if somebody has edited the page."""
        layout, head = self.vault.layout, self.vault.chains.require(head_id)
        chain = self.vault.chains.history(head)
        own_id, authors = page_id(HISTORY, chain[-1].record.id), {one.record.source for one in chain}
        path = layout.in_home(f"{HISTORIES}{own_id.lower()}.md")
        page = self.vault.find(path)
        if page and not self.vault.filing.is_as_we_wrote(page):
            return None
        old = [one for one in chain if one.record.superseded_at and one.record.state is not NoteState.DELETED]
        values = [one for one in old if one.record.id in moving or layout.before_archive(one.record.path)]
        meta = {
            "id": own_id, "title": f"Earlier values: {head.record.title}", "kind": head.record.kind,
            "project": head.record.project, "tags": [PRIVATE] if any(one.record.is_private for one in chain) else None,
            "source": authors.pop() if len(authors) == 1 else "decay",
            "derived_from": [one.record.id for one in values],
        }  # fmt: skip
        text = frontmatter.render(meta, "\n".join(_value(path, one) for one in values))
        return WriteStep(path, text, page and page.text)

    async def withdraw_lesson(self, note: NoteFile) -> None:
        """Forget the lesson made from a note that was restored, waiting or accepted, unless somebody has edited it."""
        for lesson in self.index.note_by_id(page_id(LESSON, note.record.id)):
            file = await in_thread(self.vault.read, lesson.path, what="reading the lesson")
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
                if one := await in_thread(draft, note, what="reading what is over"):
                    await append_for_source(self._core, one)
                    proposed += 1
        return proposed


def _value(page: NotePath, value: NoteFile) -> str:
    """Return an entry of a list with the days of an earlier value, its session or author, and its text."""
    record, text = value.record, unlinked(value.body.strip(), page).replace("\n", "\n  ")
    days = " to ".join(f"{moment:%Y-%m-%d}" for moment in (record.created, record.superseded_at) if moment)
    return f"- {days} ({record.session or record.source or 'by hand'}): {text}"


def _item_id(note: NoteRecord) -> str:
    return f"{TO_ARCHIVE}-{note.id}"
