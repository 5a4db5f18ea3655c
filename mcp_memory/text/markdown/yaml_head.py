"""Parses the YAML of a note's head safely, locates its entries, and writes values that every YAML parser reads alike.

This is the only module of this room that imports PyYAML; `frontmatter` imports it when there is a head.
"""

import json
import math
import re
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from itertools import pairwise
from typing import Any, NamedTuple, cast

import yaml
from frontmatter.default_handlers import YAMLHandler

from mcp_memory.errors import InvalidInput

# PyYAML has no types for these. Where libyaml's loader was built, it is ten times as fast as the pure loader.
_SafeLoader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_parse_events = cast("Any", yaml).parse

MAX_HEAD_BYTES = 64 * 1024
MAX_DEPTH = 20
_LONGEST_NUMBER_CHARS = 100
"""The longest number; longer numbers stay strings, because Python refuses to convert 4,300 digits, and base 60 takes
quadratic time."""

_KEY_LINE = re.compile(r"^[ \t]*[^\s#:][^:\n]{0,100}:(?:\s|$)", re.MULTILINE)
_COMMENT = re.compile(r"(?:(?<=\s)|(?<![\s\S]))#[^\n]*")
_PLAIN_PUNCTUATION = frozenset(" _-./'()+&!?;=@,–—")
_NUMBER_CHARACTERS = frozenset("0123456789abcdefABCDEFxXoO_+-.:, TtZz/'")
_READ_AS_OTHER = frozenset(("y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf"))
_ESCAPED = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_SURROGATE = re.compile("[\ud800-\udfff]")


class HeadRefused(Exception):
    """Raised for a head that isn't YAML that we accept; the message gives the place and the reason without quoting the
    text."""


class NotAMapping(HeadRefused):
    """Raised for prose or a list between the delimiters, which isn't frontmatter."""


class YamlEntry(NamedTuple):
    """A top-level key with its value, as offsets into the YAML."""

    key: str
    line_start: int
    key_start: int
    after_colon: int
    value_start: int
    value_end: int
    """Equal to `value_start` for an empty value."""
    content_end: int
    """The end of the value's last nonblank line, before its newline."""

    @property
    def is_empty(self) -> bool:
        return self.value_start == self.value_end


def load(text: str) -> tuple[dict[str, Any], int | None]:
    """Return the mapping, and the 1-based number of the first line that repeats a key. Raises HeadRefused."""
    found = survey(text)
    seen: set[str] = set()
    repeated = next((each for each in found if each.key in seen or seen.add(each.key)), None)
    try:
        meta: Any = YAMLHandler().load(text, Loader=_Loader) if found else {}
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise HeadRefused(_where(error)) from error
    return meta, None if repeated is None else text.count("\n", 0, repeated.line_start) + 1


def survey(text: str) -> list[YamlEntry]:
    """Return the top-level entries in order. Raises HeadRefused for a head that is too large, too deep, or not allowed.

    Works on the parser's events, without recursion; only text that has passed reaches a loader."""
    if len(text.encode("utf-8", "surrogatepass")) > MAX_HEAD_BYTES:
        raise HeadRefused(f"larger than {MAX_HEAD_BYTES // 1024} KB")
    try:
        return _Survey(text).entries()
    except (yaml.YAMLError, ValueError) as error:
        if not _KEY_LINE.search(text):
            raise NotAMapping("prose") from error
        raise HeadRefused(_where(error)) from error


def scalars(text: str) -> list[tuple[int, int]]:
    """Return the start and end of the keys and scalar values of valid YAML."""
    events = _parse_events(text, Loader=_SafeLoader)
    return [(event.start_mark.index, event.end_mark.index) for event in events if isinstance(event, yaml.ScalarEvent)]


def comments(text: str) -> list[str]:
    """Return the comments of valid YAML in order."""
    gaps = pairwise([(0, 0), *scalars(text), (len(text), 0)])
    return [match[0].strip() for (_, start), (end, _) in gaps for match in _COMMENT.finditer(text, start, end)]


