"""Keeps the pages of claims and the index in MEMORY.md up to date."""

from functools import partial

from mcp_memory.core.core import Core
from mcp_memory.core.serializers import Payload
from mcp_memory.curation.claims.claim_base import ClaimBase
from mcp_memory.curation.dreams.dream_files import DreamFiles
from mcp_memory.curation.memory_index import memory_index, with_memory_index
from mcp_memory.curation.pages.organizer import Organizer
from mcp_memory.curation.requests import OrganizeRequest
from mcp_memory.jobs.due import AfterQuiet
from mcp_memory.jobs.job import Job, JobReport, JobTurn
from mcp_memory.models import Filters, NotePath
from mcp_memory.runtime.threads import in_thread
from mcp_memory.text.pluralize import counted
from mcp_memory.topics.page import CONTENTS, ENTITIES
from mcp_memory.vault.note_file import MEMORY

PAGES_S = 3600.0
"""Seconds between two checks without a change: what expires changes no file."""
QUIET_S, SOON_S = 15.0, 60.0
"""The seconds after a change or a start until the pages are checked."""


class PageOperations:
    """Writes pages when you ask for it, and in the background."""

    def __init__(self, core: Core, base: ClaimBase, files: DreamFiles) -> None:
        self._core = core
        self._base = base
        self._files = files
        self._due = AfterQuiet(
            quiet_s=QUIET_S, longest_wait_s=300, concerns=lambda paths: not all(map(_is_page, paths))
        )
        self._due.look_again(SOON_S)

    def job(self) -> Job:
        """Return the background job."""
        return Job("pages", "Brings the pages of claims up to date", self._due, self._run)

    async def organize(self, request: OrganizeRequest) -> Payload:
        """Write the pages that are out of date, or list them."""
        return {"pages": await self._organize(dry_run=request.dry_run, memory=request.memory)}

    async def _run(self, _: JobTurn) -> JobReport | None:
        self._due.look_again(PAGES_S)
        changed = await self._organize(again=True)
        return JobReport(f"{counted(len(changed), 'page')} written", changed) if changed else None

    async def _organize(self, *, dry_run: bool = False, again: bool = False, memory: bool = False) -> list[NotePath]:
        """Return the pages that were written, or with `dry_run` would be, as `Organizer.run` does. `memory`: also add
        an index to MEMORY.md, if it has none yet."""
        organizer = Organizer(self._core.vault, self._core.index, self._base)
        run = partial(organizer.run, dry_run=dry_run, again=again)
        stale, written = await in_thread(run, deadline_s=300, what="writing pages")
        if dry_run:
            return stale
        for page in written:
            await self._core.indexing.writer.index_note(page)
        refresh = partial(self._refresh_memory_index, anew=memory)
        paths = [page.record.path for page in written]
        if await in_thread(refresh, deadline_s=60, what="writing the index in MEMORY.md"):
            paths.append(MEMORY)
        return paths

    def _refresh_memory_index(self, *, anew: bool) -> bool:
        """Return whether the index in MEMORY.md was written. Raises Refused for a lone mark, StorageFailed."""
        core, files = self._core, self._files
        layout, text = core.vault.layout, files.text_of(MEMORY) or ""
        today = core.clock().astimezone(layout.tz).date()
        shown = Filters(private=core.config.recall.private_marks, now=core.clock(), foreign=False)
        lines = memory_index(core.index, core.recall.uses.read(), shown, layout, today)
        edited = partial(with_memory_index, lines=lines, anew=anew)
        is_new = edited(text) != text
        if is_new:
            files.edit(MEMORY, edited)
        return is_new


def _is_page(path: NotePath) -> bool:
    return f"{ENTITIES}/" in f"/{path}" or path.endswith(CONTENTS)
