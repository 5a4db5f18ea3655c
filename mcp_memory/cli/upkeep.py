"""doctor, adopt, reindex, config, token, headers: looking after a vault."""

from __future__ import annotations

import os

import click

from mcp_memory.cli.asking import ask
from mcp_memory.cli.console import emit, say, tell
from mcp_memory.cli.options import Common, as_json, located
from mcp_memory.client.credentials import DEFAULT_CLIENT, Credentials
from mcp_memory.daemon.instance import is_held
from mcp_memory.settings import as_tree, shipped
from mcp_memory.settings.state import config_path


@click.command()
@click.option("--accept", is_flag=True, help="The vanished notes are really gone: take them out of the index.")
@located
@as_json
@click.pass_obj
def doctor(common: Common, accept: bool, as_json: bool) -> None:
    """Say what is wrong or odd, each with its remedy. Exit code 1 if something needs a person.

    \b
    mcp-memory doctor
    """
    settings = common.settings()
    if accept:
        pruned = ask(settings, "accept", {})["pruned"]
        emit({"pruned": pruned}) if as_json else say(f"{pruned} vanished notes left the index")
        return
    findings = ask(settings, "doctor", {})["findings"]
    if not is_held(settings.state):
        tell(f"no daemon runs for {settings.vault_path}: agents cannot reach it (mcp-memory start)")
    if as_json:
        emit({"findings": findings})
    elif not findings:
        say("all is well with the vault")
    else:
        for finding in findings:
            say(f"{finding['severity']}: {finding['what']}")
            say(f"  → {finding['remedy']}")
    if any(finding["severity"] == "error" for finding in findings):
        click.get_current_context().exit(1)


@click.command()
@click.argument("path", required=False)
@located
@as_json
@click.pass_obj
def adopt(common: Common, path: str | None, as_json: bool) -> None:
    """Hand notes in home that this installation did not write to the agents (after moving a vault, say).

    \b
    mcp-memory adopt                 everything in home
    mcp-memory adopt notes/decision  one folder or file
    """
    adopted = ask(common.settings(), "adopt", {"path": path})["adopted"]
    if as_json:
        emit({"adopted": adopted})
        return
    for name in adopted:
        say(name)
    say(f"{len(adopted)} notes adopted")


@click.command()
@located
@as_json
@click.pass_obj
def reindex(common: Common, as_json: bool) -> None:
    """Read and index every file again; only texts without a cached vector are embedded.

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
    """Where the configuration is, and what it comes to.

    \b
    mcp-memory config path
    mcp-memory config show
    mcp-memory config default > ~/.config/mcp-memory/config.toml
    """


@config.command("path")
@located
@as_json
@click.pass_obj
def config_file(common: Common, as_json: bool) -> None:
    """Print the configuration file's path, whether it exists or not.

    \b
    $EDITOR "$(mcp-memory config path)"
    """
    file = str(common.config or config_path(os.environ))
    emit({"file": file}) if as_json else say(file)


@config.command("show")
@located
@as_json
@click.pass_obj
def config_show(common: Common, as_json: bool) -> None:
    """Print the settings in force: defaults, file, environment and flags together.

    \b
    mcp-memory config show --json
    """
    settings = common.settings()
    tree = as_tree(settings)
    if as_json:
        emit({"file": str(settings.file) if settings.file else None, "settings": tree})
        return
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
@click.option("--rotate", is_flag=True, help="Make a new token; the old one is refused from now on.")
@click.option("--revoke", is_flag=True, help="Refuse this client's token from now on.")
@located
@as_json
@click.pass_obj
def token(common: Common, client: str, rotate: bool, revoke: bool, as_json: bool) -> None:
    """Print a client's bearer token, made at first use. Prefer `headers`: it shows it only to our own daemon.

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
    emit({"client": client, "token": value}) if as_json else say(value)


@click.command(context_settings={"ignore_unknown_options": True, "allow_extra_args": True}, add_help_option=False)
@click.pass_context
def headers(ctx: click.Context) -> None:
    """Print a client's HTTP headers as JSON, for its headers helper."""
    from mcp_memory.cli.headers import headers as run

    common: Common = ctx.obj
    given = ["--vault", common.vault] if common.vault else []
    given += ["--config", str(common.config)] if common.config else []
    ctx.exit(run([*given, *ctx.args]))