def write(value: Any, *, flow: bool = False) -> str:
    """Format `value` as YAML on one line. Raises InvalidInput for a value that YAML cannot represent."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return _write_string(str(value), flow=flow)
        case int():
            return str(value)
        case float():
            return _write_float(value)
        case date():
            return value.isoformat()
        case Mapping():
            pairs = cast("Mapping[Any, Any]", value).items()
            return f"{{{', '.join(f'{write(str(key), flow=True)}: {write(item, flow=True)}' for key, item in pairs)}}}"
        case Sequence() if not isinstance(value, (bytes, bytearray, memoryview)):
            return f"[{', '.join(write(item, flow=True) for item in cast('Sequence[Any]', value))}]"
        case _:
            raise InvalidInput(
                f"a property cannot be a {type(value).__name__}", hint="pass text, numbers, dates or lists"
            )


def same(one: Any, other: Any) -> bool:
    """Return whether two values are equal with equal types: 1 is neither True nor 1.0, NaN is NaN, a time keeps its
    offset."""
    match one, other:
        case (str(), str()):
            return str(one) == str(other)
        case (float(), float()):
            return one == other or (math.isnan(one) and math.isnan(other))
        case (datetime(), datetime()):
            return one.isoformat() == other.isoformat()
        case (Mapping(), Mapping()):
            left, right = cast("Mapping[Any, Any]", one), cast("Mapping[Any, Any]", other)
            return left.keys() == right.keys() and all(same(value, right[key]) for key, value in left.items())
        case (list() | tuple(), list() | tuple()):
            pairs = cast("Sequence[Any]", one), cast("Sequence[Any]", other)
            return len(pairs[0]) == len(pairs[1]) and all(map(same, *pairs))
        case _:
            return type(one) is type(other) and one == other


class _Survey:
    """Walks the events of a document once."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._open: list[bool] = []
        """Whether each open collection is in flow style."""
        self._entries: list[YamlEntry] = []
        self._key: yaml.ScalarEvent | None = None
        self._value: tuple[int, int] | None = None

    def entries(self) -> list[YamlEntry]:
        for event in _parse_events(self._text, Loader=_SafeLoader):
            self._refuse(event)
            match event:
                case yaml.CollectionStartEvent():
                    self._begin(event)
                case yaml.CollectionEndEvent():
                    is_flow = self._open.pop()
                    if self._open:
                        self._reach(event.end_mark.index if is_flow else 0)
                        self._value_done()
                case yaml.ScalarEvent():
                    self._scalar(event)
                case _:
                    pass
        return self._entries

    def _refuse(self, event: Any) -> None:
        if getattr(event, "anchor", None) is not None:
            raise HeadRefused(f"{_line(event.start_mark)}: anchors and aliases are not allowed")
        if getattr(event, "tag", None) is not None:
            raise HeadRefused(f"{_line(event.start_mark)}: tags are not allowed")

    def _begin(self, event: Any) -> None:
        if not self._open and not isinstance(event, yaml.MappingStartEvent):
            raise NotAMapping("a list")
        if len(self._open) == 1 and self._key is None:
            raise HeadRefused(f"{_line(event.start_mark)}: a key must be one word or text")
        if len(self._open) >= MAX_DEPTH:
            raise HeadRefused(f"{_line(event.start_mark)}: deeper than {MAX_DEPTH} levels")
        self._open.append(bool(event.flow_style))
        if len(self._open) == 2:
            self._value = (event.start_mark.index, event.start_mark.index)

    def _scalar(self, event: yaml.ScalarEvent) -> None:
        if not self._open:
            raise NotAMapping("prose")
        if len(self._open) == 1 and self._key is None:
            self._key = event
            return
        if self._value is None:
            self._value = (event.start_mark.index, event.end_mark.index)
        self._reach(event.end_mark.index)
        self._value_done()

    def _reach(self, end: int) -> None:
        """Extend the last entry to `end`: a block collection ends after the comments that follow it, but its last
        scalar doesn't."""
        if self._value is not None:
            self._value = (self._value[0], max(self._value[1], end))

    def _value_done(self) -> None:
        if len(self._open) != 1 or self._key is None or self._value is None:
            return
        text, (start, end) = self._text, self._value
        key_start = self._key.start_mark.index
        after_colon = text.index(":", self._key.end_mark.index) + 1
        content_end = max(after_colon, start + len(text[start:end].rstrip()))
        line_end = text.find("\n", content_end)
        line_end = len(text) if line_end < 0 else line_end
        line_end -= text[line_end - 1] == "\r"
        line_start = text.rfind("\n", 0, key_start) + 1
        self._entries.append(
            YamlEntry(str(self._key.value), line_start, key_start, after_colon, start, end, max(line_end, content_end))
        )
        self._key = self._value = None


class _Loader(_SafeLoader):
    """Makes every key a string, merges nothing, and leaves everything except valid numbers and dates as strings."""

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        return {str(key.value): self.construct_object(value, deep=deep) for key, value in node.value}

    def construct_lenient(self, node: Any) -> Any:
        tag = node.tag.rpartition(":")[2]
        if len(node.value) > _LONGEST_NUMBER_CHARS:
            return node.value
        try:
            return getattr(super(), f"construct_yaml_{tag}")(node)
        except (ValueError, OverflowError, IndexError):
            return node.value

    def construct_plain(self, node: Any) -> str:
        return str(node.value)


for _tag in ("int", "float", "timestamp"):
    _Loader.add_constructor(f"tag:yaml.org,2002:{_tag}", _Loader.construct_lenient)
for _tag in ("merge", "value"):
    _Loader.add_constructor(f"tag:yaml.org,2002:{_tag}", _Loader.construct_plain)


def _where(error: Exception) -> str:
    """Return the place of an error; PyYAML's own message would quote the text."""
    mark = getattr(error, "problem_mark", None)
    return f"{_line(mark)}: not valid YAML" if mark is not None else "not valid YAML"


def _line(mark: Any) -> str:
    return f"line {mark.line + 2}"


def _write_string(text: str, *, flow: bool) -> str:
    if _SURROGATE.search(text):
        raise InvalidInput("a property holds half of a surrogate pair, which no UTF-8 file can hold")
    if _is_plain(text) and not (flow and "," in text):
        return text
    quoted = json.dumps(text, ensure_ascii=False)
    return _ESCAPED.sub(lambda match: f"\\u{ord(match[0]):04x}", quoted)


def _is_plain(text: str) -> bool:
    """Return whether every YAML parser, of version 1.1 or 1.2, reads the bare text as this string."""
    if not text or not text[0].isalnum() or text[-1] == " " or text.lower() in _READ_AS_OTHER:
        return False
    if text[0].isdigit() and _NUMBER_CHARACTERS.issuperset(text):
        return False
    return all(character.isalnum() or character in _PLAIN_PUNCTUATION for character in text)


def _write_float(value: float) -> str:
    if math.isnan(value):
        return ".nan"
    if math.isinf(value):
        return ".inf" if value > 0 else "-.inf"
    digits, exponent, power = repr(value).partition("e")
    # YAML 1.1 reads `1e+20` as text, because it requires the point.
    return (digits if "." in digits else digits + ".0") + exponent + power
