"""Files notes under topics, in the background and when you ask for it."""

from contextlib import suppress
from dataclasses import asdict
from functools import partial

from mcp_memory.compaction.auto_compactor import TOPICS_JOB, AutoCompactor
from mcp_memory.compaction.compactor import Compactor
from mcp_memory.compaction.job_builder import JobBuilder
from mcp_memory.compaction.requests import CompactRequest, EditTopicRequest, TreeRequest
from mcp_memory.compaction.share.folder import SharedCopies, SharedFolders
from mcp_memory.compaction.share.share_bundle import build_bundle
from mcp_memory.compaction.topic_payloads import (
    dropped_payload,
    plan_payload,
    shown_payload,
    topic_payload,
    tree_payload,
)
from mcp_memory.core.core import Core, Feature, Operation
from mcp_memory.core.requests import TargetRequest
from mcp_memory.core.serializers import Payload
from mcp_memory.errors import EmbedderUnavailable, InvalidInput, NotFound
from mcp_memory.models import NoteRecord
from mcp_memory.runs.job_runner import JOB_S
from mcp_memory.runtime.threads import LOOK_DEADLINE_S, in_thread
from mcp_memory.text.escape_invisible import visible_in
from mcp_memory.topics.config import TopicsConfig
from mcp_memory.topics.topic_tree import Topic, find_topic

LONGEST_S = 3600.0
"""The most time for a run, besides what a language model may take in a day."""


def build(core: Core) -> Feature:
    config = core.config.section("topics", TopicsConfig)
    builder = JobBuilder(core.vault, core.index, core.background.summarizer, core.clock)
    compactor = Compactor(core, builder, config)
    auto_compactor = AutoCompactor(compactor, core.search.model, core.background.health, config)
    core.indexing.sweeper.listeners.append(compactor.mark_stale_pages)
    topics = TopicOperations(core, compactor)
    scheduler = core.background.scheduler

    async def look_at_all() -> None:
        await core.search.model.settled.wait()
        auto_compactor.look_at_all()

    return Feature(
        operations={
            "compact": Operation(CompactRequest, topics.compact),
            "edit_topic": Operation(EditTopicRequest, topics.edit_topic),
            "tree": Operation(TreeRequest, topics.tree),
            "show": Operation(TargetRequest, topics.show, is_foreground=True),
            "share": Operation(TargetRequest, topics.share),
        },
        jobs=[auto_compactor.job(longest_s=LONGEST_S + core.config.summarizer.day_s)],
        tasks=[look_at_all],
        status=lambda: {"compaction": auto_compactor.status(scheduler.facts(TOPICS_JOB))},
        copies=SharedCopies(SharedFolders(core.config.state)),
    )


class TopicOperations:
    """Answers requests about topics with plain JSON values."""

    def __init__(self, core: Core, compactor: Compactor) -> None:
        self._core = core
        self._compactor = compactor

    async def compact(self, request: CompactRequest) -> Payload:
        """File notes now, or show the plan with `dry_run`."""
        await self._core.indexing.sweeper.reconcile()
        note = await self._embed()
        if request.dry_run:
            return {**await self._plan(), "note": note}
        return {**asdict(await self._compactor.run()), "note": note}

    async def _plan(self) -> Payload:
        """Return what a run would do first, without changing anything."""
        topics, fresh = await self._tree_and_fresh()
        plan_round = partial(self._compactor.planner_view.plan_round, topics, fresh)
        jobs, places = await in_thread(plan_round, deadline_s=JOB_S, what="planning")
        return plan_payload(jobs, places, topics, fresh)

    async def _embed(self) -> str | None:
        """Embed notes without a vector; return why some notes have to wait."""
        model = self._core.search.model
        try:
            await model.embed()
        except EmbedderUnavailable as error:
            return f"{error.message}: a note without a vector waits"
        return None if model.embedder else f"{model.reason}: a note without a vector waits"

    async def edit_topic(self, request: EditTopicRequest) -> Payload:
        """Rename, move, merge or split a topic."""
        return asdict(await self._compactor.edit_topic(request))

    async def tree(self, request: TreeRequest) -> Payload:
        """Return the topics, a single topic, or the facts that topic pages omit."""
        depth = request.depth
        if depth is not None and depth < 1:
            raise InvalidInput(f"depth is {depth}", hint="1 is the topics at the top")
        topics, fresh = await self._tree_and_fresh()
        if request.topic is not None:
            topic = find_topic(request.topic, topics, self._compactor.root)
            above = next((one for top in topics for one in top.walk() if topic in one.topics), None)
            return {"topic": topic_payload(topic, depth), "above": above and topic_payload(above, 1)}
        if request.dropped is None:
            return tree_payload(topics, fresh, depth)
        every = [topic for top in topics for topic in reversed([*top.walk()]) if topic.page]
        asked = [find_topic(request.dropped, topics, self._compactor.root)] if request.dropped else every

        def read() -> list[Payload]:
            return [dropped_payload(topic, self._core.vault) for topic in asked if topic.page]

        return visible_in({"pages": await in_thread(read, deadline_s=LOOK_DEADLINE_S, what="reading pages")})

    async def show(self, request: TargetRequest) -> Payload:
        """Return a note as it is in its file. A topic's folder or title stands for its page."""
        topics, _ = await self._tree_and_fresh()
        page = request.target
        with suppress(NotFound):
            page = find_topic(request.target, topics, self._compactor.root).page_path
        verbatim = self._core.recall.answerer.verbatim
        file, text = await self._core.search.lookup.reach([page], lambda places: verbatim(*places[0]))
        return shown_payload(file.record, text, topics)

    async def share(self, request: TargetRequest) -> Payload:
        """Return the files of a topic that can be shared. The command that asked writes them."""
        core = self._core
        await core.indexing.sweeper.reconcile()
        topics, _ = await self._tree_and_fresh()
        topic = find_topic(request.target, topics, self._compactor.root)
        collect = partial(build_bundle, core.vault, core.vault.marker.id, topic, core.config.recall.private_marks)
        return asdict(await in_thread(collect, what="reading the topic"))

    async def _tree_and_fresh(self) -> tuple[list[Topic], list[NoteRecord]]:
        view = self._compactor.planner_view
        return await in_thread(view.read_tree, deadline_s=LOOK_DEADLINE_S, what="the topic tree")
