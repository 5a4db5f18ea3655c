"""Shows the pages of the guide, and the help of commands."""

import difflib
import re
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path

import click

from mcp_memory.cli.command_context import CommandContext, command_options
from mcp_memory.cli.command_tree import COMMANDS, MEANT, SHORTCUTS, list_commands
from mcp_memory.cli.console import is_styled
from mcp_memory.settings.settings import shipped
from mcp_memory.text.language.terms import content_words

GUIDE = Path(__file__).parents[1] / "guide"
FOR_MAINTAINERS = {"architecture", "contributing"}
SETTINGS = "mcp-memory config default"
MOST_PLACES = 2
"""The most lines of a page that are shown for a word."""


@click.command("help")
@click.argument("topic", nargs=-1)
@command_options
def help_(cli: CommandContext, topic: tuple[str, ...]) -> None:
    """Show a page of the guide, the help of a command, or where the guide and the settings mention a word. Without
    TOPIC, list the pages.

    \b
    mcp-memory help                 the pages
    mcp-memory help commands        all commands, by purpose
    mcp-memory help architecture    how mcp-memory is built
    mcp-memory help search          the same as mcp-memory search --help
    mcp-memory help socket          the pages that mention it"""
    files = sorted(GUIDE.glob("*.md"), key=lambda file: (file.stem in FOR_MAINTAINERS, file.stem))
    pages = {file.stem: file.read_text(encoding="utf-8") for file in files}
    if not topic:
        titles = {name: text.partition("\n")[0].removeprefix("# ") for name, text in pages.items()}
        lines = [f"{f'mcp-memory help {name}':<32}{title}" for name, title in titles.items()]
        lines.append(f"{'mcp-memory help commands':<32}All commands, by purpose")
        lines.append(f"{'mcp-memory help COMMAND':<32}The help of a command")
        cli.show({"topics": titles}, lines)
        return
    name = " ".join(topic)
    topic = tuple(name.split())
    root = click.get_current_context().find_root()
    named = {**pages, "commands": list_commands()}
    text = named.get(name) or _command_help(root, topic, list(named), {**pages, SETTINGS: shipped("default.toml")})
    if name in pages and is_styled() and not cli.as_json:
        from rich.console import Console
        from rich.markdown import Markdown

        Console().print(Markdown(text))
    else:
        cli.show({"topic": name, "text": text}, [text.rstrip("\n")])


def _command_help(root: click.Context, names: tuple[str, ...], pages: list[str], texts: Mapping[str, str]) -> str:
    """Return the help of a command, or for other words the places in `texts` that mention them. Raises UsageError for
    words that nothing mentions."""
    context = root
    meant = SHORTCUTS.get(names[0], names[0]).partition(" --")[0]
    for name in (*meant.split(" "), *names[1:]):
        is_known = context is not root or name in {*COMMANDS, *MEANT}
        places = "\n".join(_places(names, texts))
        if not is_known and places:
            return places
        if near := None if is_known else difflib.get_close_matches(name, pages, n=1):
            raise click.UsageError(f"No page {name!r}: did you mean {near[0]}?")
        command = context.command.get_command(context, name) if isinstance(context.command, click.Group) else None
        if command is None:
            if places:
                return places
            raise click.UsageError(f"No such command {' '.join(names)!r}: mcp-memory help commands lists all commands")
        context = click.Context(command, parent=context, info_name=name)
    return context.get_help()


def _places(words: tuple[str, ...], texts: Mapping[str, str]) -> Iterator[str]:
    """Yield the first lines of each text that have all these words."""
    for name, text in texts.items():
        found = (line for line in text.splitlines() if all(_mentions(line, word) for word in words))
        command = name if name == SETTINGS else f"mcp-memory help {name}"
        yield from (f"{command:<28} {line.strip()}" for line in islice(found, MOST_PLACES))


def _mentions(line: str, word: str) -> bool:
    """Return whether a line has a form of the word, such as `dream` for `dreaming`."""
    stem = next(iter(content_words(word)), word)
    return re.search(rf"(?<![^\W_]){re.escape(min(stem, word, key=len))}", line, re.IGNORECASE) is not None
