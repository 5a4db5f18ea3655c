"""The doctor command: finds problems with a vault, and repairs them."""

from collections.abc import Iterator
from dataclasses import asdict

import click

from mcp_memory.cli.command_context import CommandContext, command_options, no_vault
from mcp_memory.cli.console import Heading, fit, say_all, short_id
from mcp_memory.cli.daemon.state_checks import check_state, mend
from mcp_memory.engine.diagnosis.diagnostics import by_severity
from mcp_memory.errors import Busy, InvalidInput, StorageFailed
from mcp_memory.runtime.health import Finding


@click.command()
@click.argument("entries", metavar="[ENTRY]...", nargs=-1)
@click.option("--repair", is_flag=True, help="Apply the safe repairs and list them; or add back each ENTRY.")
@click.option("--dismiss", is_flag=True, help="Stop listing each ENTRY: it was removed on purpose.")
@click.option("--accept", is_flag=True, help="Confirm that missing notes are gone, and remove them from the index.")
@click.option("--reindex", is_flag=True, help="Read every file again, and index those that differ from the index.")
@command_options
def doctor(
    cli: CommandContext,
    entries: tuple[str, ...],
    repair: bool,
    dismiss: bool,
    accept: bool,
    reindex: bool,
) -> None:
    """List problems, each with a remedy. Exits with 0 if there is nothing to do, else 1.

    ENTRY is the listed id of a log entry that another program overwrote, or the path of its log. Without an option, its
    whole text is shown; --repair adds it back at the end of the log.

    --reindex compares contents, while regular sweeps rely on file times. To rebuild the whole index, stop the daemon,
    delete `index` in its state folder (mcp-memory help daemon), and start it again.

    \b
    mcp-memory doctor
    mcp-memory doctor --repair
    mcp-memory doctor --repair memory/2026-11-21.md    add back this log's lost entries"""
    if repair + dismiss + accept + reindex > 1:
        raise InvalidInput("these options can't be combined", hint="pass only one option")
    if entries and (accept or reindex):
        raise InvalidInput("entries can't be combined with --accept or --reindex", hint="pass --repair or --dismiss")
    if dismiss and not entries:
        raise InvalidInput(
            "no entry to dismiss", hint="mcp-memory doctor --dismiss ENTRY; mcp-memory doctor names them"
        )
    if accept:
        answer = cli.ask("accept")
        cli.show(answer, [f"{answer['pruned']} missing notes removed from the index"])
    elif reindex:
        done = cli.ask("reindex")
        cli.show(done, [f"{done['notes']} notes read, {done['embedded']} texts embedded, {done['seconds']} s"])
    elif entries and not (repair or dismiss):
        lost = cli.ask("recover", ids=entries, look=True)["recovered"]
        cli.show({"lost": lost}, [line for one in lost for line in (Heading(one["id"]), one["text"].rstrip(), "")])
    elif entries:
        answer = cli.ask("recover", ids=entries, dismiss=dismiss or None)
        verb = "dismissed" if dismiss else "added again"
        cli.show(answer, [fit(verb, entry["gist"], short_id(entry["id"])) for entry in answer["recovered"]])
    elif not _show_problems(cli, repair=repair):
        click.get_current_context().exit(1)


def _show_problems(cli: CommandContext, *, repair: bool) -> bool:
    """List the problems, after the safe repairs if you want these. Return whether nothing is left to do."""
    if not cli.settings.vault_path.is_dir():
        raise no_vault(cli.settings)
    done = _repair(cli) if repair else []
    found = _examine(cli, asks_anyway=repair)
    is_well = all(finding.severity == "info" for finding in found)
    lines = [*(f"done: {line}" for line in done), *_lines(found), *(["no problems found"] if is_well else [])]
    cli.show({"findings": list(map(asdict, found)), "done": done}, lines)
    return is_well


def _repair(cli: CommandContext) -> list[str]:
    """Apply the safe repairs, each shown before; return a line for each."""
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


def _ask_engine(cli: CommandContext) -> list[Finding]:
    return [Finding(**payload) for payload in cli.ask("doctor")["findings"]]


def _lines(found: Iterator[Finding] | list[Finding]) -> Iterator[str]:
    for finding in found:
        yield f"{finding.severity}: {finding.what}"
        yield f"  → {finding.remedy}"
