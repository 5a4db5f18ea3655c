"""Summarizes each session that has ended or been idle for a while, and any period on request."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import chain
from pathlib import Path

from mcp_memory.capture.checkpoint import Checkpoint
from mcp_memory.capture.finished_sessions import IDLE, FinishedSessions
from mcp_memory.capture.service import STEP_S
from mcp_memory.capture.session_reader import CapturedMessages, read_session
from mcp_memory.core.core import Core, Feature, Operation
from mcp_memory.core.serializers import Payload
from mcp_memory.errors import McpMemoryError
from mcp_memory.jobs.job import Every, Job, JobReport, JobTurn
from mcp_memory.models import Filters, NoteId, NotePath, NoteRecord, NoteState, etag_of
from mcp_memory.projects.repository_facts import name_in
from mcp_memory.runtime.threads import in_thread
from mcp_memory.search.filters import ANY_PROJECT
from mcp_memory.statements.candidate import CROWDED_OUT
from mcp_memory.summaries.digest import DECISIONS, Digests
from mcp_memory.summaries.session_facts import (
    LEFT_OPEN,
    Parts,
    choose_points,
    find_session_facts,
    is_worth_telling,
    title_of,
)
from mcp_memory.summarizers.base import SummaryRequest, SummarySource
from mcp_memory.summarizers.extractive import NAME
from mcp_memory.text.dates import parse_argument
from mcp_memory.text.markdown import frontmatter
from mcp_memory.text.pluralize import counted
from mcp_memory.topics.page import SESSIONS, SUMMARIES, page_id
from mcp_memory.vault.journals.change_journal import acting
from mcp_memory.vault.journals.tombstones import Caller
from mcp_memory.vault.note_file import NoteFile, slug
from mcp_memory.vault.project_state import PROGRESS, state_path, with_progress

MOST_BYTES = 64_000_000
"""The largest transcript that is read; a larger transcript would take more memory than the daemon may use."""
MOST_SESSIONS = 50
"""The most sessions of a single run; the rest follow in the next run."""

MOST_WORDS, _TOKENS = 200, 280
"""The budget of a summary by a language model."""
SESSION = "session"
"""The `node_kind` of the page, also its kind."""


class SessionSummaries:
    """Summarizes sessions in the background. `state` is a file of ours that records the summarized sessions."""

    def __init__(self, core: Core, state: Path) -> None:
        self.vault = core.vault
        self.index = core.index
        self.writer = core.indexing.writer
        self.capture = core.background.capture.service
        self.summarizer = core.background.summarizer
        self.clock = core.clock
        # a number that changes with the content that a summary may have
        self.finished = FinishedSessions(
            self.capture, state, self.clock, lambda one: one.offset + len(one.context.withdrawn)
        )

    async def run(self, turn: JobTurn) -> JobReport | None:
        """Summarize the sessions that are due, longest idle first, and also those that go on if you asked for it.
        Raises StorageFailed, IndexUnavailable."""
        idle = timedelta() if turn.asked else IDLE
        given = self.finished.due, self._quotes_forgotten, idle
        due = await in_thread(*given, deadline_s=STEP_S, what="looking at sessions")
        written: list[NotePath] = []
        for checkpoint in due[:MOST_SESSIONS]:
            await turn.lull(lambda: False)
            with suppress(McpMemoryError, OSError):  # a transcript that is unreadable now gets no summary
                page = await in_thread(self._write, checkpoint, deadline_s=STEP_S, what="summarizing")
                if page:
                    await self.writer.index_note(page)
                    written.append(page.record.path)
            await in_thread(self.finished.mark_handled, checkpoint, what="saving how far it is")
        about = f"{counted(len(written), 'summary', 'summaries')} for {counted(len(due[:MOST_SESSIONS]), 'session')}"
        return JobReport(about, written) if due else None

    def _quotes_forgotten(self, checkpoint: Checkpoint) -> bool:
        """Return whether a page that nobody has edited was made from a note forgotten since then."""
        pages = self._unedited_pages(checkpoint.client, checkpoint.context.session)
        return any(self._is_forgotten(source) for page in pages for source in page.meta.get("derived_from", ()))

    def _unedited_pages(self, client: str, session: str) -> list[NoteRecord]:
        pages = self.index.note_by_id(page_id(SESSION, client, session))
        return [page for page in pages if page.state is NoteState.SUMMARY and self.vault.filing.is_as_written(page)]

    def _is_forgotten(self, note: NoteId) -> bool:
        gone = [one for one in self.index.note_by_id(note) if one.state is NoteState.DELETED]
        heads = (frontmatter.parse(self.vault.read(one.path).text).meta for one in gone)
        return any(head.get("deleted_because") != CROWDED_OUT for head in heads)

    def _write(self, checkpoint: Checkpoint) -> NoteFile | None:
        """Return the page if it was written. Raises the errors of reading a transcript and of writing a page."""
        place = self.capture.paths.locate(checkpoint.client, checkpoint.name)
        if place.file.stat().st_size > MOST_BYTES and not place.is_database:
            return None
        zone, project_of = self.vault.layout.tz, self.capture.project_of
        captured = read_session(self.capture.paths, place, zone, project_of, withdrawn=checkpoint.withdrawn)
        times = [message.at.replace(microsecond=0) for message in captured.messages if message.at]
        parts = find_session_facts(captured, self._is_forgotten)
        if not times or not is_worth_telling(parts):
            self._remove_page(captured)
            return None
        notes = dict.fromkeys(note for point in chain(*parts.values()) for note in point.notes)
        found = [(note, self.index.note_by_id(note)) for note in notes]
        stored = [note for note, known in found if any(one.state is not NoteState.DELETED for one in known)]
        covers = etag_of(repr([parts, stored]).encode(errors="replace"))[:16]
        own_id = page_id(SESSION, captured.client, captured.session)
        path = self.vault.layout.in_home(f"{SESSIONS}/{min(times).date()}-{own_id[-8:].lower()}.md")
        if (known := self.index.note(path)) and known.meta.get("covers") == covers:
            return None
        text, by = self._worded(parts, {} if place.is_database else _lines(place.file, parts))
        meta = {
            "id": own_id, "kind": SESSION, "project": captured.project, "created": min(times), "updated": max(times),
            "title": title_of(parts), "covers": covers,
            "source": captured.client, "session": captured.session, "derived_from": stored or None,
            "node_kind": SESSION, "by": by,
        }  # fmt: skip
        data = frontmatter.render(meta, f"{text}\n\nTranscript: `{captured.file}`").encode(errors="replace")
        with acting(Caller(captured.client, captured.session)):
            active = [one for _, known in found for one in known if one.state is NoteState.ACTIVE]
            told = [f"- Decided: {one.title}" for one in active if one.kind in DECISIONS]
            told += [f"- {LEFT_OPEN}: {point.text}" for point in choose_points(parts)[LEFT_OPEN]]
            self._add_progress(captured, told, max(times).astimezone(zone))
            return self.vault.filing.refresh_page(path, data)

    def _add_progress(self, captured: CapturedMessages, lines: Sequence[str], ended: datetime) -> None:
        """Add lines on the session to its project's progress, if that file exists."""
        path = state_path(self.vault.layout, name_in(captured.project or "-"), PROGRESS)
        file = self.vault.find(path)
        if file and file.record.state is NoteState.ACTIVE:
            # a session that goes on is summarized again
            text = with_progress(file.text, "\n".join(line for line in lines if line not in file.text), ended)
            self.vault.editing.edit(path, None, text, file.record.etag)

    def _remove_page(self, captured: CapturedMessages) -> None:
        """Remove an outdated page, unless you have changed it."""
        for page in self._unedited_pages(captured.client, captured.session):
            self.vault.filing.remove_page(page.path, page.etag)

    def _worded(self, parts: Parts, lines: Mapping[int, str]) -> tuple[str, str]:
        """Return the text and its author: a language model if one may be asked now, else ourselves."""
        listed: dict[str, list[str]] = {}
        for name, points in choose_points(parts).items():
            if points:
                listed[name] = [f"- {point.text}{lines.get(point.offset, '')}" for point in points]
        if not self.summarizer.asked_in_s():
            sources = [SummarySource(name, "\n".join(points)) for name, points in listed.items()]
            found = self.summarizer.summarize(SummaryRequest(sources, _TOKENS))
            if not found.provisional and len(found.text.split()) <= MOST_WORDS:
                return found.text, found.by
        return "\n\n".join("\n".join([f"## {name}", *points]) for name, points in listed.items()), NAME


def _lines(file: Path, parts: Parts) -> dict[int, str]:
    """Map the offset of each point's message to its line in the transcript."""
    found, line, at = dict[int, str](), 1, 0
    with file.open("rb") as transcript:
        for offset in sorted({point.offset for points in parts.values() for point in points} - {-1}):
            line, at = line + transcript.read(offset - at).count(b"\n"), offset
            found[offset] = f" (line {line})"
    return found


SESSIONS_S, PAGES_S = 300.0, 3600.0
"""Seconds between two checks whether a session has ended, and whether pages are out of date."""


@dataclass(frozen=True)
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
        until = parse_argument("until", request.until, zone)
        since = parse_argument("since", request.since, zone) or (until or now) - timedelta(days=7)
        project = None if request.project == ANY_PROJECT else request.project
        wanted = replace(shown(), project=project, since=since, until=until)
        first, last = (when.astimezone(zone).date() for when in (since, until or now))
        title = f"From {first} to {last}" + (f", {project}" if project else "")
        path = core.vault.layout.in_home(f"{SUMMARIES}/digests/{slug(title)}.md") if request.save else None
        text, page = await in_thread(
            Digests(core.vault, core.index, wanted).of_time, title, path, deadline_s=300, what="making a digest"
        )
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
