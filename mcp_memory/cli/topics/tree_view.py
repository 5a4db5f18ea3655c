"""Draws the topic tree as lines."""

from collections.abc import Iterator, Sequence

from mcp_memory.cli.console import Facts, is_unicode, short_id
from mcp_memory.text.pluralize import counted

Branch = tuple[str, Sequence["Branch"]]
"""A line, and the branches below it."""


def draw_tree(tree: Facts) -> list[str]:
    """Return the lines of the whole tree; no lines for an empty tree."""
    tops = [_topic(topic) for topic in tree["topics"]]
    if tree["waiting"]:
        fresh = [(_note(note), ()) for note in tree["fresh"]]
        tops.append((f"not filed yet: {counted(tree['waiting'], 'note')}", fresh))
    return [shown for line, below in tops for shown in (line, *_branches(below))]


def _topic(topic: Facts) -> Branch:
    below = [_topic(child) for child in topic["topics"]]
    notes = [(_note(note), ()) for note in topic["leaves"]]
    facts = [counted(topic["notes"], "note"), topic["days"], *_state(topic)]
    name = topic["path"].rpartition("/")[2]
    title = "" if topic["title"] == name else f"  {topic['title']}"
    return f"{name}{title}  ({', '.join(fact for fact in facts if fact)})", [*below, *notes]


def _state(topic: Facts) -> list[str]:
    facts = ["stale"] if topic["stale"] else []
    if topic["foreign"]:
        return [*facts, "made elsewhere: mcp-memory adopt"]
    return facts + (["made by you"] if not topic["ours"] else ["page edited by you"] if topic["edited"] else [])


def _note(note: Facts) -> str:
    return f"{note['title']}  ({note['date'] or 'no date'})  {short_id(note['id'])}"


def _branches(branches: Sequence[Branch]) -> Iterator[str]:
    fork, last, bar = ("├─ ", "└─ ", "│  ") if is_unicode() else ("|- ", "`- ", "|  ")
    for number, (line, below) in enumerate(branches, 1):
        is_last = number == len(branches)
        yield (last if is_last else fork) + line
        for child in _branches(below):
            yield ("   " if is_last else bar) + child
