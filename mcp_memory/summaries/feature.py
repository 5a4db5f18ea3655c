"""Writes pages about sessions and days, and digests of any time."""

from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial

from mcp_memory.core.core import Core
from mcp_memory.core.feature import Feature, Operation
from mcp_memory.core.serializers import Payload
from mcp_memory.jobs.due import Every
from mcp_memory.jobs.job import Job, JobReport, JobTurn
from mcp_memory.models import Filters
from mcp_memory.runtime.threads import in_thread
from mcp_memory.search.filters import ANY_PROJECT, moment_of
from mcp_memory.summaries.digest import Digests
from mcp_memory.summaries.session_job import SessionSummaries
from mcp_memory.text.pluralize import counted
from mcp_memory.topics.page import SUMMARIES
from mcp_memory.vault.note_file import slug

SESSIONS_S, PAGES_S = 300.0, 3600.0
"""Seconds between two checks whether a session has ended, and whether pages are out of date."""


@dataclass(frozen=True, slots=True)
class DigestRequest:
    """A digest of what happened within these dates, in this project ('*' = all). `save`: also as a page of the
    vault."""

    since: str | None = None
    until: str | None = None
    project: str | None = None
    save: bool = False


def build(core: Core) -> Feature:
    sessions = SessionSummaries(core, core.config.state / "summarized.json")
    core.background.capture.on_end.append(sessions.finished.ended.add)

    def shown() -> Filters:
        """Admit notes that may be shown unasked."""
        return Filters(private=core.config.recall.private_marks, now=core.clock(), foreign=False)

    async def digest(request: DigestRequest) -> Payload:
        """Return the digest of a time, and the path of its page if it was to be saved."""
        zone, now = core.vault.layout.tz, core.clock()
        until = moment_of("until", request.until, zone)
        since = moment_of("since", request.since, zone) or (until or now) - timedelta(days=7)
        project = None if request.project == ANY_PROJECT else request.project
        wanted = replace(shown(), project=project, since=since, until=until)
        first, last = (when.astimezone(zone).date() for when in (since, until or now))
        title = f"From {first} to {last}" + (f", {project}" if project else "")
        path = core.vault.layout.in_home(f"{SUMMARIES}/digests/{slug(title)}.md") if request.save else None
        make = partial(Digests(core.vault, core.index, wanted).of_time, title, path)
        text, page = await in_thread(make, deadline_s=300, what="making a digest")
        if page:
            await core.indexing.writer.index_note(page)
        return {"title": title, "text": text, "path": path}

    async def write_digests(_: JobTurn) -> JobReport | None:
        write = Digests(core.vault, core.index, shown()).refresh
        written = await in_thread(write, deadline_s=300, what="writing digests")
        for page in written:
            await core.indexing.writer.index_note(page)
        paths = [page.record.path for page in written]
        return JobReport(f"{counted(len(paths), 'page')} written", paths) if paths else None

    about = "Writes a page for each day of several sessions"
    return Feature(
        operations={"digest": Operation(DigestRequest, digest)},
        jobs=[
            Job("sessions", "Summarizes sessions that are over", Every(SESSIONS_S), sessions.run),
            Job("digests", about, Every(PAGES_S), write_digests),
        ],
    )
