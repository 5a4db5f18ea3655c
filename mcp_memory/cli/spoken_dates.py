"""Callbacks of options that take dates as people write them, and pass ISO 8601 to the engine."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from mcp_memory.text.dates.spoken import Leans


def _callback(leans: Leans, _: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """Read a date in words. Raises InvalidInput."""
    if not value:
        return value
    from mcp_memory.text.dates.spoken import read_date  # slow, and most commands name no date

    found = read_date(param.opts[-1], value, leans, datetime.now().astimezone())
    return found.end if param.name == "until" else found.start


past_date, coming_date = partial(_callback, "past"), partial(_callback, "future")
"""Callbacks that read a date in words: `Friday` is the last Friday for `past_date`, the next for `coming_date`."""
