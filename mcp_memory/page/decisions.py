"""Carries out decisions about what waits, and takes them back."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from mcp_memory.core.serializers import Payload
from mcp_memory.page.view import Action, Flash, Visit
from mcp_memory.text.pluralize import counted

PROPOSED = "dream-"
"""The beginning of the id of a proposal in DREAMS.md, which the next dream carries out."""
DONE = {
    "accept": "Stored.",
    "replace": "Stored in its place.",
    "merge": "Merged.",
    "drop": "Dropped; it isn't proposed again.",
    "finish": "Done.",
    "keep": "Decided. The other no longer counts.",
    "both": "Decided. Both count.",
    "archive": "Moved to _archive/.",
}


def _flash(text: str, items: Sequence[str], done: Sequence[Payload]) -> Flash:
    marked = [item for item in items if item.startswith(PROPOSED)]
    text = "Marked in DREAMS.md; the next dream does it." if len(marked) == len(items) else text
    changed = [one["id"] for one in done if one["id"] not in marked]
    return Flash(text, list(dict.fromkeys([*marked, *changed])), undo_by="take-back")


@dataclass(frozen=True)
class Decide(Action):
    """Makes the same choice for each of the `items`."""

    async def answer(self, visit: Visit) -> Flash:
        items = list(visit.form.get("items", ()))
        given = {name: value for name in self.fields if (value := visit.sent(name))}
        answer = await visit.ask(self.operation, items=items, **given)
        return _flash(DONE.get(visit.sent("choice"), self.done), items, answer["done"])


@dataclass(frozen=True)
class DecideMany(Action):
    """Makes several decisions, each given as the choice, the item, and the note that the choice names. Those about
    items of one kind that name no note are made together."""

    async def answer(self, visit: Visit) -> Flash:
        together = defaultdict[tuple[str, ...], list[str]](list)
        for decision in visit.form.get("decisions", ()):
            choice, item, note = decision.split(" ")
            kind = item.rpartition("-")[0]
            together[choice, note, kind].append(item)
        items, done = list[str](), list[Payload]()
        for (choice, note, _), same in together.items():
            answer = await visit.ask(self.operation, items=same, choice=choice, note=note or None)
            items += same
            done += answer["done"]
        return _flash(f"{counted(len(items), 'decision')} made.", items, done)


@dataclass(frozen=True)
class TakeBack(Action):
    """Undoes decisions: those about proposals in DREAMS.md by removing the mark, others as changes of notes."""

    async def answer(self, visit: Visit) -> Flash:
        targets = visit.form.get("targets", ())
        marked = [one for one in targets if one.startswith(PROPOSED)]
        changed = [one for one in targets if one not in marked]
        if marked:
            await visit.ask("review", items=marked, choice="wait")
        answer = await visit.ask(self.operation, targets=changed, sure=True) if changed else {"steps": ()}
        return self.flash(answer, visit)
