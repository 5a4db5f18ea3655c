"""JSON as people write it into configuration files, edited in place: every byte outside the edited member stays.

Of the libraries on PyPI most drop comments when they write. json-five keeps them in a model of tokens, into which the
comma, indentation and line ends of an added member would have to be put one by one: which is what most of this file is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from mcp_memory.errors import Refused
from mcp_memory.integrations.json5 import COMMENT, GAP, JsonItem, JsonNode, Key, parse


def value_of(text: str) -> Any:
    """The plain value, None for an empty text. Raises Refused."""
    node = parse(text)
    return node.value if node else None


def plain_fault(text: str) -> str | None:
    """What makes it no plain JSON, which is all that Claude Code and Codex read; None for a text that is."""
    try:
        json.loads(text.removeprefix("\ufeff") or "{}")
    except json.JSONDecodeError as error:
        return f"line {error.lineno}, column {error.colno}: {error.msg}"
    except RecursionError:
        return "it is nested too deeply"
    return None


def set_value(text: str, path: Sequence[str], value: Any) -> str:
    """`text` with `value` at `path`: replaced there, else added as the last member; missing objects are made.

    Raises Refused for a broken text, and where something that is no object stands in the way.
    """
    root = parse(text)
    if root is None:
        return _joined(text, _rendered(_nested(path, value), "", "  ", _newline(text)) + _newline(text))
    node, depth = _walk(root, path)
    if depth == len(path):
        return text[: node.start] + _pretty(text, root, node.start, value) + text[node.end :]
    if node.value is None:
        return text[: node.start] + _pretty(text, root, node.start, _nested(path[depth:], value)) + text[node.end :]
    if not isinstance(node.value, dict):
        raise Refused(f"{'.'.join(path[:depth]) or 'the document'} is no object")
    return _added(text, root, node, path[depth], _nested(path[depth + 1 :], value))


def replace(text: str, path: Sequence[Key], value: Any) -> str:
    """`text` with another value at `path`; the same text where there is nothing. Raises Refused for a broken text."""
    root = parse(text)
    node, depth = _walk(root, path) if root else (None, -1)
    if root is None or node is None or depth < len(path):
        return text
    return text[: node.start] + _pretty(text, root, node.start, value) + text[node.end :]


def append(text: str, path: Sequence[str], value: Any) -> str:
    """`text` with `value` as the last element of the list at `path`, which is made where it is missing. Raises as
    `put` does."""
    root = parse(text)
    node, depth = _walk(root, path) if root else (None, 0)
    if root is None or node is None or depth < len(path) or node.value is None:
        return set_value(text, path, [value])
    if not isinstance(node.value, list):
        raise Refused(f"{'.'.join(path)} is no list")
    return _added(text, root, node, None, value)


def remove(text: str, path: Sequence[Key], before: str | None = None) -> str:
    """`text` without what is at `path`, nor the objects and lists that this leaves empty; the document itself stays.

    `before` is an older state of the text. What was there already stays, and what was empty is as it was.
    """
    if not path:
        return text
    root = parse(text)
    node, depth = _walk(root, path[:-1]) if root else (None, -1)
    item = next((item for item in node.items if item.key == path[-1]), None) if node else None
    if node is None or item is None or depth < len(path) - 1:
        return text
    if len(node.items) > 1:
        return _cut(text, node, node.items.index(item))
    was = _at(before, path[:-1]) if before is not None else None
    inside = _inside_when_empty(text, node, item)
    if was is None and len(path) > 1 and not inside:
        return remove(text, path[:-1], before)
    if was is not None and was.value is None:
        return text[: node.start] + "null" + text[node.end :]
    if before is not None and was and was.is_container and not was.items:
        inside = before[was.start + 1 : was.end - 1]
    return text[: node.start + 1] + inside + text[node.end - 1 :]


def _at(text: str, path: Sequence[Key]) -> JsonNode | None:
    root = parse(text)
    if root is None:
        return None
    node, depth = _walk(root, path)
    return node if depth == len(path) else None


def _walk(node: JsonNode, path: Sequence[Key]) -> tuple[JsonNode, int]:
    """The deepest node on the way, and how far it is. Raises Refused where a name on the way is there twice."""
    for depth, key in enumerate(path):
        found = [item for item in node.items if item.key == key]
        if len(found) > 1:
            raise Refused(f"{key!r} occurs twice")
        if not found:
            return node, depth
        node = found[0].node
    return node, len(path)


def _nested(path: Sequence[str], value: Any) -> Any:
    for key in reversed(path):
        value = {key: value}
    return value


def _added(text: str, root: JsonNode, node: JsonNode, key: str | None, value: Any) -> str:
    """With another last item, laid out as the others are."""
    name = "" if key is None else f"{json.dumps(key, ensure_ascii=False)}: "
    newline = _newline(text)
    if not node.items:
        return _added_to_empty(text, root, node, name, value)
    last = node.items[-1]
    indent = _own_line(text, last.start)
    comma = "" if last.after else ","
    if indent is None:  # several on a line
        plain = name + json.dumps(value, ensure_ascii=False)
        at = last.after or last.node.end
        return text[:at] + comma + " " + plain + ("," if last.after else "") + text[at:]
    at = _after_comments(text, last.after or last.node.end)
    between = text[last.node.end : at]
    rendered = name + _rendered(value, indent, _unit(text, root), newline)
    tail = "," if last.after else ""
    return text[: last.node.end] + comma + between + newline + indent + rendered + tail + text[at:]


def _added_to_empty(text: str, root: JsonNode, node: JsonNode, name: str, value: Any) -> str:
    newline, unit = _newline(text), _unit(text, root)
    outer = _indent_of_line(text, node.start)
    rendered = outer + unit + name + _rendered(value, outer + unit, unit, newline)
    inside = text[node.start + 1 : node.end - 1]
    comments = inside.rstrip()
    return text[: node.start + 1] + comments + newline + rendered + newline + outer + text[node.end - 1 :]


def _inside_when_empty(text: str, node: JsonNode, item: JsonItem) -> str:
    """Only comments are kept of an object that loses its only member."""
    inside = text[node.start + 1 : item.start] + text[item.after or item.node.end : node.end - 1]
    return inside if inside.strip() else ""


def _cut(text: str, node: JsonNode, number: int) -> str:
    """Without one of several items: with the blanks before it, and one comma."""
    item = node.items[number]
    start = len(text[: item.start].rstrip())
    end = item.after or item.node.end
    rest = text[end:]
    gap = text[(node.items[number - 1].after or 0) if number else node.start + 1 : item.start]
    comments = COMMENT.findall(gap)
    if comments and comments[-1].startswith("//") and not re.match(r"[^\S\n]*\n", rest):
        start = item.start  # the comment must not swallow what follows
    if item.after is None:
        previous = node.items[number - 1]
        comma = (previous.after or 0) - 1
        return text[:comma] + text[comma + 1 : start] + rest
    return text[:start] + rest


def _pretty(text: str, root: JsonNode, at: int, value: Any) -> str:
    return _rendered(value, _indent_of_line(text, at), _unit(text, root), _newline(text))


def _rendered(value: Any, indent: str, unit: str, newline: str) -> str:
    """Over several lines, all but the first indented."""
    return json.dumps(value, ensure_ascii=False, indent=unit).replace("\n", newline + indent)


def _unit(text: str, root: JsonNode) -> str:
    """One step of indentation: how far the first member stands in."""
    indent = _own_line(text, root.items[0].start) if root.items else None
    return indent or "  "


def _own_line(text: str, at: int) -> str | None:
    """The blanks before what stands first on its line; None where something else does."""
    indent = _indent_of_line(text, at)
    line = text.rfind("\n", 0, at) + 1
    return indent if line and line + len(indent) == at else None


def _indent_of_line(text: str, at: int) -> str:
    line = text.rfind("\n", 0, at) + 1
    return text[line : len(text) - len(text[line:].lstrip(" \t"))]


def _after_comments(text: str, at: int) -> int:
    """Behind the last comment of a gap, and where it starts if there is none."""
    gap = GAP.match(text, at)
    return len(text[: gap.end()].rstrip()) if gap else at


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _joined(comments: str, document: str) -> str:
    kept = comments.rstrip()
    return f"{kept}{_newline(comments)}{document}" if kept.strip("\ufeff") else kept + document
