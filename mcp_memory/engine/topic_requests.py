"""What can be asked about topics and runs, by name, as plain JSON values in and out; see `engine.operations`."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from mcp_memory.compaction.topic_payloads import preview_payload, run_payload, shown_payload, tree_payload
from mcp_memory.engine.serializers import Payload
from mcp_memory.errors import EmbedderUnavailable, InvalidInput
from mcp_memory.models import NoteRecord
from mcp_memory.runtime.threads import LOOK_DEADLINE_S, in_thread
from mcp_memory.topics.topic_tree import Topic
from mcp_memory.transfer.share.share_bundle import parcel_of, topic_named

if TYPE_CHECKING:
    from mcp_memory.engine.engine import Engine


async def compact(engine: Engine, arguments: Payload) -> Payload:
    run, dry_run, topic = arguments.get("undo"), arguments.get("dry_run", False), arguments.get("topic")
    if run is not None and (dry_run or topic is not None):
        raise InvalidInput("undo beside dry_run or topic", hint="pass undo alone")
    if run is not None:
        return asdict(await engine.parts.compactor.undo(run))
    await engine.parts.admin.reconcile()
    try:
        await engine.parts.model.embed()
        note = None if engine.parts.model.embedder else f"{engine.parts.model.reason}: a note without a vector waits"
    except EmbedderUnavailable as error:
        note = f"{error.message}: a note without a vector waits"
    if dry_run:
        return {**preview_payload(await engine.parts.compactor.preview(topic)), "note": note}
    return {**asdict(await engine.parts.compactor.run(topic)), "note": note}


async def runs(engine: Engine, _: Payload) -> Payload:
    found = await in_thread(
        engine.parts.run_journal.read_all_runs, deadline_s=LOOK_DEADLINE_S, what="reading the journal"
    )
    return {"runs": [run_payload(run, entries) for run, entries in found]}


async def tree(engine: Engine, arguments: Payload) -> Payload:
    depth = arguments.get("depth")
    if depth is not None and depth < 1:
        raise InvalidInput(f"depth is {depth}", hint="1 is the topics at the top")
    topics, fresh = await _look(engine)
    return tree_payload(topics, fresh, depth)


async def show(engine: Engine, arguments: Payload) -> Payload:
    """`target`: an id, a path, or a topic's folder, which stands for its page."""
    topics, _ = await _look(engine)
    target = arguments["target"].strip().removeprefix("./").rstrip("/")
    page = next((topic.page_path for top in topics for topic in top.walk() if topic.folder == target), target)
    file, text = await engine.verbatim(page)
    return shown_payload(file.record, text, topics)


async def share(engine: Engine, arguments: Payload) -> Payload:
    """What of a topic can be shared. Only looks: writing it somewhere is for the process of the person who asked."""
    await engine.parts.admin.reconcile()
    topics, _ = await _look(engine)
    topic = topic_named(arguments["target"], topics, engine.parts.compactor.root)
    parcel = await in_thread(
        lambda: parcel_of(engine.parts.vault, engine.parts.marker.id, topic), what="reading the topic"
    )
    return asdict(parcel)


async def _look(engine: Engine) -> tuple[list[Topic], list[NoteRecord]]:
    return await in_thread(
        engine.parts.compactor.planner_view.read_tree, deadline_s=LOOK_DEADLINE_S, what="the topic tree"
    )
