"""Answers each named operation with plain JSON values; `OPERATIONS` lists them. It is over 300 lines because all that
are short are here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from mcp_memory.client.credentials import PERSON
from mcp_memory.compaction.topic_edits import TopicEdit
from mcp_memory.compaction.topic_payloads import (
    dropped_payload,
    preview_payload,
    run_payload,
    shown_payload,
    tree_payload,
)
from mcp_memory.engine import requests, session_handlers
from mcp_memory.engine.background_jobs import digest, organize
from mcp_memory.engine.diagnosis.doctor import examine, fix
from mcp_memory.engine.erase import Eraser
from mcp_memory.engine.history.change_history import list_changes, undo_changes
from mcp_memory.engine.history.note_titles import describe_use
from mcp_memory.engine.note_changes import list_forgotten
from mcp_memory.engine.serializers import (
    Payload,
    chain_payload,
    forgotten_payload,
    listed_payload,
    lost_payload,
    receipt_payload,
    search_payload,
    tombstone_payload,
)
from mcp_memory.engine.wiki import claim_handlers, gap_handlers
from mcp_memory.errors import EmbedderUnavailable, InvalidInput, McpMemoryError
from mcp_memory.git.note_history import HISTORY_S, describe_history
from mcp_memory.links.linter import LINT_S
from mcp_memory.links.note_graph import NoteGraph
from mcp_memory.models import Filters, NoteId, NotePath, NoteRecord, NoteState
from mcp_memory.recall.note_list import RETIRED, count_notes, date_of, newest_notes
from mcp_memory.recall.reminders import commitments
from mcp_memory.runtime.threads import LOOK_DEADLINE_S, in_thread
from mcp_memory.search.filters import ANY_PROJECT, checked_limit, moment_of
from mcp_memory.search.note_lookup import Place
from mcp_memory.text.escape_invisible import visible_in
from mcp_memory.topics.topic_tree import Topic, find_topic
from mcp_memory.transfer.porting import ImportDestination, note_facts, parse_incoming
from mcp_memory.transfer.share.share_bundle import build_bundle
from mcp_memory.usage.note_use import Heat, NoteUse, heat
from mcp_memory.vault.journals.change_journal import IMPORT, acting
from mcp_memory.vault.journals.tombstones import Caller, Tombstone
from mcp_memory.vault.note_file import NoteFile

if TYPE_CHECKING:
    from mcp_memory.engine.engine import Engine


async def _search(engine: Engine, request: requests.SearchRequest) -> Payload:
    return search_payload(await engine.search(**asdict(request)))


async def _recall(engine: Engine, request: requests.RecallRequest) -> Payload:
    return {"text": await engine.recall(**asdict(request))}


async def _append(engine: Engine, request: requests.AppendRequest) -> Payload:
    return receipt_payload(await engine.append(**asdict(request)))


async def _update(engine: Engine, request: requests.UpdateRequest) -> Payload:
    """Without a text: what there is to edit, byte for byte (undecodable ones as surrogates)."""
    if request.text is not None:
        return receipt_payload(await engine.update(**asdict(request)))
    read = engine.parts.vault.editing.read

    async def described(places: Sequence[Place]) -> Payload:
        path, entry = places[0]
        text, etag = await in_thread(lambda: read(path, entry), deadline_s=LOOK_DEADLINE_S, what="reading the note")
        return {"path": path, "entry": entry, "etag": etag, "text": text}

    return await engine.parts.note_lookup.reach([request.target], described)


async def _forget(engine: Engine, request: requests.ForgetRequest) -> Payload:
    record = await engine.forget(**asdict(request))
    return forgotten_payload(record, await engine.holding(record))


async def _restore(engine: Engine, request: requests.RestoreRequest) -> Payload:
    record = await engine.forget(**asdict(request), restore=True)
    return forgotten_payload(record, await engine.holding(record), restored=True)


async def _forgotten(engine: Engine, request: requests.ForgottenRequest) -> Payload:
    return {"forgotten": [tombstone_payload(stone) for stone in await _tombstones(engine, request)]}


async def _restore_all(engine: Engine, request: requests.ForgottenRequest) -> Payload:
    """Restores what `forgotten` lists for the same arguments; one that can't be restored doesn't stop the others."""
    restored, refused = list[Payload](), list[Payload]()
    for stone in await _tombstones(engine, request):
        try:
            await engine.forget(stone.target, restore=True, personal=True)
        except McpMemoryError as error:
            refused.append({**tombstone_payload(stone), "why": str(error)})
        else:
            restored.append(tombstone_payload(stone))
    return {"restored": restored, "refused": refused}


async def _tombstones(engine: Engine, request: requests.ForgottenRequest) -> list[Tombstone]:
    among = replace(_filters(engine, request), session=request.session, states=frozenset(NoteState), now=None)
    return await list_forgotten(engine.parts, among, {"you": PERSON}.get(request.client or "", request.client))


def _filters(engine: Engine, wanted: requests.ForgottenRequest) -> Filters:
    """Unlike in a search, `until` only ends the time."""
    parts = engine.parts
    filters = parts.filters(
        kinds=wanted.kinds, tags=wanted.tags, project=wanted.project, since=wanted.since, path=wanted.path
    )
    return replace(filters, until=moment_of("until", wanted.until, parts.vault.layout.tz))


async def _list(engine: Engine, request: requests.ListRequest) -> Payload:
    parts, limit = engine.parts, checked_limit(request.limit)
    filters = _filters(engine, request)
    if request.archived:
        filters = replace(filters, states=RETIRED, now=None)
    client = {PERSON: "you"}.get(request.client or "", request.client)

    def read() -> Payload:
        now, index = parts.clock(), parts.index
        found, further = newest_notes(index, filters, limit, now, client, request.session)
        notes, uses = [listed_payload(note, now) for note in found], parts.uses.read()
        for note in notes:
            written = datetime.fromisoformat(note["date"]).date() if note["date"] else None
            note["heat"] = heat(uses.get(note["id"], NoteUse()), now.date(), written).value
        if request.text:
            for note in notes:
                passages = (one for one in index.passages(note["path"]) if one.shown_id == note["id"])
                note["text"] = next((one.chunk.text for one in passages), "")
        return {"notes": notes, "further": further}

    return visible_in(await in_thread(read, deadline_s=LOOK_DEADLINE_S, what="listing notes"))


async def _due(engine: Engine, request: requests.DueRequest) -> Payload:
    """The earliest first; of `done`, the latest."""
    parts, client = engine.parts, {"you": PERSON}.get(request.client or "", request.client)
    wanted, zone = parts.filters(project=request.project), parts.vault.layout.tz
    look = partial(commitments, parts.index, wanted, parts.clock(), zone, done=request.done)
    found = await in_thread(look, deadline_s=LOOK_DEADLINE_S, what="looking for commitments")
    listed = [
        {
            **{name: getattr(one.note, name) for name in ("id", "path", "title", "project", "source", "session")},
            "due": one.note.meta["due"], "when": one.when, "stage": one.stage, "done_at": one.note.meta.get("done_at"),
        }
        for one in found
        if client in (None, one.note.source)
    ]  # fmt: skip
    return visible_in({"commitments": listed[::-1] if request.done else listed})


async def _stats(engine: Engine, request: requests.StatsRequest) -> Payload:
    """With the size of all files, in bytes, and the state of the index."""
    parts, today = engine.parts, engine.parts.clock().date()
    if request.target:

        async def describe(places: Sequence[Place]) -> Payload:
            path, entry = places[0]
            return await in_thread(partial(describe_use, parts, path, entry), what="looking up its use")

        return await parts.note_lookup.reach([request.target], describe)

    def read() -> Payload:
        sizes = [file.size_bytes for file in parts.vault.list().files.values()]
        uses, active = parts.uses.read(), [note for note in parts.admin.tree() if not note.is_log]
        heats = Counter(heat(uses.get(note.id, NoteUse()), today, date_of(note).date()) for note in active)
        counted = {"by_heat": {one.value: heats[one] for one in Heat}, "bytes": sum(sizes)}
        return count_notes(parts.index, parts.filters()) | counted | {"index": parts.admin.status()}

    return await in_thread(read, what="counting notes")


async def _refs(engine: Engine, request: requests.RefsRequest) -> Payload:
    grounder, project = engine.parts.grounder, None if request.project == ANY_PROJECT else request.project
    if request.confirm and not request.target:
        raise InvalidInput("which note is right?", hint="name one: mcp-memory refs NOTE --confirm")
    if project and request.folder:
        grounder.note_folder(project, request.folder)
    if request.check:
        await grounder.check()
    place = await engine.parts.note_lookup.find(request.target) if request.target else None
    if request.confirm:
        await grounder.check(confirmed=[one.id for one in grounder.notes(place)])
    answer = partial(grounder.answer, place, project)
    return visible_in(await in_thread(answer, deadline_s=LOOK_DEADLINE_S, what="looking at the note"))


async def _changes(engine: Engine, request: requests.ChangesRequest) -> Payload:
    return await list_changes(engine.parts, request)


async def _undo(engine: Engine, request: requests.UndoRequest) -> Payload:
    return await undo_changes(engine.parts, request)


async def _erase(engine: Engine, request: requests.EraseRequest) -> Payload:
    parts, eraser = engine.parts, Eraser(engine.parts)
    work = eraser.erase if request.sure else eraser.plan
    async with parts.compactor.paused() if request.sure else nullcontext():  # it may hold words of the note
        return asdict(await parts.note_lookup.reach([request.target], lambda places: work(*places[0])))


async def _compact(engine: Engine, request: requests.CompactRequest) -> Payload:
    parts, run, topic = engine.parts, request.undo, request.topic
    if run is not None and (request.dry_run or topic is not None):
        raise InvalidInput("undo beside dry_run or topic", hint="pass undo alone")
    if run is not None:
        return asdict(await parts.compactor.undo(run))
    await parts.admin.reconcile()
    try:
        await parts.model.embed()
        note = None if parts.model.embedder else f"{parts.model.reason}: a note without a vector waits"
    except EmbedderUnavailable as error:
        note = f"{error.message}: a note without a vector waits"
    if request.dry_run:
        return {**preview_payload(await parts.compactor.preview(topic)), "note": note}
    return {**asdict(await parts.compactor.run(topic)), "note": note}


async def _edit_topic(engine: Engine, request: requests.EditTopicRequest) -> Payload:
    return asdict(await engine.parts.compactor.edit_topic(TopicEdit(**asdict(request))))


async def _dream(engine: Engine, request: requests.DreamRequest) -> Payload:
    dreamer = engine.parts.dreamer
    if request.rollback:
        return asdict(await dreamer.rollback(request.rollback))
    await engine.parts.admin.reconcile()
    return asdict(await dreamer.run(dry_run=request.dry_run, backfill=request.backfill, stage=request.stage))


async def _organize(engine: Engine, request: requests.OrganizeRequest) -> Payload:
    return {"pages": await organize(engine.parts, **asdict(request))}


async def _runs(engine: Engine, _: requests.NoArguments) -> Payload:
    journal = engine.parts.run_journal
    found = await in_thread(journal.read_all_runs, deadline_s=LOOK_DEADLINE_S, what="reading the journal")
    return {"runs": [run_payload(run, entries) for run, entries in reversed(found)]}


async def _tree(engine: Engine, request: requests.TreeRequest) -> Payload:
    depth = request.depth
    if depth is not None and depth < 1:
        raise InvalidInput(f"depth is {depth}", hint="1 is the topics at the top")
    topics, fresh = await _tree_and_fresh(engine)
    if request.dropped is None:
        return tree_payload(topics, fresh, depth)
    parts, every = engine.parts, [topic for top in topics for topic in reversed([*top.walk()]) if topic.page]
    asked = [find_topic(request.dropped, topics, parts.compactor.root)] if request.dropped else every
    read = lambda: [dropped_payload(topic, parts.vault) for topic in asked if topic.page]  # noqa: E731 -- once
    return visible_in({"pages": await in_thread(read, deadline_s=LOOK_DEADLINE_S, what="reading pages")})


async def _show(engine: Engine, request: requests.TargetRequest) -> Payload:
    """A topic's folder stands for its page."""
    topics, _ = await _tree_and_fresh(engine)
    target = request.target.strip().removeprefix("./").rstrip("/")
    page = next((topic.page_path for top in topics for topic in top.walk() if topic.folder == target), target)
    parts = engine.parts
    with parts.idle_detector.serving():
        file, text = await parts.note_lookup.reach([page], lambda places: parts.answerer.verbatim(*places[0]))
    return shown_payload(file.record, text, topics)


