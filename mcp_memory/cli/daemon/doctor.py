"""The doctor and recover commands: find problems with a vault and fix them."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import click

from mcp_memory.cli.clients import snippets
from mcp_memory.cli.console import emit, say
from mcp_memory.cli.daemon.state_checks import check_state, mend
from mcp_memory.cli.engine_call import ask
from mcp_memory.cli.options import CommonOptions, command_options
from mcp_memory.engine.diagnostics import Finding, by_severity
from mcp_memory.errors import InvalidInput, NotFound
from mcp_memory.settings.settings import Settings


@click.command()
@click.option("--fix", is_flag=True, help="Apply the safe fixes and list them.")
@click.option("--accept", is_flag=True, help="Confirm that missing notes are gone, and remove them from the index.")
@click.option("--clients", is_flag=True, help="Check the clients instead: versions, connections, hooks.")
@command_options
def doctor(common: CommonOptions, fix: bool, accept: bool, clients: bool, as_json: bool) -> None:
    """List problems, each with a remedy. Exits with 0 if there is nothing to do, else 1.

    --clients checks Claude Code, Codex and OpenClaw: their versions, how each is connected (install, plugin, stdio)
    and in which file, whether the daemon can be reached that way, whether hooks run and tools may be called, and when
    each last ran a hook or called.

    \b
    mcp-memory doctor
    mcp-memory doctor --fix
    mcp-memory doctor --clients
    """
    settings = common.settings()
    if fix + accept + clients > 1:
        raise InvalidInput("more than one of --fix, --accept and --clients", hint="pass one of them")
    if clients:
        from mcp_memory.cli.clients.client_status import examine, show

        if not show(examine(settings), as_json=as_json):
            click.get_current_context().exit(1)
        return
    if accept:
        pruned = ask(settings, "accept", {})["pruned"]
        emit({"pruned": pruned}) if as_json else say(f"{pruned} missing notes removed from the index")
        return
    if not settings.vault_path.is_dir():
        raise NotFound(
            f"there is no vault at {settings.vault_path}",
            hint=f"check the path, or make one: {snippets.start_command(settings)}",
        )
    done: list[str] = []
    found = check_state(settings)
    if fix:
        if not as_json:
            _show([finding for finding in found if finding.fixable])
        done += mend(settings)
        found = check_state(settings)
        if not as_json:
            _show([finding for finding in _asked(settings) if finding.fixable])
        done += ask(settings, "fix", {})["done"]
    elif not _is_answerable(found):
        # Until its tokens are private again nothing can be asked of a daemon, nor should it.
        _end(found, done, as_json=as_json)
        return
    found = by_severity([*found, *_asked(settings)])
    _end(found, done, as_json=as_json)


@click.command()
@click.argument("entries", metavar="[ID]...", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="Every listed entry.")
@click.option("--dismiss", is_flag=True, help="Stop listing them: they were removed on purpose.")
@command_options
def recover(common: CommonOptions, entries: tuple[str, ...], everything: bool, dismiss: bool, as_json: bool) -> None:
    """List log entries that another program's save removed, or add them back at the end of their log.

    \b
    mcp-memory recover                       the lost entries and their text
    mcp-memory recover memory/2026-11-21.md  everything this log lost
    """
    settings = common.settings()
    lost: list[dict[str, Any]] = ask(settings, "lost", {})["lost"]
    wanted = sorted({each["id"] for each in lost}) if everything else list(entries)
    if not wanted:
        _list(lost, as_json=as_json)
        return
    answer = ask(settings, "recover", {"ids": wanted, "dismiss": dismiss or None})
    if as_json:
        emit(answer)
        return
    for each in answer["recovered"]:
        say(f"{'dismissed' if dismiss else 'added again'}  {each['id']}  {each['gist']}")


def _asked(settings: Settings) -> list[Finding]:
    return [Finding(**payload) for payload in ask(settings, "doctor", {})["findings"]]


def _is_answerable(found: list[Finding]) -> bool:
    return all(finding.severity != "error" for finding in found)


def _end(found: list[Finding], done: list[str], *, as_json: bool) -> None:
    is_well = all(finding.severity == "info" for finding in found)
    if as_json:
        emit({"findings": list(map(asdict, found)), "done": done})
    else:
        for line in done:
            say(f"done: {line}")
        _show(found)
        if is_well:
            say("no problems found")
    if not is_well:
        click.get_current_context().exit(1)


def _show(found: list[Finding]) -> None:
    for finding in found:
        say(f"{finding.severity}: {finding.what}")
        say(f"  → {finding.remedy}")


def _list(lost: list[dict[str, Any]], *, as_json: bool) -> None:
    if as_json:
        emit({"lost": lost})
        return
    for each in lost:
        say(f"{each['id']}  ({each['why']})")
        for line in each["text"].rstrip().splitlines():
            say(f"  {line}")
    say("to add one back: mcp-memory recover ID; to add all: --all" if lost else "no lost entries")
