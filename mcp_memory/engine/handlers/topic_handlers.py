"""Answers what concerns topics and pages, with plain JSON values."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING

from mcp_memory.compaction.topic_edits import TopicEdit
from mcp_memory.compaction.topic_payloads import (
    dropped_payload,
    preview_payload,
    run_payload,
    shown_payload,
    topic_payload,
    tree_payload,
)
from mcp_memory.engine import requests
from mcp_memory.engine.background_jobs import organize
from mcp_memory.engine.serializers import Payload
from mcp_memory.errors import EmbedderUnavailable, InvalidInput, NotFound
from mcp_memory.models import NoteRecord
from mcp_memory.runtime.threads import LOOK_DEADLINE_S, in_thread
from mcp_memory.text.escape_invisible import visible_in
from mcp_memory.topics.topic_tree import Topic, find_topic
from mcp_memory.transfer.share.share_bundle import build_bundle

if TYPE_CHECKING:
    from mcp_memory.engine.parts import EngineParts


async def compact(parts: EngineParts, request: requests.CompactRequest) -> Payload:
    run, topic = request.undo, request.topic
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


async def edit_topic(parts: EngineParts, request: requests.EditTopicRequest) -> Payload:
    return asdict(await parts.compactor.edit_topic(TopicEdit(**asdict(request))))


async def dream(parts: EngineParts, request: requests.DreamRequest) -> Payload:
    dreamer = parts.dreamer
    if request.rollback:
        return asdict(await dreamer.rollback(request.rollback))
    await parts.admin.reconcile()
    return asdict(await dreamer.run(dry_run=request.dry_run, backfill=request.backfill, stage=request.stage))


async def organize_pages(parts: EngineParts, request: requests.OrganizeRequest) -> Payload:
    return {"pages": await organize(parts, **asdict(request))}


async def runs(parts: EngineParts, _: requests.NoArguments) -> Payload:
    journal = parts.run_journal
    found = await in_thread(journal.read_all_runs, deadline_s=LOOK_DEADLINE_S, what="reading the journal")
    return {"runs": [run_payload(run, entries) for run, entries in reversed(found)]}


async def tree(parts: EngineParts, request: requests.TreeRequest) -> Payload:
    depth = request.depth
    if depth is not None and depth < 1:
        raise InvalidInput(f"depth is {depth}", hint="1 is the topics at the top")
    topics, fresh = await _tree_and_fresh(parts)
    if request.topic is not None:
        topic = find_topic(request.topic, topics, parts.compactor.root)
        above = next((one for top in topics for one in top.walk() if topic in one.topics), None)
        return {"topic": topic_payload(topic, depth), "above": above and topic_payload(above, 1)}
    if request.dropped is None:
        return tree_payload(topics, fresh, depth)
    every = [topic for top in topics for topic in reversed([*top.walk()]) if topic.page]
    asked = [find_topic(request.dropped, topics, parts.compactor.root)] if request.dropped else every
    read = lambda: [dropped_payload(topic, parts.vault) for topic in asked if topic.page]  # noqa: E731 -- once
    return visible_in({"pages": await in_thread(read, deadline_s=LOOK_DEADLINE_S, what="reading pages")})


async def show(parts: EngineParts, request: requests.TargetRequest) -> Payload:
    """A topic's folder or title stands for its page."""
    topics, _ = await _tree_and_fresh(parts)
    page = request.target
    with suppress(NotFound):
        page = find_topic(request.target, topics, parts.compactor.root).page_path
    file, text = await parts.note_lookup.reach([page], lambda places: parts.answerer.verbatim(*places[0]))
    return shown_payload(file.record, text, topics)


async def share(parts: EngineParts, request: requests.TargetRequest) -> Payload:
    """Return the files of a topic that can be shared. The command that asked writes them."""
    await parts.admin.reconcile()
    topics, _ = await _tree_and_fresh(parts)
    topic = find_topic(request.target, topics, parts.compactor.root)
    build = partial(build_bundle, parts.vault, parts.marker.id, topic, parts.config.recall.private_marks)
    bundle = await in_thread(build, what="reading the topic")
    return asdict(bundle)


async def _tree_and_fresh(parts: EngineParts) -> tuple[list[Topic], list[NoteRecord]]:
    view = parts.compactor.planner_view
    return await in_thread(view.read_tree, deadline_s=LOOK_DEADLINE_S, what="the topic tree")
