"""Lists the jobs that run in the background."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from mcp_memory.capture.session_reader import CapturedMessages
from mcp_memory.curation.memory_index import memory_index, with_memory_index
from mcp_memory.curation.pages.organizer import Organizer
from mcp_memory.jobs.due import AfterQuiet, Daily, Every
from mcp_memory.jobs.job import Job, JobReport, JobTurn
from mcp_memory.models import Filters, NotePath
from mcp_memory.runtime.threads import in_thread
from mcp_memory.search.filters import ANY_PROJECT, moment_of
from mcp_memory.summaries.digest import Digests
from mcp_memory.text.markdown.logs import is_log_path
from mcp_memory.text.pluralize import counted
from mcp_memory.topics.page import CONTENTS, ENTITIES, SUMMARIES
from mcp_memory.vault.journals.change_journal import DISK, ChangeKind
from mcp_memory.vault.note_file import DREAMS, MEMORY, slug

if TYPE_CHECKING:
    from mcp_memory.engine.parts import EngineParts
    from mcp_memory.engine.requests import DigestRequest

SESSIONS_S, CODE_S, PAGES_S = 300.0, 900.0, 3600.0
"""Seconds between two checks whether a session has ended, code has changed, or pages are out of date."""
QUIET_S, SOON_S = 15.0, 60.0
"""After a change, and after a start, until pages of claims are looked at."""


async def digest(parts: EngineParts, request: DigestRequest) -> dict[str, str | None]:
    """The digest of a time, and the path of its page if it was to be saved. Raises InvalidInput for a date."""
    zone, now = parts.vault.layout.tz, parts.clock()
    until = moment_of("until", request.until, zone)
    since = moment_of("since", request.since, zone) or (until or now) - timedelta(days=7)
    project = None if request.project == ANY_PROJECT else request.project
    wanted = replace(_may_be_told(parts), project=project, since=since, until=until)
    first, last = (when.astimezone(zone).date() for when in (since, until or now))
    title = f"From {first} to {last}" + (f", {project}" if project else "")
    path = parts.vault.layout.in_home(f"{SUMMARIES}/digests/{slug(title)}.md") if request.save else None
    make = partial(Digests(parts.vault, parts.index, wanted).of_time, title, path)
    text, page = await in_thread(make, deadline_s=300, what="making a digest")
    if page:
        await parts.writer.index_note(page)
    return {"title": title, "text": text, "path": path}


def _may_be_told(parts: EngineParts) -> Filters:
    return Filters(private=parts.config.recall.private_marks, now=parts.clock(), foreign=False)


async def organize(
    parts: EngineParts, *, dry_run: bool = False, again: bool = False, memory: bool = False
) -> list[NotePath]:
    """The pages that are, or with `dry_run` would be, written; as `Organizer.run`. `memory`: an index in MEMORY.md,
    too, where there is none yet."""
    run = partial(Organizer(parts.vault, parts.index, parts.claims.base).run, dry_run=dry_run, again=again)
    stale, written = await in_thread(run, deadline_s=300, what="writing pages")
    for page in written:
        await parts.writer.index_note(page)
    refresh = partial(_refresh_memory_index, parts, anew=memory)
    is_new = not dry_run and await in_thread(refresh, deadline_s=60, what="writing the index in MEMORY.md")
    return stale if dry_run else [*(page.record.path for page in written), *[MEMORY] * is_new]


def _refresh_memory_index(parts: EngineParts, *, anew: bool) -> bool:
    """Whether the index in MEMORY.md was written. Raises Refused for a lone mark, StorageFailed."""
    files, layout = parts.dreamer.files, parts.vault.layout
    today, text = parts.clock().astimezone(layout.tz).date(), files.text_of(MEMORY) or ""
    lines = memory_index(parts.index, parts.uses.read(), _may_be_told(parts), layout, today)
    edited = partial(with_memory_index, lines=lines, anew=anew)
    is_new = edited(text) != text
    if is_new:
        files.edit(MEMORY, edited)
    return is_new


def _is_page(path: NotePath) -> bool:
    return f"{ENTITIES}/" in f"/{path}" or path.endswith(CONTENTS)


def list_jobs(parts: EngineParts) -> list[Job]:
    """List the jobs; of several that are due at once, the first in this list runs first."""
    summarizer = parts.config.summarizer
    after_a_log = AfterQuiet(quiet_s=60, longest_wait_s=600, concerns=lambda paths: any(map(is_log_path, paths)))

    def has_moved(paths: Collection[NotePath]) -> bool:
        recent = [*parts.vault.changes.recent]
        return any(one.kind is ChangeKind.MOVED and one.client == DISK and one.other in paths for one in recent)

    after_a_move = AfterQuiet(quiet_s=60, longest_wait_s=600, concerns=has_moved)

    async def read_logs(_: JobTurn) -> JobReport | None:
        stored = await parts.candidate_ingest.ingest_logs()
        return (
            JobReport(f"{counted(len(stored), 'commitment')} stored", figures={"stored": len(stored)})
            if stored
            else None
        )

    async def dream(_: JobTurn) -> JobReport | None:
        done = await parts.dreamer.run()
        what = ("proposed", "promoted", "moved", "refused")
        figures = {name: len(getattr(done, name)) for name in what}
        changed = [DREAMS] * bool(done.proposed) + [MEMORY] * bool(done.promoted or done.moved)
        return JobReport(done.seen, changed, figures) if any(figures.values()) else None

    nightly = Daily(parts.config.jobs.time_of_day("dream"), parts.vault.layout.tz)

    after_a_change = AfterQuiet(
        quiet_s=QUIET_S, longest_wait_s=300, concerns=lambda paths: not all(map(_is_page, paths))
    )
    after_a_change.look_again(SOON_S)

    async def write_pages(_: JobTurn) -> JobReport | None:
        after_a_change.look_again(PAGES_S)  # what expires changes no file
        changed = await organize(parts, again=True)
        return JobReport(f"{counted(len(changed), 'page')} written", changed) if changed else None

    async def write_digests(_: JobTurn) -> JobReport | None:
        write = Digests(parts.vault, parts.index, _may_be_told(parts)).refresh
        written = await in_thread(write, deadline_s=300, what="writing digests")
        for page in written:
            await parts.writer.index_note(page)
        paths = [page.record.path for page in written]
        return JobReport(f"{counted(len(paths), 'page')} written", paths) if paths else None

    return [
        Job("promises", "Finds promises and reminders in daily logs", after_a_log, read_logs,
            off=None if parts.config.extraction.automatic else "extraction.automatic is false"),
        parts.auto_compactor.job(longest_s=3600 + summarizer.day_s),
        Job("pages", "Brings the pages of claims up to date", after_a_change, write_pages),
        Job("links", "Repairs links in the agents' notes after files were renamed or moved", after_a_move,
            parts.linter.follow_moves),
        Job("sessions", "Summarizes sessions that are over", Every(SESSIONS_S), parts.session_summaries.run),
        Job("digests", "Writes a page for each day of several sessions, and for each week over a month ago",
            Every(PAGES_S), write_digests),
        Job("code", "Looks at what became of the code that notes name", Every(CODE_S), parts.grounder.run),
        Job("dream", "Proposes what recurs for MEMORY.md, in DREAMS.md", nightly, dream),
        Job("decay", "Archives what is over of [decay] archive_kinds, and proposes the rest",
            Daily(parts.config.jobs.time_of_day("decay"), parts.vault.layout.tz), parts.archivist.run),
    ]  # fmt: skip


async def take_captured(parts: EngineParts, captured: CapturedMessages) -> None:
    """Store what is worth remembering of new messages. What was taken back leaves no bytes in the index either."""
    if parts.config.extraction.automatic:
        await parts.candidate_ingest.ingest(captured)
    if captured.taken_back.is_missing:
        parts.briefer.off_record.note_missing(f"{captured.client}/{captured.session}")
    if captured.taken_back:
        await parts.indexer.reconcile()
        await in_thread(parts.index.purge, what="cleaning the index")
