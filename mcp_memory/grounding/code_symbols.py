"""Lists the definitions of a source file, Makefile, justfile or package.json by its lines and their indentation. Pure.

A grammar for each language would find more in code on a single line, but people and formatters indent code.
"""

import hashlib
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import PurePosixPath
from typing import NamedTuple

RECIPES = ("justfile", "Justfile", ".justfile", "Makefile", "makefile", "GNUmakefile", "package.json")
"""Files whose symbols are commands."""
_ENDING = re.compile(
    r"\.(?:pyi?|[cm]?[jt]s|[jt]sx|go|rs|java|kts?|scala|swift|c|h|cc|cpp|cxx|hh|hpp|hxx|cs|rb|rake|php|lua|sh)$"
)

MOST_DEPTH, MOST_CHARS, KEPT_FILES = 8, 500, 4
"""Limits of nested definitions, of a line in which one may begin, and of files whose symbols are kept."""

_MODIFIERS = (
    r"(?:(?:export|default|public|private|protected|internal|static|final|abstract|async|pub(?:\([\w ]+\))?|unsafe"
    r"|inline|override|virtual|sealed|readonly|partial|declare|open|data|suspend|local|typedef|const(?= fn)) +)*"
)
_CONTROL = (
    "return|if|elif|else|for|foreach|while|switch|catch|with|raise|throw|assert|await|yield|from|import|new|case|do|try"
    "|using|lock|del|not|and|or|in|delete|goto|unless|until|when|match|sizeof|defer|go|echo|print"
)
_DEFINITION = re.compile(
    rf"\s*{_MODIFIERS}(?:(?P<container>class|interface|module|namespace|struct|enum|trait|type|object|record|union|mod)"
    rf"|def|func|fn|fun|function\*?|# *define) +(?:\((?:\w+ +)?\*?(?P<receiver>\w+)[^)]*\) *)?(?:self\.)?(?P<name>\w+)"
    r"|\s*impl(?:<[^>]*>)? +(?:[^{]* for +)?(?P<implemented>\w+)"
    r"|(?:export +|pub +)?(?:const|let|var|static|val) +(?:mut +)?(?P<constant>\w+)(?= *[:=;,]|$)"
    r"|(?P<assigned>\w+) *(?::[^=]*)?=(?!=)"
    rf"|\s*(?!(?:{_CONTROL})\b)(?:[\w<>\[\],*&:?.]+ +[*&]*)*(?:(?P<owner>\w+)::)?(?P<called>~?\w+) *"
    r"\((?:(?!=>|function\b)[^;\"'])*\)[^;()=]*\{[^{]*$"
)
"""Matches the line in which a definition begins. Only constants at the left margin count."""
_RECIPE = re.compile(r"@?(?P<name>[\w.-]+)(?:[ \t][^:#\n]*)?:(?!=)|\s+\"(?P<called>[\w:.-]+)\": *\"")
_COMMENT = re.compile(r"(?:^|\s)(?:#(?! *(?:define|include)|\[)|//|--\s).*|/\*.*?\*/|^\s*/?\*.*")
_TOKEN = re.compile(r"\w+|[^\w\s,;]")
_CLOSING = re.compile(r"[)\]}{]|end\b")
_ABOVE = ("@", "#[")
"""Beginnings of a line that belongs to the definition below it."""
_PARTS = re.compile(r"\.|::|#|->")


class Symbol(NamedTuple):
    """A definition. Its name includes the enclosing definitions. `tokens` are its code without comments and layout,
    with its own name replaced. The tokens of a class include the names of its methods, but not their bodies."""

    name: str
    first_line: int
    last_line: int
    tokens: tuple[str, ...]

    @property
    def simple(self) -> str:
        return self.name.rpartition(".")[2]

    @property
    def digest(self) -> str:
        return hashlib.sha256("\0".join(self.tokens).encode()).hexdigest()[:16]


@lru_cache(KEPT_FILES)
def list_symbols(path: str, data: bytes) -> list[Symbol]:
    """List the symbols of a file; nothing for a file that isn't code."""
    name = PurePosixPath(path).name
    if name not in RECIPES and not _ENDING.search(name):
        return []
    lines = data.decode("utf-8", "replace").split("\n")
    tokens = [_TOKEN.findall(_COMMENT.sub("", line)) for line in lines]
    found = list(_definitions(lines, _RECIPE if name in RECIPES else _DEFINITION))
    innermost: list[str] = [""] * len(lines)
    for one in found:
        innermost[one.first : one.after] = [one.name] * (one.after - one.first)
    return [_symbol(one, tokens, innermost) for one in found]


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


class _Definition(NamedTuple):
    """The lines from `first` to the one before `after`, counted from 0."""

    name: str
    simple: str
    first: int
    after: int
    is_container: bool


def _definitions(lines: Sequence[str], pattern: re.Pattern[str]) -> Iterator[_Definition]:
    around: list[_Definition] = []
    for number, line in enumerate(lines):
        has_brace_below = lines[number + 1 : number + 2] and lines[number + 1].strip() == "{"
        begin = pattern.match(f"{line[:MOST_CHARS]} {{" if has_brace_below else line[:MOST_CHARS])
        while around and around[-1].after <= number:
            around.pop()
        if begin is None or len(around) >= MOST_DEPTH:
            continue
        groups, kind = begin.groupdict(), str(begin.lastgroup)
        owner, simple = groups.get("receiver") or groups.get("owner"), begin[kind]
        name = ".".join(filter(None, (around[-1].name if around else "", owner, simple)))
        first = number
        while first and lines[first - 1].strip().startswith(_ABOVE):
            first -= 1
        is_container = kind == "implemented" or bool(groups.get("container"))
        around.append(_Definition(name, simple, first, _after(lines, number), is_container))
        yield around[-1]


def _after(lines: Sequence[str], number: int) -> int:
    """Return the number of the line after a definition: it has the lines that are indented further, and a bracket or
    `end` below."""
    indent, after = _indent(lines[number]), number + 1
    for at in range(number + 1, len(lines)):
        line = lines[at].strip()
        if line and _indent(lines[at]) <= indent:
            if _indent(lines[at]) < indent or not _CLOSING.match(line):
                break
            after = at + 1
            if line.startswith(("}", "end")):
                break
        elif line:
            after = at + 1
    return after


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _symbol(one: _Definition, tokens: Sequence[Sequence[str]], innermost: Sequence[str]) -> Symbol:
    """Return a definition as a symbol. `innermost`: the name of the innermost definition around each line."""
    own: list[str] = []
    for line in range(one.first, one.after):
        if not one.is_container or innermost[line] == one.name:
            own += tokens[line]
        elif innermost[line] != innermost[line - 1]:
            own.append(innermost[line])
    return Symbol(one.name, one.first + 1, one.after, tuple("" if token == one.simple else token for token in own))
