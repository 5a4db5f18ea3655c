"""Answers what hooks ask about sessions, and operations on transcripts and candidates, with plain JSON values."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from functools import partial
from typing import TYPE_CHECKING

from mcp_memory.capture.readers.plain import read_plain
from mcp_memory.capture.session_reader import CapturedMessages, read_material
from mcp_memory.curation.dreams.dreamer import PROPOSED
from mcp_memory.engine import requests
from mcp_memory.engine.handlers.gap_handlers import GAP, gaps_to_review, review_gap
from mcp_memory.engine.history.note_titles import find_titled
from mcp_memory.engine.serializers import Payload
from mcp_memory.engine.verbs.written_notes import index_written, why_behind
from mcp_memory.errors import InvalidInput, McpMemoryError
from mcp_memory.models import NotePath
from mcp_memory.recall.briefing import FLUSH
from mcp_memory.runtime.threads import LOOK_DEADLINE_S, in_thread
from mcp_memory.search.filters import ANY_PROJECT, checked_query
from mcp_memory.search.note_lookup import Place
from mcp_memory.vault.note_file import DREAMS, MEMORY, muted_projects

if TYPE_CHECKING:
    from mcp_memory.engine.parts import EngineParts


async def advise(parts: EngineParts, request: requests.AdviseRequest) -> Payload:
    return await parts.advisor.advise(**asdict(request))


async def brief(parts: EngineParts, request: requests.BriefRequest) -> Payload:
    parts.watcher.touch()
    if request.transcript:
        client = _client_of(request.session)
        parts.capture_worker.follow(client, request.transcript, due=False, delegated=request.delegated)
    deadline_s = request.within_ms / 1000
    if request.prompt is None:
        start = partial(parts.briefer.start, left_off=request.left_off)
        begin = parts.briefer.orders if request.subagent else parts.briefer.due if request.due else start
        briefing = await begin(request.session, request.project, deadline_s=deadline_s)
    else:
        briefing = await parts.briefer.prompt(
            request.session, checked_query(request.prompt), request.project, deadline_s=deadline_s,
            lasting=request.lasting, subagent=request.subagent, withdrawn=request.withdrawn,
        )  # fmt: skip
    facts = {"tokens": briefing.tokens, "notes": list(briefing.notes), "degraded": briefing.degraded}
    return {"text": briefing.text, **facts}


async def flush(parts: EngineParts, _: requests.NoArguments) -> Payload:
    """Return what an agent is asked to do before its context is compacted; empty if it can't write."""
    vault = parts.vault
    read_only = await in_thread(lambda: vault.read_only, deadline_s=LOOK_DEADLINE_S, what="looking at the vault")
    return {"text": "" if read_only else FLUSH}


async def grown(parts: EngineParts, request: requests.TranscriptRequest) -> Payload:
    """A turn of the session ended. The transcript is captured after the answer."""
    if request.transcript:
        client = _client_of(request.session)
        await parts.capture_worker.follow_durably(client, request.transcript, delegated=request.delegated)
    return {}


async def emptied(parts: EngineParts, request: requests.TranscriptRequest) -> Payload:
    """The session's context was emptied, or the session ended."""
    await grown(parts, request)
    parts.session_summaries.ended.update(filter(None, [request.transcript]))
    await parts.briefer.reset(request.session)
    return {}


def _client_of(session: str) -> str:
    """Hooks name a session CLIENT/ID."""
    return session.partition("/")[0]


async def transcripts(parts: EngineParts, request: requests.TranscriptsRequest) -> Payload:
    service, file, client = parts.capture_worker.service, request.file, request.client
    found = await (service.list_in_file(file, client) if file else service.list_transcripts(client))
    return {"transcripts": [{"client": place.client, "file": place.name} for place in found]}


async def capture(parts: EngineParts, request: requests.CaptureRequest) -> Payload:
    """Captures as many as it can in a moment. Ask again for a transcript that has no report or isn't at its end."""
    return {"reports": await parts.capture_worker.capture_files(request.files, dry_run=request.dry_run)}


