"""Adds or removes one table of a YAML file; every other byte stays.

PyYAML says where each value stands, and checks each edit: unless it reads what it read before plus the table, the edit
is refused. (Libraries that write YAML back, such as ruamel.yaml, change indentation and quotes elsewhere.)
"""

import json
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, cast

import yaml

from mcp_memory.errors import Refused
from mcp_memory.text.parsed_values import list_at, table_at, value_at

_yaml: Any = yaml  # without types
_PLAIN = re.compile(r"[A-Za-z_][\w-]*")


def value_of(text: str) -> Any:
    """Returns the plain value, None for an empty text. Raises Refused with the line."""
    return _parsed(_yaml.safe_load, text)


def tables_in(value: Any, key: str) -> dict[str, Any]:
    """Returns the tables at `key` by name: of a mapping, or of a list of mappings that have a `name`."""
    listed = {str(value_at(item, "name")): item for item in list_at(value, key) if table_at(item)}
    return listed or table_at(value, key)


def set_table(text: str, key: str, name: str, table: Mapping[str, Any], *, as_list: bool) -> str:
    """Puts `table` last into the mapping at `key`, or into the list there; of one that is there, other values stay.
    Raises Refused for a broken file, and for a form that can't be added to."""
    there = tables_in(value_of(text), key).get(name)
    if isinstance(there, dict):
        table = {**cast("dict[str, Any]", there), **table}
        if table == there:
            return text
        text = remove(text, key, name, f"{key}:")
    root: Any = value_of(text)
    item = {"name": name, **table} if as_list else dict(table)
    written = json.dumps(item, ensure_ascii=False)
    by_hand = f"add under {key} by hand, then try again: {written if as_list else f'{name}: {written}'}"
    empty: Any = [] if as_list else {}
    value: Any = (cast("dict[str, Any]", root or {}).get(key) or empty) if isinstance(root or {}, dict) else None
    if not isinstance(value, type(empty)):
        raise Refused(f"{key} is not a {'list' if as_list else 'mapping'}", hint=by_hand)
    expected: dict[str, Any] = {
        **(root or {}),
        key: [*value, item] if as_list else {**cast("dict[str, Any]", value), name: item},
    }
    return _checked(_added(text, key, name, item, as_list=as_list), expected, by_hand)


def remove(text: str, key: str, name: str, before: str | None) -> str:
    """Removes the table, and `key` too if that leaves nothing there; but not if `before`, an older state, has it."""
    root: Any = value_of(text)
    if name not in (tables := tables_in(root, key)):
        return text
    pair, is_list = _pair(_root(text), key), isinstance(root[key], list)
    left: Any = [item for item in root[key] if item is not tables[name]]
    left = left if is_list else {other: table for other, table in tables.items() if other != name}
    expected, old = {**root, key: left}, value_of(before or "")
    item = next(item for item in pair[1].value if _name(item) == name)
    start = (item if is_list else item[0]).start_mark.index
    new = _without_lines(text, text.rindex("-", 0, start) if is_list else start, _end(item))
    if not left and isinstance(old, dict) and key in old:
        colon = text.index(":", pair[0].end_mark.index) + 1
        new = new[:colon] + (" []" if is_list else " {}") + new[colon:]
    elif not left:
        del expected[key]
        new = _without_lines(text, pair[0].start_mark.index, _end(pair[1]))
    return _checked(new, expected or None, "remove it by hand")


def _added(text: str, key: str, name: str, item: Mapping[str, Any], *, as_list: bool) -> str:
    newline, indent = "\r\n" if "\r\n" in text else "\n", "  "
    fields = [f"{_plain(field)}: {json.dumps(value, ensure_ascii=False)}" for field, value in item.items()]
    root = _root(text)
    _, value = _pair(root, key) if root and any(_name(pair) == key for pair in root.value) else (None, None)
    if value is None:
        at, lines = len(text), [f"{key}:"]
    elif value.id != "scalar" and value.value:  # in brackets: refused, because it will not read as expected
        at, lines, indent = _line_end(text, _end(value)), [], " " * value.start_mark.column
    else:  # nothing, null or empty brackets
        text = text[: value.start_mark.index].rstrip(" ") + text[value.end_mark.index :] if value.value != "" else text
        at, lines = _line_end(text, _pair(_root(text), key)[0].end_mark.index), []
    if as_list:
        lines += [f"{indent}- {fields[0]}", *(f"{indent}  {field}" for field in fields[1:])]
    else:
        lines += [f"{indent}{_plain(name)}:", *(f"{indent}  {field}" for field in fields)]
    head = text[:at] + (newline if at and not text[:at].endswith("\n") else "")
    return head + newline.join([*lines, ""]) + text[at:]


def _root(text: str) -> Any:
    return _parsed(lambda each: _yaml.compose(each, Loader=yaml.SafeLoader), text)


def _pair(root: Any, key: str) -> tuple[Any, Any]:
    return next(pair for pair in root.value if _name(pair) == key)


def _name(item: Any) -> str | None:
    """The key of a pair, or the `name` of a mapping in a list."""
    if isinstance(item, tuple):
        return cast("Any", item)[0].value
    return (
        next((value.value for key, value in item.value if key.value == "name"), None) if item.id == "mapping" else None
    )


def _end(node: Any) -> int:
    """Where the value's own text ends: a block's mark stands after the blanks and comments that follow it."""
    while isinstance(node, tuple) or (node.id != "scalar" and not node.flow_style and node.value):
        node = cast("Any", node)[1] if isinstance(node, tuple) else node.value[-1]
    return node.end_mark.index


def _line_end(text: str, at: int) -> int:
    if text[at - 1] == "\n":
        return at  # a block of lines ends after its last line
    return text.find("\n", at) + 1 or len(text)


def _without_lines(text: str, start: int, end: int) -> str:
    return text[: text.rfind("\n", 0, start) + 1] + text[_line_end(text, end) :]


def _plain(key: str) -> str:
    return key if _PLAIN.fullmatch(key) else json.dumps(key, ensure_ascii=False)


def _checked(new: str, expected: Any, by_hand: str) -> str:
    with suppress(Refused):
        if value_of(new) == expected:
            return new
    raise Refused("it is written in a form that can't be edited safely", hint=by_hand)


def _parsed(parse: Callable[[str], Any], text: str) -> Any:
    try:
        return parse(text)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f" (line {mark.line + 1}, column {mark.column + 1})" if mark else ""
        what = " ".join(filter(None, (getattr(error, "context", ""), getattr(error, "problem", ""))))
        raise Refused(f"{what or 'it cannot be read'}{where}") from None
