"""Lists the definitions of a source file, Makefile, justfile or package.json, with tree-sitter's grammars. Pure.

A hostile file can take minutes and gigabytes, so `symbol_reader` runs this module in a limited child process.
"""

import hashlib
import json
import re
import tomllib
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from importlib import import_module
from itertools import takewhile
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from mcp_memory.runtime.limited_child import serve
from mcp_memory.text.parsed_values import table_at

if TYPE_CHECKING:
    from tree_sitter import Node, Parser, Query

RECIPES = ("justfile", "Justfile", ".justfile", "Makefile", "makefile", "GNUmakefile", "package.json")
"""Files whose symbols are commands."""

_CONTAINERS = {"class", "interface", "module", "type", "object", "namespace"}
_TARGET = re.compile(r"^@?([\w.-]+)(?:[ \t][^:#\n]*)?:(?!=)")
_WORD = re.compile(r"[^\W\d]\w*")
_PARTS = re.compile(r"\.|::|#|->")


class Symbol(NamedTuple):
    """A definition. Its name includes the enclosing definitions. `tokens` are its code without comments and layout,
    with its own name replaced. The tokens of a class include the names of its methods, but not their bodies."""

    name: str
    first_line: int
    last_line: int
    tokens: tuple[bytes, ...]

    @property
    def simple(self) -> str:
        return self.name.rpartition(".")[2]

    @property
    def digest(self) -> str:
        return hashlib.sha256(b"\0".join(self.tokens)).hexdigest()[:16]


def has_symbols(path: str) -> bool:
    """Return whether a grammar exists for the file's language."""
    name = PurePosixPath(path).name
    return name in RECIPES or name.rpartition(".")[2] in _endings()


def list_symbols(path: str, data: bytes) -> list[Symbol]:
    """List the symbols of a file; nothing if no grammar exists for its language."""
    name = PurePosixPath(path).name
    if name == "package.json":
        return list(_scripts(data))
    if name in RECIPES:
        return list(_targets(data.decode("utf-8", "replace")))
    language = _endings().get(name.rpartition(".")[2])
    return list(_definitions(language, data)) if language else []


def find_symbol(symbols: Sequence[Symbol], wanted: str) -> Symbol | None:
    """Find `name`, `Class.name` or `Class::name`; overloads are a single symbol. Return None for an ambiguous name."""
    parts = [part for part in _PARTS.split(wanted) if part] or [""]
    found = [one for one in symbols if one.name == ".".join(parts)]
    for at in range(len(parts)):
        end = ".".join(parts[at:])
        found = found or [one for one in symbols if f".{one.name}".endswith(f".{end}")]
    if len({one.name for one in found}) != 1:
        return None
    tokens = tuple(token for one in found for token in one.tokens)
    return Symbol(found[0].name, found[0].first_line, found[-1].last_line, tokens)


def enclosing_symbol(symbols: Sequence[Symbol], line: int) -> Symbol | None:
    """Return the innermost symbol around a line."""
    around = [one for one in symbols if one.first_line <= line <= one.last_line]
    return min(around, key=lambda one: one.last_line - one.first_line, default=None)


def _definitions(language: str, data: bytes) -> Iterator[Symbol]:
    from tree_sitter import QueryCursor

    parser, query = _grammar(language)
    root = parser.parse(data).root_node
    named: dict[tuple[int, int], tuple[Node, Node, str]] = {}
    for _, captures in QueryCursor(query).matches(root):
        kind = next((name for name in captures if name.startswith("definition.")), None)
        if kind and "name" in captures:
            node = _whole(captures[kind][0])
            named.setdefault(node.byte_range, (node, captures["name"][0], kind.partition(".")[2]))
    leaves = [(leaf.start_byte, leaf.text or b"") for leaf in _leaves(root)]
    starts = [start for start, _ in leaves]
    open_: list[tuple[int, str]] = []  # the ends and names of the enclosing definitions
    spans = sorted(named.values(), key=lambda one: (one[0].start_byte, -one[0].end_byte))
    last_labels = {label.start_byte: at for at, (_, label, _) in enumerate(spans)}
    for at, (node, label, kind) in enumerate(spans):
        while open_ and open_[-1][0] <= node.start_byte:
            open_.pop()
        name = ".".join(filter(None, (_owner(node, label), _text(label))))
        open_.append((node.end_byte, name))
        later = (spans[number][0] for number in range(at + 1, len(spans)))
        inner = _outermost_inside(node, later) if kind in _CONTAINERS else []
        inner_starts = [start for start, _ in inner]
        tokens: list[bytes] = []
        for start, text in leaves[bisect_left(starts, node.start_byte) : bisect_left(starts, node.end_byte)]:
            latest = bisect_right(inner_starts, start) - 1
            is_inside = latest >= 0 and start < inner[latest][1]
            if not is_inside or last_labels.get(start, 0) > at:
                tokens.append(b"" if text == label.text else text)
        lines = node.start_point[0] + 1, node.end_point[0] + 1
        qualified = ".".join(around for _, around in open_)
        yield Symbol(qualified, *lines, _without_trailing_commas(tokens))


