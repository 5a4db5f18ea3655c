"""Finds the files, lines, symbols, commits and commands that a note names. Pure."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

MOST_REFERENCES = 30
"""The limit for one note or log entry."""

_PATH = r"(?:[\w.@+-]+/)*[\w.@+-]*\w"
_PLACE = re.compile(
    rf"(?<![\w/@.:~+-])(?:\./)?({_PATH}/?)(?![\w/])(?::(\d{{1,6}})(?:-\d+)?\b|(?:::?|#)([^\W\d]\w*(?:(?:\.|::)\w+)*))?"
)
_COMMIT = re.compile(r"(?<![\w/.-])(?=[0-9a-f]*[0-9])(?=[0-9a-f]*[a-f])[0-9a-f]{7,40}(?![\w/-])")
_SPAN = re.compile(r"(`+)(?!`)(.+?)(?<!`)\1(?!`)")
_COMMAND = re.compile(r"^(?:\$ )?(just|make|(?:npm|pnpm|yarn|bun) run)\s+([\w:.-]+)")
_FENCE = re.compile(r"^ {0,3}(```|~~~)")
_ENDING = re.compile(r"\.[A-Za-z]\w{0,9}$")
RUNNERS = {
    "just": ("justfile", "Justfile", ".justfile"), "make": ("Makefile", "makefile", "GNUmakefile"),
    "run": ("package.json",),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Named:
    """A reference as the note writes it: a `commit`; a path, perhaps with a symbol or a line; or a command. A command
    is a symbol in the first of these `paths` that defines it."""

    text: str
    paths: tuple[str, ...] = ()
    symbol: str = ""
    line: int = 0
    commit: str = ""


def find_references(text: str, listed: Iterable[str] = ()) -> list[Named]:
    """Find references: first the `listed` ones from the head of a note, then paths and commits anywhere in the text,
    and commands in backticks and code blocks. The repository decides whether they exist."""
    found: dict[str, Named] = {}
    for line in listed:
        for one in [*_commands(line), *_places(line, is_code=True)][:1]:
            found.setdefault(one.text, one)
    is_fenced = False
    for line in text.splitlines():
        if _FENCE.match(line):
            is_fenced = not is_fenced
            continue
        spans = [line] if is_fenced else [span for _, span in _SPAN.findall(line)]
        named = [one for span in spans for one in [*_commands(span.strip()), *_places(span, is_code=True)]]
        for one in [*named, *_places(line, is_code=False)]:
            found.setdefault(one.text, one)
    return list(found.values())[:MOST_REFERENCES]


def _commands(text: str) -> Iterator[Named]:
    if found := _COMMAND.match(text):
        yield Named(found[0].removeprefix("$ "), RUNNERS[found[1].split()[-1]], found[2])


def _places(text: str, *, is_code: bool) -> Iterator[Named]:
    """Find paths. Prose needs an ending or a folder; the repository decides whether `and/or` is a path."""
    for found in _COMMIT.finditer(text):
        yield Named(found[0], commit=found[0])
    for found in _PLACE.finditer(text):
        path, line, symbol = found.groups()
        if ".." in path.split("/") or path.startswith("."):
            continue
        if "/" in path or _ENDING.search(path) or (is_code and symbol):
            yield Named(found[0].removeprefix("./"), (path,), symbol or "", int(line or 0))
