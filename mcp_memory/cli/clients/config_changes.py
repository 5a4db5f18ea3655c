"""Changes to clients' files: shown as a diff, asked for, and made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import click

from mcp_memory.cli.console import emit, is_styled, print_status, say
from mcp_memory.errors import InvalidInput, McpMemoryError
from mcp_memory.integrations import config_files
from mcp_memory.integrations.clients import TITLES, Scope
from mcp_memory.integrations.config_plan import ConfigChange, diff
from mcp_memory.runtime.paths import absolute
from mcp_memory.text.escape_invisible import visible


@dataclass(frozen=True, slots=True)
class InstallPlan:
    """What a command would do to config_files, and what it says besides."""

    client: str
    scope: Scope
    changes: Sequence[ConfigChange]
    next_steps: Sequence[str]


def apply_plan(plan: InstallPlan, *, dry_run: bool, yes: bool, as_json: bool, done: str) -> None:
    """Show it, ask, and do it. Raises what refuses it before the first file is written."""
    changes = [change for change in plan.changes if not change.is_nothing]
    for change in changes:
        config_files.check(change)
    if as_json and not (yes or dry_run):
        raise InvalidInput("--json cannot ask", hint="pass --yes, or --dry-run")
    if not as_json:
        _show(plan, changes)
        if changes and not (yes or dry_run):
            click.confirm("change these files?", abort=True)
    backups = [] if dry_run else _applied(changes)
    if as_json:
        emit(_payload(plan, changes, backups, is_done=not dry_run))
        return
    for backup in backups:
        say(f"kept as it was: {backup}")
    if changes:
        say("nothing was changed" if dry_run else f"{TITLES[plan.client]}: {done}")
    for remark in plan.next_steps:
        say(f"  → {remark}")


def _applied(changes: Sequence[ConfigChange]) -> list[Path]:
    """The backups that were made. Where a write fails, says what is done already: the same command goes on there."""
    backups: list[Path] = []
    done: list[Path] = []
    for change in changes:
        try:
            backup = config_files.apply(change, datetime.now().astimezone())
        except McpMemoryError:
            for file in done:
                print_status(f"changed already: {file}")
            raise
        done.append(change.file)
        backups += [backup] if backup else []
    return backups


def _payload(
    plan: InstallPlan, changes: Sequence[ConfigChange], backups: Sequence[Path], *, is_done: bool
) -> dict[str, Any]:
    return {
        "client": plan.client,
        "scope": plan.scope,
        "done": is_done,
        "changes": [
            {"file": str(change.file), "what": list(change.what), "diff": diff(change, str(change.file))}
            for change in changes
        ],
        "backups": [str(place) for place in backups],
        "remarks": list(plan.next_steps),
    }


def _show(plan: InstallPlan, changes: Sequence[ConfigChange]) -> None:
    home = f"{absolute('~')}/"
    for change in changes:
        name = str(change.file)
        name = f"~/{name.removeprefix(home)}" if name.startswith(home) else name
        for line in diff(change, name).splitlines():
            colour = {"+": "green", "-": "red"}.get(line[:1])
            print(click.style(visible(line), fg=colour) if is_styled() and colour else visible(line))
        say()
    if not changes:
        say(f"no file of {TITLES[plan.client]} needs a change")
