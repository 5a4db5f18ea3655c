"""Finds the clients on this machine, and connects them."""

import shutil
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import click

from mcp_memory.cli.clients.config_changes import InstallPlan, make_changes, show_diff
from mcp_memory.cli.clients.connection_entries import typed_command
from mcp_memory.cli.clients.hook_trust import has_trust
from mcp_memory.cli.clients.installing import find_client_paths, plan_connection, targets_of
from mcp_memory.cli.clients.next_steps import SESSIONS_ARE_KEPT
from mcp_memory.cli.command_context import CommandContext
from mcp_memory.cli.console import short_path
from mcp_memory.cli.setup.dialogue import Dialogue
from mcp_memory.errors import McpMemoryError, Refused
from mcp_memory.integrations import config_files
from mcp_memory.integrations.clients import CLIENTS, TITLES, find_client
from mcp_memory.settings.settings import Settings


def connect_all(cli: CommandContext, *, dry_run: bool, yes: bool) -> None:
    """Connect the clients that are found, as `install` does. Exits with 1 if a client could not be connected. Raises
    Refused."""
    if not (yes or dry_run):
        cli.refuse_questions("pass --yes, or --dry-run")
    dialogue = Dialogue(cli, yes, preview=dry_run)
    connect_clients(dialogue, cli.settings, ())
    cli.show(dialogue.report, ())
    if dialogue.has_failed:
        click.get_current_context().exit(1)


def connect_clients(dialogue: Dialogue, settings: Settings, only: Sequence[str]) -> list[str]:
    """Connect the clients in `only`, found or not; if it is empty, connect those that are found. Returns the
    clients that are connected at the end. Raises ConfigInvalid."""
    paths = find_client_paths()
    rows = dialogue.report["clients"] = list[dict[str, Any]]()
    absent = list[str]()
    for client in only or CLIENTS:
        places = [short_path(place) for place in find_client(client, paths)]
        rows.append(row := {"client": client, "found": places, "state": "not found"})
        title = f"{TITLES[client]} ({', '.join(places) or 'not found'})"
        try:
            if not (places or only):
                absent.append(TITLES[client])
            else:
                row |= _connect(dialogue, settings, client, title)
        except McpMemoryError as error:
            dialogue.fail(f"{title}: not connected", error)
            row |= {"state": "failed", "error": error.message, "hint": error.hint}
    if absent:
        dialogue.say(f"not found, neither program nor folder: {', '.join(absent)}")
    if not any(row["found"] for row in rows):
        dialogue.say("None was found. Install one and run this again; for any other client: mcp-memory install generic")
    return [row["client"] for row in rows if row["state"] in {"connected", "connected already"}]


def _connect(dialogue: Dialogue, settings: Settings, client: str, title: str) -> dict[str, Any]:
    plan = _plan(settings, client)
    if not plan.changes:
        dialogue.say(f"{title}: connected already")
        return {"state": "connected already"}
    for change in plan.changes:
        config_files.check(change)
    dialogue.say(f"{title}: to be connected")
    for change in plan.changes:
        dialogue.say(f"{short_path(change.file)}: {', '.join(change.what)}", indent=4)
    agreed = partial(dialogue.agree, f"Connect {TITLES[client]} with these changes?", partial(show_diff, plan))
    if not dialogue.preview and not agreed():
        dialogue.say(f"Not connected. Later: {typed_command(settings, f'install {client}')}")
        return {"state": "declined"}
    state = "would be connected" if dialogue.preview else "connected"
    made, _ = make_changes(plan, dry_run=dialogue.preview, done=state)
    dialogue.say(f"{TITLES[client]}: {state}")
    for remark in (remark for remark in made["remarks"] if remark != SESSIONS_ARE_KEPT):  # printed at the end
        dialogue.say(f"→ {remark}", indent=4)
    return {**made, "state": state}


def _plan(settings: Settings, client: str) -> InstallPlan:
    """Plan a connection, with Codex's trust in our hooks if Codex reports the hooks that it would trust. Raises
    Refused."""
    plan = partial(plan_connection, settings, client, "user")
    if client == "codex" and shutil.which("codex"):
        with suppress(Refused):
            codex = targets_of(client, "user", settings, find_client_paths())
            return plan(trust=not has_trust(codex))
    return plan()
