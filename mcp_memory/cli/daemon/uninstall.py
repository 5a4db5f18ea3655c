"""uninstall: what is ours on this machine goes, and what stays is named; the vault and its notes always stay."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import click

from mcp_memory.cli.clients.installing import connecting_file, find_client_paths, uninstall_client
from mcp_memory.cli.console import emit, say
from mcp_memory.cli.daemon.service import unit_file
from mcp_memory.cli.options import CommonOptions, command_options
from mcp_memory.daemon import launch
from mcp_memory.daemon.instance import is_held, only_instance
from mcp_memory.errors import InvalidInput, StorageFailed
from mcp_memory.integrations.clients import CLIENTS, CONNECTABLE, TITLES, Scope
from mcp_memory.runtime.os_errors import naming_the_cause
from mcp_memory.runtime.paths import config_file
from mcp_memory.settings.settings import Settings


@dataclass(frozen=True, slots=True)
class UninstallPlan:
    """`gone`: files and folders that are there and would go; `stays`: a line for each thing that does not, with how to
    remove it."""

    gone: Sequence[Path]
    stays: Sequence[str]


@click.command()
@click.argument("client", type=click.Choice(CLIENTS), required=False)
@click.option("--scope", type=click.Choice(("user", "project")), default="user", help="With CLIENT: as for install.")
@click.option("--yes", is_flag=True, help="With CLIENT: do not ask.")
@click.option("--purge", is_flag=True, help="Remove this vault's state folder: index, token, logs, journals.")
@click.option("--models", is_flag=True, help="With --purge: the compiled models too, though other vaults may use them.")
@click.option("--dry-run", is_flag=True, help="Only say what would go.")
@command_options
def uninstall(
    common: CommonOptions,
    client: str | None,
    scope: Scope,
    yes: bool,
    purge: bool,
    models: bool,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Remove what mcp-memory keeps for this vault. The vault and its notes stay. Stops the daemon first.

    With CLIENT instead: take out of that client's files what `install` put in, and change nothing else.

    \b
    mcp-memory uninstall claude-code        the client's files as they were
    mcp-memory uninstall                    what would go, and what stays
    mcp-memory uninstall --purge
    """
    settings = common.settings()
    if client:
        if purge or models:
            raise InvalidInput("a client and --purge or --models", hint=f"mcp-memory uninstall {client}")
        uninstall_client(settings, client, scope, dry_run=dry_run, yes=yes, as_json=as_json)
        return
    if models and not purge:
        raise InvalidInput("--models goes with --purge", hint="mcp-memory uninstall --purge --models")
    leaving = plan(settings, models=models)
    done = purge and not dry_run
    if done:
        remove(settings, leaving)
    if as_json:
        emit({"removed": done, "gone": [str(place) for place in leaving.gone], "stays": list(leaving.stays)})
        return
    for place in leaving.gone:
        say(f"{'removed' if done else 'would go'}  {place}")
    if not leaving.gone:
        say("nothing of this vault is kept outside it")
    say("stays:")
    for line in leaving.stays:
        say(f"  {line}")
    if leaving.gone and not purge:
        say("to remove it: mcp-memory uninstall --purge")


def plan(settings: Settings, *, models: bool) -> UninstallPlan:
    """What there is, looked at and left alone."""
    state = settings.state
    others = [place for place in _folders(state.home / "vaults") if place != state.root]
    # A models folder that somebody has set is somebody's: what we compiled goes only when asked for, the rest never.
    is_ours = state.home in state.models.parents
    kept = [place for place in (state.models / "models", state.models / "hub") if place.is_dir()]
    shared = kept if is_ours else _compiled(state.models / "models")
    with_models = models or (not others and is_ours)
    gone = [*([state.root] if state.root.is_dir() else []), *(shared if with_models else [])]
    stays = [
        f"the vault and every note in it: {settings.vault_path}",
        "but who wrote them is forgotten: after a new start agents may change none until: mcp-memory adopt",
    ]
    if not with_models:
        stays += [f"compiled models: {place} (mcp-memory uninstall --purge --models)" for place in shared]
    if others:
        stays.append(f"the state of other vaults: {', '.join(str(place) for place in sorted(others))}")
    file = settings.file or Path(config_file(os.environ))
    if file.is_file():
        stays.append(f"your settings: rm {shlex.quote(str(file))}")
    stays += _wired(settings)
    if (unit := unit_file(settings)).exists():
        stays.append(f"the systemd unit {unit}: mcp-memory service uninstall")
    stays.append(
        "the program itself: remove the virtual environment that it is installed in, or: pip uninstall mcp-memory"
    )
    return UninstallPlan(gone, stays)


def remove(settings: Settings, leaving: UninstallPlan) -> None:
    """Stop the daemon, then remove what is planned; a second time does nothing. Raises StorageFailed, and Busy where
    another process uses the vault."""
    state = settings.state
    if state.root.is_dir():
        launch.stop(settings)
        with only_instance(state):  # no daemon starts in the middle of it
            for place in leaving.gone:
                _remove(place)
    else:
        for place in leaving.gone:
            _remove(place)
    ours = [place for place in (state.models, state.root.parent) if state.home in place.parents]
    for place in (*ours, state.home):
        with suppress(OSError):  # not empty, or not there: then it is not only ours
            place.rmdir()
    if is_held(state):
        raise StorageFailed(f"a daemon has come up again and uses {state.root}", hint="mcp-memory stop, then again")


def _wired(settings: Settings) -> list[str]:
    """A line for each client that is still connected to this vault, everywhere or here."""
    place = find_client_paths()
    lines: list[str] = []
    for client, scope in CONNECTABLE:
        if scope == "project" and place.project is None:
            continue
        if file := connecting_file(client, scope, settings, place):
            option = " --scope project" if scope == "project" else ""
            lines.append(f"{TITLES[client]} ({file}): mcp-memory uninstall {client}{option}")
    return lines


def _remove(place: Path) -> None:
    with naming_the_cause(str(place)):
        shutil.rmtree(place)


def _compiled(parent: Path) -> list[Path]:
    """The models that we have compiled: `embedders.compiled` names their folders by a hash and puts a manifest in."""
    named = re.compile(r".+-[0-9a-f]{12}")
    return [p for p in sorted(_folders(parent)) if named.fullmatch(p.name) and (p / "manifest.json").is_file()]


def _folders(parent: Path) -> list[Path]:
    try:
        return [place for place in parent.iterdir() if place.is_dir()]
    except FileNotFoundError:
        return []
