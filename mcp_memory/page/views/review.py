"""Shows the items that wait for a decision beside the notes nearby, and decides about many at once."""

import re
from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any

from mcp_memory.comparison.subject import by_subject
from mcp_memory.core.serializers import Payload
from mcp_memory.page.view import Action, View, Visit

KINDS: Mapping[str, tuple[str, Sequence[str]]] = {
    "": ("All decisions", ("conflict", "double", "candidate", "proposal")),
    "conflict": ("Contradictions", ("conflict",)),
    "double": ("Said twice", ("double",)),
    "candidate": ("Proposed notes", ("candidate",)),
    "proposal": ("From dreams", ("proposal",)),
    "archive": ("Outdated", ("archive",)),
    "stored": ("Stored unseen", ("stored",)),
}
"""The value in the URL → the tab's title, and the kinds of items in it."""
MOST, MOST_ON_ONE_PAGE = 10, 640
MOST_COMPARED = 4_000
"""The most characters of a text of which the words that differ are marked."""
LEAST_ALIKE = 0.3
"""The share of common words from which it helps to mark the others."""
_WORD = re.compile(r"\w+|\W+")


async def show(visit: Visit) -> Mapping[str, Any] | Any:
    kind = visit.query("kind") if visit.query("kind") in KINDS else ""
    limit = visit.number("n", MOST, MOST_ON_ONE_PAGE)
    found = await visit.ask("waiting", only=[*KINDS[kind][1]], limit=limit, near=True)
    items = list(map(_compared, found["waiting"]))
    groups = [list(map(items.__getitem__, group)) for group in by_subject(list(map(_words_of, items)))]
    chosen = visit.request.query_params.getlist("items")
    choice = visit.query("choice")
    counts = [sum(one["what"] == what for one in items) for what in KINDS[kind][1]]
    return {
        "kinds": KINDS,
        "kind": kind,
        "groups": groups,
        "problems": found["problems"],
        "many": _choices_of_many(items),
        "all": bool(visit.query("all")),
        "preview": choice and _preview(items, choice, chosen),
        "more": min(limit * 4, MOST_ON_ONE_PAGE) if max(counts) >= limit < MOST_ON_ONE_PAGE else 0,
        "limit": limit,
    }


def _words_of(item: Payload) -> str:
    return " ".join([item["text"], *(note.get("text") or note["title"] for note in item["notes"])])


def _choices_of_many(items: Sequence[Payload]) -> Mapping[str, str]:
    """Return the choices that need no answer, each with the words for a button."""
    found = [choice for item in items for choice in item["choices"] if not choice["asks"]]
    return {choice["label"]: _plain(choice["label"]) for choice in found}


def _preview(items: Sequence[Payload], label: str, chosen: Sequence[str]) -> Mapping[str, Any]:
    """Return what a choice means for each of the chosen items, and the items that don't have it."""
    wanted = [item for item in items if item["id"] in chosen]
    found = [(item, choice) for item in wanted for choice in item["choices"] if choice["label"] == label]
    able = [item["id"] for item, _ in found]
    return {
        "label": _plain(label),
        "found": found,
        "left": [item for item in wanted if item["id"] not in able],
        "gone": len(chosen) - len(wanted),
        "decisions": [f"{choice['name']} {item['id']} {choice['note'] or ''}" for item, choice in found],
    }


def _plain(label: str) -> str:
    """Return a choice's label without the brackets around its key."""
    return label.replace("[", "").replace("]", "").capitalize()


def _compared(item: Payload) -> Payload:
    """Return the item with the texts of its notes in pieces, each with whether the first text has it."""
    first = next((note.get("text", "") for note in item["notes"]), "") if item["what"] in {"conflict", "double"} else ""
    sides = [note | {"pieces": _pieces(note.get("text") or note["title"], first)} for note in item["notes"]]
    if len(sides) > 1:
        sides[0]["pieces"] = _pieces(first, sides[1].get("text", ""))
    return item | {"notes": sides}


def _pieces(text: str, other: str) -> list[tuple[str, bool]]:
    """Return the text in pieces, each with whether the other text lacks it."""
    words, others = _WORD.findall(text), _WORD.findall(other)
    matcher = SequenceMatcher(None, others, words, autojunk=False)
    if not other or len(text) + len(other) > MOST_COMPARED or matcher.ratio() < LEAST_ALIKE:
        return [(text, False)]
    return [
        ("".join(words[start:end]), tag != "equal") for tag, _, _, start, end in matcher.get_opcodes() if start < end
    ]


VIEW = View(
    "review",
    "Review",
    "Contradictions to settle and proposals to accept or drop. Each decision can be undone.",
    show,
    actions={"dream": Action("dream", "Dreamed: what was marked in DREAMS.md is done.", fields=())},
)
