"""The view that finds notes as agents do, and shows what an agent would get with a prompt."""

from collections.abc import Mapping
from typing import Any

from mcp_memory.core.serializers import Payload
from mcp_memory.errors import McpMemoryError
from mcp_memory.page.view import View, Visit

PER_PAGE, MOST_PAGES = 20, 50
FIELDS = ("q", "kind", "project", "client", "since", "until", "state", "after")
STATES = {"": "in use", "archived": "also retired", "inbox": "also proposals", "forgotten": "forgotten"}
MOST_LEFT_OUT = 5


async def show(visit: Visit) -> Mapping[str, Any]:
    asked, is_prompt = {name: visit.query(name) for name in FIELDS}, visit.query("mode") == "prompt"
    values: dict[str, Any] = {"hits": [], "more": False, "confidence": None, "left_out": [], "preview": None}
    values |= {"notes": [], "problem": "", "page": visit.number("page", 1, MOST_PAGES)}
    try:
        if is_prompt:
            values["preview"] = await _preview(visit, asked)
        else:
            values |= await _found(visit, asked, values["page"])
    except McpMemoryError as error:
        values["problem"] = f"{error.message}{f' → {error.hint}' if error.hint else ''}"
    return {**values, "asked": asked, "names": await visit.ask("names"), "states": STATES, "is_prompt": is_prompt}


VIEW = View("search", "Search", "Find notes as your agents do, and see why they found them.", show)


async def _preview(visit: Visit, asked: Mapping[str, str]) -> Payload | None:
    if not asked["q"].strip():
        return None
    return await visit.ask("preview", prompt=asked["q"], project=asked["project"] or None, answer=asked["after"])


async def _found(visit: Visit, asked: Mapping[str, str], page: int) -> Payload:
    """Return a page of hits; without words, of the newest notes."""
    kinds = [asked["kind"]] if asked["kind"] else None
    times = {name: asked[name] or None for name in ("since", "until")}
    chosen: Payload = {"kinds": kinds, "project": asked["project"] or "*", **times}
    end, state, client = page * PER_PAGE, asked["state"], asked["client"] or None
    if state == "forgotten":
        found = (await visit.ask("forgotten", client=client, **chosen))["forgotten"]
        words = asked["q"].lower().split()
        found = [one for one in found if all(word in one["title"].lower() for word in words)]
        answer: Payload = {"hits": [{**one, "date": one["at"], "status": "forgotten"} for one in found]}
    elif asked["q"].strip():
        retired = {f"include_{state}": True} if state in {"archived", "inbox"} else {}
        answer = await visit.ask(
            "search", query=asked["q"], limit=end + 1, agent=client, explain=True, is_look=True, **retired, **chosen
        )
        shown = {hit["id"] for hit in answer["hits"]}
        others = [one for one in answer.get("left_out", ()) if one["id"] not in shown]
        answer["left_out"] = list({one["id"]: one for one in others}.values())[:MOST_LEFT_OUT]
        answer["notes"] = [answer[name] for name in ("degraded", "note") if name in answer]
    else:
        is_retired = state == "archived"
        answer = await visit.ask("list", limit=end + 1, client=client, archived=is_retired, text=True, **chosen)
        answer = {"hits": [{**one, "snippet": one["text"]} for one in answer["notes"]]}
    return {**answer, "hits": answer["hits"][end - PER_PAGE : end], "more": len(answer["hits"]) > end}
