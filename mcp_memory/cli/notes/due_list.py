"""The due command: lists commitments, and marks them as done."""

import shlex
from typing import Any

import click

from mcp_memory.cli import note_options
from mcp_memory.cli.console import Heading, short_id, table
from mcp_memory.cli.options import CommandContext, command_options
from mcp_memory.text.pluralize import counted

_HEADINGS = {
    "Overdue": ("overdue", "was due yesterday"), "Today": ("due now", "due today"),
    "This week": ("due tomorrow", "this week"), "Later": ("later",), "Done": ("done",),
}  # fmt: skip
_MOST_DONE = 5


@click.command()
@click.option("--done", metavar="ID", multiple=True, help="Mark this one as done. May be repeated.")
@click.option("--all", "everything", is_flag=True, help="With all that is later, and all that is done.")
@click.option("--client", help="Only what was promised in sessions of this client, e.g. claude-code; or you.")
@note_options.project("This project's commitments and those without one")
@command_options
def due(cli: CommandContext, done: tuple[str, ...], everything: bool, **filters: Any) -> None:
    """List what you promised, or wanted to be reminded of: what is overdue, due today and this week, and done last.

    Agents' sessions are reminded of each the day before, on its day, at its hour, and until it is done. To put one off,
    change `due` in its file.

    \b
    mcp-memory append -k commitment "Send Petra the list" --due friday
    mcp-memory due
    mcp-memory due --done KABTV4"""
    if done:
        kept = [cli.ask("forget", target=target, done=True) for target in done]
        lines = [f"done: {one['path']}  → mcp-memory restore {shlex.quote(short_id(one['id']))}" for one in kept]
        cli.show({"done": kept}, lines)
        return
    found = cli.ask("due", **filters)["commitments"]
    found += cli.ask("due", done=True, **filters)["commitments"][: None if everything else _MOST_DONE]
    lines = list[str]()
    for heading, stages in _HEADINGS.items():
        here = [one for one in found if one["stage"] in stages]
        if heading == "Later" and here and not everything:
            lines.append(f"{counted(len(here), 'commitment')} later: mcp-memory due --all")
        elif here:
            rows = [(f"  {one['when']}", one["title"], one["project"] or "", short_id(one["id"])) for one in here]
            lines += [Heading(heading), *table(rows, 1)]
    hint = 'nothing is due; mcp-memory append -k commitment "…" --due friday stores a commitment'
    cli.show({"commitments": found}, lines or [hint])
