"""Shows what each session of an agent was given unasked, when, at what cost, and what it did next."""

from collections.abc import Mapping, Sequence
from typing import Any

from mcp_memory.core.serializers import Payload
from mcp_memory.page.view import View, Visit

MOST_SESSIONS, MOST_STEPS, MOST_ON_ONE_PAGE = 30, 40, 640
MOMENTS = {
    "session-start": "Start",
    "prompt": "Prompt",
    "before-tool": "Before a command",
    "after-tool": "After an error",
}
MARKS = {"edited": "changed it", "superseded": "replaced it", "forgotten": "forgot it", "archived": "archived it"}
"""A change of a note that was shown → what the session did with it."""


async def show(visit: Visit) -> Mapping[str, Any]:
    limit = visit.number("n", MOST_STEPS, MOST_ON_ONE_PAGE)
    sessions = (await visit.ask("shown", limit=MOST_SESSIONS))["sessions"]
    chosen = visit.query("session") or (sessions[0]["session"] if sessions else "")
    given, changes, further = list[Payload](), list[Payload](), False
    if chosen:
        given = (await visit.ask("why", session=chosen, limit=limit + 1))["given"]
        client, _, name = chosen.rpartition("/")
        answer = await visit.ask("changes", session=name, client=client or None, limit=limit, project="*")
        changes, further = answer["changes"], len(given) > limit or answer["further"]
    done = {one["target"]: MARKS[one["kind"]] for one in reversed(changes) if one["kind"] in MARKS}
    known = {one["session"]: one for one in sessions}
    return {
        "sessions": sessions,
        "chosen": chosen,
        "session": known.get(chosen),
        "days": _by_day(_steps(given[:limit], changes)),
        "moments": MOMENTS,
        "done": done,
        "more": min(limit * 4, MOST_ON_ONE_PAGE) if further and limit < MOST_ON_ONE_PAGE else 0,
        "most_tokens": max((one["tokens"] for one in sessions), default=0) or 1,
        "notes": sum(one["notes"] for one in sessions),
        "used": sum(one["used"] for one in sessions),
    }


def _steps(given: Sequence[Payload], changes: Sequence[Payload]) -> list[Payload]:
    """Return what was given and what was changed, the latest first."""
    steps = [{"given": one, "at": one["at"]} for one in given] + [{"change": one, "at": one["at"]} for one in changes]
    return sorted(steps, key=lambda one: one["at"], reverse=True)


def _by_day(steps: Sequence[Payload]) -> Mapping[str, list[Payload]]:
    days = dict[str, list[Payload]]()
    for one in steps:
        days.setdefault(one["at"][:10], []).append(one)
    return days


VIEW = View("shown", "Shown", "What agents were given without asking, and what they did next.", show)
