"""Edits JSON with comments in place: every byte outside the edited member stays.

Most libraries on PyPI drop comments when they write. json-five keeps comments as tokens. But with it, an added member's
comma, indentation and line ends would have to be placed one by one, which is the bulk of this file.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from mcp_memory.errors import Refused
from mcp_memory.integrations.json5 import COMMENT, GAP, JsonNode, Key, parse
from mcp_memory.text.parsed_values import value_at

_TOKEN = re.compile(rf'"(?:[^"\\\n]|\\.)*"|{COMMENT.pattern}', re.DOTALL)
"""A comment, or a string, which may contain text that looks like a comment."""


def value_of(text: str) -> Any:
    """Return the plain value, None for an empty text. Raises Refused."""
    node = parse(text)
    return node.value if node else None


def plain_fault(text: str) -> str | None:
    """Explain why the text isn't plain JSON, the only form that Claude Code and Codex read; None if it is."""
    try:
        json.loads(text.removeprefix("\ufeff") or "{}")
    except json.JSONDecodeError as error:
        return f"line {error.lineno}, column {error.colno}: {error.msg}"
    except RecursionError:
        return "it is nested too deeply"
    return None


def without_comments(text: str) -> str:
    """Return the text with blanks for the comments, so that positions stay."""
    return _TOKEN.sub(lambda found: found[0] if found[0].startswith('"') else re.sub(r"[^\n]", " ", found[0]), text)


def set_value(text: str, path: Sequence[Key], value: Any) -> str:
    """Replace the value at `path`, or add it as the last member, making missing objects. Raises Refused for a broken
    text, and if a value on the path isn't an object."""
    root = parse(text)
    if root is None:
        return _joined(text, _rendered(_nested(path, value), "", "  ", _newline(text)) + _newline(text))
    node, depth = _walk(root, path)
    if depth == len(path):
        return text[: node.start] + _pretty(text, root, node.start, value) + text[node.end :]
    if node.value is None:
        return text[: node.start] + _pretty(text, root, node.start, _nested(path[depth:], value)) + text[node.end :]
    if not isinstance(node.value, dict):
        raise Refused(f"{'.'.join(map(str, path[:depth])) or 'the document'} is not an object")
    return _added(text, root, node, str(path[depth]), _nested(path[depth + 1 :], value))


def set_table(text: str, path: Sequence[str], table: Mapping[str, Any]) -> str:
    """Put `table` at `path`; other keys of an existing table stay. Raises as `set_value`."""
    there = value_at(value_of(text), *path)
    if there is None:
        return set_value(text, path, dict(table))
    for key, value in table.items():
        if value_at(there, key) != value:
            text = set_value(text, (*path, key), value)
    return text


def append(text: str, path: Sequence[str], value: Any) -> str:
    """Append an element to the list at `path`; a missing list is made. Raises as `set_value`."""
    root = parse(text)
    node, depth = _walk(root, path) if root else (None, 0)
    if root is None or node is None or depth < len(path) or node.value is None:
        return set_value(text, path, [value])
    if not isinstance(node.value, list):
        raise Refused(f"{'.'.join(path)} is not a list")
    return _added(text, root, node, None, value)


def remove(text: str, path: Sequence[Key], before: str | None = None) -> str:
    """Remove the value at `path`, and the objects and lists that this leaves empty, but not the document itself.

    `before` is an older state of the text. Containers that `before` has are kept, and containers that are empty there
    look the same again.
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
    inside = text[node.start + 1 : item.start] + text[item.after or item.node.end : node.end - 1]
    inside = inside if inside.strip() else ""  # only the comments of an object that loses its only member
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
    """Return the deepest node on the path and its depth. Raises Refused if a name on the path occurs twice."""
    for depth, key in enumerate(path):
        found = [item for item in node.items if item.key == key]
        if len(found) > 1:
            raise Refused(f"{key!r} occurs twice")
        if not found:
            return node, depth
        node = found[0].node
    return node, len(path)


def _nested(path: Sequence[Key], value: Any) -> Any:
    for key in reversed(path):
        value = {key: value}
    return value


def _added(text: str, root: JsonNode, node: JsonNode, key: str | None, value: Any) -> str:
    """Add a last item, laid out like the others."""
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
    at = last.after or last.node.end
    if gap := GAP.match(text, at):
        at = len(text[: gap.end()].rstrip())  # the end of the last comment
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


def _cut(text: str, node: JsonNode, number: int) -> str:
    """Remove one of several items, the blanks before it, and a comma."""
    item = node.items[number]
    start = len(text[: item.start].rstrip())
    end = item.after or item.node.end
    rest = text[end:]
    gap = text[(node.items[number - 1].after or 0) if number else node.start + 1 : item.start]
    comments = COMMENT.findall(gap)
    if comments and comments[-1].startswith("//") and not re.match(r"[^\S\n]*\n", rest):
        start = item.start  # the comment must not swallow the following text
    if item.after is None:
        previous = node.items[number - 1]
        comma = (previous.after or 0) - 1
        return text[:comma] + text[comma + 1 : start] + rest
    return text[:start] + rest


def _pretty(text: str, root: JsonNode, at: int, value: Any) -> str:
    return _rendered(value, _indent_of_line(text, at), _unit(text, root), _newline(text))


def _rendered(value: Any, indent: str, unit: str, newline: str) -> str:
    """Render a value over several lines, all but the first indented."""
    return json.dumps(value, ensure_ascii=False, indent=unit).replace("\n", newline + indent)


def _unit(text: str, root: JsonNode) -> str:
    """Return a step of indentation, taken from the first member."""
    indent = _own_line(text, root.items[0].start) if root.items else None
    return indent or "  "


def _own_line(text: str, at: int) -> str | None:
    """Return the blanks before the first character on a line; None if `at` isn't the first."""
    indent = _indent_of_line(text, at)
    line = text.rfind("\n", 0, at) + 1
    return indent if line and line + len(indent) == at else None


def _indent_of_line(text: str, at: int) -> str:
    line = text.rfind("\n", 0, at) + 1
    return text[line : len(text) - len(text[line:].lstrip(" \t"))]


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _joined(comments: str, document: str) -> str:
    kept = comments.rstrip()
    return f"{kept}{_newline(comments)}{document}" if kept.strip("\ufeff") else kept + document
