"""Serializes the topic tree and plans as plain values."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from mcp_memory.compaction.page_writer import audit
from mcp_memory.compaction.planner_view import Places
from mcp_memory.models import NoteRecord
from mcp_memory.text.language.facts import Fact, facts
from mcp_memory.text.language.sentences import sentences
from mcp_memory.topics.page import summary_text
from mcp_memory.topics.plan import PlanJob
from mcp_memory.topics.topic_tree import Topic
from mcp_memory.vault.vault import Vault

Payload = dict[str, Any]


def tree_payload(tree: Sequence[Topic], fresh: Sequence[NoteRecord], depth: int | None = None) -> Payload:
    """Serialize the tree. `depth` is the number of levels to list, with notes as the last level; None for all. Counts
    always include everything below; `waiting` is the number of fresh notes."""
    return {
        "notes": sum(topic.notes for topic in tree),
        "waiting": len(fresh),
        "topics": [topic_payload(topic, depth) for topic in tree],
        "fresh": [note_payload(note) for note in sorted(fresh, key=lambda n: n.path)] if _goes_on(depth) else [],
    }


def plan_payload(
    jobs: Sequence[PlanJob], places: Places, tree: Sequence[Topic], fresh: Sequence[NoteRecord]
) -> Payload:
    """Serialize what a run would do first, with paths below the folder of all topics. `topic` is None for a new topic
    in the folder `parent`. A run plans again after these jobs. `waiting` is the number of fresh notes that stay."""
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
        "stale": [topic.folder for top in tree for topic in top.walk() if topic.stale],
        "waiting": sum(note.path not in moving for note in fresh),
    }


def topic_payload(topic: Topic, depth: int | None = None) -> Payload:
    """Serialize a topic. `page` is the path of its page, None without one. `ours` is false for a folder of your own,
    and for a topic of another installation, which is `foreign`."""
    earliest, latest = topic.span
    return {
        "path": topic.folder,
        "page": topic.page_path if topic.page else None,
        "id": (topic.page.id or None) if topic.page else None,
        "title": topic.title,
        "notes": topic.notes,
        "earliest": _day(earliest),
        "latest": _day(latest),
        "stale": topic.stale or topic.outdated,
        "edited": topic.state.edited,
        "ours": topic.ours,
        "foreign": not topic.ours and topic.page is not None and not topic.is_yours,
        "topics": [topic_payload(below, depth and depth - 1) for below in topic.topics] if _goes_on(depth) else [],
        "leaves": [note_payload(note) for note in topic.leaves] if _goes_on(depth) else [],
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
    topics = [topic for top in tree for topic in top.walk()]
    holding = [topic.folder for topic in topics if any(leaf.path == note.path for leaf in topic.leaves)] or [note.path]
    above = sorted((t for t in topics if f"{holding[0]}/".startswith(f"{t.folder}/")), key=lambda t: t.folder)
    own = next((topic for topic in above if topic.page_path == note.path), None)
    children = [*own.topics, *own.leaves] if own else []
    return {
        "id": note.id,
        "path": note.path,
        "title": note.title,
        "kind": note.kind,
        "project": note.project,
        "shelf": note.state.value,
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
