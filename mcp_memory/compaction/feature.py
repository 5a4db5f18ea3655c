"""Files notes under topics, in the background and when you ask for it."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from functools import partial

from mcp_memory.compaction.auto_compactor import TOPICS_JOB, AutoCompactor
from mcp_memory.compaction.compactor import Compactor
from mcp_memory.compaction.job_builder import JobBuilder
from mcp_memory.compaction.page_writer import audit
from mcp_memory.compaction.planner_view import LatestTree
from mcp_memory.compaction.share.folder import SharedCopies, shared_folders
from mcp_memory.compaction.share.share_bundle import build_bundle
from mcp_memory.compaction.topic_edits import CompactRequest, EditTopicRequest, GrantsRequest, TreeRequest
from mcp_memory.core.core import Core, Feature, Operation
from mcp_memory.core.requests import TargetRequest
from mcp_memory.core.serializers import Payload
from mcp_memory.errors import EmbedderUnavailable, InvalidInput, NotFound
from mcp_memory.models import Filters, NotePath, NoteRecord
from mcp_memory.projects.session_grants import SessionGrant, SessionGrants
from mcp_memory.runs.job_runner import JOB_S
from mcp_memory.runtime.threads import LOOK_DEADLINE_S, in_thread
from mcp_memory.text.escape_invisible import visible_in
from mcp_memory.text.language.facts import Fact, facts
from mcp_memory.text.language.sentences import sentences
from mcp_memory.topics.config import TopicsConfig
from mcp_memory.topics.page import FRESH, TOPICS, span, summary_text
from mcp_memory.topics.topic_tree import Topic, all_topics, find_topic
from mcp_memory.vault.draft import one_line
from mcp_memory.vault.vault import Vault


def tree_payload(
    tree: Sequence[Topic], fresh: Sequence[NoteRecord], depth: int | None, *, notes: bool = True
) -> Payload:
    """Serialize the tree. `depth` is the number of levels to list, with notes as the last level; None for all. Counts
    always include everything below; `waiting` is the number of fresh notes. `notes`: whether to list notes."""
    listed = sorted(fresh, key=lambda note: note.path) if notes and _goes_on(depth) else ()
    return {
        "notes": sum(topic.notes for topic in tree),
        "waiting": len(fresh),
        "topics": [topic_payload(topic, depth, notes=notes) for topic in tree],
        "fresh": list(map(note_payload, listed)),
    }


def topic_payload(topic: Topic, depth: int | None, *, notes: bool = True) -> Payload:
    """Serialize a topic. `page` is the path of its page, None without one. `ours` is false for a folder of your own,
    and for a topic of another installation, which is `foreign`."""
    earliest, latest = topic.span
    below = topic.topics if _goes_on(depth) else ()
    return {
        "path": topic.folder,
        "page": topic.page_path if topic.page else None,
        "id": (topic.page.id or None) if topic.page else None,
        "title": topic.title,
        "notes": topic.notes,
        "earliest": _day(earliest),
        "latest": _day(latest),
        "days": span(earliest, latest),
        "stale": topic.outdated,
        "edited": topic.state.edited,
        "ours": topic.ours,
        "foreign": not topic.ours and topic.page is not None and not topic.is_yours,
        "topics": [topic_payload(one, depth and depth - 1, notes=notes) for one in below],
        "leaves": [note_payload(note) for note in topic.leaves] if notes and _goes_on(depth) else [],
    }


def dropped_payload(topic: Topic, vault: Vault) -> Payload:
    """Return the facts of its notes, and of the pages below, that are missing from a topic's page, each with its place
    and the first sentence that contains it. Reads files, so call it in a worker thread."""
    below, notes = topic.sources
    texts = {note.path: f"{note.title}\n\n{vault.read(note.path).body}" for note in notes}
    for one in below:
        texts[one.page_path] = f"{one.title}\n\n{summary_text(vault.read(one.page_path).body)}"
    told = {path: facts(text) for path, text in texts.items()}
    said: dict[Fact, str] = {}
    for one in (sentence for text in texts.values() for sentence in sentences(text)):
        said = dict.fromkeys(facts(one.text), one.text) | said
    found = audit(f"{topic.title}\n\n{vault.read(topic.page_path).body}", texts.values())
    dropped: list[Payload] = []
    for fact in found.dropped:
        holders = [path for path in told if fact in told[path]]
        dropped.append({"fact": f"{fact.kind}: {fact.key}", "said": said.get(fact, ""), "in": holders})
    return {"path": topic.folder, "title": topic.title, "kept": found.kept, "dropped": dropped}


def note_payload(note: NoteRecord) -> Payload:
    return {"id": note.id, "path": note.path, "title": note.title, "kind": note.kind, "date": note.day}


def shown_payload(note: NoteRecord, text: str, tree: Sequence[Topic]) -> Payload:
    """Serialize a note with its place: `in` are the topics above it, outermost first; `children` are the sources of a
    topic's page."""
    topics = all_topics(tree)
    holding = [topic.folder for topic in topics if any(leaf.path == note.path for leaf in topic.leaves)] or [note.path]
    above = sorted((t for t in topics if f"{holding[0]}/".startswith(f"{t.folder}/")), key=lambda t: t.folder)
    own = next((topic for topic in above if topic.page_path == note.path), None)
    children = [*own.topics, *own.leaves] if own else []
    return {
        **note_payload(note),
        "project": note.project,
        "shelf": note.state.value,
        "has_returned": note.has_returned,
        "private": note.is_private,
        "created": note.created.isoformat() if note.created else None,
        "updated": note.updated.isoformat() if note.updated else None,
        "in": [{"path": topic.folder, "title": topic.title} for topic in above if topic is not own],
        "children": [
            {"path": child.page_path if child.page else child.folder, "title": child.title, "notes": child.notes}
            if isinstance(child, Topic)
            else {"path": child.path, "title": child.title, "notes": 1}
            for child in children
        ],
        "text": text,
    }


