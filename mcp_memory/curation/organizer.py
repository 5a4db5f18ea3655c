"""Writes a page of claims for each project and each name that notes are about, and INDEX.md, which lists the pages; and
keeps the index in MEMORY.md up to date. It does so when you ask for it, and in the background once there is enough
to say.

The same claims give the same bytes, and a run without changes writes nothing. INDEX.md quotes no note.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from mcp_memory.core.core import Core
from mcp_memory.core.requests import NoArguments
from mcp_memory.core.serializers import Payload
from mcp_memory.curation.claims.claim import Claim, Evidence, Subject
from mcp_memory.curation.claims.claim_base import ClaimBase
from mcp_memory.curation.claims.subject_reading import SubjectReading
from mcp_memory.curation.dreams.dream_files import DreamFiles
from mcp_memory.curation.memory_index import memory_index, with_memory_index
from mcp_memory.jobs.job import AfterQuiet, Job, JobReport, JobTurn
from mcp_memory.models import Conflict, Filters, NoteId, NotePath, etag_of
from mcp_memory.recall.excerpts import shortened
from mcp_memory.runtime.threads import in_thread
from mcp_memory.text.escape_invisible import visible_in
from mcp_memory.text.markdown import frontmatter
from mcp_memory.text.markdown.inline_text import escaped, is_harmless
from mcp_memory.text.markdown.link_targets import unlinked
from mcp_memory.text.pluralize import counted
from mcp_memory.topics.page import CONTENTS, ENTITIES, link, page_id
from mcp_memory.vault.note_file import NoteFile, slug
from mcp_memory.vault.withheld_pages import quotes_forgotten

MOST_CLAIMS, MOST_CONTENTS_BYTES = 100, 1800
"""The most claims of a page, and the bytes of the list in INDEX.md."""

LEAST_SUBJECTS = 3
"""The fewest subjects with two claims for which the first pages are written unasked."""
PAGES_S = 3600.0
"""Seconds between two checks without a change: what expires changes no file."""
QUIET_S, SOON_S = 15.0, 60.0
"""The seconds after a change or a start until the pages are checked."""


@dataclass(frozen=True)
class OrganizeRequest:
    """The pages that are out of date; `memory`: an index in MEMORY.md, too."""

    memory: bool = False


@dataclass(frozen=True)
class Organizer:
    """Writes the pages."""

    core: Core
    base: ClaimBase
    reading: SubjectReading
    files: DreamFiles

    def job(self) -> Job:
        due = AfterQuiet(
            quiet_s=QUIET_S,
            longest_wait_s=300,
            concerns=lambda paths: not all(f"{ENTITIES}/" in f"/{path}" or path.endswith(CONTENTS) for path in paths),
        )
        due.look_again(SOON_S)
        return Job("pages", "Brings the pages of claims up to date", due, partial(self._run, due))

    async def organize(self, request: OrganizeRequest) -> Payload:
        """Write the pages that are out of date; with `memory`, also add an index to MEMORY.md, if it has none yet."""
        return {"pages": await self._refresh(memory=request.memory)}

    async def _run(self, due: AfterQuiet, turn: JobTurn) -> JobReport | None:
        due.look_again(PAGES_S)
        if self.core.background.reader.model:
            stated = await in_thread(self.base.statements, what="reading statements")
            await self.reading.read(stated, turn)
        written = await self._refresh(again=True)
        return JobReport(f"{counted(len(written), 'page')} written", written) if written else None

    async def _refresh(self, *, again: bool = False, memory: bool = False) -> list[NotePath]:
        """Return the pages that were written."""
        pages = await in_thread(partial(self._write, again=again), deadline_s=300, what="writing pages")
        for page in pages:
            await self.core.indexing.writer.index_note(page)
        written = [page.record.path for page in pages]
        if await in_thread(partial(self._refresh_memory_index, anew=memory), what="writing the index in MEMORY.md"):
            written.append(self.core.vault.layout.memory)
        return written

    async def problems(self, _: NoArguments) -> Payload:
        """List open conflicts, and pages that may contain forgotten text, with the place to look at and the notes."""
        found = await in_thread(lambda: list(self._problems()), what="looking at claims")
        return visible_in({"problems": found})

    # -- in threads --------------------------------------------------------------------------------------------

    def _refresh_memory_index(self, *, anew: bool) -> bool:
        """Return whether the index in MEMORY.md was written. Raises Refused for a lone mark, StorageFailed."""
        core, layout, now = self.core, self.core.vault.layout, self.core.clock()
        text = self.files.text_of(layout.memory) or ""
        shown = replace(self.base.wanted, now=now)
        lines = memory_index(core.index, core.recall.uses.read(), shown, layout, now.astimezone(layout.tz).date())
        edited = partial(with_memory_index, lines=lines, anew=anew)
        if edited(text) == text:
            return False
        self.files.edit(layout.memory, edited)
        return True

    def _problems(self) -> Iterator[Payload]:
        for one in self._conflicts():
            yield {
                "kind": "conflict", "text": one.why, "path": one.older_path,
                "why": f"a newer note says so: {one.newer_path}",
                "remedy": f"mcp-memory review --keep {shortened(one.newer) or one.newer}",
                "notes": [one.older, one.newer],
            }  # fmt: skip
        vault = self.core.vault
        for page in self.core.index.pages(vault.layout.in_home(ENTITIES)):
            if quotes_forgotten(vault.read(page.path).text, vault, self.core.index):
                yield {
                    "kind": "orphan", "text": page.path, "path": page.path, "notes": [],
                    "why": "rests on a note that is forgotten or gone",
                    "remedy": "mcp-memory topics organize; if you have changed the page, delete it before",
                }  # fmt: skip

    def _conflicts(self) -> list[Conflict]:
        """Return the undecided contradictions between notes that may be shown."""
        shown = {one.note.id for claim in self.base.claims(Filters()) for one in claim.evidence}
        return [one for one in self.core.index.conflicts() if not one.is_double and {one.older, one.newer} <= shown]

    def _write(self, *, again: bool) -> list[NoteFile]:
        """Return the files written. With `again`, do nothing if you have deleted INDEX.md, or while there is little
        to say. Raises StorageFailed, IndexUnavailable."""
        filing, in_home = self.core.vault.filing, self.core.vault.layout.in_home
        known = {note.path: note for note in self.core.index.pages()}
        listed = [one for one in self.base.subjects(Filters()) if one.holding]
        is_little = sum(len(one.holding) > 1 for one in listed) < LEAST_SUBJECTS
        contents = in_home(CONTENTS)
        if again and contents not in known and (is_little or filing.made_by_us(contents)):
            return []
        subjects = {in_home(f"{ENTITIES}/{one.folder}/{slug(one.name)}.md"): one for one in listed}
        made = {path: _page(path, one) for path, one in subjects.items()}
        for path, note in known.items():
            if path.startswith(f"{in_home(ENTITIES)}/") and path not in made:
                made[path] = _render(path, note.title, (), ["Nothing that is stored holds now."])
        made[contents] = _contents(contents, subjects, len(self._conflicts()))
        stale = [path for path, data in made.items() if path not in known or known[path].etag != etag_of(data)]
        return [page for path in stale if (page := filing.refresh_page(path, made[path]))]


def _page(path: NotePath, subject: Subject) -> bytes:
    """Render the claims that hold, the latest first, and then what happened on single days."""
    holding = sorted(subject.holding, key=lambda one: one.latest.note.is_log)[:MOST_CLAIMS]
    sources = [one for claim in holding for one in (*claim.evidence, *claim.earlier)]
    lines = [line for one in holding for line in _claim(path, one)]
    return _render(path, subject.name, list(dict.fromkeys(one.note.id for one in sources)), lines)


def _claim(path: NotePath, claim: Claim) -> Iterator[str]:
    # without links, which would break here; plain, if it could hide the rest of the page or load something
    text = unlinked(claim.text, path) if is_harmless(claim.text) else escaped(claim.text)
    yield f"- {text} ({claim.certainty}; {_note(path, claim.latest)})"
    for one in claim.evidence[1:]:
        yield f"  - also {_note(path, one)}, {one.day}"
    for one in claim.earlier:
        yield f"  - earlier ({one.day}): {link(path, one.text, one.note.path)}"


def _note(path: NotePath, one: Evidence) -> str:
    return f"{link(path, one.note.title, one.note.path)}, line {one.line}"


def _contents(path: NotePath, subjects: Mapping[NotePath, Subject], open_conflicts: int) -> bytes:
    """Render the list of pages, those with the most claims first, and how much needs a decision."""
    lines = [f"{counted(open_conflicts, 'contradiction')} to decide: `mcp-memory review --conflicts`", ""]
    for page, subject in sorted(subjects.items(), key=lambda one: (-len(one[1].holding), one[0])):
        line = f"- {link(path, subject.name, page)} ({subject.folder}, {len(subject.holding)})"
        lines += [line] if len("\n".join([*lines, line]).encode()) < MOST_CONTENTS_BYTES else []
    return _render(path, "What memory holds", (), lines)


def _render(path: NotePath, title: str, sources: Sequence[NoteId], lines: Sequence[str]) -> bytes:
    head = {"id": page_id(path), "title": title, "kind": "page", "node_kind": "entity"}
    return frontmatter.render({**head, "derived_from": list(sources) or None}, "\n".join(lines).strip()).encode(
        errors="replace"
    )
