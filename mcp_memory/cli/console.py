"""Prints lines, JSON, progress and errors; on a terminal with styles.

A stored text must not control the terminal, so characters that hide or reorder text are printed as codes.
"""

import json
import os
import re
import shlex
import shutil
import sys
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from functools import lru_cache
from io import BufferedReader
from pathlib import Path
from select import select
from typing import Any, TextIO
from unicodedata import east_asian_width

from mcp_memory.runtime.paths import absolute
from mcp_memory.text.escape_invisible import visible
from mcp_memory.tool_names import FORGET, SEARCH, TOOLS

_PATH = re.compile(r'memory_recall path=("(?:[^"\\]|\\.)*"|\S+)(?: lines="([0-9-]+)")?')
_COMMANDS = {
    f"{SEARCH} path=": "mcp-memory search --path ",
    f"{FORGET} with restore=true": "mcp-memory restore",
    **{tool: tool.replace("memory_", "mcp-memory ") for tool in TOOLS},
    "include_archived=true": "--archived",
    "kind='log'": "--kind log",
}
_TOOL = re.compile("|".join(map(re.escape, _COMMANDS)))
_OURS = re.compile(r"Left out for |The whole page|What was said|Nothing is stored|Note: ")

Facts = Mapping[str, Any]
"""A JSON object that the engine answers or is asked."""

NOT_DONE = 5
"""The exit code of a command that nobody could confirm."""


class Heading(str):
    """A line that is bold on a terminal."""

    __slots__ = ()


class Remark(str):
    """A line for standard error."""

    __slots__ = ()


def is_terminal() -> bool:
    return sys.stdout.isatty()


def is_styled() -> bool:
    """Return whether output may have colors: on a terminal that knows them, unless NO_COLOR is set
    (https://no-color.org)."""
    return is_terminal() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def is_unicode() -> bool:
    return sys.stdout.encoding.lower() in {"utf-8", "utf8"}


def columns() -> int | None:
    """Return the width of the terminal, or the value of COLUMNS; None in a pipe, where lines stay whole."""
    return shutil.get_terminal_size().columns if is_terminal() or os.environ.get("COLUMNS") else None


def _in_one_line(text: str) -> str:
    return visible(" ".join(text.split()))


def table(rows: Sequence[Sequence[str]], flexible: int) -> list[str]:
    """Return a line for each row, with aligned columns and without empty columns. On a terminal, cut cells of the
    `flexible` column where a line would be too long."""
    if not rows:
        return []
    cells = [list(map(_in_one_line, row)) for row in rows]
    widths = [max(map(_width, column)) for column in zip(*cells, strict=True)]
    spaces = 2 * (sum(width > 0 for width in widths) - 1)
    if (room := columns()) and sum(widths) + spaces > room:
        widths[flexible] = max(12, widths[flexible] - (sum(widths) + spaces - room))

    def line(row: Sequence[str]) -> str:
        shown = (_fitted(cell, width) for cell, width in zip(row, widths, strict=True) if width)
        return "  ".join(shown).rstrip()

    return list(map(line, cells))


def facts(rows: Mapping[str, str]) -> Iterator[str]:
    """Yield a line for each named value, with aligned values and without empty ones."""
    width = max(len(name) for name, value in rows.items() if value)
    yield from (f"  {name:<{width}}  {value}" for name, value in rows.items() if value)


def short_id(note_id: str) -> str:
    """Return the end of an id, which every command takes for the whole id. For a note without an id, return its
    path."""
    whole = note_id.removeprefix("path:")
    return whole[-8:] if "#" in whole else whole[-6:] if whole.isalnum() else whole


def _width(text: str) -> int:
    return len(text) if text.isascii() else sum(1 + (east_asian_width(one) in "WF") for one in text)


def _fitted(text: str, width: int) -> str:
    if _width(text) > width:
        while text and _width(text) > width - 1:
            text = text[:-1]
        text += "…"
    return text + " " * (width - _width(text))


def emit(payload: Any) -> None:
    """Print one JSON document."""
    text = json.dumps(payload, ensure_ascii=not is_unicode(), indent=2 if is_terminal() else None)
    print("".join(c if c.isascii() or visible(c) == c else json.dumps(c)[1:-1] for c in text))


def say(line: str = "") -> None:
    """Print a line, in bold if it is a Heading and the output is styled."""
    print(f"\x1b[1m{visible(line)}\x1b[0m" if isinstance(line, Heading) and is_styled() else visible(line))


def say_all(lines: Iterable[str]) -> None:
    """Print lines. On a terminal, break long lines between words, except a command to copy and a text of several
    lines."""
    for line in lines:
        is_whole = "\n" in line or line.startswith("  → ")
        for part in [line] if is_whole else wrap(line) or [""]:
            print_status(part) if isinstance(line, Remark) else say(type(line)(part))


