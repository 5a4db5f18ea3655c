"""Maintenance commands: adopt, config."""

import os

import click

from mcp_memory.cli.command_context import CommandContext, command_options, flag, located
from mcp_memory.cli.console import say
from mcp_memory.daemon import settings_in_force
from mcp_memory.runtime import paths
from mcp_memory.settings.settings import as_tree, shipped
from mcp_memory.text.pluralize import counted


@click.command()
@click.argument("path", required=False)
@flag("--undo", help="Reverse earlier adoptions. Notes that agents wrote stay theirs.")
@flag("--dry-run", help="List the notes without changing anything.")
@flag("--yes", help="Don't ask.")
@command_options
def adopt(cli: CommandContext, path: str | None, undo: bool, dry_run: bool, yes: bool) -> None:
    """Let agents change notes in the managed folder that this installation did not write, for example after you moved a
    vault.

    \b
    mcp-memory adopt --dry-run       the whole managed folder, without changing it
    mcp-memory adopt notes/decision  one folder or file
    mcp-memory adopt --undo          reverse all adoptions"""
    key = "returned" if undo else "adopted"
    if dry_run or (path is None and not yes):
        planned = cli.ask("adopt", path=path, revoke=undo, dry_run=True)[key]
        would = "yours again" if undo else "open to agents' changes"
        lines = [*planned, f"{counted(len(planned), 'note')} would be {would}"]
        question = "take them back?" if undo else "let agents change them?"
        if not cli.agree(question, lines, yes=not planned, dry_run=dry_run) or not planned:
            cli.show({key: planned, "dry_run": dry_run}, [])
            return
    done = cli.ask("adopt", path=path, revoke=undo)[key]
    became = f"{'is' if len(done) == 1 else 'are'} yours again" if undo else "adopted"
    cli.show({key: done, "dry_run": False}, [*done, f"{counted(len(done), 'note')} {became}"])


@click.group()
@located
def config() -> None:
    """Show the configuration and where it is.

    \b
    mcp-memory config path
    mcp-memory config show
    mcp-memory config default > ~/.config/mcp-memory/config.toml"""


@config.command("path")
@command_options
def config_file(cli: CommandContext) -> None:
    """Print the configuration file's path, whether it exists or not.

    \b
    $EDITOR "$(mcp-memory config path)"
    """
    file = str(cli.config or paths.config_file(os.environ))
    cli.show({"file": file}, [file])


@config.command("show", short_help="Print the effective settings, and those not loaded yet.")
@command_options
def config_show(cli: CommandContext) -> None:
    """Print the effective settings from defaults, file, environment and flags. Settings that the running daemon has not
    loaded yet come first.

    \b
    mcp-memory config show --json"""
    file, tree, changes = cli.settings.file, as_tree(cli.settings), settings_in_force.find_changes(cli.settings)
    lines = [f"# file: {file or 'none (defaults)'}"]
    if changes:
        change = settings_in_force.describe_changes(changes)
        lines.insert(0, f"# takes effect after {settings_in_force.RESTART}: {change}")
    lines += [f"{section}.{key} = {value!r}" for section, table in tree.items() for key, value in table.items()]
    waiting = [change._asdict() for change in changes]
    cli.show({"file": str(file) if file else None, "settings": tree, "not_in_force": waiting}, lines)


@config.command("default")
@located
def config_default() -> None:
    """Print the default configuration, with every key explained.

    \b
    mcp-memory config default > ~/.config/mcp-memory/config.toml"""
    say(shipped("default.toml").rstrip())
