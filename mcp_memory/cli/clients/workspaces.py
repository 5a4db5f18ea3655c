"""Lets all agents read OpenClaw's notes in its workspace where they are: as a source, or as the vault."""

import json
import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import click

from mcp_memory.cli.clients.config_changes import InstallPlan
from mcp_memory.cli.clients.next_steps import UNDER_SOURCES, is_read_already
from mcp_memory.cli.console import print_status
from mcp_memory.cli.daemon.service import restarted_by_systemd
from mcp_memory.daemon import launch
from mcp_memory.errors import InvalidInput, Refused
from mcp_memory.integrations import config_files, text_file
from mcp_memory.integrations.clients import ClientPaths, memory_folder
from mcp_memory.integrations.config_plan import ConfigChange, ConfigTarget, plan_install, plan_uninstall
from mcp_memory.integrations.own_memory import OwnMemoryInPlace
from mcp_memory.runtime.paths import config_file
from mcp_memory.settings.settings import Settings, load
from mcp_memory.storage.folder_walk import walk

CLIENT = "openclaw"

workspace_option = click.option(
    "--workspace", type=click.Choice(["source", "vault", "leave"]),
    help="OpenClaw's own notes: search them where they are, or make their folder the vault.",
)  # fmt: skip


def ask_workspace(settings: Settings, paths: ClientPaths) -> str:
    """Ask what to do with the workspace: "source", "vault" or "leave". Return "leave" if there is nothing to choose."""
    folder = memory_folder(CLIENT, paths)
    if folder is None or is_read_already(folder, settings):
        return "leave"
    can_move = _why_not_vault(settings) is None
    print_status(
        f"OpenClaw has notes of its own in {folder}. All agents can search them there (source: nothing in it is "
        f"changed){'; or it becomes the vault, where new notes go, too' if can_move else ''}; or leave it alone."
    )
    choices = click.Choice(["source", "vault", "leave"] if can_move else ["source", "leave"])
    return click.prompt("what shall it be?", type=choices, default="leave", err=True)


def plan_workspace(settings: Settings, paths: ClientPaths, use: str) -> list[ConfigChange]:
    """Return the change of our own configuration for that use. Raises InvalidInput without a workspace. Raises Refused
    if the vault has notes, or if the place in the file is taken."""
    folder = memory_folder(CLIENT, paths)
    if folder is None and use != "leave":
        raise InvalidInput("OpenClaw's workspace has no MEMORY.md and no memory/ yet", hint="leave --workspace out")
    if folder is None or use == "leave":
        return []
    as_vault, is_vault = use == "vault", folder.resolve() == settings.vault_path
    if is_vault:
        return []
    if as_vault and (why := _why_not_vault(settings)):
        hint = f"--workspace source; or set path = {json.dumps(str(folder))} under [vault] yourself, and import"
        raise Refused(why, hint=hint)
    target = ConfigTarget(_file(settings), (OwnMemoryInPlace(CLIENT, str(folder), as_vault),))
    change = plan_install(target, text_file.read(target.file), config_files.backups(target.file))
    return [] if change.is_nothing else [change]


def with_workspace(plan: InstallPlan, in_place: Sequence[ConfigChange]) -> InstallPlan:
    """Return the plan with these changes, in place of the advice to make them by hand."""
    steps = [step for step in plan.next_steps if not (in_place and UNDER_SOURCES in step)]
    return replace(plan, changes=[*in_place, *plan.changes], next_steps=steps)


def plan_without_workspace(settings: Settings, paths: ClientPaths) -> tuple[list[ConfigChange], list[str]]:
    """Return the changes that remove from our configuration what `plan_workspace` put in, and lines that explain their
    effect. Raises Refused."""
    folder = str(memory_folder(CLIENT, paths) or "")
    entries = (OwnMemoryInPlace(CLIENT, folder), OwnMemoryInPlace(CLIENT, folder, as_vault=True))
    target = ConfigTarget(_file(settings), entries)
    change = plan_uninstall(target, text_file.read(target.file), config_files.backups(target.file))
    is_vault = Path(folder).resolve() == settings.vault_path
    what = "is the vault no longer, and keeps its notes" if is_vault else "is searched no longer"
    told = f"{folder} {what}; to copy them into the vault: mcp-memory import {shlex.quote(folder)}"
    return ([], []) if change.is_nothing else ([change], [told] if folder else [])


def stop_outdated(before: Settings, changes: Sequence[ConfigChange]) -> None:
    """End the daemon that read our configuration before these changes; the next daemon reads it anew."""
    is_ours = any(change.target.has(OwnMemoryInPlace) for change in changes)
    if is_ours and launch.connect(before) is not None and not restarted_by_systemd(before):
        launch.stop(before, tell=print_status)


def _why_not_vault(settings: Settings) -> str | None:
    if load({}).vault_path != settings.vault_path:
        return "another vault was chosen for this command"
    has_notes = any(name.endswith(".md") for _, _, names in walk(settings.vault_path) for name in names)
    return f"{settings.vault_path} is the vault, and has notes already" if has_notes else None


def _file(settings: Settings) -> Path:
    return settings.file or Path(config_file(settings.environ))
