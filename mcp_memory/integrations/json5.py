"""Parses JSON5 (comments, trailing commas, single quotes, bare names) with the position of each value."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias, cast

from mcp_memory.errors import Refused

Key: TypeAlias = str | int
"""A member's name, or an element's number."""

GAP = re.compile(r"(?:[\s\ufeff]+|//[^\n\r\u2028\u2029]*|/\*.*?\*/)*", re.DOTALL)
COMMENT = re.compile(r"//[^\n\r\u2028\u2029]*|/\*.*?\*/", re.DOTALL)
_STRING = re.compile(r"\"[^\"\\\n]*(?:\\.[^\"\\\n]*)*\"|'[^'\\\n]*(?:\\.[^'\\\n]*)*'", re.DOTALL)
_NAME = re.compile(r"[^\W\d][\w$]*|\$[\w$]*")
_NUMBER = re.compile(r"[+-]?(?:0[xX][0-9a-fA-F]+|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|Infinity|NaN)")
_WORDS: dict[str, Any] = {"true": True, "false": False, "null": None}


class JsonNode(NamedTuple):
    """A value and its position: `text[start:end]`. `items` are a container's members or elements, in order."""

    start: int
    end: int
    value: Any
    items: tuple[JsonItem, ...] = ()

    @property
    def is_container(self) -> bool:
        return isinstance(self.value, (dict, list))


class JsonItem(NamedTuple):
    """A member or element. `start` is the position of its first character, or of its name. `after` is the position
    behind its comma, None without a comma."""

    key: Key
    start: int
    node: JsonNode
    after: int | None


def parse(text: str) -> JsonNode | None:
    """Return the document's value, None if it has only blanks and comments. Raises Refused with the line."""
    try:
        return _Reader(text).document()
    except RecursionError:
        raise Refused("it is nested too deeply") from None


@dataclass(frozen=True)
class _Reader:
    """A recursive descent parser; each method takes a start position."""

    text: str

    def document(self) -> JsonNode | None:
        at = self._gap(0)
        if at == len(self.text):
            return None
        node = self._value(at)
        end = self._gap(node.end)
        if end < len(self.text):
            raise self._broken(end, "the end was expected")
        return node

    def _value(self, at: int) -> JsonNode:
        first = self.text[at : at + 1]
        if first in {"{", "["}:
            return self._container(at, "}" if first == "{" else "]")
        if found := _STRING.match(self.text, at):
            return JsonNode(at, found.end(), self._string(at, found[0]))
        if found := _NUMBER.match(self.text, at):
            return JsonNode(at, found.end(), _number(found[0]))
        found = _NAME.match(self.text, at)
        if found and found[0] in _WORDS:
            return JsonNode(at, found.end(), _WORDS[found[0]])
        raise self._broken(at, "a value was expected")

    def _container(self, start: int, close: str) -> JsonNode:
        items: list[JsonItem] = []
        at = self._gap(start + 1)
        while self.text[at : at + 1] != close:
            if items and items[-1].after is None:
                raise self._broken(at, f"',' or {close!r} was expected")
            key, value_at = self._key(at) if close == "}" else (len(items), at)
            node = self._value(value_at)
            end = self._gap(node.end)
            comma = self.text[end : end + 1] == ","
            items.append(JsonItem(key, at, node, end + 1 if comma else None))
            at = self._gap(end + 1) if comma else end
        plain = [item.node.value for item in items]
        value: Any = dict(zip([item.key for item in items], plain, strict=True)) if close == "}" else plain
        return JsonNode(start, at + 1, value, tuple(items))

    def _key(self, at: int) -> tuple[str, int]:
        if found := _STRING.match(self.text, at):
            key = self._string(at, found[0])
        elif found := _NAME.match(self.text, at):
            key = found[0]
        else:
            raise self._broken(at, "a name in quotes was expected")
        colon = self._gap(found.end())
        if self.text[colon : colon + 1] != ":":
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
        found = GAP.match(self.text, at)
        return found.end() if found else at

    def _broken(self, at: int, why: str) -> Refused:
        line = self.text.count("\n", 0, at) + 1
        column = at - self.text.rfind("\n", 0, at)
        return Refused(f"line {line}, column {column}: {why}")


def _escape(character: str) -> str:
    """Translate an escape of JSON5 into JSON's."""
    known = {"'": "'", "v": "\\u000b", "0": "\\u0000", "x": "\\u00", "\n": "", '"': '\\"'}
    return known.get(character, f"\\{character}")


def _number(token: str) -> Any:
    """Return a number; a number that JSON lacks stays as written."""
    try:
        return json.loads(token)
    except ValueError:
        return ("number", token)
