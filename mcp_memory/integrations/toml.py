"""Adds, changes or removes one table of a TOML file; every other byte stays.

Python's own parser checks each edit. If the new text doesn't parse to the old content with that table, the edit is
refused. (tomlkit was tried: it drops comments in a table that becomes empty, adds blank lines and mixes line ends.)
"""

import copy
import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, cast

from mcp_memory.errors import Refused

Table = dict[str, Any]
"""A TOML table as plain values."""
_HEADER = re.compile(r"[ \t]*\[(\[?)([^\n]*?)\]\1?[ \t]*(?:#[^\n]*)?\r?\n?")
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_VALUE = r"""(?:"(?:\\[^\n]|[^"\\\n])*"|'[^'\n]*'|[^\n"'#])*?"""
"""A value on one line: a `#` in its strings begins no comment."""
_BARE = re.compile(r"[A-Za-z0-9_-]+")


def value_of(text: str) -> Table:
    """Parse the file; floats stay as written, so that two readings are equal. Raises Refused with the line."""
    try:
        return tomllib.loads(text.removeprefix("\ufeff"), parse_float=str)
    except tomllib.TOMLDecodeError as error:
        raise Refused(str(error)) from None
    except RecursionError:
        raise Refused("it is nested too deeply") from None


def set_table(text: str, path: Sequence[str], table: Mapping[str, Any]) -> str:
    """Put `table` at `path`; other keys of an existing table stay. Raises Refused for a broken file, and if the path to
    the table is written in a form that can't be added to."""
    before = value_of(text)
    found = _table(before, path)
    if found is None:
        new = _appended(text, path, table)
    else:
        new = text
        for key, value in table.items():
            if found.get(key) != value:
                new = _with_key(new, path, key, value, is_new=key not in found)
    added = ", ".join(line_of(key, value) for key, value in table.items())
    is_new = found is None  # otherwise the name would appear twice
    by_hand = f"{_dotted(path[-1:])} = {{ {added} }}" if is_new else added
    where = ".".join(path[:-1] if is_new else path) or "the file"
    return _checked(new, _merged(before, path, table), f"put into {where} by hand, then try again: {by_hand}")


def remove(text: str, path: Sequence[str], before: str | None = None) -> str:  # noqa: ARG001 -- a table is whole
    """Remove the table at `path` and those below it. Raises Refused as `set_table`."""
    old = value_of(text)
    if _table(old, path) is None:
        return text
    new = text
    for start, end in reversed(_spans(text, path)):
        new = _without(new, start, end)
    expected = copy.deepcopy(old)
    _table(expected, path[:-1], expected).pop(path[-1])
    found = value_of(new)
    for depth in range(len(path) - 1, 0, -1):  # a table that only led to this one is gone, too
        if _table(found, path[:depth]) is None and not _table(expected, path[:depth], {}):
            _table(expected, path[: depth - 1], expected).pop(path[depth - 1], None)
    return _checked(new, expected, f"take {_dotted(path[-1:])} out of {'.'.join(path[:-1])} by hand, then try again")


def _table(tree: Table, path: Sequence[str], default: Any = None) -> Any:
    found: Any = tree
    for key in path:
        if not isinstance(found, dict):
            raise Refused(f"{'.'.join(path)} is not a table")
        if key not in found:
            return default
        found = cast("Table", found)[key]
    if not isinstance(found, dict):
        raise Refused(f"{'.'.join(path)} is not a table")
    return cast("Table", found)


def _appended(text: str, path: Sequence[str], table: Mapping[str, Any]) -> str:
    newline = _newline(text)
    lines = [f"[{_dotted(path)}]", *(line_of(key, value) for key, value in table.items())]
    before = newline if text.strip("\ufeff") else ""  # exactly the text that `_without` removes again
    return text + before + newline.join(lines) + newline


def _with_key(text: str, path: Sequence[str], key: str, value: Any, *, is_new: bool) -> str:
    spans = _spans(text, path)
    if not spans:
        return text  # written in another form, so `_checked` refuses
    start, end = spans[0]
    body = text[start:end]
    line = re.compile(rf"^([ \t]*){re.escape(key)}[ \t]*={_VALUE}([ \t]*(?:#[^\n]*?)?(?:\r?\n|\Z))", re.MULTILINE)
    if is_new:
        head = text.find("\n", start) + 1 or len(text)
        return text[:head] + line_of(key, value) + _newline(text) + text[head:]
    return text[:start] + line.sub(lambda m: f"{m[1]}{line_of(key, value)}{m[2]}", body, count=1) + text[end:]


def _spans(text: str, path: Sequence[str]) -> list[tuple[int, int]]:
    """Return the spans of the table and those below it, each from its header to its last line with content."""
    spans: list[tuple[int, int]] = []
    begun: int | None = None
    end = at = 0
    for line in _LINE.findall(text):
        keys = _header(line)
        if keys is not None:
            if begun is not None:
                spans.append((begun, end))
            begun = at if keys[: len(path)] == list(path) else None
        at += len(line)
        if line.strip() and not line.lstrip().startswith("#"):
            end = at
    return [*spans, (begun, end)] if begun is not None else spans


def _header(line: str) -> list[str] | None:
    """Return the names in a table's header; None for any other line."""
    found = _HEADER.fullmatch(line)
    if not found:
        return None
    try:
        tree = tomllib.loads(f"[{found[2]}]")
    except tomllib.TOMLDecodeError:
        return None
    keys: list[str] = []
    while tree:
        key, tree = next(iter(tree.items()))
        keys.append(key)
    return keys


def _without(text: str, start: int, end: int) -> str:
    """Remove these lines, and the line end that `_appended` put before them."""
    newline = _newline(text)
    if text[:start].endswith(newline if end == len(text) else newline * 2):
        start -= len(newline)
    return text[:start] + text[end:]


def _merged(before: Table, path: Sequence[str], table: Mapping[str, Any]) -> Table:
    merged = copy.deepcopy(before)
    at = merged
    for key in path:
        at = at.setdefault(key, {})
    at.update(table)
    return merged


def _checked(text: str, expected: Table, by_hand: str) -> str:
    with suppress(Refused):
        if value_of(text) == expected:
            return text
    raise Refused("its tables are written in a form that cannot be added to", hint=by_hand)


def _dotted(path: Sequence[str]) -> str:
    return ".".join(key if _BARE.fullmatch(key) else json.dumps(key) for key in path)


def line_of(key: str, value: Any) -> str:
    """Return a line of TOML. Its basic strings have JSON's escapes, and one character more must be escaped."""
    escaped = json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return f"{key} = {escaped}"


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"
