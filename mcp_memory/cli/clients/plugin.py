"""plugin: the packages for clients' own shops; where they are, whether they are true, and made anew."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path

import click

from mcp_memory import __version__
from mcp_memory.cli.clients import snippets
from mcp_memory.cli.clients.installing import expected_url
from mcp_memory.cli.console import emit, say
from mcp_memory.cli.options import CommonOptions, command_options
from mcp_memory.errors import McpMemoryError
from mcp_memory.integrations.plugin_bundle import BY_HAND, FOLDER, NAME, BundleValues, packages
from mcp_memory.runtime.os_errors import naming_the_cause
from mcp_memory.settings.settings import Settings, shipped, shipped_path
from mcp_memory.vault.config import SHIPPED_KINDS

CLIENTS = ("claude-code", "codex")
"""Whose server and hooks are files of the package."""


@click.command()
@click.option("--write", metavar="DIR", type=click.Path(path_type=Path), help="Write all of it into this folder.")
@click.option("--here", is_flag=True, help="With --write: with this machine's address, program and vault in it.")
@click.option("--check", is_flag=True, help="Exit code 1 where a file is not what --write makes.")
@command_options
def plugin(common: CommonOptions, write: Path | None, here: bool, check: bool, as_json: bool) -> None:
    """The plugin for Claude Code, Codex and OpenClaw: hooks, tools and a skill, as their own shops take it.

    Without an option: where it is, and the commands that put it in. `install` needs none of it.

    \b
    mcp-memory plugin
    mcp-memory plugin --write ~/memory-plugin --here
    mcp-memory plugin --check
    """
    if (write and check) or (here and not write):
        raise click.UsageError("one of --write DIR [--here] and --check")
    files = packages(this_machine(common.settings()) if here else anywhere())
    files |= {f"{FOLDER}/{name}": shipped(f"plugin/{name}") for name in BY_HAND}
    root = write or marketplace()
    if check:
        wrong = differing(root, files)
        if wrong:
            raise McpMemoryError(f"not as generated: {', '.join(wrong)}", hint=f"mcp-memory plugin --write {root}")
    if write:
        _write(write, files)
    lines = commands(root)
    if as_json:
        emit({"marketplace": str(root.absolute()), "files": sorted(files), "commands": lines})
        return
    say(f"{'as generated' if check else 'the plugin'}: {root.absolute()}")
    for line in [] if check else lines:
        say(f"  {line}")
    if not (here or check) and not _is_as_anywhere(common.settings()):
        say(f"  → this plugin points at {snippets.TEMPLATE_URL}, but your setup differs. To make a matching one:")
        say("    mcp-memory plugin --write DIR --here")


def marketplace() -> Path:
    """The folder that clients are told to add, in a checkout and in an installed package alike."""
    return shipped_path("").parent


def differing(root: Path, files: dict[str, str]) -> list[str]:
    """The generated files that are missing there, or are not as they should be. Raises StorageFailed."""
    with naming_the_cause(str(root)):
        return [n for n, text in files.items() if not (root / n).is_file() or (root / n).read_bytes() != text.encode()]


def commands(root: Path) -> list[str]:
    """What a person types to have it."""
    place, spec = shlex.quote(str(root.absolute())), f"{NAME}@{NAME}"
    return [
        f"claude plugin marketplace add {place} && claude plugin install {spec}",
        f"codex plugin marketplace add {place} && codex plugin add {spec}",
        f"openclaw plugins install --link {place}/{FOLDER} --force --accept-capabilities",
        f"openclaw config set plugins.entries.{NAME}.hooks.allowConversationAccess true",
    ]


def anywhere() -> BundleValues:
    """With `mcp-memory` by its name, the preferred port and the default vault: for any machine."""
    return BundleValues(
        version=__version__,
        servers={client: snippets.template_entry(client) for client in CLIENTS},
        hooks={client: snippets.hook_commands(client, None) for client in CLIENTS},
        hook=snippets.hook_line("EVENT", "openclaw", None),
        skill=_skill(),
    )


def this_machine(settings: Settings) -> BundleValues:
    url = expected_url(settings)
    return BundleValues(
        version=__version__,
        servers={client: snippets.server_entry(client, settings, url) for client in CLIENTS},
        hooks={client: snippets.hook_commands(client, settings) for client in CLIENTS},
        hook=snippets.hook_line("EVENT", "openclaw", settings),
        skill=_skill(),
    )


def _is_as_anywhere(settings: Settings) -> bool:
    """Whether what is made for any machine reaches this vault on this one."""
    is_named = snippets.vault_option(settings) is not None or bool(snippets.environment(settings))
    by_name = shutil.which("mcp-memory") is not None and not is_named
    return by_name and expected_url(settings) == snippets.TEMPLATE_URL


def _skill() -> str:
    kinds = [f"- `{name}`: {kind.about}" for name, kind in SHIPPED_KINDS.items()]
    return shipped("clients/skill.md").replace("{kinds}", "\n".join(kinds))


def _write(root: Path, files: dict[str, str]) -> None:
    with naming_the_cause(str(root)):
        for name, text in files.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text, encoding="utf-8")