async def titles(parts: EngineParts, request: requests.TitlesRequest) -> Payload:
    found = await parts.briefer.titles(request.ids)
    return {"notes": {note_id: {"path": note.path, "title": note.title} for note_id, note in found.items()}}


async def mute(parts: EngineParts, request: requests.MuteRequest) -> Payload:
    editing = parts.vault.editing

    async def muted(places: Sequence[Place]) -> Payload:
        path, entry = places[0]
        change = partial(editing.mute, path, entry, request.project, undo=request.undo)
        file = await in_thread(change, deadline_s=parts.config.vault.write_deadline_s, what="changing the note")
        await index_written(parts, file)
        projects = muted_projects(file.record.meta.get("muted", ()), entry)
        return {"id": request.target, "path": path, "muted": projects}

    return await parts.note_lookup.reach([request.target], muted)


async def why(parts: EngineParts, request: requests.WhyRequest) -> Payload:
    """The latest first, each passage with the title and path of its note now."""

    def read() -> list[Payload]:
        found, titles = parts.briefing_log.given(request.session)[: request.limit], dict[NotePath, dict[str, str]]()
        for passage in (passage for one in found for passage in one["passages"]):
            note, title = find_titled(parts, passage["id"], titles)
            passage |= {"path": note.path if note else passage["path"], "title": title}
        return found

    return {"given": await in_thread(read, deadline_s=LOOK_DEADLINE_S, what="reading what was given")}


async def extract(parts: EngineParts, request: requests.ExtractRequest) -> Payload:
    messages = read_plain(request.messages.encode(), parts.vault.layout.tz)
    project = None if request.project == ANY_PROJECT else request.project
    captured = CapturedMessages(request.file, request.client, request.session, project, messages)
    paths = parts.capture_worker.service.paths
    with suppress(McpMemoryError):  # no transcript of a client's
        captured = replace(captured, material=partial(read_material, paths, paths.locate_any(request.file)))
    return asdict(await parts.candidate_ingest.ingest(captured))


async def held(parts: EngineParts, request: requests.HeldRequest) -> Payload:
    """Which note holds each statement, or None."""
    found = [await parts.neighbours.holder(text) for text in request.texts]
    return {"held": [note and asdict(note) for note in found]}


async def inbox(parts: EngineParts, _: requests.NoArguments) -> Payload:
    """Candidates, what dreaming proposes for MEMORY.md, then questions without an answer."""
    found = [asdict(candidate) for candidate in await parts.review.waiting()]
    more = [*await parts.dreamer.waiting(), *await gaps_to_review(parts)]
    return {"waiting": [*found, *map(asdict, more)]}


async def review(parts: EngineParts, request: requests.ReviewRequest) -> Payload:
    review, target, etag = parts.review, request.target, request.etag
    if target.startswith(GAP):
        return await review_gap(parts, request)
    if target.startswith(PROPOSED) and request.verb in {"accept", "drop"}:
        await parts.dreamer.tick(target, "x" if request.verb == "accept" else "-", request.content)
        return {
            "id": target,
            "path": f"{DREAMS}, for the next mcp-memory dream",
            "title": request.content or target,
            "kind": MEMORY,
        }
    match request.verb:
        case "accept":
            record = await review.accept(
                target, etag, request.content, supersede=request.supersede, into=request.into, kind=request.kind,
                project=request.project,
            )  # fmt: skip
        case "merge":
            if request.into is None:
                raise InvalidInput("merge needs into", hint="pass the id or path of a note")
            record = await review.merge(target, request.into, etag)
        case "drop":
            record = await review.drop(target, etag)
        case "undo":
            record = await review.undo(target)
        case verb:
            raise InvalidInput(f"unknown verb {verb[:40]!r}", hint="accept, merge, drop or undo")
    behind = why_behind(parts, record.path)
    done = {"id": record.id, "path": record.path, "title": record.title, "kind": record.kind}
    return done | ({"behind": behind} if behind else {})
