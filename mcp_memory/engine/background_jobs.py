"""Lists the jobs that run in the background."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from mcp_memory.curation.pages.organizer import Organizer
from mcp_memory.jobs.due import AfterQuiet, Daily, Every
from mcp_memory.jobs.job import Job, JobReport, JobTurn
from mcp_memory.models import Filters, NotePath
from mcp_memory.runtime.threads import in_thread
from mcp_memory.text.markdown.logs import is_log_path
from mcp_memory.text.pluralize import counted
from mcp_memory.vault.note_file import DREAMS, MEMORY

if TYPE_CHECKING:
    from mcp_memory.engine.parts import EngineParts

SESSIONS_S, PAGES_S = 300.0, 3600.0
"""How often it is checked whether a session is over, and whether pages are out of date."""


async def organize(parts: EngineParts, *, dry_run: bool = False, again: bool = False) -> list[NotePath]:
    """The pages that are, or with `dry_run` would be, written. As `Organizer.run`."""
    wanted = Filters(private=parts.config.recall.private_marks, now=parts.clock(), foreign=False)
    run = partial(Organizer(parts.vault, parts.index, wanted).run, dry_run=dry_run, again=again)
    stale, written = await in_thread(run, deadline_s=300, what="writing pages")
    for page in written:
        await parts.writer.index_note(page)
    return stale if dry_run else [page.record.path for page in written]


def list_jobs(parts: EngineParts) -> list[Job]:
    """Of jobs that are due at once, an earlier one of this list runs first."""
    summarizer = parts.config.summarizer
    after_a_log = AfterQuiet(quiet_s=60, longest_wait_s=600, concerns=lambda paths: any(map(is_log_path, paths)))

    async def read_logs(_: JobTurn) -> JobReport | None:
        stored = await parts.candidate_ingest.ingest_logs()
        return (
            JobReport(f"{counted(len(stored), 'commitment')} stored", figures={"stored": len(stored)})
            if stored
            else None
        )

    async def dream(_: JobTurn) -> JobReport | None:
        done = await parts.dreamer.run()
        figures = {"proposed": len(done.proposed), "promoted": len(done.promoted), "refused": len(done.refused)}
        changed = [DREAMS] * bool(done.proposed) + [MEMORY] * bool(done.promoted)
        return JobReport(done.seen, changed, figures) if any(figures.values()) else None

    nightly = Daily(parts.config.jobs.time_of_day("dream"), parts.vault.layout.tz)

    async def write_pages(_: JobTurn) -> JobReport | None:
        changed = await organize(parts, again=True)
        return JobReport(f"{counted(len(changed), 'page')} written", changed) if changed else None

    return [
        Job("promises", "Finds promises and reminders in daily logs", after_a_log, read_logs,
            off=None if parts.config.extraction.automatic else "extraction.automatic is false"),
        parts.auto_compactor.job(longest_s=3600 + summarizer.day_s),
        Job("pages", "Brings the pages of projects, people and services up to date", Every(PAGES_S), write_pages),
        Job("sessions", "Summarizes sessions that are over", Every(SESSIONS_S), parts.session_summaries.run),
        Job("dream", "Proposes what recurs for MEMORY.md, in DREAMS.md", nightly, dream),
        Job("decay", "Archives what is over of [decay] archive_kinds, and proposes the rest",
            Daily(parts.config.jobs.time_of_day("decay"), parts.vault.layout.tz), parts.archivist.run),
    ]  # fmt: skip
