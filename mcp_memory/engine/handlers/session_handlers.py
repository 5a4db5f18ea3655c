"""Answers requests of hooks, and operations on transcripts and candidates, with plain JSON values."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial

from anyio import move_on_after

from mcp_memory.core.core import Core, Operation
from mcp_memory.core.requests import (
    AdviseRequest,
    BriefRequest,
    CaptureRequest,
    MuteRequest,
    NoArguments,
    PreviewRequest,
    ShownRequest,
    TitlesRequest,
    TranscriptRequest,
    TranscriptsRequest,
    WaitingRequest,
    WhyRequest,
)
from mcp_memory.core.serializers import Payload
from mcp_memory.core.verbs.storing import index_written
from mcp_memory.engine.handlers.review_handlers import waiting
from mcp_memory.engine.history.change_history import find_titled
from mcp_memory.models import NoteId, NotePath, NoteRecord
from mcp_memory.recall.briefing_log import matched_words
from mcp_memory.recall.moments.left_off import last_sessions
from mcp_memory.recall.prompt_preview import Considered
from mcp_memory.runtime.json_lines import Facts
from mcp_memory.runtime.threads import LOOK_DEADLINE_S, in_thread
from mcp_memory.search.filters import checked_query
from mcp_memory.search.note_lookup import Place
from mcp_memory.search.thresholds import LIKELY
from mcp_memory.text.escape_invisible import visible_in
from mcp_memory.usage.note_use import with_odds
from mcp_memory.vault.note_file import muted_projects
from mcp_memory.vault.succession.entry_marks import note_of

FLUSH = """The context of this session is about to be compacted. Store now, with memory_append, whatever a later session
would miss: decisions and their reasons, the person's preferences and corrections, fixes that worked, facts with
numbers and names, and where the work stands (kind="log"). One fact a note. Search first, so that nothing is stored
twice; use `supersedes` where an older note is no longer true. Say nothing to the person about this."""
"""The request to an agent before its context is compacted."""

COUNT_S = 0.2
"""The most time of a session's start for counting what waits for review."""

MOST_RECORDS = 2_000
"""The most records of answers that are read for a list of sessions, in some 20 ms."""


async def advise(core: Core, request: AdviseRequest) -> Payload:
    return await core.recall.advisor.advise(**asdict(request))


async def brief(core: Core, request: BriefRequest) -> Payload:
    core.indexing.watcher.touch()
    if request.transcript:
        client = _client_of(request.session)
        path = core.background.capture.follow(client, request.transcript, due=False, delegated=request.delegated)
        if path and not request.subagent:
            core.recall.briefer.own_words.follow(request.session, path)
    deadline_s = request.within_ms / 1000
    if request.prompt is None:
        options = {"left_off": request.left_off, "for_person": request.for_person, "folder": request.folder}
        start = partial(core.recall.briefer.start, **options)
        begin = core.recall.briefer.orders if request.subagent else core.recall.briefer.due if request.due else start
        briefing = await begin(request.session, request.project, deadline_s=deadline_s)
    else:
        briefing = await core.recall.briefer.prompt(
            request.session, checked_query(request.prompt), request.project, deadline_s=deadline_s,
            lasting=request.lasting, subagent=request.subagent, withdrawn=request.withdrawn,
            ask_below=request.ask_below,
        )  # fmt: skip
    facts = {"tokens": briefing.tokens, "notes": list(briefing.notes), "degraded": briefing.degraded}
    items = 0
    if request.for_person:
        with move_on_after(COUNT_S):  # the start itself matters more
            items = (await waiting(core, WaitingRequest()))["open"]
    return {"text": briefing.text, "stored": briefing.stored, "waiting": items, **facts}


async def preview(core: Core, request: PreviewRequest) -> Payload:
    asked = checked_query(request.prompt), request.project, request.answer
    found = await core.recall.briefer.preview(*asked, deadline_s=request.within_ms / 1000)
    facts = {name: getattr(found, name) for name in ("text", "tokens", "confidence", "degraded")}
    shown = [_considered_payload(one, request.prompt) for one in found.shown]
    not_shown = [_considered_payload(one, request.prompt) for one in found.not_shown]
    return visible_in({**facts, "shown": shown, "not_shown": not_shown})


def _considered_payload(one: Considered, prompt: str) -> Payload:
    passage, note = one.passage, note_of(one.passage)
    return {
        "id": passage.shown_id, "path": passage.note.path, "line": passage.chunk.start_line,
        "title": passage.note.title, "kind": passage.note.kind, "project": note.project, "private": note.is_private,
        "text": passage.chunk.text, "words": matched_words(prompt, passage.chunk.text),
        "relevance": round(one.relevance, 3), "why": one.why,
    }  # fmt: skip


def _left_off_payload(page: NoteRecord, text: str) -> Payload:
    return {
        **{name: getattr(page, name) for name in ("id", "path", "title", "project", "session", "source")},
        "date": page.date and page.date.isoformat(timespec="seconds"),
        "private": page.is_private,
        "left_open": text,
    }


async def left_off(core: Core, _: NoArguments) -> Payload:
    """Return where the last session of each project left off, the latest first."""

    def read() -> list[Payload]:
        return [_left_off_payload(page, text) for page, text in last_sessions(core.vault, core.index)]

    return visible_in({"sessions": await in_thread(read, what="reading pages of sessions")})


async def flush(core: Core, _: NoArguments) -> Payload:
    """Return the request to an agent before its context is compacted; empty if it can't write."""
    vault = core.vault
    read_only = await in_thread(lambda: vault.read_only, deadline_s=LOOK_DEADLINE_S, what="looking at the vault")
    return {"text": "" if read_only else FLUSH}