async def _share(engine: Engine, request: requests.TargetRequest) -> Payload:
    """What of a topic can be shared. This only reads: the command that asked writes the files."""
    parts = engine.parts
    await parts.admin.reconcile()
    topics, _ = await _tree_and_fresh(engine)
    topic = find_topic(request.target, topics, parts.compactor.root)
    bundle = await in_thread(lambda: build_bundle(parts.vault, parts.marker.id, topic), what="reading the topic")
    return asdict(bundle)


async def _tree_and_fresh(engine: Engine) -> tuple[list[Topic], list[NoteRecord]]:
    view = engine.parts.compactor.planner_view
    return await in_thread(view.read_tree, deadline_s=LOOK_DEADLINE_S, what="the topic tree")


async def _history(engine: Engine, request: requests.TargetRequest) -> Payload:
    """All notes of a chain, the newest first; of forgotten ones no text."""
    parts = engine.parts

    def read(path: NotePath, entry: str | None) -> Sequence[NoteFile]:
        chains = parts.vault.chains
        return chains.history(chains.require(NoteId(f"{path}#{entry}")) if entry else parts.vault.read(path))

    chain = await parts.note_lookup.reach(
        [request.target], lambda places: in_thread(lambda: read(*places[0]), deadline_s=HISTORY_S, what="the chain")
    )
    return visible_in({"chain": [chain_payload(file, parts.clock()) for file in chain]})


