"""Writes a page of claims for each project, person, organization, place and service, and INDEX.md, which lists the
pages; and keeps the index in MEMORY.md up to date. It does so when you ask for it, and in the background
once there is enough to say.

The same claims give the same bytes, and a run without changes writes nothing. INDEX.md quotes no note.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from mcp_memory.core.core import Core
from mcp_memory.core.serializers import Payload
from mcp_memory.curation.claims.claim import Claim, Evidence, Subject
from mcp_memory.curation.claims.claim_base import ClaimBase
from mcp_memory.curation.dreams.dream_files import DreamFiles
from mcp_memory.curation.memory_index import memory_index, with_memory_index
from mcp_memory.jobs.job import AfterQuiet, Job, JobReport, JobTurn
from mcp_memory.models import Filters, NoteId, NotePath, etag_of
from mcp_memory.runtime.threads import in_thread
from mcp_memory.text.markdown import frontmatter
from mcp_memory.text.markdown.inline_text import escaped, is_harmless
from mcp_memory.text.markdown.link_targets import unlinked
from mcp_memory.text.pluralize import counted
from mcp_memory.topics.page import CONTENTS, ENTITIES, link, page_id
from mcp_memory.vault.note_file import NoteFile, slug

MOST_CLAIMS, MOST_CONTENTS_BYTES = 100, 2000
"""The most claims of a page, the size of INDEX.md, and the number of known pages read."""

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


class Organizer:
    """Writes the pages."""

    def __init__(self, core: Core, base: ClaimBase, files: DreamFiles) -> None:
        self._core = core
        self._vault = core.vault
        self._index = core.index
        self._base = base
        self._files = files
        self._due = AfterQuiet(quiet_s=QUIET_S, longest_wait_s=300, concerns=_are_notes)
        self._due.look_again(SOON_S)

    def job(self) -> Job:
        return Job("pages", "Brings the pages of claims up to date", self._due, self._run)

    async def organize(self, request: OrganizeRequest) -> Payload:
        """Write the pages that are out of date; with `memory`, also add an index to MEMORY.md, if it has none yet."""
        return {"pages": await self._refresh(memory=request.memory)}

    async def _run(self, _: JobTurn) -> JobReport | None:
        self._due.look_again(PAGES_S)
        written = await self._refresh(again=True)
        return JobReport(f"{counted(len(written), 'page')} written", written) if written else None

    async def _refresh(self, *, again: bool = False, memory: bool = False) -> list[NotePath]:
        """Return the pages that were written."""
        pages = await in_thread(partial(self._write, again=again), deadline_s=300, what="writing pages")
        for page in pages:
            await self._core.indexing.writer.index_note(page)
        written = [page.record.path for page in pages]
        refresh = partial(self._refresh_memory_index, anew=memory)
        if await in_thread(refresh, deadline_s=60, what="writing the index in MEMORY.md"):
            written.append(self._vault.layout.memory)
        return written

    # -- in threads --------------------------------------------------------------------------------------------

    def _refresh_memory_index(self, *, anew: bool) -> bool:
        """Return whether the index in MEMORY.md was written. Raises Refused for a lone mark, StorageFailed."""
        core, layout = self._core, self._vault.layout
        text = self._files.text_of(layout.memory) or ""
        today = core.clock().astimezone(layout.tz).date()
        shown = Filters(private=core.config.recall.private_marks, now=core.clock(), foreign=False)
        lines = memory_index(self._index, core.recall.uses.read(), shown, layout, today)
        edited = partial(with_memory_index, lines=lines, anew=anew)
        is_new = edited(text) != text
        if is_new:
            self._files.edit(layout.memory, edited)
        return is_new

    def _write(self, *, again: bool) -> list[NoteFile]:
        """Return the files written. With `again`, do nothing if you have deleted INDEX.md, or while there is little
        to say. Raises StorageFailed, IndexUnavailable."""
        in_home = self._vault.layout.in_home
        known = {note.path: note for note in self._index.pages()}
        listed = [one for one in self._base.subjects(Filters()) if any(claim.holds for claim in one.claims)]
        is_little = sum(sum(one.holds for one in each.claims) > 1 for each in listed) < LEAST_SUBJECTS
        if again and in_home(CONTENTS) not in known and (is_little or self._vault.filing.made_by_us(in_home(CONTENTS))):
            return []
        subjects = {in_home(f"{ENTITIES}/{one.folder}/{slug(one.name)}.md"): one for one in listed}
        made = {path: _page(path, one) for path, one in subjects.items()}
        entities = f"{in_home(ENTITIES)}/"
        for path, note in known.items():
            if path.startswith(entities) and path not in made:
                made[path] = _render(path, note.title, (), ["Nothing that is stored holds now."])
        open_conflicts = sum(one.conflict is not None for one in self._base.claims(Filters()))
        made[in_home(CONTENTS)] = _contents(in_home(CONTENTS), subjects, open_conflicts)
        stale = [path for path, data in made.items() if path not in known or known[path].etag != etag_of(data)]
        written = [self._vault.filing.refresh_page(path, made[path]) for path in stale]
        return [page for page in written if page]


def _are_notes(paths: Collection[NotePath]) -> bool:
    """Return whether not all of these are our own pages."""
    return not all(f"{ENTITIES}/" in f"/{path}" or path.endswith(CONTENTS) for path in paths)


def _page(path: NotePath, subject: Subject) -> bytes:
    """Render the claims that hold, the latest first, and then what happened on single days."""
    holding = sorted((one for one in subject.claims if one.holds), key=lambda one: one.latest.note.is_log)[:MOST_CLAIMS]
    sources = [one for claim in holding for one in (*claim.evidence, *claim.replaces)]
    lines = [line for one in holding for line in _claim(path, one)]
    return _render(path, subject.name, list(dict.fromkeys(one.note.id for one in sources)), lines)


def _claim(path: NotePath, claim: Claim) -> Iterator[str]:
    # without links, which would break here; plain, if it could hide the rest of the page or load something
    text = unlinked(claim.text, path) if is_harmless(claim.text) else escaped(claim.text)
    yield f"- {text} ({claim.certainty}; {_note(path, claim.latest)})"
    for one in claim.evidence[1:]:
        yield f"  - also {_note(path, one)}, {one.day}"
    for one in claim.replaces:
        yield f"  - before, {one.day}: {link(path, one.text, one.note.path)}"


def _note(path: NotePath, one: Evidence) -> str:
    return f"{link(path, one.note.title, one.note.path)}, line {one.line}"


def _contents(path: NotePath, subjects: Mapping[NotePath, Subject], open_conflicts: int) -> bytes:
    """Render the list of pages, those with the most claims first, and how much needs a decision."""
    lines = [f"{counted(open_conflicts, 'contradiction')} to decide: `mcp-memory review --conflicts`", ""]
    listed = [(sum(one.holds for one in subject.claims), page, subject) for page, subject in subjects.items()]
    for count, page, subject in sorted(listed, key=lambda one: (-one[0], one[1])):
        line = f"- {link(path, subject.name, page)} ({subject.folder}, {count})"
        lines += [line] if len("\n".join([*lines, line]).encode()) < MOST_CONTENTS_BYTES - 200 else []
    return _render(path, "What memory holds", (), lines)


def _render(path: NotePath, title: str, sources: Sequence[NoteId], lines: Sequence[str]) -> bytes:
    meta = {
        "id": page_id(path),
        "title": title,
        "kind": "page",
        "derived_from": list(sources) or None,
        "node_kind": "entity",
    }
    return frontmatter.render(meta, "\n".join(lines).strip()).encode(errors="replace")
