"""Stores statements of sessions and logs that are worth remembering, and lets you review them."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

from mcp_memory.capture.readers.own_format import read_plain
from mcp_memory.capture.session_reader import CapturedMessages, read_material
from mcp_memory.core.core import Core, EngineConfig, ErasedText, Feature, NoteCopies, Operation
from mcp_memory.core.line_reader import LineReader
from mcp_memory.core.serializers import Payload
from mcp_memory.errors import McpMemoryError
from mcp_memory.extraction.candidate_ingest import CandidateIngest
from mcp_memory.extraction.candidate_log import CandidateLog, Digest
from mcp_memory.extraction.config import ExtractionConfig
from mcp_memory.extraction.conflict_review import ConflictReview
from mcp_memory.extraction.reading.session_readings import SessionReadings
from mcp_memory.extraction.reading.statement_store import StatementStore
from mcp_memory.extraction.review import Review
from mcp_memory.extraction.search_intent import IntentRequest, find_intent
from mcp_memory.extraction.session_notes import SessionNotes
from mcp_memory.jobs.job import AfterQuiet, Job, JobReport, JobTurn
from mcp_memory.models import Filters, NotePath, NoteRecord, NoteState
from mcp_memory.runtime.health import Finding
from mcp_memory.search.filters import ANY_PROJECT
from mcp_memory.summarizers.base import Summarizer, open_summarizer
from mcp_memory.text.markdown.logs import is_log_path
from mcp_memory.text.pluralize import counted
from mcp_memory.vault.note_file import NoteFile
from mcp_memory.vault.withheld_pages import sources_of

MOST_NOTES = 1_000_000
_MADE_KINDS = frozenset({"commitment", "lesson"})
"""Kinds that are also stored without review."""
_OFF = 'to switch it off: reader = "none" under [extraction]'


@dataclass(frozen=True)
class ExtractRequest:
    """Messages, in the plain form, to extract statements from."""

    file: str
    session: str
    messages: str
    client: str = "default"
    project: str | None = None
    dry_run: bool = False


def build(core: Core) -> Feature:
    config = core.config.section("extraction", ExtractionConfig)
    model = core.background.reader.model = _open_reader(core.config, config)
    candidates = CandidateLog(core.config.state / "candidates.jsonl")
    session_notes = SessionNotes(core, candidates)
    ingest = CandidateIngest(core, candidates, session_notes)
    core.recall.briefer.announcers.append(Digest(core.index, candidates, core.clock, core.config.recall.private_marks))
    if config.automatic:
        core.background.capture.service.listeners.append(ingest.ingest)

    async def read_logs(_: JobTurn) -> JobReport | None:
        stored = await ingest.ingest_logs()
        if not stored:
            return None
        return JobReport(f"{counted(len(stored), 'commitment')} stored", figures={"stored": len(stored)})

    after_a_log = AfterQuiet(quiet_s=60, longest_wait_s=600, concerns=lambda paths: any(map(is_log_path, paths)))
    off = None if config.automatic else "extraction.automatic is false"
    jobs = [Job("promises", "Finds promises and reminders in daily logs", after_a_log, read_logs, off=off)]
    progress = core.config.state / "read.json"
    if model is None:
        progress.unlink(missing_ok=True)  # what happens meanwhile isn't read later
    else:
        store = StatementStore(core, candidates, ingest, session_notes, model.name)
        readings = SessionReadings(core, store, session_notes, model, progress)
        core.background.capture.on_end.append(readings.note_end)
        jobs.append(Job("reading", "Lets a language model read sessions that are over", readings.due, readings.run))
    return Feature(
        operations={
            "extract": Operation(ExtractRequest, partial(_extract, core, ingest)),
            "intent": Operation(IntentRequest, partial(find_intent, core, model)),
        },
        jobs=jobs,
        copies=MadeNotes(core),
        reviewers=[Review(core, candidates), ConflictReview(core)],
        status=partial(_reader_status, config.reader, model),
        findings=partial(_reader_findings, config.reader, core.background.reader),
        close=model.close if model else None,
    )


def _open_reader(config: EngineConfig, extraction: ExtractionConfig) -> Summarizer | None:
    """Open the language model that reads sessions, logs and notes, if you chose one."""
    if extraction.reader == "none":
        return None
    chosen = replace(config.summarizer, provider=extraction.reader, model=extraction.reader_model)
    if extraction.reader == "endpoint":
        chosen = replace(chosen, provider="openai", model=chosen.model or config.summarizer.model)
    return open_summarizer(chosen, config.state / "reader.json")


async def _extract(core: Core, ingest: CandidateIngest, request: ExtractRequest) -> Payload:
    """Store the statements of these messages that are worth remembering, or only return them."""
    messages = read_plain(request.messages.encode(), core.vault.layout.tz)
    project = None if request.project == ANY_PROJECT else request.project
    if request.session != request.file:  # it has a session
        project = core.projects.of_session(request.session, request.project) or project
    captured = CapturedMessages(request.file, request.client, request.session, project, messages)
    paths = core.background.capture.service.paths
    with suppress(McpMemoryError):  # no transcript of a client's
        captured = replace(captured, material=partial(read_material, paths, paths.locate_any(request.file)))
    if request.dry_run:
        return {"found": [candidate.payload() for candidate in await ingest.preview(captured)]}
    return asdict(await ingest.ingest(captured))


@dataclass(frozen=True)
class MadeNotes(NoteCopies):
    """The notes that were made from the erased text, and what a language model found in it."""

    core: Core

    def describe(self, erased: ErasedText) -> Iterator[str]:
        for path in self.waiting(erased):
            yield f"what was made of it and waits for review: {path}"

    def beyond(self, erased: ErasedText) -> Iterator[str]:
        for note in self._made_of(erased):
            if note.state not in {NoteState.INBOX, NoteState.SUMMARY}:
                yield f"the note {note.path}, which was made of it: mcp-memory erase {note.id}"

    def waiting(self, erased: ErasedText) -> Sequence[NotePath]:
        return [note.path for note in self._made_of(erased) if note.state is NoteState.INBOX]

    def erase(self, erased: ErasedText) -> Sequence[NotePath]:
        self.core.background.reader.erase(*erased.ids, f"{erased.path}#{erased.entry or ''}")
        return ()

    def _made_of(self, erased: ErasedText) -> Iterator[NoteRecord]:
        for note in self.core.index.notes(Filters(states=frozenset(NoteState)), MOST_NOTES):
            if note.state is NoteState.INBOX or note.kind in _MADE_KINDS:
                file = self.core.vault.read(note.path)
                if any(_is_from(file, source, erased) for source in sources_of(file.text)):
                    yield note


def _is_from(file: NoteFile, source: str, erased: ErasedText) -> bool:
    """Return whether a note with this source quotes the erased text. An entry of a log is named with its line."""
    if source.startswith(f"{erased.path}@"):
        body = file.body.strip()
        return erased.entry is None or (bool(body) and body in erased.text)
    return source in erased.ids


def _reader_status(reader: str, model: Summarizer | None) -> Mapping[str, Any]:
    usage = model.usage() if model else None
    return {"reader": {"name": reader, **asdict(usage)}} if usage else {}


def _reader_findings(reader: str, lines: LineReader) -> Sequence[Finding]:
    usage = lines.model.usage() if lines.model else None
    if not usage:
        return ()
    if usage.problem:
        remedy = f"see whether {reader} answers you, since you may have to log in; {_OFF}"
        return [Finding("warning", f"{reader} can't read your sessions, logs and notes: {usage.problem}", remedy)]
    if lines.unusable:
        what = f"{counted(lines.unusable, 'answer')} of {reader} about logs and notes had another form; rules read them"
        return [Finding("warning", what, "choose a larger model: reader_model under [extraction]")]
    calls = f"{usage.calls:,} of {usage.calls_a_day:,} calls"
    today = f"today {calls}, {usage.tokens:,} of {usage.tokens_a_day:,} tokens"
    return [Finding("info", f"{reader} reads your sessions, logs and notes; {today}", _OFF)]
