"""JSON as people write it into configuration files, edited in place: comments, trailing commas, single quotes and bare
names (JSON5) are understood, and every byte outside the edited member stays.

No library on PyPI edits such a text in place: those that read comments drop them when they write.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

from mcp_memory.errors import Refused

Key: TypeAlias = str | int
"""A member's name, or an element's number."""

_GAP = re.compile(r"(?:[\s\ufeff]++|//[^\n\r\u2028\u2029]*+|/\*.*?\*/)*+", re.DOTALL)
_COMMENT = re.compile(r"//[^\n\r\u2028\u2029]*+|/\*.*?\*/", re.DOTALL)
_STRING = re.compile(r"\"(?:[^\"\\\n]|\\.)*+\"|'(?:[^'\\\n]|\\.)*+'", re.DOTALL)
_NAME = re.compile(r"[^\W\d][\w$]*+|\$[\w$]*+")
_NUMBER = re.compile(r"[+-]?(?:0[xX][0-9a-fA-F]++|(?:\d++\.?\d*+|\.\d++)(?:[eE][+-]?\d++)?+|Infinity|NaN)")
_WORDS: dict[str, Any] = {"true": True, "false": False, "null": None}


@dataclass(frozen=True, slots=True)
class Node:
    """A value and where it stands: `text[start:end]`. `items` are a container's members or elements, in order."""

    start: int
    end: int
    value: Any
    items: tuple[Item, ...] = ()

    @property
    def is_container(self) -> bool:
        return isinstance(self.value, (dict, list))


@dataclass(frozen=True, slots=True)
class Item:
    """A member or element: from `start`, its name's first character; `after` is the place behind its comma, if any."""

    key: Key
    start: int
    node: Node
    after: int | None


def parse(text: str) -> Node | None:
    """The document's value, None for a text of nothing but blanks and comments. Raises Refused with the line."""
    reader = _Reader(text)
    try:
        return reader.document()
    except RecursionError:
        raise Refused("it is nested too deeply") from None


def value_of(text: str) -> Any:
    """The plain value, None for an empty text. Raises Refused."""
    node = parse(text)
    return node.value if node else None


def put(text: str, path: Sequence[str], value: Any) -> str:
    """`text` with `value` at `path`: replaced there, else added as the last member; missing objects are made.

    Raises Refused for a broken text, and where something that is no object stands in the way.
    """
    root = parse(text)
    if root is None:
        return _joined(text, _rendered(_nested(path, value), "", "  ", _newline(text)) + _newline(text))
    node, depth = _walk(root, path)
    if depth == len(path):
        return text[: node.start] + _pretty(text, root, node.start, value) + text[node.end :]
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
    if root is None or node is None or depth < len(path):
        return put(text, path, [value])
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
    if before is not None and was and was.is_container and not was.items:
        inside = before[was.start + 1 : was.end - 1]
    return text[: node.start + 1] + inside + text[node.end - 1 :]


def _at(text: str, path: Sequence[Key]) -> Node | None:
    root = parse(text)
    if root is None:
        return None
    node, depth = _walk(root, path)
    return node if depth == len(path) else None


def _walk(node: Node, path: Sequence[Key]) -> tuple[Node, int]:
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


def _added(text: str, root: Node, node: Node, key: str | None, value: Any) -> str:
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


def _added_to_empty(text: str, root: Node, node: Node, name: str, value: Any) -> str:
    newline, unit = _newline(text), _unit(text, root)
    outer = _indent_of_line(text, node.start)
    rendered = outer + unit + name + _rendered(value, outer + unit, unit, newline)
    inside = text[node.start + 1 : node.end - 1]
    comments = inside.rstrip()
    return text[: node.start + 1] + comments + newline + rendered + newline + outer + text[node.end - 1 :]


def _inside_when_empty(text: str, node: Node, item: Item) -> str:
    """Only comments are kept of an object that loses its only member."""
    inside = text[node.start + 1 : item.start] + text[item.after or item.node.end : node.end - 1]
    return inside if inside.strip() else ""


def _cut(text: str, node: Node, number: int) -> str:
    """Without one of several items: with the blanks before it, and one comma."""
    item = node.items[number]
    start = len(text[: item.start].rstrip())
    end = item.after or item.node.end
    rest = text[end:]
    gap = text[(node.items[number - 1].after or 0) if number else node.start + 1 : item.start]
    comments = _COMMENT.findall(gap)
    if comments and comments[-1].startswith("//") and not re.match(r"[^\S\n]*\n", rest):
        start = item.start  # the comment must not swallow what follows
    if item.after is None:
        previous = node.items[number - 1]
        comma = (previous.after or 0) - 1
        return text[:comma] + text[comma + 1 : start] + rest
    return text[:start] + rest


