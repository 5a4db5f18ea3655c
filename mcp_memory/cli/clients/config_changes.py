"""Shows changes to clients' files as a diff, asks, and makes them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import click

from mcp_memory.cli.command_context import CommandContext
from mcp_memory.cli.console import confirm, is_styled, print_status, say, say_all, short_path
from mcp_memory.errors import McpMemoryError
from mcp_memory.integrations import config_files
from mcp_memory.integrations.clients import CLIENTS, Scope
from mcp_memory.integrations.config_plan import ConfigChange, diff
from mcp_memory.text.escape_invisible import visible


@dataclass(frozen=True, slots=True)
class InstallPlan:
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
    if not (yes or dry_run):
        cli.refuse_questions("pass --yes, or --dry-run")
    if not cli.as_json:
        show_diff(plan)
        if plan.changes and not (yes or dry_run):
            confirm("change these files?", abort=True)
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
