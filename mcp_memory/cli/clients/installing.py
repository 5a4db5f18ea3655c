"""Connects clients to a vault and disconnects them: `install CLIENT` and `uninstall CLIENT`."""

import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import click

from mcp_memory.cli.clients.config_changes import InstallPlan, apply_plan, next_steps
from mcp_memory.cli.clients.connection_entries import (
    PASTED,
    SERVER_NAME,
    entries_to_paste,
    hook_commands,
    hook_line,
    paste_lines,
    server_entry,
    server_name,
    vault_option,
)
from mcp_memory.cli.clients.hook_trust import agrees_to_trust, has_trust, hashes_of
from mcp_memory.cli.command_context import CommandContext, command_options, flag
from mcp_memory.cli.command_context import scope as scope_option
from mcp_memory.cli.console import print_status
from mcp_memory.daemon import launch
from mcp_memory.daemon.listen import expected_url, known_url
from mcp_memory.errors import InvalidInput, McpMemoryError, Refused
from mcp_memory.integrations import config_files, text_file
from mcp_memory.integrations.clients import CLIENTS, CONNECTABLE, ClientPaths, Scope, with_hook_trust
from mcp_memory.integrations.clients.client import ConnectionDetails
from mcp_memory.integrations.clients.openclaw import OpenClawPlugin
from mcp_memory.integrations.config_entries import ConfigEntry, HookEntries, InstructionBlock
from mcp_memory.integrations.config_plan import (
    ConfigChange,
    ConfigTarget,
    plan_install,
    plan_uninstall,
)
from mcp_memory.integrations.server_entry import ServerEntry
from mcp_memory.runtime.paths import absolute
from mcp_memory.settings.settings import Settings, shipped, shipped_path

GENERIC = "generic"
"""The name for any other client, which gets no files changed."""


@click.command()
@click.argument("client", type=click.Choice([*CLIENTS, *PASTED, GENERIC]), metavar="[CLIENT]", required=False)
@flag("--all", "everything", help="All clients on this machine, instead of CLIENT.")
@scope_option
@click.option("--name", help="The server's name in the client; default: memory, or memory-VAULT.")
@flag("--no-hooks", help="Skip the hooks that give agents notes unasked.")
@flag("--trust-hooks", help="Codex: trust our hooks, as if you had accepted them there.")
@flag("--dry-run", help="Only show what would change.")
@flag("--yes", help="Don't ask.")
@command_options
def install(
    cli: CommandContext,
    client: str | None,
    everything: bool,
    scope: Scope,
    name: str | None,
    no_hooks: bool,
    trust_hooks: bool,
    dry_run: bool,
    yes: bool,
) -> None:
    """Connect a client: add the server, permission to call its tools if the client asks for that, the hooks, and a few
    lines that tell the agent when to use memory.

    CLIENT: claude-code, codex, openclaw, gemini, opencode, cursor or vscode. For windsurf, cline, zed and generic (any
    other client), it changes no file and prints what to paste where.

    Shows the changes to each file, then asks. A dated backup is kept beside each changed file.

    \b
    mcp-memory install claude-code
    mcp-memory install --all
    mcp-memory install codex --scope project --dry-run"""
    if (client is None) != everything:
        raise InvalidInput("name a client, or pass --all", hint="mcp-memory install --help lists them")
    if everything and (name or no_hooks or trust_hooks or scope != "user"):
        raise InvalidInput(
            "--all can be combined only with --dry-run and --yes", hint="mcp-memory install CLIENT, with its options"
        )
    can_trust = client == "codex" and scope == "user" and not no_hooks
    if trust_hooks and not can_trust:
        raise InvalidInput("--trust-hooks is for Codex's own hooks", hint="mcp-memory install codex --trust-hooks")
    if name is not None and not SERVER_NAME.fullmatch(name):
        raise InvalidInput("a server's name may contain only letters, digits, - and _", hint="--name memory-of-mine")
    settings = cli.settings
    can_ask = can_trust and not (yes or dry_run or cli.as_json) and sys.stdin.isatty()
    if not dry_run and not settings.daemon.uds and known_url(settings) is None:
        print_status("starting the daemon: its address goes into the client's files")
        launch.launch(settings, [], tell=print_status)
    if client and client not in CLIENTS:
        fragments = entries_to_paste(client, settings, expected_url(settings))
        cli.show({"snippets": fragments}, paste_lines(fragments))
    elif client:
        trust = trust_hooks or (can_ask and agrees_to_trust(targets_of("codex", "user", settings, find_client_paths())))
        plan = plan_connection(settings, client, scope, name=name, hooks=not no_hooks, trust=trust)
        apply_plan(cli, plan, dry_run=dry_run, yes=yes, done="connected")
    else:
        from mcp_memory.cli.setup.steps import connect_all

        connect_all(cli, dry_run=dry_run, yes=yes)
    if not dry_run and launch.connect(settings) is None:
        launch.launch(settings, [], tell=print_status)


