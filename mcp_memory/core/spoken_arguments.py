"""Turns the dates of a request that are written in words into ISO 8601."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any, TypeVar, cast

from mcp_memory.core.core import Core
from mcp_memory.runtime.threads import in_thread
from mcp_memory.text.dates.spoken import Leans, is_iso, read_date

R = TypeVar("R")

_LEANS: Mapping[str, Leans] = {"since": "past", "until": "past", "expires": "future", "due": "future"}
READ_S = 10.0


async def with_iso_dates(core: Core, request: R) -> R:
    """The request with its dates in ISO 8601, seen from now in the vault's zone. Raises InvalidInput."""
    given: dict[str, Any] = {name: getattr(request, name, None) for name in _LEANS}
    spoken = {name: text for name, text in given.items() if isinstance(text, str) and text.strip() and not is_iso(text)}
    if not spoken:
        return request
    read = partial(_in_iso, spoken, core.clock().astimezone(core.vault.layout.tz))
    iso = await in_thread(read, deadline_s=READ_S, what="reading a date")
    return cast("R", replace(cast("Any", request), **iso))


def _in_iso(spoken: Mapping[str, str], now: datetime) -> dict[str, str]:
    """Read each argument. `until` a day includes that day, and a note that expires today does so at its end."""
    found: dict[str, str] = {}
    for name, text in spoken.items():
        date = read_date(name, text, _LEANS[name], now)
        is_over = name == "until" or (name == "expires" and date.start == now.date().isoformat())
        found[name] = date.end if is_over else date.start
    return found
