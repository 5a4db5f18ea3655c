"""install CLIENT, uninstall CLIENT: what a client needs to use memory, put into its files and taken out again."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import click

from mcp_memory.cli.clients import snippets
from mcp_memory.cli.clients.config_changes import InstallPlan, apply_plan
from mcp_memory.cli.clients.hook_trust import has_trust, hashes_of
from mcp_memory.cli.clients.next_steps import after_install
from mcp_memory.cli.console import print_status
from mcp_memory.cli.options import CommonOptions, command_options
from mcp_memory.client.connection import Address
from mcp_memory.client.credentials import Credentials
from mcp_memory.daemon import launch
from mcp_memory.daemon.listen import kept_port
from mcp_memory.daemon.serve import LOOPBACK_OF
from mcp_memory.errors import InvalidInput, McpMemoryError, NotRunning, Refused
from mcp_memory.integrations import commands, config_files
from mcp_memory.integrations.clients import (
    CLIENTS,
    CONNECTABLE,
    PROGRAMS,
    TITLES,
    ClientPaths,
    ConnectionDetails,
    Scope,
    ask_entry,
    config_targets,
    explain_unread,
    with_hook_trust,
)
from mcp_memory.integrations.config_entries import HookEntries, ServerEntry, helper_of
from mcp_memory.integrations.config_plan import ConfigChange, ConfigTarget, plan_install, plan_uninstall
from mcp_memory.integrations.installed_plugin import find_installed_plugin
from mcp_memory.integrations.marked_block import InstructionBlock
from mcp_memory.runtime.paths import absolute
from mcp_memory.settings.settings import PREFERRED_PORT, Settings, shipped, shipped_path

UNKNOWN_TOKEN = "…"  # noqa: S105 -- stands for one that is not needed, or that a dry run does not make


@click.command()
@click.argument("client", type=click.Choice(CLIENTS))
@click.option(
    "--scope",
    type=click.Choice(("user", "project")),
    default="user",
    show_default=True,
    help="For all you do, or in this git repository only.",
)
@click.option("--name", help="What the client calls the server; default: memory, or memory-VAULT.")
@click.option("--no-hooks", is_flag=True, help="Without the hooks that bring memory up by themselves.")
@click.option("--trust-hooks", is_flag=True, help="Codex: have it trust our hooks, as if you had accepted them there.")
@click.option("--dry-run", is_flag=True, help="Only show what would change.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@command_options
def install(
    common: CommonOptions,
    client: str,
    scope: Scope,
    name: str | None,
    no_hooks: bool,
    trust_hooks: bool,
    dry_run: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Connect a client: the server, the permission to call its tools where the client has one, the hooks, and a few
    lines that tell the agent when to use memory.

    Shows what changes in which file, and asks. A file that changes is kept beside itself, with a date.

    \b
    mcp-memory install claude-code
    mcp-memory install codex --scope project --dry-run
    """
    can_trust = client == "codex" and scope == "user" and not no_hooks
    if trust_hooks and not can_trust:
        raise InvalidInput("--trust-hooks is for Codex's own hooks", hint="mcp-memory install codex --trust-hooks")
    if name is not None and not snippets.SERVER_NAME.fullmatch(name):
        raise InvalidInput("a server's name is of the letters a to z, digits, - and _", hint="--name memory-of-mine")
    settings = common.settings()
    if settings.daemon.uds:
        raise Refused(
            "the daemon listens on a Unix socket, which no client can use by itself",
            hint="take out daemon.uds, or have the client start mcp-memory stdio",
        )
    if not dry_run and address_of(settings) is None:
        print_status("starting the daemon: its address goes into the client's files")
        launch.launch(settings, [], tell=print_status)
    place = find_client_paths()
    token = _token(settings, client, makes=not dry_run) if client == "openclaw" else UNKNOWN_TOKEN
    wire = _wire(client, settings, place, scope, name=name, token=token)
    _refuse_to_bring_twice(client, place, wire)
    wanted = config_targets(client, scope, place, wire, hooks=not no_hooks)
    can_ask = can_trust and not (yes or dry_run or as_json) and sys.stdin.isatty()
    if trust_hooks or (can_ask and _agrees_to_trust(wanted)):
        wanted, trust_hooks = with_hook_trust(wanted, _hashes(wanted)), True
    changes = [plan_install(target, config_files.read(target.file)) for target in wanted]
    trusted = trust_hooks or (
        has_trust(wanted) and all(change.is_nothing for change in changes if _is_of_hooks(change))
    )
    remarks = after_install(client, scope, settings, expected_url(settings), changes, trusted=trusted)
    plan = InstallPlan(client, scope, changes, remarks)
    apply_plan(plan, dry_run=dry_run, yes=yes, as_json=as_json, done="connected")
    if not dry_run and launch.connect(settings) is None:
        launch.launch(settings, [], tell=print_status)


def uninstall_client(settings: Settings, client: str, scope: Scope, *, dry_run: bool, yes: bool, as_json: bool) -> None:
    """Take out of the client's files what `install` put in for this vault. Raises Refused."""
    place = find_client_paths()
    wanted = targets_of(client, scope, settings, place)
    shared = _instructions_of_others(client, scope, settings, place)
    changes = [
        plan_uninstall(target, config_files.read(target.file), _backups(target.file, settings, place))
        for target in wanted
        if target.file.resolve() not in shared
    ]
    kept = [
        f"kept from before: {backup}"
        for change in changes
        for backup, _ in _backups(change.file, settings, place)
        if backup not in change.spent
    ]
    apply_plan(
        InstallPlan(client, scope, changes, kept), dry_run=dry_run, yes=yes, as_json=as_json, done="disconnected"
    )