def _goes_on(depth: int | None) -> bool:
    return depth is None or depth > 1


def _day(when: datetime | None) -> str | None:
    return when.date().isoformat() if when else None


LONGEST_S = 3600.0
"""The most time for a run, besides what a language model may take in a day."""


def build(core: Core) -> Feature:
    config = core.config.section("topics", TopicsConfig)
    builder = JobBuilder(core.vault, core.index, core.background.summarizer, core.clock)
    compactor = Compactor(core, builder, config)
    auto_compactor = AutoCompactor(compactor, core.search.model, core.background.health, config)
    core.indexing.sweeper.listeners.append(compactor.mark_stale_pages)
    latest = LatestTree(compactor.planner_view)
    core.indexing.writer.listeners.append(latest.hear)
    topics = TopicOperations(core, compactor, SessionGrants(core.vault, core.index), latest)
    if config.fresh_tail_count:
        core.recall.answerer.newest.append(partial(_fresh_tail, core, config.fresh_tail_count))
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
            "grants": Operation(GrantsRequest, topics.share_with_session),
        },
        jobs=[auto_compactor.job(longest_s=LONGEST_S + core.config.summarizer.day_s)],
        tasks=[look_at_all],
        status=lambda: {"compaction": auto_compactor.status(scheduler.facts(TOPICS_JOB))},
        findings=topics.grants.findings,
        copies=SharedCopies(shared_folders(core.config.state)),
    )


