"""The uninstall command: removes what mcp-memory keeps on this machine; the vault and its notes always stay."""

import os
import shlex
import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import click

from mcp_memory.cli.clients.config_changes import apply_plan, make_changes, show_diff
from mcp_memory.cli.clients.installing import connecting_file, find_client_paths, plan_disconnection
from mcp_memory.cli.command_context import CommandContext, command_options, flag
from mcp_memory.cli.command_context import scope as scope_option
from mcp_memory.cli.console import confirm, print_status, say_all
from mcp_memory.daemon import launch
from mcp_memory.daemon.instance import is_held, only_instance
from mcp_memory.errors import InvalidInput, McpMemoryError, StorageFailed
from mcp_memory.integrations import config_files
from mcp_memory.integrations.clients import CLIENTS, CONNECTABLE, Scope
from mcp_memory.runtime.paths import config_file
from mcp_memory.runtime.private_files import naming_the_cause
from mcp_memory.settings.settings import Settings

DISTRIBUTION = "mcp-memory-vault"
"""The name of our package on PyPI, where `mcp-memory` is somebody else's."""


class UninstallPlan(NamedTuple):
    """A plan to remove a vault's state. `gone` has the existing files and folders to remove. `stays` has a line for
    each thing that stays, with how to remove it."""

    gone: Sequence[Path]
    stays: Sequence[str]


@click.command()
@click.argument("client", type=click.Choice(list(CLIENTS)), metavar="[CLIENT]", required=False)
@flag("--all", "everything", help="All connected clients, instead of CLIENT.")
@scope_option
@flag("--yes", help="With CLIENT or --all: don't ask.")
@flag("--purge", help="Remove this vault's state folder: index, token, logs, journals.")
@flag("--dry-run", help="Only list what would be removed.")
@command_options
def uninstall(
    cli: CommandContext, client: str | None, everything: bool, scope: Scope, yes: bool, purge: bool, dry_run: bool
) -> None:
    """Remove what mcp-memory keeps for this vault. The vault and its notes stay. Stops the daemon first.

    With CLIENT, remove only what `install` added to that client's files.

    \b
    mcp-memory uninstall claude-code        restore the client's files
    mcp-memory uninstall --all              restore all clients' files
    mcp-memory uninstall                    what would be removed, and what stays
    mcp-memory uninstall --purge"""
    if client or everything:
        if purge or (everything and (client or scope != "user")):
            hint = f"mcp-memory uninstall {client or '--all'}"
            raise InvalidInput("name a client, or pass --all or --purge alone", hint=hint)
        if client:
            plan = plan_disconnection(cli.settings_without_mistakes, client, scope)
            apply_plan(cli, plan, dry_run=dry_run, yes=yes, done="disconnected")
        else:
            _disconnect_all(cli, dry_run=dry_run, yes=yes)
        return
    plan = plan_uninstall(cli.settings_without_mistakes)
    done = purge and not dry_run
    if done:
        _remove_all(cli.settings_without_mistakes, plan)
    lines = [f"{'removed' if done else 'would go'}  {place}" for place in plan.gone]
    lines += [] if plan.gone else ["nothing is kept for this vault outside it"]
    lines += ["stays:", *(f"  {line}" for line in plan.stays)]
    lines += ["to remove it: mcp-memory uninstall --purge"] if plan.gone and not purge else []
    cli.show({"removed": done, "gone": [str(place) for place in plan.gone], "stays": list(plan.stays)}, lines)


def _disconnect_all(cli: CommandContext, *, dry_run: bool, yes: bool) -> None:
    """Disconnect all clients. Exits with 1 if a client's files could not be read or changed; the others are
    disconnected."""
    if not (yes or dry_run):
        cli.refuse_questions("pass --yes, or --dry-run")
    rows, has_failed = list[dict[str, Any]](), False
    for client, described in CLIENTS.items():
        try:
            plan = plan_disconnection(cli.settings_without_mistakes, client, "user")
            for change in () if dry_run else plan.changes:
                config_files.check(change)
            if not plan.changes:
                continue
            if not cli.as_json:
                show_diff(plan)
            if not (yes or dry_run or confirm(f"disconnect {described.title} with these changes?")):
                continue
            row, lines = make_changes(plan, dry_run=dry_run, done="disconnected")
            rows.append(row)
            say_all([] if cli.as_json else lines)
        except McpMemoryError as error:
            print_status(f"{described.title}: not disconnected: {error}")
            rows.append({"client": client, "done": False, "error": error.message, "hint": error.hint})
            has_failed = True
    cli.show({"clients": rows}, [] if rows else ["no client's files contain anything of this vault"])
    if has_failed:
        click.get_current_context().exit(1)


def plan_uninstall(settings: Settings) -> UninstallPlan:
    """Return what would be removed and what would stay, without changing anything."""
    state = settings.state
    others = [place for place in (state.home / "vaults").glob("*/") if place != state.root]
    models = [place for place in (state.models / "models", state.models / "hub") if place.is_dir()]
    # The models of all vaults go with the last vault, unless they are in a folder that you chose.
    with_models = not others and state.home in state.models.parents
    gone = [*([state.root] if state.root.is_dir() else []), *(models if with_models else [])]
    stays = [
        f"the vault and every note in it: {settings.vault_path}",
        "but not who wrote them: after a fresh start, agents can change none until you run mcp-memory adopt",
    ]
    if not with_models:
        stays += [f"compiled and downloaded models: {place}" for place in models]
    if others:
        stays.append(f"the state of other vaults: {', '.join(str(place) for place in sorted(others))}")
    file = settings.file or Path(config_file(os.environ))
    if file.is_file():
        stays.append(f"your settings: rm {shlex.quote(str(file))}")
    paths = find_client_paths()
    for client, scope in CONNECTABLE:
        is_possible = scope == "user" or paths.project is not None
        if is_possible and (connected := connecting_file(client, scope, settings, paths)):
            option = " --scope project" if scope == "project" else ""
            stays.append(f"{CLIENTS[client].title} ({connected}): mcp-memory uninstall {client}{option}")
    stays.append(f"the program: remove the virtual environment it is installed in, or: pip uninstall {DISTRIBUTION}")
    return UninstallPlan(gone, stays)


def _remove_all(settings: Settings, plan: UninstallPlan) -> None:
    """Stop the daemon, then remove the planned files; repeating this is harmless. Raises StorageFailed, and Busy if
    another process has the vault's lock."""
    state = settings.state
    if state.root.is_dir():
        launch.stop(settings)
        with only_instance(state):  # meanwhile no daemon can start
            _remove(plan.gone)
    else:
        _remove(plan.gone)
    ours = [place for place in (state.models, state.root.parent) if state.home in place.parents]
    for place in (*ours, state.home):
        with suppress(OSError):  # missing, or it holds something that isn't ours
            place.rmdir()
    if is_held(state):
        raise StorageFailed(
            f"a daemon has started again and uses {state.root}", hint="run mcp-memory stop, then try again"
        )


def _remove(places: Sequence[Path]) -> None:
    for place in places:
        with naming_the_cause(str(place)):
            shutil.rmtree(place)
