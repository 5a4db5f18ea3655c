"""The plugin command: shows, generates and checks the plugin bundles for clients' marketplaces."""

import shlex
import shutil
from pathlib import Path

import click

from mcp_memory import __version__
from mcp_memory.cli.clients import snippets
from mcp_memory.cli.clients.daemon_address import expected_url
from mcp_memory.cli.options import CommandContext, command_options
from mcp_memory.errors import McpMemoryError
from mcp_memory.integrations.plugin_bundle import BY_HAND, FOLDER, NAME, BundleValues, packages
from mcp_memory.runtime.os_errors import naming_the_cause
from mcp_memory.settings.settings import Settings, shipped, shipped_path
from mcp_memory.vault.config import SHIPPED_KINDS

CLIENTS = ("claude-code", "codex")
"""The clients whose server and hooks are files of the bundle."""


@click.command()
@click.option("--write", metavar="DIR", type=click.Path(path_type=Path), help="Write the plugin into this folder.")
@click.option("--here", is_flag=True, help="With --write: name this machine's address, program and vault in it.")
@click.option("--check", is_flag=True, help="Exit with 1 if a file differs from what --write makes.")
@command_options
def plugin(cli: CommandContext, write: Path | None, here: bool, check: bool) -> None:
    """Show or write the plugin for clients' marketplaces.

    It brings hooks, tools and a skill to Claude Code, Codex and OpenClaw. Without an option, shows where it is, and the
    commands that add it. `install` doesn't need it.

    \b
    mcp-memory clients plugin
    mcp-memory clients plugin --write ~/memory-plugin --here
    mcp-memory clients plugin --check"""
    if (write and check) or (here and not write):
        raise click.UsageError("one of --write DIR [--here] and --check")
    files = plugin_files(cli.settings if here else None)
    root = write or marketplace()
    if check and (wrong := differing(root, files)):
        raise McpMemoryError(f"not as generated: {', '.join(wrong)}", hint=f"mcp-memory clients plugin --write {root}")
    if write:
        with naming_the_cause(str(root)):
            for name, text in files.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text, encoding="utf-8")
    place, spec = shlex.quote(str(root.absolute())), f"{NAME}@{NAME}"
    commands = [
        f"claude plugin marketplace add {place} && claude plugin install {spec}",
        f"codex plugin marketplace add {place} && codex plugin add {spec}",
        f"openclaw plugins install --link {place}/{FOLDER} --force --accept-capabilities",
        f"openclaw config set plugins.entries.{NAME}.hooks.allowConversationAccess true",
        "openclaw config set plugins.entries.memory-core.enabled false",
    ]
    lines = [f"{'as generated' if check else 'the plugin'}: {root.absolute()}"]
    if not check:
        lines += [f"  {command}" for command in commands]
        if not here and not _fits_any_machine(cli.settings):
            url = snippets.TEMPLATE_URL
            lines.append(f"  → this plugin points at {url}, but your setup differs. To make a matching one:")
            lines.append("    mcp-memory clients plugin --write DIR --here")
    cli.show({"marketplace": str(root.absolute()), "files": sorted(files), "commands": commands}, lines)


def plugin_files(settings: Settings | None) -> dict[str, str]:
    """Map the path of each file to its text: for these settings, or for any machine with the preferred port and the
    default vault."""
    kinds = "\n".join(f"- `{name}`: {kind.about}" for name, kind in SHIPPED_KINDS.items())
    url = expected_url(settings) if settings else snippets.TEMPLATE_URL
    values = BundleValues(
        version=__version__,
        servers={client: snippets.server_entry(client, settings, url) for client in CLIENTS},
        hooks={client: snippets.hook_commands(client, settings) for client in CLIENTS},
        hook=snippets.hook_line("EVENT", "openclaw", settings),
        skill=shipped("clients/skill.md").replace("{kinds}", kinds),
    )
    return packages(values) | {f"{FOLDER}/{name}": shipped(f"plugin/{name}") for name in BY_HAND}


def marketplace() -> Path:
    """Return the folder that clients add, in a source tree and in an installed package alike."""
    return shipped_path("").parent


def differing(root: Path, files: dict[str, str]) -> list[str]:
    """Return the generated files that are missing there or differ. Raises StorageFailed."""
    with naming_the_cause(str(root)):
        return [n for n, text in files.items() if not (root / n).is_file() or (root / n).read_bytes() != text.encode()]


def _fits_any_machine(settings: Settings) -> bool:
    """Return whether the files for any machine reach this vault on this machine."""
    is_named = snippets.vault_option(settings) is not None or bool(snippets.environment(settings))
    by_name = shutil.which("mcp-memory") is not None and not is_named
    return by_name and expected_url(settings) == snippets.TEMPLATE_URL