async def _adopt(engine: Engine, request: requests.AdoptRequest) -> Payload:
    if request.revoke:
        return {"returned": await engine.parts.admin.give_back(request.path, dry_run=request.dry_run)}
    return {"adopted": await engine.parts.admin.adopt(request.path, dry_run=request.dry_run)}


async def _accept(engine: Engine, _: requests.NoArguments) -> Payload:
    return {"pruned": await engine.parts.admin.accept_loss()}


async def _doctor(engine: Engine, _: requests.NoArguments) -> Payload:
    findings = await in_thread(lambda: examine(engine), deadline_s=LOOK_DEADLINE_S, what="the examination")
    return {"findings": list(map(asdict, findings))}


async def _fix(engine: Engine, _: requests.NoArguments) -> Payload:
    return {"done": await fix(engine.parts)}


async def _lost(engine: Engine, _: requests.NoArguments) -> Payload:
    found = sorted(await engine.parts.admin.lost_entries(), key=lambda entry: -entry.added.at)
    return {"lost": list(map(lost_payload, found))}


async def _recover(engine: Engine, request: requests.RecoverRequest) -> Payload:
    found = await engine.parts.admin.recover(request.ids, dismiss=request.dismiss)
    return {"recovered": [lost_payload(entry) for entry in found]}


