"""Shows changes to clients' files as a diff, asks, makes them, and lists the steps that are left for you."""

import json
import shlex
import shutil
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import click

from mcp_memory.cli.clients.connection_entries import command_path
from mcp_memory.cli.clients.reachability import find_proxy
from mcp_memory.cli.command_context import CommandContext
from mcp_memory.cli.console import is_styled, print_status, say, say_all, short_path
from mcp_memory.errors import McpMemoryError
from mcp_memory.integrations import config_files, text_file
from mcp_memory.integrations.clients import CLIENTS, ClientPaths, Scope
from mcp_memory.integrations.clients.client import Client
from mcp_memory.integrations.config_entries import HookEntries, PermissionRule
from mcp_memory.integrations.config_plan import ConfigChange, diff
from mcp_memory.integrations.server_entry import ServerEntry
from mcp_memory.runtime.paths import config_file
from mcp_memory.settings.settings import Settings
from mcp_memory.text.escape_invisible import visible


class InstallPlan(NamedTuple):
    """The changes that a command would make for a client, and the steps that are left for you."""

    client: str
    scope: Scope
    changes: Sequence[ConfigChange]
    next_steps: Sequence[str]


def apply_plan(cli: CommandContext, plan: InstallPlan, *, dry_run: bool, yes: bool, done: str) -> None:
    """Show the plan, ask, and carry it out. Raises any refusal of a change before the first file is written."""
    if not dry_run:  # a dry run may also show changes that would be refused
        for change in plan.changes:
            config_files.check(change)
    if not cli.as_json:
        show_diff(plan)
    cli.agree("change these files?", (), yes=yes or not plan.changes, dry_run=dry_run)
    cli.show(*make_changes(plan, dry_run=dry_run, done=done))


def make_changes(plan: InstallPlan, *, dry_run: bool, done: str) -> tuple[dict[str, Any], list[str]]:
    """Carry out the plan. Returns what was done as plain JSON values, and as lines."""
    changes, backups = plan.changes, [] if dry_run else list(_apply(plan.changes))
    outcome = "nothing was changed" if dry_run else f"{CLIENTS[plan.client].title}: {done}"
    payload = {
        "client": plan.client,
        "scope": plan.scope,
        "done": not dry_run,
        "changes": [
            {"file": str(change.file), "what": list(change.what), "diff": diff(change, str(change.file))}
            for change in changes
        ],
        "backups": [str(backup) for backup in backups],
        "remarks": list(plan.next_steps),
    }
    lines = [*(f"backup: {backup}" for backup in backups), *([outcome] if changes else [])]
    return payload, [*lines, *(f"  → {step}" for step in plan.next_steps)]


def _apply(changes: Sequence[ConfigChange]) -> Iterator[Path]:
    """Make the changes and yield the backups. If a change fails, print the files that were changed; the same command
    continues from there."""
    done: list[Path] = []
    for change in changes:
        try:
            backup = config_files.apply(change, datetime.now().astimezone())
        except McpMemoryError:
            for file in done:
                print_status(f"already changed: {file}")
            raise
        done.append(change.file)
        if backup:
            yield backup


def show_diff(plan: InstallPlan) -> None:
    for change in plan.changes:
        for line in diff(change, short_path(change.file)).splitlines():
            color = {"+": "green", "-": "red"}.get(line[:1])
            print(click.style(visible(line), fg=color) if is_styled() and color else visible(line))
        say()
    say_all([] if plan.changes else [f"no file of {CLIENTS[plan.client].title} needs a change"])


SESSIONS_ARE_KEPT = (
    "sessions are kept on this machine, without secrets, and what you state in them is remembered; to turn that off: "
    "enabled = false under [capture]"
)


def next_steps(
    client: str,
    scope: Scope,
    settings: Settings,
    paths: ClientPaths,
    url: str,
    changes: Sequence[ConfigChange],
    *,
    trusted: bool,
) -> Iterator[str]:
    """Yield a line for each step. `url` is the daemon's URL; `trusted` is whether Codex trusts our hooks."""
    described = CLIENTS[client]
    has_hooks = any(change.target.has(HookEntries) for change in changes)
    for change in changes:
        yield from _obstacles(described, change, url, paths)
    if has_hooks and (why := described.why_hooks_off(paths)):
        yield f"{why} turns off our hooks, too"
    if shutil.which(described.program) is None:
        yield f"{described.program} was not found on your PATH: it reads these files once it is there"
    if any(change.target.has(PermissionRule) and not change.is_nothing for change in changes):
        yield (
            "Claude Code may call the memory tools without asking; to be asked, move the rule that starts with mcp__ "
            "from permissions.allow to permissions.ask"
        )
    if scope == "user" and (why := described.why_remembered_twice(paths)):
        yield f"{described.title}: {why}"
    yield from described.remarks
    if client == "openclaw":
        yield from _offer_workspace(settings, paths)
    if settings.capture.enabled and client in settings.capture.folders and (has_hooks or client == "openclaw"):
        yield SESSIONS_ARE_KEPT
    if client == "codex" and has_hooks and not trusted:
        yield (
            "Codex skips a hook silently until you trust it: start `codex` in a terminal and accept the hooks (later: "
            "/hooks), or: mcp-memory install codex --trust-hooks"
        )
    if scope == "project":
        yield from _of_shared_files(described, url)


def is_read_already(folder: Path, settings: Settings) -> bool:
    """Return whether memory reads the folder where it is: as the vault, as a source, or as a part of either."""
    places = [settings.vault_path, *map(Path, settings.vault.sources.values())]
    return any(folder.resolve().is_relative_to(place.resolve()) for place in places)


def _offer_workspace(settings: Settings, paths: ClientPaths) -> Iterator[str]:
    folder = CLIENTS["openclaw"].memory_folder(paths)
    if folder and not is_read_already(folder, settings):
        file, quoted = settings.file or config_file(settings.environ), json.dumps(str(folder), ensure_ascii=False)
        yield (
            f"{folder} has notes of OpenClaw's own, and stays as it is. To have all agents search it there, add to "
            f"{file}: openclaw = {quoted} under [vault.sources]. To make it the vault: path = {quoted} under [vault]. "
            f"To copy its notes: mcp-memory import {shlex.quote(str(folder))}"
        )


def _obstacles(client: Client, change: ConfigChange, url: str, paths: ClientPaths) -> Iterator[str]:
    """Yield why the client won't use a changed file, or the server in it."""
    if why := client.why_unused(change.target, change.new):
        yield why
    for server in change.target.entries:
        if isinstance(server, ServerEntry):
            text = text_file.decode(change.new)
            name, entry = server.names(text)[0], server.entry_in(text) or {}
            if off := client.why_server_off(name, entry, paths):
                yield f"{client.title} won't use the server: {off}"
            if proxy := find_proxy(client.name, url, paths):
                yield f"{proxy.why}: {proxy.remedy}"


def _of_shared_files(client: Client, url: str) -> Iterator[str]:
    """Yield what files in a project's folder mean for everyone who shares it."""
    if client.runs == "headers":
        yield (
            f"everyone who shares this folder gets these files, which name this machine's address, {url}: a daemon "
            f"elsewhere may have another port, unless it sets port = {urlsplit(url).port} under [daemon]"
        )
        yield f"{client.title} uses these files after it has asked you whether to trust this folder"
    if command_path(shared=True) != "mcp-memory":
        yield "mcp-memory is not on your PATH, so these files name its path on this machine"
