"""Shows the pages of the guide, and the help of commands."""

import difflib
from pathlib import Path

import click

from mcp_memory.cli.command_context import CommandContext, command_options
from mcp_memory.cli.command_tree import COMMANDS, MEANT, SHORTCUTS, list_commands
from mcp_memory.cli.console import is_styled

GUIDE = Path(__file__).parents[1] / "guide"
FOR_MAINTAINERS = {"architecture", "contributing"}


@click.command("help")
@click.argument("topic", nargs=-1)
@command_options
def help_(cli: CommandContext, topic: tuple[str, ...]) -> None:
    """Show a page of the guide or the help of a command; without TOPIC, list the pages.

    \b
    mcp-memory help                 the pages
    mcp-memory help commands        all commands, by purpose
    mcp-memory help architecture    how mcp-memory is built
    mcp-memory help search          the same as mcp-memory search --help"""
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
    root = click.get_current_context().find_root()
    named = {**pages, "commands": list_commands()}
    text = named.get(name) or _command_help(root, topic, list(named))
    if name in pages and is_styled() and not cli.as_json:
        from rich.console import Console
        from rich.markdown import Markdown

        Console().print(Markdown(text))
    else:
        cli.show({"topic": name, "text": text}, [text.rstrip("\n")])


def _command_help(root: click.Context, names: tuple[str, ...], pages: list[str]) -> str:
    """Return the help of a command. Raises UsageError for words that name neither a page nor a command."""
    context = root
    meant = SHORTCUTS.get(names[0], names[0]).partition(" --")[0]
    for name in (*meant.split(" "), *names[1:]):
        is_known = context is not root or name in {*COMMANDS, *MEANT}
        if near := None if is_known else difflib.get_close_matches(name, pages, n=1):
            raise click.UsageError(f"No page {name!r}: did you mean {near[0]}?")
        command = context.command.get_command(context, name) if isinstance(context.command, click.Group) else None
        if command is None:
            raise click.UsageError(f"No such command {' '.join(names)!r}: mcp-memory help commands lists all commands")
        context = click.Context(command, parent=context, info_name=name)
    return context.get_help()
