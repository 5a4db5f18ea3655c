"""Fills the templates. Every value is escaped, and shown with codes for characters that hide or reorder text."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from mcp_memory.page.markdown import render
from mcp_memory.text.escape_invisible import visible
from mcp_memory.text.pluralize import counted

ID_CHARS = 6


def _shown(value: Any) -> Any:
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _exact(text: str) -> Markup:
    """Return a text for a form's field, which has to come back unchanged: with the characters that can't be seen."""
    return escape(text)


def _clock(at: str) -> str:
    """Return the hour and minute of an ISO time."""
    return at[11:16]


def _day(at: str) -> str:
    """Return the day of an ISO time in words: `Monday, 30 November`."""
    day = datetime.fromisoformat(at)
    return f"{day:%A}, {day.day} {day:%B}"


def _short(name: str | None) -> str:
    """Return the end of an id, as lists show it."""
    return (name or "").rpartition("#")[2][-ID_CHARS:]


class Templates:
    def __init__(self, **values: Any) -> None:
        """Open the templates with values that all of them have."""
        self._environment: Any = Environment(
            loader=PackageLoader("mcp_memory.page"),
            autoescape=True,
            finalize=_shown,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            auto_reload=False,
        )
        shown = {"exact": _exact, "clock": _clock, "day": _day, "short": _short, "markdown": render, "counted": counted}
        self._environment.filters.update(shown)
        self._environment.globals.update(values)

    def fill(self, name: str, values: Mapping[str, Any]) -> str:
        return self._environment.get_template(f"{name}.html").render(values)
