"""The capture command: makes agents' sessions searchable, from their transcripts."""

from typing import Any

import click

from mcp_memory.cli.console import print_status, progress_bar
from mcp_memory.cli.options import CommandContext, command_options
from mcp_memory.errors import InvalidInput
from mcp_memory.runtime.paths import absolute
from mcp_memory.text.pluralize import counted

MOST_AT_ONCE = 200
"""The most transcripts in one question to the engine."""

_SUMS = ("messages", "leaves", "secrets", "unreadable")


@click.command()
@click.argument("file", required=False)
@click.option("--all", "everything", is_flag=True, help="Every session in the clients' folders, however old.")
@click.option("--client", help="Whose transcript it is, or with --all whose: claude-code, codex, openclaw or gemini.")
@click.option("--dry-run", is_flag=True, help="Show what there is to capture, and write nothing.")
@command_options
def capture(cli: CommandContext, file: str | None, everything: bool, client: str | None, dry_run: bool) -> None:
    """Make what was said in agents' sessions searchable, as the daemon does on its own for sessions with hooks.

    Each transcript is read from where the last capture ended. Secrets are removed before anything is written, and the
    output of tools is left out (capture.tool_output). To search it: path @transcripts. Only files in the clients' own
    folders are read ([capture.folders]).

    \b
    mcp-memory capture --all --dry-run
    mcp-memory capture ~/.claude/projects/-home-ada-app/861705d5-deca-4e9c-984e-9c2ca4b78b28.jsonl
    mcp-memory search "what did we say about tabs" --path @transcripts"""
    if everything == bool(file):
        raise InvalidInput("neither a file nor --all" if not file else "a file and --all", hint="pass one of them")
    # The daemon needs an absolute path; what follows a `#` names a session in a database.
    found = cli.ask("transcripts", file=absolute(file) if file else None, client=client)["transcripts"]
    reports = capture_files(cli, [transcript["file"] for transcript in found], dry_run=dry_run)
    sums = {name: sum(report[name] for report in reports) for name in _SUMS}
    sessions = counted(sum(report["messages"] > 0 for report in reports), "session")
    verb, notes = "would capture" if dry_run else "captured", counted(sums["leaves"], "note")
    lines = [f"{verb} {counted(sums['messages'], 'message')} of {sessions} in {notes}"]
    lines += [f"{counted(sums['secrets'], 'secret')} removed"] if sums["secrets"] else []
    lines += [f"{counted(sums['unreadable'], 'line')} could not be read"] if sums["unreadable"] else []
    cli.show({"dry_run": dry_run, "transcripts": reports}, lines)
    if any("error" in report for report in reports):
        click.get_current_context().exit(1)


def capture_files(cli: CommandContext, files: list[str], *, dry_run: bool) -> list[dict[str, Any]]:
    """Capture the transcripts part by part, and print each part, with a bar on a terminal. A faulty transcript doesn't
    stop the others. Returns a report on each."""
    done: list[dict[str, Any]] = []
    sums: dict[str, Any] = dict.fromkeys(_SUMS, 0)
    with progress_bar("reading sessions", len(files)) as update:
        while left := files[len(done) :]:
            for report in cli.ask("capture", files=left[:MOST_AT_ONCE], dry_run=dry_run)["reports"]:
                number = f"{len(done) + 1} of {len(files)}: {report['file']}"
                if "error" in report:
                    print_status(f"{number}  {report['error']}")
                    done.append({**sums, **report})
                else:
                    sums = {**report, **{name: sums[name] + report[name] for name in _SUMS}}
                    if not update and (sums["messages"] or not report["at_end"]):
                        share = f"{100 * report['offset'] // report['size']} %" if report["size"] else "empty"
                        print_status(f"{number}  {share}, {counted(sums['messages'], 'message')}")
                    done += [sums] if report["at_end"] else []
                sums = sums if not report["at_end"] else dict.fromkeys(_SUMS, 0)
                if update:
                    update(completed=len(done))
    return done
