"""Maintenance commands: adopt, reindex, config, token, headers, stdio."""

from __future__ import annotations

import os

import click

from mcp_memory.cli.console import emit, say
from mcp_memory.cli.engine_call import ask
from mcp_memory.cli.options import CommonOptions, command_options, located
from mcp_memory.client.credentials import DEFAULT_CLIENT, PERSON, Credentials
from mcp_memory.daemon import settings_in_force
from mcp_memory.errors import InvalidInput
from mcp_memory.runtime import paths
from mcp_memory.settings.settings import as_tree, shipped


@click.command()
@click.argument("path", required=False)
@click.option("--undo", is_flag=True, help="Reverse earlier adoptions. What agents wrote stays theirs.")
@click.option("--dry-run", is_flag=True, help="List them without changing anything.")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@command_options
def adopt(common: CommonOptions, path: str | None, undo: bool, dry_run: bool, yes: bool, as_json: bool) -> None:
    """Let agents change notes in home that this installation did not write, for example after you moved a vault.

    \b
    mcp-memory adopt --dry-run       all of home, without changing it
    mcp-memory adopt notes/decision  one folder or file
    mcp-memory adopt --undo          reverse all adoptions
    """
    settings = common.settings()
    wanted = {"path": path, "revoke": undo}
    key = "returned" if undo else "adopted"
    if dry_run or (path is None and not yes):
        planned = ask(settings, "adopt", {**wanted, "dry_run": True})[key]
        if as_json and not dry_run and planned:
            raise InvalidInput("--json cannot ask", hint="name a path, or pass --yes or --dry-run")
        if as_json:
            emit({key: planned, "dry_run": dry_run})
            return
        for name in planned:
            say(name)
        say(f"{len(planned)} notes would be " + ("yours again" if undo else "the agents' to change and to archive"))
        if dry_run or not planned:
            return
        click.confirm("take them back?" if undo else "hand them over?", abort=True)
    done = ask(settings, "adopt", wanted)[key]
    if as_json:
        emit({key: done, "dry_run": False})
        return
    for name in done:
        say(name)
    say(f"{len(done)} notes " + ("are yours again" if undo else "adopted"))


@click.command()
@command_options
def reindex(common: CommonOptions, as_json: bool) -> None:
    """Read every file again and index the ones that differ from the index.

    Sweeps trust file times; this compares contents. To rebuild the whole index, stop the daemon, delete `index` in
    its state folder (mcp-memory help daemon), and start it again.

    \b
    mcp-memory reindex
    """
    done = ask(common.settings(), "reindex", {})
    if as_json:
        emit(done)
    else:
        say(f"{done['notes']} notes read, {done['embedded']} texts embedded, {done['seconds']} s")


@click.group()
@located
def config() -> None:
    """Show the configuration and where it is.

    \b
    mcp-memory config path
    mcp-memory config show
    mcp-memory config default > ~/.config/mcp-memory/config.toml
    """


@config.command("path")
@command_options
def config_file(common: CommonOptions, as_json: bool) -> None:
    """Print the configuration file's path, whether it exists or not.

    \b
    $EDITOR "$(mcp-memory config path)"
    """
    file = str(common.config or paths.config_file(os.environ))
    emit({"file": file}) if as_json else say(file)


@config.command("show")
@command_options
def config_show(common: CommonOptions, as_json: bool) -> None:
    """Print the effective settings from defaults, file, environment and flags. Settings that the running daemon has not
    loaded yet come first.

    \b
    mcp-memory config show --json
    """
    settings = common.settings()
    tree, changes = as_tree(settings), settings_in_force.find_changes(settings)
    if as_json:
        waiting = [change._asdict() for change in changes]
        emit({"file": str(settings.file) if settings.file else None, "settings": tree, "not_in_force": waiting})
        return
    if changes:
        say(f"# takes effect after {settings_in_force.RESTART}: {settings_in_force.describe_changes(changes)}")
    say(f"# file: {settings.file or 'none (defaults)'}")
    for section, table in tree.items():
        for key, value in table.items():
            say(f"{section}.{key} = {value!r}")


@config.command("default")
@located
def config_default() -> None:
    """Print the default configuration, every key explained.

    \b
    mcp-memory config default > ~/.config/mcp-memory/config.toml
    """
    say(shipped("default.toml").rstrip())


@click.command()
@click.option("--client", default=DEFAULT_CLIENT, show_default=True, help="The client's name.")
@click.option("--rotate", is_flag=True, help="Make a new token and reject the old one; also readmits a revoked client.")
@click.option("--revoke", is_flag=True, help="Reject this client until you rotate its token.")
@command_options
def token(common: CommonOptions, client: str, rotate: bool, revoke: bool, as_json: bool) -> None:
    """Print a client's bearer token, creating it on first use. Prefer `headers`, which checks the daemon first.

    \b
    mcp-memory token --client inspector
    """
    state = common.settings().state
    state.make()
    credentials = Credentials(state.tokens)
    if revoke:
        credentials.revoke(client)
        emit({"client": client, "revoked": True}) if as_json else say(f"{client}: revoked")
        return
    value = credentials.rotate(client) if rotate else credentials.token(client)
    if client == PERSON:
        emit({"client": client, "rotated": True}) if as_json else say(f"{client}: rotated")
        return
    emit({"client": client, "token": value}) if as_json else say(value)


_AS_IT_STANDS = {"ignore_unknown_options": True, "allow_extra_args": True}
"""For commands that read their own arguments, so that they start sooner where they are the first word."""


@click.command(context_settings=_AS_IT_STANDS, add_help_option=False)
@click.pass_context
def headers(ctx: click.Context) -> None:
    """Print a client's HTTP headers as JSON, for its headers helper."""
    from mcp_memory.cli.clients.headers import headers as run

    ctx.exit(run([*_located(ctx.obj), *ctx.args]))


@click.command(context_settings=_AS_IT_STANDS, add_help_option=False)
@click.pass_context
def stdio(ctx: click.Context) -> None:
    """Serve a client that only speaks stdio."""
    from mcp_memory.cli.clients.stdio import stdio as run

    ctx.exit(run([*_located(ctx.obj), *ctx.args]))


def _located(common: CommonOptions) -> list[str]:
    vault = ["--vault", common.vault] if common.vault else []
    return [*vault, *(["--config", str(common.config)] if common.config else [])]
