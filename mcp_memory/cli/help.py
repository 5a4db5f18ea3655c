"""Shows the pages of the guide, and the help of commands."""

import difflib
from collections import Counter
from collections.abc import Iterator, Mapping
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
    named = {**pages, "commands": list_commands()}
    text = named.get(name) or _command_help(click.get_current_context().find_root(), name.split())
    if not text:
        text = "\n".join(_places(name, {**named, SETTINGS: shipped("default.toml")}))
    if not text:
        near = difflib.get_close_matches(name, [*named, *COMMANDS], n=1)
        hint = f"did you mean {near[0]}?" if near else "mcp-memory help commands lists all commands"
        raise click.UsageError(f"No page or command {name!r}: {hint}")
    if name in pages and is_styled() and not cli.as_json:
        from rich.console import Console
        from rich.markdown import Markdown

        Console().print(Markdown(text))
    else:
        cli.show({"topic": name, "text": text}, [text.rstrip("\n")])


def _command_help(root: click.Context, names: list[str]) -> str | None:
    """Return the help of a command; None for other words."""
    context = root
    for name in (*SHORTCUTS.get(names[0], names[0]).partition(" --")[0].split(), *names[1:]):
        if not isinstance(context.command, click.Group) or (context is root and name not in COMMANDS):
            return None
        command = context.command.get_command(context, name)
        if command is None:
            return None
        context = click.Context(command, parent=context, info_name=name)
    return context.get_help()


def _places(name: str, texts: Mapping[str, str]) -> Iterator[str]:
    """Yield the command that somebody means by `name`, and the first lines of each text that have these words together,
    or else all of them."""
    if name in MEANT:
        yield f"{f'mcp-memory {MEANT[name]}':<28} the command for {name!r}"
    wanted = content_words(name) or {name}
    lines = [(page, line.strip()) for page, text in texts.items() for line in text.splitlines()]
    found = [one for one in lines if " " in name and name.lower() in one[1].lower()]
    found = found or [one for one in lines if wanted <= content_words(one[1])]
    found.sort(key=lambda one: (one[0] == SETTINGS, not one[1].startswith("#")))
    shown = Counter[str]()
    for page, line in found:
        shown[page] += 1
        if shown[page] <= MOST_PLACES:
            yield f"{page if page == SETTINGS else f'mcp-memory help {page}':<28} {line}"