def _pretty(text: str, root: Node, at: int, value: Any) -> str:
    return _rendered(value, _indent_of_line(text, at), _unit(text, root), _newline(text))


def _rendered(value: Any, indent: str, unit: str, newline: str) -> str:
    """Over several lines, all but the first indented."""
    return json.dumps(value, ensure_ascii=False, indent=unit).replace("\n", newline + indent)


def _unit(text: str, root: Node) -> str:
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
    gap = _GAP.match(text, at)
    return len(text[: gap.end()].rstrip()) if gap else at


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _joined(comments: str, document: str) -> str:
    kept = comments.rstrip()
    return f"{kept}{_newline(comments)}{document}" if kept.strip("\ufeff") else kept + document


class _Reader:
    """A recursive descent over the text; every method takes the place where it begins."""

    def __init__(self, text: str) -> None:
        self._text = text

    def document(self) -> Node | None:
        at = self._gap(0)
        if at == len(self._text):
            return None
        node = self._value(at)
        end = self._gap(node.end)
        if end < len(self._text):
            raise self._broken(end, "the end was expected")
        return node

    def _value(self, at: int) -> Node:
        first = self._text[at : at + 1]
        if first in {"{", "["}:
            return self._container(at, "}" if first == "{" else "]")
        if found := _STRING.match(self._text, at):
            return Node(at, found.end(), self._string(at, found[0]))
        if found := _NUMBER.match(self._text, at):
            return Node(at, found.end(), _number(found[0]))
        found = _NAME.match(self._text, at)
        if found and found[0] in _WORDS:
            return Node(at, found.end(), _WORDS[found[0]])
        raise self._broken(at, "a value was expected")

    def _container(self, start: int, close: str) -> Node:
        items: list[Item] = []
        at = self._gap(start + 1)
        while self._text[at : at + 1] != close:
            if items and items[-1].after is None:
                raise self._broken(at, f"',' or {close!r} was expected")
            key, value_at = self._key(at) if close == "}" else (len(items), at)
            node = self._value(value_at)
            end = self._gap(node.end)
            comma = self._text[end : end + 1] == ","
            items.append(Item(key, at, node, end + 1 if comma else None))
            at = self._gap(end + 1) if comma else end
        plain = [item.node.value for item in items]
        value: Any = dict(zip([item.key for item in items], plain, strict=True)) if close == "}" else plain
        return Node(start, at + 1, value, tuple(items))

    def _key(self, at: int) -> tuple[str, int]:
        if found := _STRING.match(self._text, at):
            key = self._string(at, found[0])
        elif found := _NAME.match(self._text, at):
            key = found[0]
        else:
            raise self._broken(at, "a name in quotes was expected")
        colon = self._gap(found.end())
        if self._text[colon : colon + 1] != ":":
            raise self._broken(colon, "':' was expected")
        return key, self._gap(colon + 1)

    def _string(self, at: int, token: str) -> str:
        if token[0] == "'":
            inner = re.sub(r'\\(.)|(")', lambda m: _escape(m[1]) if m[1] else '\\"', token[1:-1], flags=re.DOTALL)
            token = f'"{inner}"'
        else:
            token = re.sub(r"\\(.)", lambda m: _escape(m[1]), token, flags=re.DOTALL)
        try:
            return cast("str", json.loads(token, strict=False))
        except ValueError:
            raise self._broken(at, "a string has an escape that means nothing") from None

    def _gap(self, at: int) -> int:
        found = _GAP.match(self._text, at)
        return found.end() if found else at

    def _broken(self, at: int, why: str) -> Refused:
        line = self._text.count("\n", 0, at) + 1
        column = at - self._text.rfind("\n", 0, at)
        return Refused(f"line {line}, column {column}: {why}")


def _escape(character: str) -> str:
    """JSON5 has more escapes than JSON: here in JSON's own."""
    known = {"'": "'", "v": "\\u000b", "0": "\\u0000", "x": "\\u00", "\n": "", '"': '\\"'}
    return known.get(character, f"\\{character}")


def _number(token: str) -> Any:
    """JSON5 has numbers that JSON lacks; they are kept as they are written."""
    try:
        return json.loads(token)
    except ValueError:
        return ("number", token)
