"""log: what git knows of the vault, or of one note."""

from __future__ import annotations

from typing import Any

import click

from mcp_memory.cli.console import emit, say
from mcp_memory.cli.engine_call import ask
from mcp_memory.cli.options import CommonOptions, command_options
from mcp_memory.errors import InvalidInput


@click.command()
@click.argument("note", required=False)
@click.option("--at", metavar="COMMIT", help="Print the note as it was in this commit.")
@click.option("-n", "--limit", type=click.IntRange(1, 5000), default=20, show_default=True, help="How many commits.")
@command_options
def log(common: CommonOptions, note: str | None, at: str | None, limit: int, as_json: bool) -> None:
    """Show the history of the vault, or of one note (id or path) wherever it has been moved, from its git repository.

    \b
    mcp-memory log                                        the latest commits
    mcp-memory log 01M7Z3HPR77M1K414E2NKABTV4             when the note came, moved and changed, and by whom
    mcp-memory log notes/fact/port.md --at 3f2c1d0        the note as it was then
    """
    if at is not None and note is None:
        raise InvalidInput("--at without a note", hint="name one: mcp-memory log NOTE --at COMMIT")
    answer = ask(common.settings(), "log", {"target": note, "at": at, "limit": limit})
    if as_json:
        emit(answer)
    elif at is not None:
        say(answer["text"].rstrip("\n"))
    else:
        for event in answer["log"]:
            say(_line(event))
        if not answer["log"]:
            say("no commit holds it yet" if note else "no commit yet")


def _line(event: dict[str, Any]) -> str:
    when = event["when"][:16].replace("T", " ")
    line = f"{when}  {event['commit'][:10]}  {event['who']}  {event['message']}"
    if event["files"] is not None:
        return f"{line}  ({event['files']} file{'' if event['files'] == 1 else 's'})"
    place = f"{event['before']} → {event['path']}" if event["before"] else event["path"]
    return f"{line}\n  {event['change']}  {place}"
