"""list, restore: what was forgotten, by whom, and the way back."""

from __future__ import annotations

from typing import Any

import click

from mcp_memory.cli.console import emit, say
from mcp_memory.cli.engine_call import ask
from mcp_memory.cli.options import CommonOptions, command_options
from mcp_memory.client.connection import PERSON
from mcp_memory.errors import InvalidInput
from mcp_memory.text.escape_invisible import visible
from mcp_memory.text.pluralize import counted

by_client = click.option("--client", help="Only what this client forgot, e.g. claude-code; cli is the command line.")
in_session = click.option("--session", help="Only what was forgotten in this session.")
from_then = click.option("--since", help="Only what was forgotten from then on, e.g. 2026-11-21T14:30.")


@click.command("list")
@click.option("--deleted", is_flag=True, required=True, help="What was forgotten (`tree` draws what was not).")
@by_client
@in_session
@from_then
@command_options
def list_(
    common: CommonOptions, deleted: bool, client: str | None, session: str | None, since: str | None, as_json: bool
) -> None:
    """List what was forgotten, the latest first: when, by which client, and why.

    \b
    mcp-memory list --deleted
    mcp-memory list --deleted --client claude-code --since 2026-11-21
    """
    del deleted  # required: nothing else is listed
    found = ask(common.settings(), "forgotten", {"client": client, "session": session, "since": since})["forgotten"]
    if as_json:
        emit({"forgotten": found})
        return
    for each in found:
        say(_line(each))
    say(f"{counted(len(found), 'note')} forgotten")


@click.command()
@click.argument("note", required=False)
@by_client
@in_session
@from_then
@click.option("--dry-run", is_flag=True, help="With --client, --session or --since: say what would come back.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@command_options
def restore(
    common: CommonOptions,
    note: str | None,
    client: str | None,
    session: str | None,
    since: str | None,
    dry_run: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Bring a forgotten note or log entry back, byte for byte; or all that a client forgot.

    \b
    mcp-memory restore notes/fact/old-port.md
    mcp-memory restore --client claude-code --since 2026-11-21T14:30 --dry-run
    """
    settings, wanted = common.settings(), {"client": client, "session": session, "since": since}
    several = any(wanted.values())
    if (note is not None) == several or (dry_run and not several):
        raise InvalidInput("name one note, or which ones by --client, --session or --since", hint="see list --deleted")
    if note is not None:
        answer = ask(settings, "restore", {"target": note, "source": PERSON, "personal": True})
        emit(answer) if as_json else say(f"restored  {answer['path']}")
        return
    if as_json and not (yes or dry_run):
        raise InvalidInput("--json cannot ask", hint="pass --yes if you are sure, or --dry-run")
    if dry_run or not yes:
        planned = ask(settings, "forgotten", wanted)["forgotten"]
        if as_json:
            emit({"dry_run": True, "restored": planned, "refused": []})
            return
        for each in planned:
            say(_line(each))
        say(f"{counted(len(planned), 'note')} would come back")
        if dry_run or not planned:
            return
        click.confirm("restore them?", abort=True)
    answer = ask(settings, "restore_all", wanted)
    if as_json:
        emit({"dry_run": False, **answer})
    else:
        say(f"{counted(len(answer['restored']), 'note')} restored")
        for each in answer["refused"]:
            say(f"not restored: {visible(each['id'])}: {visible(each['why'])}")
    if answer["refused"]:
        click.get_current_context().exit(1)


def _line(each: dict[str, Any]) -> str:
    by = each["client"] or "unknown client"
    session = f" in {each['session']}" if each["session"] else ""
    reason = f": {each['reason']}" if each["reason"] else ""
    return visible(f"{each['at'] or 'unknown time'}  {by}{session}  {each['id']}  {each['title']}{reason}")