def targets_of(client: str, scope: Scope, settings: Settings, place: ClientPaths) -> list[ConfigTarget]:
    """The client's files and what belongs into them; no token is made. Raises Refused for a scope that it lacks."""
    return config_targets(client, scope, place, _wire(client, settings, place, scope), hooks=True)


def connecting_file(client: str, scope: Scope, settings: Settings, place: ClientPaths) -> Path | None:
    """The file that holds the client's entry of this vault. None where there is none, or it cannot be read."""
    for target in targets_of(client, scope, settings, place):
        with suppress(McpMemoryError):
            if ask_entry(target, config_files.read(target.file), ServerEntry, ServerEntry.is_in):
                return target.file
    return None


def find_client_paths() -> ClientPaths:
    """This person's home, this environment, and the git repository that we are in. Raises ConfigInvalid."""
    here = Path.cwd()
    root = next((folder for folder in (here, *here.parents) if (folder / ".git").exists()), None)
    return ClientPaths(Path(absolute("~")), os.environ, root)


def address_of(settings: Settings) -> str | None:
    """The URL of this vault's daemon, also while it is down; None before it ever ran."""
    try:
        return Address.read(settings.state.daemon).url
    except NotRunning:
        port = settings.daemon.port or kept_port(settings.state)
        return _url(settings, port) if port else None


def expected_url(settings: Settings) -> str:
    """The URL of this vault's daemon, or the one that it will want."""
    return address_of(settings) or _url(settings, PREFERRED_PORT)


def _url(settings: Settings, port: int) -> str:
    host = LOOPBACK_OF.get(settings.daemon.host, settings.daemon.host)
    return Address(host, port, "", 0, "", "").url


def _wire(
    client: str,
    settings: Settings,
    place: ClientPaths,
    scope: Scope,
    *,
    name: str | None = None,
    token: str = UNKNOWN_TOKEN,
) -> ConnectionDetails:
    project = place.project.name if scope == "project" and place.project else None
    url = expected_url(settings)
    return ConnectionDetails(
        name=name or snippets.server_name(settings),
        entry={} if client == "generic" else snippets.server_entry(client, settings, url, project=project),
        instructions=shipped("clients/instructions.md"),
        hooks=snippets.hook_commands(client, settings, shared=project is not None),
        vault=snippets.vault_option(settings),
        variable=snippets.token_variable(settings),
        token=token,
        plugin=(str(shipped_path("plugin")), snippets.hook_line("EVENT", "openclaw", settings)),
        chosen=name is not None,
    )


def _refuse_to_bring_twice(client: str, place: ClientPaths, wire: ConnectionDetails) -> None:
    """Raises Refused where the client has our plugin for this vault."""
    plugin = find_installed_plugin(client, place)
    if plugin and commands.read(helper_of(plugin.entry)) == commands.read(helper_of(wire.entry)):
        raise Refused(
            f"{TITLES[client]} has our plugin {plugin.key} ({plugin.file}): hooks and tools would come twice",
            hint=f"stay with it, or: {PROGRAMS[client]} plugin remove {plugin.key}, then the same command again",
        )


def _agrees_to_trust(wanted: Sequence[ConfigTarget]) -> bool:
    """Asks, unless Codex has noted down that it trusts them, or is not there to say what it would trust."""
    question = "have Codex trust our hooks? Else it asks you, and skips them until then"
    return not has_trust(wanted) and shutil.which("codex") is not None and click.confirm(question)


def _is_of_hooks(change: ConfigChange) -> bool:
    """Trust holds as long as these stay; the server may get another address meanwhile."""
    return any(isinstance(piece, HookEntries) for piece in change.target.entries)


def _hashes(wanted: Sequence[ConfigTarget]) -> dict[str, str]:
    """What Codex will go by when it trusts our hooks as they are planned. Raises Refused."""
    hooks = next(target for target in wanted if any(isinstance(piece, HookEntries) for piece in target.entries))
    content = plan_install(hooks, config_files.read(hooks.file)).new or b""
    if why_not := explain_unread("codex", hooks, content):
        raise Refused(why_not, hint="nothing was changed; correct the file, then try again")
    return hashes_of(hooks.file, content)


def _token(settings: Settings, client: str, *, makes: bool) -> str:
    credentials = Credentials(settings.state.tokens)
    if makes:
        settings.state.make()
    return credentials.token(client) if makes or credentials.has(client) else UNKNOWN_TOKEN


def _backups(file: Path, settings: Settings, place: ClientPaths) -> list[tuple[Path, bytes]]:
    """Earlier states of the file, oldest first: beside it, and beside links to it by which other clients know it."""
    names = {file} | {
        target.file
        for client, scope in CONNECTABLE
        if scope == "user" or place.project
        for target in targets_of(client, scope, settings, place)
        if target.file.resolve() == file.resolve()
    }
    found = [backup for name in names for backup in config_files.backups(name)]
    return sorted(found, key=lambda backup: backup[0].stem.rpartition(config_files.MARK)[2])


def _has_another(client: str, scope: Scope, settings: Settings, place: ClientPaths) -> bool:
    for target in targets_of(client, scope, settings, place):
        with suppress(McpMemoryError):
            if ask_entry(target, config_files.read(target.file), ServerEntry, ServerEntry.is_of_another_vault):
                return True
    return False


def _instructions_of_others(client: str, scope: Scope, settings: Settings, place: ClientPaths) -> set[Path]:
    """Files whose instructions another client or vault needs that is still connected: AGENTS.md is read by several."""
    return {
        target.file.resolve()
        for other, its_scope in CONNECTABLE
        if its_scope == scope
        and (
            (other != client and connecting_file(other, scope, settings, place))
            or _has_another(other, scope, settings, place)
        )
        for target in targets_of(other, scope, settings, place)
        if any(isinstance(piece, InstructionBlock) for piece in target.entries)
    }
