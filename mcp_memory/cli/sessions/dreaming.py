"""The dream command: proposes what recurs for MEMORY.md, and stores what you ticked."""

from collections.abc import Iterator
from pathlib import Path

import click

from mcp_memory.cli.command_context import CommandContext, command_options, flag
from mcp_memory.cli.console import Facts, Remark
from mcp_memory.text.pluralize import counted


@click.command()
@flag("--dry-run", help="Only show what would be proposed.")
@click.option(
    "--backfill", type=click.Path(exists=True, file_okay=False), help="Read this folder of old daily logs, too."
)
@flag("--stage-short-term", "stage", help="With --backfill: only keep what recurs as evidence.")
@command_options
def dream(cli: CommandContext, dry_run: bool, backfill: str | None, stage: bool) -> None:
    """Do what you ticked in DREAMS.md, then make new proposals.

    Lines of MEMORY.md are proposed from daily logs and from notes that are often used. Other proposals load a note in
    every session, or no longer, or make a how-to of several fixes.

    Tick a box in any editor, change the words as you like, and dream again. Lines that you delete aren't proposed
    again. It also runs every night. `mcp-memory undo RUN` undoes a run.

    \b
    mcp-memory dream --dry-run
    mcp-memory dream
    mcp-memory dream --backfill ~/old/memory --stage-short-term"""
    if stage and not backfill:
        raise click.UsageError("--stage-short-term needs --backfill")
    folder = str(Path(backfill).resolve()) if backfill else None
    answer = cli.ask("dream", dry_run=dry_run, backfill=folder, stage=stage)
    cli.show(answer, _lines(answer))


def _lines(answer: Facts) -> Iterator[str]:
    yield from (f"stored: {text}" for text in answer["promoted"])
    yield from (f"moved out of MEMORY.md: {text}" for text in answer["moved"])
    yield from answer["done"]
    for one in answer["proposed"]:
        score = f"{one['score']:.2f}" if "score" in one else "    "
        yield f"{score}  {one['section']}: {one['text']}"
    yield f"seen: {answer['seen']}"
    yield from [f"kept as evidence: {counted(answer['staged'], 'statement')}"] if answer["staged"] else []
    yield from (Remark(f"not done: {why}") for why in answer["refused"])
    if any(answer[name] for name in ("promoted", "moved", "done", "proposed")):
        yield Remark("tick what you want to keep in DREAMS.md, then run: mcp-memory dream")
        yield Remark(f"→ mcp-memory undo {answer['run']}")
