"""Shows notes that may be noise, to archive, merge or forget many at once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mcp_memory.core.serializers import Payload
from mcp_memory.errors import McpMemoryError
from mcp_memory.page.view import Action, Flash, View, Visit
from mcp_memory.text.pluralize import counted

DOUBLE = "double"
KINDS: Mapping[str, tuple[str, str]] = {
    DOUBLE: ("Said twice", "Merging keeps the fuller note, and the others no longer count."),
    "fragment": ("Fragments", "Short notes that say nothing whole."),
    "unused": ("Never used", "Older than 90 days, and no agent has used them in the last 90 days."),
    "expired": ("Expired", "No agent gets them any more."),
    "imported": ("One import", "All that one import brought."),
    "session": ("One session", "All that one session stored."),
}
"""The value in the URL → the tab's title, and what is in it."""
MOST, MOST_ON_ONE_PAGE = 40, 640
DOINGS = {"forget": "Forget", "archive": "Archive", "merge": "Merge"}


async def show(visit: Visit) -> Mapping[str, Any]:
    kind = visit.query("kind") if visit.query("kind") in KINDS else next(iter(KINDS))
    name, limit = visit.query("name"), visit.number("n", MOST, MOST_ON_ONE_PAGE)
    if kind == DOUBLE:
        waiting = (await visit.ask("waiting", only=[DOUBLE], limit=limit))["waiting"]
        found: Payload = {"notes": waiting, "groups": [], "further": len(waiting) >= limit}
    else:
        found = await visit.ask("noise", what=kind, name=name or None, limit=limit)
    doing = visit.query("do") if visit.query("do") in DOINGS else ""
    chosen = set(visit.request.query_params.getlist("items"))
    picked = [one for one in found["notes"] if one["id"] in chosen]
    return {
        "kinds": KINDS,
        "kind": kind,
        "name": name,
        "limit": limit,
        "notes": found["notes"],
        "groups": found["groups"],
        "all": bool(visit.query("all")),
        "doings": ("merge",) if kind == DOUBLE else ("archive", "forget"),
        "doing": doing,
        "verb": DOINGS.get(doing, ""),
        "picked": picked,
        "gone": len(chosen) - len(picked),
        "decisions": _merges(picked) if doing == "merge" else [],
        "more": min(limit * 4, MOST_ON_ONE_PAGE) if found["further"] and limit < MOST_ON_ONE_PAGE else 0,
    }


def _merges(items: Sequence[Payload]) -> list[str]:
    """Return for each pair or group of doubles the decision that keeps its first note."""
    return [f"keep {one['id']} {one['notes'][0]['id']}" for one in items]


@dataclass(frozen=True)
class ForEach(Action):
    """Does its operation for each of the `items`. One that fails doesn't stop the others. Undone as one."""

    async def answer(self, visit: Visit) -> Flash:
        done, left = list[str](), list[str]()
        for target in visit.form.get("items", ()):
            try:
                await visit.ask(self.operation, target=target, **self.fixed)
                done.append(target)
            except McpMemoryError as error:
                left.append(error.message)
        text = f"{counted(len(done), 'note')} {self.done}."
        if left:
            text += f" {counted(len(left), 'note')} had to stay: {'; '.join(dict.fromkeys(left))}"
        return Flash(text, done, is_error=not done)


VIEW = View(
    "noise",
    "Noise",
    "Notes that may not be worth keeping. Choose many, look at what would go, and undo it as one.",
    show,
    actions={
        "forget-many": ForEach("forget", "forgotten"),
        "archive-many": ForEach("forget", "archived", fixed={"archive": True}),
    },
)
