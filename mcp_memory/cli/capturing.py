"""capture: sessions out of their transcripts, by hand."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from mcp_memory.cli.asking import ask
from mcp_memory.cli.console import emit, say, tell
from mcp_memory.cli.options import Common, as_json, located
from mcp_memory.errors import InvalidInput, McpMemoryError
from mcp_memory.settings.settings import Settings
from mcp_memory.text.counts import counted

_SUMS = ("messages", "leaves", "secrets", "unreadable")


@click.command()
@click.argument("file", required=False)
@click.option("--all", "everything", is_flag=True, help="Every session in the clients' folders, however old.")
@click.option("--client", help="Whose transcript it is, or with --all whose: claude-code, codex or openclaw.")
@click.option("--dry-run", is_flag=True, help="Say what there is to capture, and write nothing.")
@located
@as_json
@click.pass_obj
def capture(
    common: Common, file: str | None, everything: bool, client: str | None, dry_run: bool, as_json: bool
) -> None:
    """Make what was said in agents' sessions searchable, as the daemon does by itself for sessions with hooks.

    Each transcript is read from where the last capture ended. Secrets are taken out before anything is written, and
    what tools gave back is left out (capture.tool_output). To search it: path @transcripts. Only files in the clients'
    own folders are read ([capture.folders]).

    \b
    mcp-memory capture --all --dry-run
    mcp-memory capture ~/.claude/projects/-home-ada-app/861705d5-deca-4e9c-984e-9c2ca4b78b28.jsonl
    mcp-memory search "what did we say about tabs" --path @transcripts
    """
    if everything == bool(file):
        raise InvalidInput("neither a file nor --all" if not file else "a file and --all", hint="pass one of them")
    settings = common.settings()
    found = ask(settings, "transcripts", {"file": _absolute(file), "client": client})["transcripts"]
    reports = [
        _captured(settings, each, dry_run=dry_run, number=f"{at} of {len(found)}") for at, each in enumerate(found, 1)
    ]
    failed = [report for report in reports if "error" in report]
    if as_json:
        emit({"dry_run": dry_run, "transcripts": reports})
    else:
        _say(reports, dry_run=dry_run)
    if failed:
        click.get_current_context().exit(1)


def _captured(settings: Settings, transcript: dict[str, str], *, dry_run: bool, number: str) -> dict[str, Any]:
    """What all steps of one transcript come to; what is wrong with one is no reason to leave out the others."""
    report: dict[str, Any] = {**transcript, **dict.fromkeys(_SUMS, 0)}
    try:
        for step in _steps(settings, transcript, dry_run=dry_run):
            sums = {name: report[name] + step[name] for name in _SUMS}
            report = {**report, "session": step["session"], "offset": step["offset"], "size": step["size"], **sums}
            done = f"{100 * step['offset'] // step['size']} %" if step["size"] else "empty"
            if report["messages"]:
                tell(f"{number}: {transcript['file']}  {done}, {counted(report['messages'], 'message')}")
    except McpMemoryError as error:
        tell(f"{number}: {transcript['file']}  {error}")
        return {**report, "error": error.message}
    return report


def _steps(settings: Settings, transcript: dict[str, str], *, dry_run: bool) -> Iterator[dict[str, Any]]:
    while True:
        step = ask(settings, "capture", {**transcript, "dry_run": dry_run})
        yield step
        if step["at_end"]:
            return


def _say(reports: list[dict[str, Any]], *, dry_run: bool) -> None:
    sums = {name: sum(report[name] for report in reports) for name in _SUMS}
    new = [report for report in reports if report["messages"]]
    verb = "would capture" if dry_run else "captured"
    leaves = counted(sums["leaves"], "leaf", "leaves")
    say(f"{verb} {counted(sums['messages'], 'message')} of {counted(len(new), 'session')} in {leaves}")
    if sums["secrets"]:
        say(f"{counted(sums['secrets'], 'secret')} taken out")
    if sums["unreadable"]:
        say(f"{counted(sums['unreadable'], 'line')} could not be read")


def _absolute(file: str | None) -> str | None:
    """As the daemon needs it; what follows a `#` names a session in a database."""
    from mcp_memory.settings.state import absolute

    return str(absolute(file)) if file else None