@dataclass(frozen=True)
class TopicOperations:
    """Answers requests about topics with plain JSON values."""

    core: Core
    compactor: Compactor
    grants: SessionGrants
    latest: LatestTree

    async def compact(self, request: CompactRequest) -> Payload:
        """File notes now, or show the plan with `dry_run`."""
        await self.core.indexing.sweeper.reconcile()
        note = await self._embed()
        if request.dry_run:
            return {**await self._plan(), "note": note}
        return {**asdict(await self.compactor.run()), "note": note}

    async def _plan(self) -> Payload:
        """Return what a run would do first, without changing anything, with paths below the folder of all topics.
        `topic` is None for a new topic in the folder `parent`. A run plans again after these jobs. `waiting` is the
        number of fresh notes that stay."""
        topics, fresh = await self._tree_and_fresh()
        jobs, places = await in_thread(
            self.compactor.planner_view.plan_round, topics, fresh, deadline_s=JOB_S, what="planning"
        )
        moving = {places[place].path for job in jobs for place in job.leaves}
        return {
            "plan": [
                {
                    "topic": job.into,
                    "parent": job.parent,
                    "notes": [note_payload(places[place]) for place in job.leaves],
                    "topics": list(job.topics),
                }
                for job in jobs
            ],
            "stale": [topic.folder for top in topics for topic in top.walk() if topic.stale],
            "waiting": sum(note.path not in moving for note in fresh),
        }

    async def _embed(self) -> str | None:
        """Embed notes without a vector; return why some notes have to wait."""
        model = self.core.search.model
        try:
            await model.embed()
        except EmbedderUnavailable as error:
            return f"{error.message}: a note without a vector waits"
        return None if model.embedder else f"{model.reason}: a note without a vector waits"

    async def edit_topic(self, request: EditTopicRequest) -> Payload:
        """Rename, move, merge or split a topic."""
        return asdict(await self.compactor.edit_topic(request))

    async def tree(self, request: TreeRequest) -> Payload:
        """Return the topics, a single topic, or the facts that topic pages omit."""
        depth = request.depth
        if depth is not None and depth < 1:
            raise InvalidInput(f"depth is {depth}", hint="1 is the topics at the top")
        read_tree = self.latest.read if request.quick else self.compactor.planner_view.read_tree
        topics, fresh = await in_thread(read_tree, deadline_s=LOOK_DEADLINE_S, what="the topic tree")
        wanted = self.core.filters()
        topics = [topic for topic in topics if all(map(wanted.sees, topic.all_notes))]
        fresh = list(filter(wanted.sees, fresh))
        if request.topic is not None:
            topic = find_topic(request.topic, topics, self.compactor.root)
            above = next((one for one in all_topics(topics) if topic in one.topics), None)
            found = topic_payload(topic, depth, notes=request.notes)
            return {"topic": found, "above": above and topic_payload(above, 1)}
        if request.dropped is None:
            return tree_payload(topics, fresh, depth, notes=request.notes)
        every = [topic for top in topics for topic in reversed([*top.walk()]) if topic.page]
        asked = [find_topic(request.dropped, topics, self.compactor.root)] if request.dropped else every

        def read() -> list[Payload]:
            return [dropped_payload(topic, self.core.vault) for topic in asked if topic.page]

        return visible_in({"pages": await in_thread(read, deadline_s=LOOK_DEADLINE_S, what="reading pages")})

    async def show(self, request: TargetRequest) -> Payload:
        """Return a note as it is in its file. A topic's folder or title stands for its page."""
        topics, _ = await self._tree_and_fresh()
        page = request.target
        with suppress(NotFound):
            page = find_topic(request.target, topics, self.compactor.root).page_path
        verbatim = self.core.recall.answerer.verbatim
        file, text = await self.core.search.lookup.reach([page], lambda places: verbatim(*places[0]))
        return shown_payload(file.record, text, topics)

    async def share(self, request: TargetRequest) -> Payload:
        """Return the files of a topic that can be shared. The command that asked writes them."""
        core, topic = self.core, await self._topic(request.target)
        given = core.vault, topic, core.config.recall.private_marks
        return asdict(await in_thread(build_bundle, *given, what="reading the topic"))

    async def share_with_session(self, request: GrantsRequest) -> Payload:
        """Share a topic with a session, or stop that, and return all that is shared with sessions."""
        work = self.grants.read
        if request.topic:
            topic = await self._topic(request.topic)
            session, page = one_line("session", request.session or ""), topic.page.id if topic.page else ""
            work = partial(self.grants.change, SessionGrant(session, topic.folder, page), revoke=request.revoke)
        found = await in_thread(work, what="reading what is shared")
        return {"grants": [one._asdict() for one in found], "apart": self.core.projects.grants is not None}

    async def _topic(self, target: str) -> Topic:
        await self.core.indexing.sweeper.reconcile()
        topics, _ = await self._tree_and_fresh()
        return find_topic(target, topics, self.compactor.root)

    async def _tree_and_fresh(self) -> tuple[list[Topic], list[NoteRecord]]:
        view = self.compactor.planner_view
        return await in_thread(view.read_tree, deadline_s=LOOK_DEADLINE_S, what="the topic tree")


def _fresh_tail(core: Core, count: int, wanted: Filters) -> Sequence[NotePath]:
    """Return the newest notes that no topic has yet."""
    prefix = core.vault.layout.in_home(f"{TOPICS}/{FRESH}/")
    return [note.path for note in core.index.notes(replace(wanted, path_prefix=prefix), limit=count)]
