"""The refs command: lists the code that notes name, and what became of it."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from mcp_memory.cli import note_options
from mcp_memory.cli.console import Heading, short_id, table
from mcp_memory.cli.options import CommandContext, command_options
from mcp_memory.text.pluralize import counted

CHECK_S = 400.0
"""The deadline of a check, after which the engine gives up."""


@click.command()
@click.argument("note", required=False)
@click.option("--check", is_flag=True, help="Look at the repositories now; else the last check of the background job.")
@click.option("--confirm", is_flag=True, help="NOTE is right as the code is now: its check begins anew.")
@click.option("--all", "everything", is_flag=True, help="Also what is as it was.")
@note_options.project("This project's notes")
@command_options
def refs(cli: CommandContext, note: str | None, everything: bool, **options: Any) -> None:
    """List the files, symbols, commits and commands of their project's repository that notes (or NOTE: id or path)
    name, and which of them moved, changed or are gone since.

    Run in a repository, it also tells the daemon where this project's is.

    \b
    mcp-memory refs --check
    mcp-memory refs KABTV4 --confirm"""
    folder = str(Path.cwd()) if cli.project_here not in {None, "*"} else None
    answer = cli.ask("refs", target=note, folder=folder, deadline_s=CHECK_S, **options)
    cli.show(answer, _lines(answer, everything=everything or bool(note)))


def _lines(answer: Mapping[str, Any], *, everything: bool) -> Iterator[str]:
    for note in answer["notes"]:
        shown = [one for one in note["refs"] if everything or one["outcome"] != "ok"]
        if shown:
            yield Heading(f"{note['path']}  {short_id(note['id'])}")
            yield from table([(f"  {one['outcome']}", one["text"], _what(one)) for one in shown], 1)
    for project, problem in answer["problems"].items():
        yield f"not checked: {project}: {problem}"
    counts = answer["counts"]
    outcomes = ", ".join(f"{counts[name]} {name}" for name in ("ok", "moved", "changed", "gone") if counts.get(name))
    named = counted(counts["references"], "reference")
    yield f"{named} to code: {outcomes}" if outcomes else "no note names code that is known: mcp-memory refs --check"


def _what(reference: Mapping[str, Any]) -> str:
    now = ":".join(filter(None, (reference["now_path"], reference["now_symbol"])))
    has_moved = now and reference["outcome"] != "gone" and now != reference["text"]
    return "  ".join(filter(None, (f"is {now}" if has_moved else "", reference["changed"])))
