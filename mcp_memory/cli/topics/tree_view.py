"""The topic tree drawn as lines."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from mcp_memory.text.pluralize import counted

Branch = tuple[str, Sequence["Branch"]]
"""A line, and what hangs below it."""

State = Callable[[dict[str, Any]], list[str]]
"""What is to be said of a topic, besides its counts."""


def draw_tree(tree: dict[str, Any]) -> list[str]:
    """The whole tree; no lines for an empty one."""
    tops = [_topic(topic, _state) for topic in tree["topics"]]
    return [*_forest(tops), *_forest(_fresh(tree))]


def draw_preview(tree: dict[str, Any]) -> list[str]:
    """What would change in it: topics that are new, move, or get notes, and these; no lines where nothing would."""
    tops = [_topic(topic, _change, changed=True) for topic in tree["topics"] if _changes(topic)]
    return list(_forest(tops))


def _topic(topic: dict[str, Any], state: State, *, changed: bool = False) -> Branch:
    below = [_topic(each, state, changed=changed) for each in topic["topics"] if not changed or _changes(each)]
    notes = [(_note(note), ()) for note in topic["leaves"] if not changed or _moves_alone(note, topic)]
    said = [counted(topic["notes"], "note"), _span(topic), *state(topic)]
    name = topic["path"].rpartition("/")[2]
    title = "" if topic["title"] == name else f"  {topic['title']}"
    return f"{name}{title}  ({', '.join(part for part in said if part)})", [*below, *notes]


def _state(topic: dict[str, Any]) -> list[str]:
    said = ["made by you"] if not topic["ours"] else ["page edited by you"] if topic["edited"] else []
    said += [f"proposal: {topic['proposal'].rpartition('/')[2]}"] if topic["proposal"] else []
    return [*(["stale"] if topic["stale"] else []), *said]


def _change(topic: dict[str, Any]) -> list[str]:
    if topic["new"]:
        return ["new"]
    return [f"from {topic['from']}"] if topic["from"] else ["stale page"] if topic["stale"] else []


def _changes(topic: dict[str, Any]) -> bool:
    moved = topic["new"] or topic["from"] or topic["stale"] or any(note["from"] for note in topic["leaves"])
    return bool(moved) or any(map(_changes, topic["topics"]))


def _moves_alone(note: dict[str, Any], topic: dict[str, Any]) -> bool:
    """Not with the topic that it is in already."""
    return bool(note["from"]) and note["from"].rpartition("/")[0] != topic["from"]


def _fresh(tree: dict[str, Any]) -> list[Branch]:
    waiting = [(_note(note), ()) for note in tree["fresh"]]
    return [(f"_fresh  ({counted(tree['waiting'], 'note')} waiting)", waiting)] if tree["waiting"] else []


def _note(note: dict[str, Any]) -> str:
    origin = f", from {note['from'].rpartition('/')[0]}" if note.get("from") else ""
    return f"{note['title']}  ({note['date'] or 'no date'}{origin})  {note['id']}"


def _span(topic: dict[str, Any]) -> str:
    return " to ".join(dict.fromkeys(day for day in (topic["earliest"], topic["latest"]) if day))


def _forest(trees: Sequence[Branch]) -> Iterator[str]:
    for line, below in trees:
        yield line
        yield from _hanging(below)


def _hanging(branches: Sequence[Branch]) -> Iterator[str]:
    unicode = sys.stdout.encoding.lower() in {"utf-8", "utf8"}
    fork, last, bar = ("├─ ", "└─ ", "│  ") if unicode else ("|- ", "`- ", "|  ")
    for number, (line, below) in enumerate(branches, 1):
        is_last = number == len(branches)
        yield (last if is_last else fork) + line
        for each in _hanging(below):
            yield ("   " if is_last else bar) + each
