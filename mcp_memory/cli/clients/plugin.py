"""The command `clients plugin`: shows the plugin for clients' marketplaces, and writes one for this machine."""

import shlex
import shutil
from pathlib import Path

import click

from mcp_memory.cli.clients.connection_entries import TEMPLATE_URL, environment, filled, vault_option
from mcp_memory.cli.command_context import CommandContext
from mcp_memory.cli.options import command_options
from mcp_memory.daemon.listen import expected_url
from mcp_memory.integrations.installed_plugin import NAME
from mcp_memory.runtime.os_errors import naming_the_cause
from mcp_memory.settings.settings import Settings, shipped_path

FOLDER = "configs/plugin"


@click.command()
@click.option(
    "--write", metavar="DIR", type=click.Path(path_type=Path), help="Write the plugin for this machine and vault."
)
@command_options
def plugin(cli: CommandContext, write: Path | None) -> None:
    """Show or write the plugin for clients' marketplaces.

    It adds hooks, tools and a skill to Claude Code, Codex and OpenClaw. Without an option, it shows where the plugin
    is, and the commands that add it. `install` doesn't need it.

    \b
    mcp-memory clients plugin
    mcp-memory clients plugin --write ~/memory-plugin"""
    root = write or marketplace()
    if write:
        _write(write, cli.settings)
    place, spec = shlex.quote(str(root.absolute())), f"{NAME}@{NAME}"
    commands = [
        f"claude plugin marketplace add {place} && claude plugin install {spec}",
        f"codex plugin marketplace add {place} && codex plugin add {spec}",
        f"openclaw plugins install --link {place}/{FOLDER} --force --accept-capabilities",
        f"openclaw config set plugins.entries.{NAME}.hooks.allowConversationAccess true",
        "openclaw config set plugins.entries.memory-core.enabled false",
    ]
    lines = [f"the plugin: {root.absolute()}", *(f"  {command}" for command in commands)]
    if not write and not _fits_any_machine(cli.settings):
        url = TEMPLATE_URL
        lines.append(f"  → this plugin points at {url}, but your setup differs. To make a matching one:")
        lines.append("    mcp-memory clients plugin --write DIR")
    cli.show({"marketplace": str(root.absolute()), "commands": commands}, lines)


def marketplace() -> Path:
    """Return the folder that clients add, in a source tree and in an installed package alike."""
    return shipped_path("").parent


def _write(root: Path, settings: Settings) -> None:
    """Copy the plugin, with this machine's address, program and vault in it. Raises StorageFailed."""
    shop, url = marketplace(), expected_url(settings)
    with naming_the_cause(str(root)):
        for file in (shop / ".claude-plugin" / "marketplace.json", *(shop / FOLDER).rglob("*")):
            copy = root / file.relative_to(shop)
            if file.is_dir():
                copy.mkdir(parents=True, exist_ok=True)
                continue
            copy.parent.mkdir(parents=True, exist_ok=True)
            text = file.read_text(encoding="utf-8")
            copy.write_text(filled(text, settings, url) if file.suffix == ".json" else text, encoding="utf-8")


def _fits_any_machine(settings: Settings) -> bool:
    """Return whether the shipped plugin reaches this vault on this machine."""
    is_named = vault_option(settings) is not None or bool(environment(settings))
    by_name = shutil.which("mcp-memory") is not None and not is_named
    return by_name and expected_url(settings) == TEMPLATE_URL