async def _log(engine: Engine, request: requests.LogRequest) -> Payload:
    parts = engine.parts
    target = await parts.note_lookup.full_id(request.target) if request.target else None
    describe = partial(describe_history, parts.vault, parts.index, target, request.at, request.limit)
    return await in_thread(describe, deadline_s=HISTORY_S + 10, what="reading the history")


async def _conflicts(engine: Engine, _: requests.NoArguments) -> Payload:
    return visible_in({"conflicts": await engine.parts.conflict_review.list_open()})


async def _decide(engine: Engine, request: requests.DecideRequest) -> Payload:
    full_id = engine.parts.note_lookup.full_id
    target, other = await full_id(request.target), request.other and await full_id(request.other)
    return visible_in({"decided": await engine.parts.conflict_review.decide(request.verb, target, other)})


async def _import(engine: Engine, request: requests.ImportRequest) -> Payload:
    destination = None if request.folder is None else ImportDestination(request.folder, request.mark)
    incoming = list(map(parse_incoming, request.items))
    with acting(Caller(run=f"{IMPORT}-{request.run or request.mark or 'vault'}")):
        taken = await engine.parts.transfer.import_notes(incoming, destination, dry_run=request.dry_run)
    return {"taken": [{"deed": note.action.value, "path": note.path, "why": note.why} for note in taken]}


async def _export(engine: Engine, request: requests.ExportRequest) -> Payload:
    """The command that asked reads the files itself."""
    found, further = await engine.parts.transfer.list_notes(request.after)
    return {"home": engine.parts.marker.home, "notes": list(map(note_facts, found)), "next": further}


async def _status(engine: Engine, _: requests.NoArguments) -> Payload:
    facts = await in_thread(engine.parts.admin.status, deadline_s=LOOK_DEADLINE_S, what="the state of the index")
    return {**facts, "capture": engine.parts.capture_worker.status()}


async def _unarchive(engine: Engine, request: requests.TargetRequest) -> Payload:
    async def move(places: Sequence[Place]) -> Payload:
        back = await engine.parts.archivist.unarchive(places[0][0])
        return {"path": back or (await engine.forget(request.target, restore=True, personal=True)).path}

    return await engine.parts.note_lookup.reach([request.target], move)


async def _links(engine: Engine, request: requests.LinksRequest) -> Payload:
    async def describe(places: Sequence[Place]) -> Payload:
        work = partial(NoteGraph(engine.parts.index).describe, places[0][0], request.depth)
        return visible_in(await in_thread(work, deadline_s=LINT_S, what="following links"))

    return await engine.parts.note_lookup.reach([request.target], describe)


