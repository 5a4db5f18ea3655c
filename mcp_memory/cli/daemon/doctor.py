"""The doctor and recover commands: find problems with a vault and fix them."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import click

from mcp_memory.cli.console import fit, say_all, short_id, wrap
from mcp_memory.cli.daemon.state_checks import check_state, mend
from mcp_memory.cli.engine_session import no_vault
from mcp_memory.cli.options import CommandContext, command_options
from mcp_memory.core.finding import Finding
from mcp_memory.engine.diagnosis.diagnostics import by_severity
from mcp_memory.errors import Busy, InvalidInput, StorageFailed

LEAST_ENDING = 6
"""The fewest characters at an id's end that identify it."""


@click.command()
@click.option("--fix", is_flag=True, help="Apply the safe fixes and list them.")
@click.option("--accept", is_flag=True, help="Confirm that missing notes are gone, and remove them from the index.")
@command_options
def doctor(cli: CommandContext, fix: bool, accept: bool) -> None:
    """List problems, each with a remedy. Exits with 0 if there is nothing to do, else 1.

    \b
    mcp-memory doctor
    mcp-memory doctor --fix"""
    if fix and accept:
        raise InvalidInput("--fix and --accept don't go together", hint="pass one of them")
    if accept:
        answer = cli.ask("accept")
        cli.show(answer, [f"{answer['pruned']} missing notes removed from the index"])
        return
    if not cli.settings.vault_path.is_dir():
        raise no_vault(cli.settings)
    done = _fix(cli) if fix else []
    found = _examine(cli, asks_anyway=fix)
    is_well = all(finding.severity == "info" for finding in found)
    lines = [*(f"done: {line}" for line in done), *_lines(found), *(["no problems found"] if is_well else [])]
    cli.show({"findings": list(map(asdict, found)), "done": done}, lines)
    if not is_well:
        click.get_current_context().exit(1)


def _fix(cli: CommandContext) -> list[str]:
    """Apply the safe fixes, each shown before; return a line for each."""
    if not cli.as_json:
        say_all(_lines(finding for finding in check_state(cli.settings) if finding.fixable))
    done = mend(cli.settings)
    if not cli.as_json:
        say_all(_lines(finding for finding in _ask_engine(cli) if finding.fixable))
    return [*done, *cli.ask("fix")["done"]]


def _examine(cli: CommandContext, *, asks_anyway: bool) -> list[Finding]:
    """Return the findings about the state folder and, unless those forbid it, about the vault."""
    found = list(check_state(cli.settings))
    if asks_anyway or all(finding.severity != "error" for finding in found):
        # Otherwise the tokens are readable by others, and no daemon may be asked until they are private again.
        try:
            found = by_severity([*found, *_ask_engine(cli)])
        except (Busy, StorageFailed) as error:  # as in a sandbox
            found.append(Finding("error", error.message, error.hint or "mcp-memory status"))
    return found


@click.command()
@click.argument("entries", metavar="[ID]...", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="Every listed entry.")
@click.option("--dismiss", is_flag=True, help="Stop listing them: they were removed on purpose.")
@command_options
def recover(cli: CommandContext, entries: tuple[str, ...], everything: bool, dismiss: bool) -> None:
    """List log entries that another program's save removed, or add them back at the end of their log.

    \b
    mcp-memory recover                       the lost entries and their text
    mcp-memory recover memory/2026-11-21.md  everything this log lost"""
    lost: list[dict[str, Any]] = cli.ask("lost")["lost"]
    wanted = sorted({entry["id"] for entry in lost}) if everything else [_whole(one, lost) for one in entries]
    if not wanted:
        hint = "to add one back: mcp-memory recover ID; to add all: --all" if lost else "no lost entries"
        texts = [
            line
            for entry in lost
            for line in (fit(entry["why"], entry["path"], short_id(entry["id"])), *wrap(entry["text"].rstrip(), "  "))
        ]
        cli.show({"lost": lost}, [*texts, hint])
        return
    answer = cli.ask("recover", ids=wanted, dismiss=dismiss or None)
    verb = "dismissed" if dismiss else "added again"
    cli.show(answer, [fit(verb, entry["gist"], short_id(entry["id"])) for entry in answer["recovered"]])


def _whole(entry: str, lost: list[dict[str, Any]]) -> str:
    """Return the id of the lost entry with this ending, or the ending itself if no entry has it. Raises InvalidInput if
    several entries have it."""
    found = sorted({one["id"] for one in lost if len(entry) >= LEAST_ENDING and one["id"].endswith(entry.lower())})
    if len(found) > 1:
        raise InvalidInput(f"{len(found)} lost entries end with {entry}", hint=f"one of: {', '.join(found)}")
    return found[0] if found else entry


def _ask_engine(cli: CommandContext) -> list[Finding]:
    return [Finding(**payload) for payload in cli.ask("doctor")["findings"]]


def _lines(found: Iterator[Finding] | list[Finding]) -> Iterator[str]:
    for finding in found:
        yield f"{finding.severity}: {finding.what}"
        yield f"  → {finding.remedy}"