@contextmanager
def asking() -> Generator[None]:
    """End the command with `NOT_DONE` where nobody can answer. If no answer was piped in at all, end it before it
    asks."""
    import click

    try:
        if _is_empty(sys.stdin):
            raise click.Abort
        yield
    except click.Abort:
        if sys.stdin.isatty():
            raise
        if not _is_empty(sys.stdin):
            say()
        fail("not done: there is nobody here to confirm it", "pass --yes")
        raise click.exceptions.Exit(NOT_DONE) from None


@lru_cache(maxsize=1)
def _is_empty(stdin: TextIO) -> bool:
    """Return whether standard input ended before the first question. A pipe that is still open may bring an answer."""
    buffer = stdin.buffer
    if stdin.isatty() or not isinstance(buffer, BufferedReader) or not select([stdin.fileno()], [], [], 0)[0]:
        return False
    return not buffer.peek(1)


def confirm(question: str, *, default: bool = False, abort: bool = False) -> bool:
    """Ask a question, and return the answer. With `abort`, the answer no ends the command."""
    import click

    with asking():
        agreed = click.confirm(question, default=default)
    if abort and not agreed:
        raise click.Abort
    return agreed


def read_key(prompt: str) -> str:
    """Print the prompt, and return the key that was pressed after its last line, in lower case. Ctrl-D is q."""
    import click

    *lines, last = wrap(prompt)
    say_all(lines)
    click.echo(f"{last}  ", nl=False)
    try:
        key = click.getchar().lower()
    except EOFError:
        key = "q"
    say(key if key.isprintable() else "")
    return key


def print_status(line: str) -> None:
    """Print progress or a remark to standard error."""
    print(visible(line), file=sys.stderr, flush=True)


def fail(message: str, hint: str | None) -> None:
    for line in wrap(f"mcp-memory: {message}"):
        print_status(line)
    if hint:  # a hint with a command stays on one line, to be copied
        print_status(f"  → {hint}" if "mcp-memory " in hint else "\n".join(wrap(f"→ {hint}", "  ")))


@contextmanager
def progress_bar(description: str, total: int | None = None) -> Generator[Callable[..., None] | None]:
    """Show a bar on standard error that disappears with the block. Yield a function that updates it (`completed`,
    `total`, `description`), or None if standard error isn't a terminal, or is a dumb terminal."""
    if not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(20), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task(description, total=total)

        def update(completed: int, **changes: Any) -> None:
            bars.tasks[0].total = changes.pop("total", total)  # `Progress.update` can't unset a total
            bars.update(task, completed=completed, **changes)

        yield update


def fit(before: str, text: str, after: str = "", indent: str = "") -> str:
    """Return one line. On a terminal, cut the text in the middle where the line would be too long."""
    before, text, after = visible(before), visible(" ".join(text.split())), visible(after)
    if room := columns():
        around = _width(indent) + sum(_width(part) + 2 for part in (before, after) if part)
        text = _fitted(text, max(12, room - around)).rstrip()
    return indent + "  ".join(filter(None, (before, text, after)))


def wrap(text: str, indent: str = "") -> list[str]:
    """Return lines with this indent. On a terminal, break long lines between words."""
    lines: list[str] = []
    for line in visible(text).splitlines():
        if (room := columns()) is None or _width(indent + line) <= room:
            lines.append((indent + line).rstrip() if not line.strip() else indent + line)
            continue
        import textwrap

        _, quote, column = re.split(r"^(>?)(\s*(?:\S{1,12} {2,})?)", line)[:3]
        further = indent + quote + " " * len(column)
        lines += textwrap.wrap(
            line, room, initial_indent=indent, subsequent_indent=further, break_long_words=False,
            break_on_hyphens=False,
        )  # fmt: skip
    return lines


def short_path(file: Path) -> str:
    """Return the path with `~` for your home folder."""
    home = f"{absolute('~')}/"
    return f"~/{str(file).removeprefix(home)}" if str(file).startswith(home) else str(file)


def local_minute(moment: str | None) -> str:
    """Return a moment in ISO 8601 as local time; empty for None."""
    return datetime.fromisoformat(moment).astimezone().strftime("%Y-%m-%d %H:%M") if moment else ""


def tools_to_commands(sentence: str) -> str:
    """Replace the names of tools in one of our own sentences by commands."""
    return _TOOL.sub(lambda tool: _COMMANDS[tool[0]], _PATH.sub(_recall_command, sentence))


def recall_to_commands(text: str) -> str:
    """Replace the names of tools in an answer of recall by commands. Only our own lines change; quoted notes stay."""
    return "\n".join(tools_to_commands(line) if _OURS.match(line) else line for line in text.split("\n"))


def _recall_command(call: re.Match[str]) -> str:
    path = call[1]
    with suppress(ValueError):
        path = shlex.quote(json.loads(path))
    return f"mcp-memory recall --path {path}" + (f" --lines {call[2]}" if call[2] else "")
