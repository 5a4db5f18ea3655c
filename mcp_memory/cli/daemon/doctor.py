"""The doctor command: finds problems with a vault, and repairs them."""

import os
import shlex
import shutil
import stat
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

import click

from mcp_memory.cli.clients.connection_entries import typed_command
from mcp_memory.cli.command_context import CommandContext, command_options, flag, no_vault
from mcp_memory.cli.console import Heading, fit, say_all, short_id
from mcp_memory.client.connection import PERSON
from mcp_memory.client.credentials import Credentials, TokensDamaged
from mcp_memory.daemon import settings_in_force
from mcp_memory.daemon.instance import is_held
from mcp_memory.engine.diagnosis.diagnostics import by_severity
from mcp_memory.errors import Busy, InvalidInput, McpMemoryError, StorageFailed
from mcp_memory.hooks import hook_log
from mcp_memory.hooks.hook_command import STARTS
from mcp_memory.hooks.hook_report import LIMITED, count_late
from mcp_memory.runtime.health import Finding
from mcp_memory.settings.settings import Settings
from mcp_memory.settings.state import StateFolder
from mcp_memory.storage.folder_walk import walk
from mcp_memory.text.pluralize import counted

CHECKED_CALLS = 50
"""The number of latest calls that are checked for each hook event."""

LATE_SHARE = 0.1
"""The share of hooks that may time out without a warning, as on a machine that is busy now and then."""

OTHERS = stat.S_IRWXG | stat.S_IRWXO


def check_state(settings: Settings) -> Iterator[Finding]:
    """Yield the problems of the state folder, and a finding if no daemon runs."""
    state = settings.state
    for place in _exposed(state):
        severity = "error" if place == state.tokens else "warning"
        remedy = f"mcp-memory doctor --repair, or: chmod go-rwx {shlex.quote(str(place))}"
        yield Finding(severity, f"{place} can be read by other users", remedy, fixable=True)
    if _lost_its_tokens(state):
        what = f"{state.tokens} is damaged, so no client can authenticate"
        remedy = "mcp-memory doctor --repair removes it and makes new tokens; reinstall clients that keep one in a file"
        yield Finding("error", what, remedy, fixable=True)
    for place in _in_the_way(state):
        remedy = "mcp-memory doctor --repair removes it and rebuilds the index from the files"
        yield Finding("error", f"{place} is where the index should be", remedy, fixable=True)
    yield from _late_hooks(state)
    if changes := settings_in_force.find_changes(settings):
        what = f"changed since the daemon started, so not in effect yet: {settings_in_force.describe_changes(changes)}"
        yield Finding("warning", what, settings_in_force.RESTART)
    if is_held(state):
        return
    start = typed_command(settings)
    if state.daemon.exists():
        what = f"{state.daemon} is left from a daemon that was killed"
        yield Finding("warning", what, f"mcp-memory doctor --repair, or: {start}", fixable=True)
    yield Finding("info", f"no daemon runs for {settings.vault_path}: agents cannot reach it", start)


def mend(settings: Settings) -> list[str]:
    """Make private files private again, and remove leftovers and files that block the index. Return a line for each.
    Raises OSError."""
    state = settings.state
    done: list[str] = []
    for place in _exposed(state):
        place.chmod(stat.S_IMODE(place.stat().st_mode) & ~OTHERS)
        done.append(f"made private again: {place}")
    if _lost_its_tokens(state):
        state.tokens.unlink(missing_ok=True)
        Credentials(state.tokens).remember()  # makes a new file at once, which a running daemon uses
        done.append(f"removed the damaged {state.tokens}: clients get new tokens")
    if state.daemon.exists() and not is_held(state):
        state.daemon.unlink(missing_ok=True)
        done.append(f"removed what a killed daemon left: {state.daemon}")
    for place in _in_the_way(state):
        shutil.rmtree(place) if place.is_dir() and not place.is_symlink() else place.unlink()
        done.append(f"removed {place}, which was not an index")
    return done


def _lost_its_tokens(state: StateFolder) -> bool:
    try:
        Credentials(state.tokens).has(PERSON)
    except TokensDamaged:
        return True
    except McpMemoryError:  # readable by others, which is a finding of its own
        pass
    return False


def _late_hooks(state: StateFolder) -> Iterator[Finding]:
    """Yield a finding about hooks that gave agents nothing because their deadline had passed."""
    with suppress(OSError):
        if found := count_late(hook_log.read_lines(str(state.hooks)), CHECKED_CALLS):
            late = [f"{late} of the last {counted(calls, LIMITED[event])}" for event, (late, calls) in found.items()]
            what = f"hooks timed out and gave agents nothing: {', '.join(late)}"
            what += "; such a call is not stopped by an order" if "before-tool" in found else ""
            severity = "warning" if any(late > LATE_SHARE * calls for late, calls in found.values()) else "info"
            limits = {"session_start_ms" if event in STARTS else "prompt_ms" for event in found}
            yield Finding(severity, what, f"if it continues, raise hooks.{' and hooks.'.join(sorted(limits))}")


def _in_the_way(state: StateFolder) -> list[Path]:
    """Return the places that keep the index from replacing its own damaged files."""
    if state.index.is_symlink() or state.index.is_file():
        return [state.index]
    return [place for place in _below(state.index) if place.is_symlink() or not place.is_file()]


def _exposed(state: StateFolder) -> list[Path]:
    """Return our files there that others may read, the folder itself first."""
    return [place for place in (state.root, *_below(state.root)) if _is_open(place)]


def _below(folder: Path) -> Iterator[Path]:
    for at, folders, files in walk(folder):
        yield from (Path(at, name) for name in sorted((*folders, *files)))


def _is_open(place: Path) -> bool:
    with suppress(FileNotFoundError):  # a daemon at work makes and removes files
        facts = place.lstat()
        return not stat.S_ISLNK(facts.st_mode) and bool(facts.st_mode & OTHERS) and facts.st_uid == os.geteuid()
    return False


@click.command()
@click.argument("entries", metavar="[ENTRY]...", nargs=-1)
@flag("--repair", help="Apply the safe repairs and list them; or add back each ENTRY.")
@flag("--dismiss", help="Stop listing each ENTRY: it was removed on purpose.")
@flag("--accept", help="Confirm that missing notes are gone, and remove them from the index.")
@flag("--reindex", help="Read every file again, and index those that differ from the index.")
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
    found = list(check_state(cli.settings))
    if repair or all(finding.severity != "error" for finding in found):
        # Otherwise the tokens are readable by others, and no daemon may be asked until they are private again.
        try:
            found = by_severity([*found, *_ask_engine(cli)])
        except (Busy, StorageFailed) as error:  # as in a sandbox
            found.append(Finding("error", error.message, error.hint or "mcp-memory status"))
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


def _ask_engine(cli: CommandContext) -> list[Finding]:
    return [Finding(**payload) for payload in cli.ask("doctor")["findings"]]


def _lines(found: Iterator[Finding] | list[Finding]) -> Iterator[str]:
    for finding in found:
        yield f"{finding.severity}: {finding.what}"
        yield f"  → {finding.remedy}"
