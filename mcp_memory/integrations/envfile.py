"""One variable in a file of `NAME=value` lines; every other byte stays."""

from __future__ import annotations

import re

from mcp_memory.errors import Refused


def set_variable(text: str, name: str, value: str) -> str:
    """`text` with the variable's line: replaced, else added at the end. Raises Refused where it is there twice."""
    newline = "\r\n" if "\r\n" in text else "\n"
    found = _line(text, name)
    if found:
        return f"{text[: found.start()]}{name}={value}{found['end']}{text[found.end() :]}"
    if text.strip("\ufeff") and not text.endswith("\n"):
        return f"{text}{newline}{name}={value}"  # no line end here either, by which `remove` knows it
    return f"{text}{name}={value}{newline}"


def remove(text: str, name: str) -> str:
    """`text` without the variable's line."""
    found = _line(text, name)
    if not found:
        return text
    before = text[: found.start()]
    if not found["end"]:
        before = re.sub(r"\r?\n\Z", "", before)
    return before + text[found.end() :]


def value_of(text: str, name: str) -> str | None:
    """The variable's value, None without one."""
    found = _line(text, name)
    return found["value"] if found else None


def _line(text: str, name: str) -> re.Match[str] | None:
    line = re.compile(rf"^{re.escape(name)}=(?P<value>[^\r\n]*)(?P<end>\r?\n|\Z)", re.MULTILINE)
    found = list(line.finditer(text))
    if len(found) > 1:
        raise Refused(f"{name} is set twice")
    return found[0] if found else None