def _outermost_inside(node: "Node", later: "Iterable[Node]") -> list[tuple[int, int]]:
    """Return the ranges of the definitions nested directly in this node; `later` are the definitions that begin after
    it."""
    found: list[tuple[int, int]] = []
    for one in takewhile(lambda one: one.start_byte < node.end_byte, later):
        if one.end_byte <= node.end_byte and (not found or one.start_byte >= found[-1][1]):
            found.append((one.start_byte, one.end_byte))
    return found


def _whole(node: "Node") -> "Node":
    """Extend a node to its decorators, and a C declarator to its body."""
    while (parent := node.parent) and (
        parent.type == "decorated_definition" or parent.child_by_field_name("declarator") == node
    ):
        node = parent
    return node


def _leaves(root: "Node") -> Iterator["Node"]:
    cursor = root.walk()
    while True:
        node = cursor.node
        assert node is not None
        if "comment" not in node.type:
            if cursor.goto_first_child():
                continue
            yield node
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return


def _owner(node: "Node", label: "Node") -> str:
    """Return the type of a method that is defined outside the type, as in Go, Rust and C++."""
    above, around = label.parent, node.parent and node.parent.parent
    receiver = node.child_by_field_name("receiver")
    scope = above.child_by_field_name("scope") if above and above.type == "qualified_identifier" else None
    implemented = around.child_by_field_name("type") if around and around.type == "impl_item" else None
    words = [_WORD.findall(_text(one).partition("[")[0]) for one in (receiver, scope, implemented) if one]
    return words[0][-1 if receiver else 0] if words and words[0] else ""


def _without_trailing_commas(tokens: Sequence[bytes]) -> tuple[bytes, ...]:
    after = [*tokens[1:], b""]
    return tuple(
        one for one, next_ in zip(tokens, after, strict=True) if one != b"," or next_ not in {b")", b"]", b"}"}
    )


def _text(node: "Node") -> str:
    return (node.text or b"").decode("utf-8", "replace")


def _targets(text: str) -> Iterator[Symbol]:
    """Yield each target of a Makefile or justfile with its recipe."""
    lines = text.splitlines()
    for number, line in enumerate(lines, 1):
        if found := _TARGET.match(line):
            last = number
            while last < len(lines) and (lines[last][:1] in {" ", "\t"} or not lines[last].strip()):
                last += 1
            while last > number and not lines[last - 1].strip():
                last -= 1
            yield Symbol(found[1], number, last, tuple(" ".join(lines[number - 1 : last]).encode().split()))


def _scripts(data: bytes) -> Iterator[Symbol]:
    try:
        scripts = table_at(json.loads(data), "scripts")
    except (ValueError, RecursionError):
        return
    lines = data.decode("utf-8", "replace").splitlines()
    for name, script in scripts.items():
        at = next((number for number, line in enumerate(lines, 1) if json.dumps(name) in line), 1)
        yield Symbol(name, at, at, tuple(str(script).encode().split()))


@cache
def _languages() -> dict[str, dict[str, Any]]:
    return tomllib.loads(Path(__file__).with_name("languages.toml").read_text("utf-8"))


@cache
def _endings() -> dict[str, str]:
    return {ending: name for name, language in _languages().items() for ending in language["endings"]}


@cache
def _grammar(name: str) -> "tuple[Parser, Query]":
    from tree_sitter import Language, Parser, Query

    facts = _languages()[name]
    package = import_module(f"tree_sitter_{facts.get('package', name)}")
    made = getattr(package, f"language_{name}", None) or package.language
    language = Language(cast("object", made()))
    also = [import_module(f"tree_sitter_{facts['also']}").TAGS_QUERY] if "also" in facts else []
    return Parser(language), Query(language, "\n".join([package.TAGS_QUERY or "", *also, facts.get("more", "")]))


def _answer(request: dict[str, str]) -> Iterator[list[Any]]:
    for one in list_symbols(request["path"], request["data"].encode("latin-1")):
        yield [one.name, one.first_line, one.last_line, [token.decode("latin-1") for token in one.tokens]]


if __name__ == "__main__":
    serve(_answer)
