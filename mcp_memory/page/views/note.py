"""The view of one note: its text, what it replaced, where it came from, when it was shown, and all that can be done."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from starlette.responses import RedirectResponse, Response

from mcp_memory.core.serializers import Payload
from mcp_memory.errors import McpMemoryError, PreconditionFailed
from mcp_memory.page.markdown import MOST_CHARS
from mcp_memory.page.sign_in import ROOT
from mcp_memory.page.view import Action, Flash, Instead, View, Visit
from mcp_memory.text.changed_lines import changed_lines
from mcp_memory.text.markdown import frontmatter

MOST_CHANGES, MOST_SHOWINGS, MOST_LINKS = 10, 20, 640
MOST_DIFF_CHARS = 20_000
"""The most characters of a difference that is shown unasked."""


async def show(visit: Visit) -> Mapping[str, Any] | Response:
    target = visit.query("id")
    if not target:
        return RedirectResponse(f"{ROOT}/search", 303)
    note = await visit.ask("look", target=target)
    parts = parts_of(note["text"], 0 if visit.query("edit") == "source" else note["body_start"])
    part = visit.number("part", 1, len(parts))
    start, end = parts[part - 1]
    is_forgotten, limit = note["status"] == "forgotten", visit.number("n", MOST_CHANGES, MOST_LINKS)
    asks_diffs = len(note["text"]) < MOST_DIFF_CHARS or bool(visit.query("change"))
    asked = {"target": note["id"], "limit": limit, "project": "*", "diff": asks_diffs}
    return {
        "is_merging": False,
        "note": note,
        "heading": note["title"] or first_line(note["text"]),
        "link": f"{ROOT}/note?id={quote(note['id'])}",
        "text": note["text"][start:end], "start": start, "end": end, "part": part, "parts_count": len(parts),
        "mode": visit.query("edit") or ("source" if visit.query("source") else ""),
        "locked": note["locked"] or unfit(note["text"][start:end]),
        "changes": await visit.ask("changes", **asked),
        "change": visit.query("change"), "limit": limit, "most_diff_chars": MOST_DIFF_CHARS,
        "chain": [] if is_forgotten else await _ask(visit, "history", "chain", note["id"]),
        "links": {} if note["entry"] else await visit.ask("links", target=note["id"]),
        "given": (await visit.ask("why", session="all", target=note["id"], limit=MOST_SHOWINGS))["given"],
        "use": await _use(visit, note["id"]),
        "names": await visit.ask("names"),
        "erasure": await visit.ask("erase", target=note["id"]) if visit.query("erase") else None,
    }  # fmt: skip


async def _ask(visit: Visit, operation: str, name: str, target: str) -> Any:
    """Answer an operation; empty for a note of which it knows nothing, such as an entry that has no chain."""
    with suppress(McpMemoryError):
        return (await visit.ask(operation, target=target))[name]
    return []


async def _use(visit: Visit, target: str) -> Payload | None:
    with suppress(McpMemoryError):  # a note that no index has is in use nowhere
        return await visit.ask("stats", target=target)
    return None


def first_line(text: str) -> str:
    return next((line.lstrip("#-* ") for line in text.splitlines() if line.strip("#-* ")), "Untitled")


def parts_of(text: str, start: int) -> Sequence[tuple[int, int]]:
    """Divide a text from `start` on into parts that can be shown and edited, at the ends of lines if it has some."""
    parts = list[tuple[int, int]]()
    while len(text) - start > MOST_CHARS:
        end = text.rfind("\n", start, start + MOST_CHARS) + 1
        end = end if end - start > MOST_CHARS // 2 else start + MOST_CHARS
        parts.append((start, end))
        start = end
    return [*parts, (start, len(text))]


def unfit(text: str) -> str:
    """Return why a form can't carry a text unchanged; empty if it can."""
    rest = text.replace("\r\n", "")
    is_unfit = "\r" in rest or "\0" in rest or any("\ud800" <= character <= "\udfff" for character in rest)
    return "it has bytes that a browser would change; use mcp-memory edit" if is_unfit else ""


@dataclass(frozen=True)
class Edit(Action):
    """Replaces a part of a note's text. If somebody else changed the note since, both texts are shown."""

    async def answer(self, visit: Visit) -> Flash | Instead:
        target, text = visit.sent("target"), visit.sent("text").replace("\r\n", "\n")
        try:
            start, end = int(visit.sent("start")), int(visit.sent("end"))
            now = await visit.ask("update", target=target)
            if now["etag"] != visit.sent("etag"):
                raise PreconditionFailed("Somebody else changed this note since you opened it")
            whole = now["text"][:start] + _ended_as(text, now["text"][start:end]) + now["text"][end:]
            saved = await visit.ask("update", target=target, text=whole, expected=now["etag"])
        except (McpMemoryError, ValueError) as error:
            return await _not_saved(visit, target, text, error)
        return Flash("Saved.", undo=saved["id"])


def _ended_as(text: str, before: str) -> str:
    """Return the text with the line break at its end that the part had, since more text may come after it."""
    newline = frontmatter.newline_of(before)
    return text + newline if before.endswith("\n") and not text.endswith("\n") else text


async def _not_saved(visit: Visit, target: str, mine: str, error: Exception) -> Instead:
    """Show what was sent beside the text as it is now, so that nothing that was typed is lost."""
    note: Payload = {"id": target, "title": "", "text": "", "body_start": 0, "etag": "", "locked": "it is gone"}
    with suppress(McpMemoryError):  # it was erased, or its entry has another id now
        note = await visit.ask("look", target=target)
    sent = visit.sent("start")
    start = min(int(sent), len(note["text"])) if sent.isdigit() else 0
    start = note["body_start"] if start and start <= note["body_start"] else start
    start, end = parts_of(note["text"], start)[0]
    theirs, link = note["text"][start:end], f"{ROOT}/note?id={quote(target)}"
    values = {
        "note": note, "is_merging": True, "theirs": theirs, "mine": mine, "start": start, "end": end, "link": link,
        "heading": note["title"] or first_line(mine), "diff": changed_lines(theirs, mine),
        "problem": error.message if isinstance(error, McpMemoryError) else "The form is not whole",
    }  # fmt: skip
    return Instead("note", link, values)


@dataclass(frozen=True)
class Refile(Action):
    """Changes the head of a note: its kind, its project, or whether it is private."""

    async def answer(self, visit: Visit) -> Flash | Instead:
        now = await visit.ask("update", target=visit.sent("target"))
        changes: dict[str, Any] = {name: visit.sent(name) or None for name in ("kind", "project") if name in visit.form}
        if private := visit.sent("private"):
            changes["private"] = True if private == "yes" else None
        text = frontmatter.patch(now["text"], changes)
        await visit.ask("update", target=visit.sent("target"), text=text, expected=now["etag"])
        return Flash(self.done, undo=visit.sent("target"))


@dataclass(frozen=True)
class Erase(Action):
    """Erases a note for good, and names the places where its text may still be."""

    async def answer(self, visit: Visit) -> Flash | Instead:
        answer = await visit.ask("erase", target=visit.sent("target"), sure=True)
        beyond = "; ".join(answer["beyond"])
        return Flash(f"Erased. It may still be in: {beyond}" if beyond else "Erased from every place we write to.")


VIEW = View(
    "note",
    "Note",
    "What it says, where it came from, and who got it.",
    show,
    actions={
        "note-edit": Edit("update", "Saved."),
        "note-refile": Refile("update", "Changed."),
        "note-erase": Erase("erase", "Erased."),
    },
    is_listed=False,
)
