"""Shows the pages of the guide, and the help of commands."""

from __future__ import annotations

import difflib
from pathlib import Path

import click

from mcp_memory.cli.console import emit, is_styled, say
from mcp_memory.cli.options import as_json, located

GUIDE = Path(__file__).parents[1] / "guide"


@click.command("help")
@click.argument("topic", nargs=-1)
@located
@as_json
@click.pass_context
def help_(context: click.Context, topic: tuple[str, ...], as_json: bool) -> None:
    """Show a page of the guide, or how a command is used; without TOPIC, list the pages.

    \b
    mcp-memory help                 the pages
    mcp-memory help architecture    how mcp-memory is built
    mcp-memory help search          the same as mcp-memory search --help
    """
    pages = guide_pages()
    if not topic:
        titles = {name: text.partition("\n")[0].removeprefix("# ") for name, text in pages.items()}
        if as_json:
            emit({"topics": titles})
            return
        for name, title in titles.items():
            say(f"{f'mcp-memory help {name}':<32}{title}")
        say(f"{'mcp-memory help COMMAND':<32}How a command is used; mcp-memory --help lists them")
        return
    name = " ".join(topic)
    text = pages.get(name) or _command_help(context.find_root(), topic, list(pages))
    if as_json:
        emit({"topic": name, "text": text})
    elif name in pages and is_styled():
        from rich.console import Console
        from rich.markdown import Markdown

        Console().print(Markdown(text))
    else:
        say(text.rstrip("\n"))


def guide_pages() -> dict[str, str]:
    """The pages of the guide by name, as Markdown."""
    return {file.stem: file.read_text(encoding="utf-8") for file in sorted(GUIDE.glob("*.md"))}


def _command_help(root: click.Context, names: tuple[str, ...], pages: list[str]) -> str:
    """Raises UsageError for what is neither a page nor a command."""
    context = root
    for name in names:
        if near := difflib.get_close_matches(name, pages, n=1):
            raise click.UsageError(f"No page {name!r}: did you mean {near[0]}?")
        command = context.command.get_command(context, name) if isinstance(context.command, click.Group) else None
        if command is None:
            raise click.UsageError(f"No such command {' '.join(names)!r}: mcp-memory --help lists all commands")
        context = click.Context(command, parent=context, info_name=name)
    return context.get_help()