async def _lint(engine: Engine, request: requests.LintRequest) -> Payload:
    """With the notes whose code has moved, changed or gone, looked at now."""
    parts = engine.parts
    await parts.grounder.check()
    code = [note for note in parts.grounder.answer(None, None)["notes"] if note["remark"]]
    return visible_in({**await parts.linter.lint(**asdict(request)), "code": code})


OPERATIONS: Mapping[str, tuple[type[Any], Callable[[Engine, Any], Awaitable[Payload]]]] = {
    "search": (requests.SearchRequest, _search),
    "recall": (requests.RecallRequest, _recall),
    "brief": (requests.BriefRequest, session_handlers.brief),
    "advise": (requests.AdviseRequest, lambda engine, wanted: engine.parts.advisor.advise(**asdict(wanted))),
    "flush": (requests.NoArguments, session_handlers.flush),
    "emptied": (requests.TranscriptRequest, session_handlers.emptied),
    "grown": (requests.TranscriptRequest, session_handlers.grown),
    "transcripts": (requests.TranscriptsRequest, session_handlers.transcripts),
    "capture": (requests.CaptureRequest, session_handlers.capture),
    "titles": (requests.TitlesRequest, session_handlers.titles),
    "append": (requests.AppendRequest, _append),
    "update": (requests.UpdateRequest, _update),
    "forget": (requests.ForgetRequest, _forget),
    "restore": (requests.RestoreRequest, _restore),
    "list": (requests.ListRequest, _list),
    "due": (requests.DueRequest, _due),
    "stats": (requests.StatsRequest, _stats),
    "forgotten": (requests.ForgottenRequest, _forgotten),
    "restore_all": (requests.ForgottenRequest, _restore_all),
    "changes": (requests.ChangesRequest, _changes),
    "refs": (requests.RefsRequest, _refs),
    "undo": (requests.UndoRequest, _undo),
    "adopt": (requests.AdoptRequest, _adopt),
    "reindex": (requests.NoArguments, lambda engine, _: engine.parts.admin.reindex()),
    "reconcile": (requests.NoArguments, lambda engine, _: engine.parts.admin.reconcile()),
    "accept": (requests.NoArguments, _accept),
    "doctor": (requests.NoArguments, _doctor),
    "fix": (requests.NoArguments, _fix),
    "lost": (requests.NoArguments, _lost),
    "recover": (requests.RecoverRequest, _recover),
    "erase": (requests.EraseRequest, _erase),
    "status": (requests.NoArguments, _status),
    "compact": (requests.CompactRequest, _compact),
    "edit_topic": (requests.EditTopicRequest, _edit_topic),
    "archive_proposed": (
        requests.ArchiveProposedRequest,
        lambda engine, wanted: engine.parts.archivist.answer(wanted.ids),
    ),
    "unarchive": (requests.TargetRequest, _unarchive),
    "jobs": (requests.JobsRequest, lambda engine, wanted: engine.parts.scheduler.answer(**asdict(wanted))),
    "dream": (requests.DreamRequest, _dream),
    "digest": (requests.DigestRequest, lambda engine, wanted: digest(engine.parts, wanted)),
    "runs": (requests.NoArguments, _runs),
    "organize": (requests.OrganizeRequest, _organize),
    "tree": (requests.TreeRequest, _tree),
    "show": (requests.TargetRequest, _show),
    "history": (requests.TargetRequest, _history),
    "share": (requests.TargetRequest, _share),
    "mute": (requests.MuteRequest, session_handlers.mute),
    "why": (requests.WhyRequest, session_handlers.why),
    "extract": (requests.ExtractRequest, session_handlers.extract),
    "held": (requests.HeldRequest, session_handlers.held),
    "inbox": (requests.NoArguments, session_handlers.inbox),
    "review": (requests.ReviewRequest, session_handlers.review),
    "claims": (requests.ClaimsRequest, claim_handlers.claims),
    "claim_problems": (requests.NoArguments, claim_handlers.claim_problems),
    "gaps": (requests.GapsRequest, gap_handlers.gaps),
    "apply": (requests.ApplyRequest, claim_handlers.apply),
    "conflicts": (requests.NoArguments, _conflicts),
    "decide": (requests.DecideRequest, _decide),
    "links": (requests.LinksRequest, _links),
    "lint": (requests.LintRequest, _lint),
    "log": (requests.LogRequest, _log),
    "import": (requests.ImportRequest, _import),
    "export": (requests.ExportRequest, _export),
}
"""An operation's name → its request, and the function that answers it."""