def plan_connection(
    settings: Settings,
    client: str,
    scope: Scope,
    *,
    name: str | None = None,
    hooks: bool = True,
    trust: bool = False,
) -> InstallPlan:
    """Return the changes that `install` will make. With `trust`, they make Codex trust our hooks. Raises Refused, and
    what reading the files raises."""
    described = CLIENTS[client]
    paths = find_client_paths()
    wanted = described.targets(_connection(client, settings, paths, scope, name=name, hooks=hooks))
    if trust:
        hooked = next(target for target in wanted if target.has(HookEntries))
        content = plan_install(hooked, text_file.read(hooked.file)).new or b""
        if why := described.why_unread(hooked, content):
            raise Refused(why, hint="nothing was changed; fix the file, then try again")
        wanted = with_hook_trust(wanted, hashes_of(hooked.file, content))
    changes = [plan_install(target, text_file.read(target.file)) for target in wanted]
    for change in changes:
        if why := described.why_unread(change.target, change.old):
            raise Refused(why, hint="nothing was changed; correct the file, then try again")
    # Codex's trust lasts as long as the hooks stay the same; the server's address may change.
    same_hooks = all(change.is_nothing for change in changes if change.target.has(HookEntries))
    trusted = trust or (has_trust(wanted) and same_hooks)
    steps = next_steps(client, scope, settings, paths, expected_url(settings), changes, trusted=trusted)
    return InstallPlan(client, scope, [change for change in changes if not change.is_nothing], list(steps))


def plan_disconnection(settings: Settings, client: str, scope: Scope) -> InstallPlan:
    """Return the changes that remove from the client's files what `install` put in for this vault. Raises Refused."""
    paths = find_client_paths()
    shared = _shared_instructions(client, scope, settings, paths)
    changes, kept = list[ConfigChange](), list[str]()
    for target in targets_of(client, scope, settings, paths):
        if target.file.resolve() in shared:
            continue
        backups = _backups(target.file, settings, paths)
        change = plan_uninstall(target, text_file.read(target.file), backups)
        changes += [] if change.is_nothing else [change]
        kept += [f"older backup: {backup}" for backup, _ in backups if backup not in change.spent]
    return InstallPlan(client, scope, changes, kept)


def targets_of(client: str, scope: Scope, settings: Settings, paths: ClientPaths) -> list[ConfigTarget]:
    """Return the client's files with the entries that belong in them. Raises Refused for a scope that the client
    lacks."""
    return CLIENTS[client].targets(_connection(client, settings, paths, scope))


def connecting_file(client: str, scope: Scope, settings: Settings, paths: ClientPaths) -> Path | None:
    """Return the file with the client's entry for this vault; None if no readable file has an entry."""
    for file, text, entry in _readable(client, scope, settings, paths):
        if isinstance(entry, (ServerEntry, OpenClawPlugin)) and entry.is_in(text):
            return file
    return None


def connected_clients(settings: Settings) -> list[str]:
    """Return the titles of the clients whose own files name this vault."""
    paths = find_client_paths()
    return [client.title for client in CLIENTS.values() if connecting_file(client.name, "user", settings, paths)]


def find_client_paths() -> ClientPaths:
    """Return your home folder, this environment, and the git repository that contains the working folder. Raises
    ConfigInvalid."""
    here = Path.cwd()
    root = next((folder for folder in (here, *here.parents) if (folder / ".git").exists()), None)
    return ClientPaths(Path(absolute("~")), os.environ, root)


def _connection(
    client: str, settings: Settings, paths: ClientPaths, scope: Scope, *, name: str | None = None, hooks: bool = True
) -> ConnectionDetails:
    project = paths.project.name if scope == "project" and paths.project else None
    return ConnectionDetails(
        scope,
        paths,
        name=name or server_name(settings),
        entry=server_entry(client, settings, expected_url(settings), project=project),
        instructions=shipped("clients/instructions.md"),
        hooks=hook_commands(client, settings, shared=project is not None) if hooks else {},
        plugin=(str(shipped_path("plugin")), hook_line("EVENT", client, settings)) if hooks else None,
        vault=vault_option(settings),
        chosen=name is not None,
    )


def _backups(file: Path, settings: Settings, paths: ClientPaths) -> list[tuple[Path, bytes]]:
    """Return earlier states of the file, oldest first. They are beside the file, and beside links to it that other
    clients use."""
    names = {file} | {
        target.file
        for client, scope in CONNECTABLE
        if scope == "user" or paths.project
        for target in targets_of(client, scope, settings, paths)
        if target.file.resolve() == file.resolve()
    }
    found = [backup for name in names for backup in config_files.backups(name)]
    return sorted(found, key=lambda backup: backup[0].stem.rpartition(config_files.MARK)[2])


def _readable(
    client: str, scope: Scope, settings: Settings, paths: ClientPaths
) -> Iterator[tuple[Path, str, ConfigEntry]]:
    """Yield the entries that belong in the client's files, each with the file and its text. Skip files that can't be
    read."""
    for target in targets_of(client, scope, settings, paths):
        with suppress(McpMemoryError):
            text = text_file.read_text(target.file)
            for entry in target.entries:
                entry.is_in(text)  # raises for a broken text
                yield target.file, text, entry


def _shared_instructions(client: str, scope: Scope, settings: Settings, paths: ClientPaths) -> set[Path]:
    """Return the files whose instructions another connected client or vault still needs. Several clients read
    AGENTS.md."""
    shared = set[Path]()
    for other, its_scope in CONNECTABLE:
        if its_scope != scope:
            continue
        is_needed = other != client and connecting_file(other, scope, settings, paths) is not None
        for _, text, entry in _readable(other, scope, settings, paths):
            is_needed |= isinstance(entry, ServerEntry) and entry.is_of_another_vault(text)
        if is_needed:
            targets = targets_of(other, scope, settings, paths)
            shared |= {target.file.resolve() for target in targets if target.has(InstructionBlock)}
    return shared
