"""Draws the topic tree as lines."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from mcp_memory.cli.console import is_unicode, short_id
from mcp_memory.text.pluralize import counted

Branch = tuple[str, Sequence["Branch"]]
"""A line, and the branches below it."""

State = Callable[[dict[str, Any]], list[str]]
"""A function that returns a topic's remarks, besides its counts."""


def draw_tree(tree: dict[str, Any]) -> list[str]:
    """Return the lines of the whole tree; no lines for an empty tree."""
    tops = [_topic(topic, _state) for topic in tree["topics"]]
    if tree["waiting"]:
        fresh = [(_note(note), ()) for note in tree["fresh"]]
        tops.append((f"_fresh  ({counted(tree['waiting'], 'note')} waiting)", fresh))
    return list(_lines(tops))


def draw_preview(tree: dict[str, Any]) -> list[str]:
    """Return the lines of what would change: topics that are new, move, or get notes, and those notes."""
    return list(_lines([_topic(topic, _change, changed=True) for topic in tree["topics"] if _changes(topic)]))


def _topic(topic: dict[str, Any], state: State, *, changed: bool = False) -> Branch:
    below = [_topic(child, state, changed=changed) for child in topic["topics"] if not changed or _changes(child)]
    notes = [(_note(note), ()) for note in topic["leaves"] if not changed or _moves_alone(note, topic)]
    span = " to ".join(dict.fromkeys(day for day in (topic["earliest"], topic["latest"]) if day))
    facts = [counted(topic["notes"], "note"), span, *state(topic)]
    name = topic["path"].rpartition("/")[2]
    title = "" if topic["title"] == name else f"  {topic['title']}"
    return f"{name}{title}  ({', '.join(fact for fact in facts if fact)})", [*below, *notes]


def _state(topic: dict[str, Any]) -> list[str]:
    facts = ["stale"] if topic["stale"] else []
    if topic["foreign"]:
        return [*facts, "made elsewhere: mcp-memory adopt"]
    return facts + (["made by you"] if not topic["ours"] else ["page edited by you"] if topic["edited"] else [])


def _change(topic: dict[str, Any]) -> list[str]:
    if topic["new"]:
        return ["new"]
    return [f"from {topic['from']}"] if topic["from"] else ["stale page"] if topic["stale"] else []


def _changes(topic: dict[str, Any]) -> bool:
    moved = topic["new"] or topic["from"] or topic["stale"] or any(note["from"] for note in topic["leaves"])
    return bool(moved) or any(map(_changes, topic["topics"]))


def _moves_alone(note: dict[str, Any], topic: dict[str, Any]) -> bool:
    """Return whether a note moves by itself, not with its topic."""
    return bool(note["from"]) and note["from"].rpartition("/")[0] != topic["from"]


def _note(note: dict[str, Any]) -> str:
    origin = f", from {note['from'].rpartition('/')[0]}" if note.get("from") else ""
    return f"{note['title']}  ({note['date'] or 'no date'}{origin})  {short_id(note['id'])}"


def _lines(tops: Sequence[Branch]) -> Iterator[str]:
    for line, below in tops:
        yield line
        yield from _branches(below)


def _branches(branches: Sequence[Branch]) -> Iterator[str]:
    fork, last, bar = ("├─ ", "└─ ", "│  ") if is_unicode() else ("|- ", "`- ", "|  ")
    for number, (line, below) in enumerate(branches, 1):
        is_last = number == len(branches)
        yield (last if is_last else fork) + line
        for child in _branches(below):
            yield ("   " if is_last else bar) + child
