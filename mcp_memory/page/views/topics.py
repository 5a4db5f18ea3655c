"""The map of topics, and one topic: its page, its notes, and what can be done with it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any
from urllib.parse import quote

from mcp_memory.core.serializers import Payload
from mcp_memory.page.sign_in import ROOT
from mcp_memory.page.view import Action, Flash, View, Visit
from mcp_memory.text.pluralize import counted

AGES: Mapping[int, str] = {7: "this week", 31: "this month", 366: "this year"}
"""The most days since a topic's latest note → what that is called."""
OLDER = "older"
LISTED_BELOW = ("## Children", "## Related")
"""The sections of a page that list what the view lists itself."""


async def show(visit: Visit) -> Mapping[str, Any]:
    wanted = visit.query("topic")
    tree = await visit.ask("tree", notes=False, quick=True)
    today = visit.now.date()
    every = list(_walk(tree["topics"], 0, today))
    largest = max((topic["notes"] for topic in tree["topics"]), default=1)
    known: Payload = {
        "every": every,
        "tops": [_described(topic, 0, today) for topic in tree["topics"]],
        "largest": largest,
        "waiting": tree["waiting"],
        "ages": [*AGES.values(), OLDER],
        "topic": None,
    }
    return known | (await _one(visit, wanted, today) if wanted else {})


async def _one(visit: Visit, wanted: str, today: date) -> Payload:
    found = await visit.ask("tree", topic=wanted, depth=2, quick=True)
    topic = found["topic"]
    text, dropped = "", list[Payload]()
    if topic["page"]:
        text = (await visit.ask("history", target=topic["page"]))["chain"][0]["text"] or ""
        if visit.query("left"):  # it reads all notes of the topic
            pages = (await visit.ask("tree", dropped=topic["path"], quick=True))["pages"]
            dropped = [fact for page in pages for fact in page["dropped"]]
    for heading in LISTED_BELOW:
        text = text.partition(f"\n{heading}")[0]
    return {
        "topic": _described(topic, 0, today),
        "above": found["above"] and _described(found["above"], 0, today),
        "text": text.strip().removeprefix(f"# {topic['title']}"),
        "dropped": dropped,
        "looked": bool(visit.query("left")),
    }


def _walk(topics: Sequence[Payload], depth: int, today: date) -> Iterator[Payload]:
    for topic in topics:
        yield _described(topic, depth, today)
        yield from _walk(topic["topics"], depth + 1, today)


def _described(topic: Payload, depth: int, today: date) -> Payload:
    """Return the topic with its depth, its age in words, its address on the page, and the same of those below."""
    latest = date.fromisoformat(topic["latest"]) if topic["latest"] else date.min
    days = (today - latest).days
    return topic | {
        "depth": depth,
        "age": next((name for most, name in AGES.items() if days < most), OLDER),
        "at": f"{ROOT}/topics?topic={quote(topic['id'] or topic['path'])}",
        "key": topic["id"] or topic["path"],
        "topics": [_described(below, depth + 1, today) for below in topic["topics"]],
    }


@dataclass(frozen=True)
class Run(Action):
    """Files notes or changes a topic, as a run with its undo."""

    async def answer(self, visit: Visit) -> Flash:
        given = {name: value for name in self.fields if (value := visit.sent(name))}
        given |= {name: list(visit.form.get(name, ())) for name in self.lists}
        report = await visit.ask(self.operation, **given, **self.fixed)
        if report["left"]:
            return Flash(f"Not done: {'; '.join(report['left'])}", is_error=True)
        links = sum(report["links"].values())
        by_hand = f" In files of yours, {counted(links, 'link')} still lead to the old place." if links else ""
        done = report["done"]
        return Flash(f"{self.done}{by_hand}" if done else "Nothing was to do.", report["run"] if done else "")


def _edit(verb: str, done: str, *fields: str, lists: Sequence[str] = ()) -> Action:
    return Run("edit_topic", done, ("topic", *fields), lists, fixed={"verb": verb})


VIEW = View(
    "topics",
    "Topics",
    "What your memory is about: the more notes, the longer the bar; the fresher, the stronger its colour.",
    show,
    actions={
        "topic-rename": _edit("rename", "Renamed.", "name"),
        "topic-move": _edit("move", "Moved.", "into"),
        "topic-merge": _edit("merge", "Merged.", "into"),
        "topic-split": _edit("split", "Split.", "name", lists=("notes",)),
        "topics-file": Run("compact", "Filed.", fields=()),
    },
)