async def grown(core: Core, request: TranscriptRequest) -> Payload:
    """A turn of the session ended. The transcript is captured after the answer."""
    if request.transcript:
        client = _client_of(request.session)
        await core.background.capture.follow_durably(client, request.transcript, delegated=request.delegated)
    return {}


async def emptied(core: Core, request: TranscriptRequest) -> Payload:
    """The session's context was emptied, or the session ended."""
    if request.transcript:
        client, capture = _client_of(request.session), core.background.capture
        path = await capture.follow_durably(client, request.transcript, delegated=request.delegated)
        if path:
            core.recall.briefer.own_words.follow(request.session, path)
        capture.end(request.transcript)
    await core.recall.briefer.reset(request.session, ended=request.ended)
    return {}


def _client_of(session: str) -> str:
    """Hooks name a session CLIENT/ID."""
    return session.partition("/")[0]


async def transcripts(core: Core, request: TranscriptsRequest) -> Payload:
    service, file, client = core.background.capture.service, request.file, request.client
    found = await (service.list_in_file(file, client) if file else service.list_transcripts(client))
    return {"transcripts": [{"client": place.client, "file": place.name} for place in found]}


async def capture(core: Core, request: CaptureRequest) -> Payload:
    """Capture as many transcripts as possible in a moment. Ask again for a transcript that has no report or isn't at
    its end."""
    return {"reports": await core.background.capture.capture_files(request.files, dry_run=request.dry_run)}


async def titles(core: Core, request: TitlesRequest) -> Payload:
    found, wanted = await core.recall.briefer.titles(request.ids), core.filters()
    titles = ((name, {"path": note.path, "title": note.title}) for name, note in found.items() if wanted.sees(note))
    return {"notes": dict(titles)}


async def mute(core: Core, request: MuteRequest) -> Payload:
    editing = core.vault.editing

    async def muted(places: Sequence[Place]) -> Payload:
        path, entry = places[0]
        change = partial(editing.mute, path, entry, request.project, undo=request.undo)
        file = await in_thread(change, deadline_s=core.config.vault.write_deadline_s, what="changing the note")
        await index_written(core, file)
        if request.undo:
            target = NoteId(f"{path}#{entry}") if entry else file.record.id
            await in_thread(core.recall.uses.forget_outcomes, target, request.project, what="forgetting its uses")
        projects = muted_projects(file.record.meta.get("muted", ()), entry)
        return {"id": request.target, "path": path, "muted": projects}

    return await core.search.lookup.reach([request.target], muted)


async def why(core: Core, request: WhyRequest) -> Payload:
    """List briefings, the latest first, each passage with its note's present title and path."""

    target = await core.search.lookup.full_id(request.target) if request.target else None

    def read() -> list[Payload]:
        found, titles = core.recall.log.given(request.session, request.limit, target), dict[NotePath, dict[str, str]]()
        for passage, project in ((passage, one.get("project")) for one in found for passage in one["passages"]):
            note, title = find_titled(core, passage["id"], titles)
            passage |= {"path": note.path if note else passage["path"], "title": title}
            passage["private"] = note is not None and note.is_private
            if outcome := core.recall.uses.outcomes(project).get(passage["id"]):
                needed = with_odds(LIKELY, 1 / outcome.odds)
                passage |= {"shown": outcome.shown, "used": outcome.used, "needed": round(needed, 3)}
        return found

    return {"given": await in_thread(read, deadline_s=LOOK_DEADLINE_S, what="reading what was given")}


async def shown(core: Core, request: ShownRequest) -> Payload:
    """List the sessions that got notes unasked, the latest first, each with the number of answers, tokens and notes.
    `used` counts the notes that an agent of its project is known to have used afterwards."""

    def read() -> list[Payload]:
        sessions = dict[str, list[Facts]]()
        for one in core.recall.log.given("all", MOST_RECORDS):
            if one["session"] in sessions or len(sessions) < request.limit:
                sessions.setdefault(one["session"], []).append(one)
        return [_session_payload(core, found) for found in sessions.values()]

    return {"sessions": await in_thread(read, deadline_s=LOOK_DEADLINE_S, what="reading what was given")}


def _session_payload(core: Core, records: Sequence[Facts]) -> Payload:
    """Describe a session by its records, the latest first."""
    latest = records[0]
    project = latest.get("project")
    notes = {passage["id"] for one in records for passage in one["passages"]}
    uses = core.recall.uses.outcomes(project)
    return {
        "session": latest["session"],
        "project": project,
        "first": records[-1]["at"],
        "last": latest["at"],
        "answers": len(records),
        "tokens": sum(one.get("tokens", 0) for one in records),
        "notes": len(notes),
        "used": sum(note in uses and uses[note].used > 0 for note in notes),
    }


OPERATIONS: Mapping[str, Operation] = {
    "brief": Operation(BriefRequest, brief, is_foreground=True),
    "preview": Operation(PreviewRequest, preview, is_foreground=True),
    "advise": Operation(AdviseRequest, advise, is_foreground=True),
    "left_off": Operation(NoArguments, left_off),
    "flush": Operation(NoArguments, flush),
    "emptied": Operation(TranscriptRequest, emptied),
    "grown": Operation(TranscriptRequest, grown),
    "transcripts": Operation(TranscriptsRequest, transcripts),
    "capture": Operation(CaptureRequest, capture),
    "titles": Operation(TitlesRequest, titles),
    "mute": Operation(MuteRequest, mute),
    "why": Operation(WhyRequest, why),
    "shown": Operation(ShownRequest, shown),
}
