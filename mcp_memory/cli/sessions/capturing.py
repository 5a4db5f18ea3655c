"""capture: sessions out of their transcripts, by hand."""

from __future__ import annotations

from typing import Any

import click

from mcp_memory.cli.console import emit, print_status, say
from mcp_memory.cli.engine_call import ask
from mcp_memory.cli.options import CommonOptions, command_options
from mcp_memory.errors import InvalidInput
from mcp_memory.settings.settings import Settings
from mcp_memory.text.pluralize import counted

MOST_AT_ONCE = 200
"""Transcripts that are asked for in one go."""

_SUMS = ("messages", "leaves", "secrets", "unreadable")


@click.command()
@click.argument("file", required=False)
@click.option("--all", "everything", is_flag=True, help="Every session in the clients' folders, however old.")
@click.option("--client", help="Whose transcript it is, or with --all whose: claude-code, codex or openclaw.")
@click.option("--dry-run", is_flag=True, help="Say what there is to capture, and write nothing.")
@command_options
def capture(
    common: CommonOptions, file: str | None, everything: bool, client: str | None, dry_run: bool, as_json: bool
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
    reports = _captured(settings, [each["file"] for each in found], dry_run=dry_run)
    if as_json:
        emit({"dry_run": dry_run, "transcripts": reports})
    else:
        _say(reports, dry_run=dry_run)
    if any("error" in report for report in reports):
        click.get_current_context().exit(1)


def _captured(settings: Settings, files: list[str], *, dry_run: bool) -> list[dict[str, Any]]:
    """Part by part, each told; what is wrong with one transcript is no reason to leave out the others."""
    done: list[dict[str, Any]] = []
    begun: dict[str, Any] = dict.fromkeys(_SUMS, 0)
    while left := files[len(done) :]:
        for report in ask(settings, "capture", {"files": left[:MOST_AT_ONCE], "dry_run": dry_run})["reports"]:
            if "error" in report:
                print_status(f"{len(done) + 1} of {len(files)}: {report['file']}  {report['error']}")
                done.append({**begun, **report})
            else:
                begun = {**report, **{name: begun[name] + report[name] for name in _SUMS}}
                _progress(begun, f"{len(done) + 1} of {len(files)}")
                done += [begun] if report["at_end"] else []
            begun = begun if not report["at_end"] else dict.fromkeys(_SUMS, 0)
    return done


def _progress(report: dict[str, Any], number: str) -> None:
    if report["messages"] or not report["at_end"]:
        share = f"{100 * report['offset'] // report['size']} %" if report["size"] else "empty"
        print_status(f"{number}: {report['file']}  {share}, {counted(report['messages'], 'message')}")


def _say(reports: list[dict[str, Any]], *, dry_run: bool) -> None:
    sums = {name: sum(report[name] for report in reports) for name in _SUMS}
    new = [report for report in reports if report["messages"]]
    verb = "would capture" if dry_run else "captured"
    leaves = counted(sums["leaves"], "note")
    say(f"{verb} {counted(sums['messages'], 'message')} of {counted(len(new), 'session')} in {leaves}")
    if sums["secrets"]:
        say(f"{counted(sums['secrets'], 'secret')} taken out")
    if sums["unreadable"]:
        say(f"{counted(sums['unreadable'], 'line')} could not be read")


def _absolute(file: str | None) -> str | None:
    """As the daemon needs it; what follows a `#` names a session in a database."""
    from mcp_memory.runtime.paths import absolute

    return absolute(file) if file else None
