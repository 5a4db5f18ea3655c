"""The gaps command: what memory could not answer, and its answers."""

from collections.abc import Iterator
from typing import Any

import click

from mcp_memory.cli import note_options
from mcp_memory.cli.console import Heading, Remark, fit, short_id, wrap
from mcp_memory.cli.options import CommandContext, command_options
from mcp_memory.text.pluralize import counted


@click.command()
@click.argument("text", nargs=-1)
@click.option("--answer", metavar="ID", help="Store TEXT as a fact of this gap's project, and close the gap.")
@note_options.project("Gaps of this project and those without one")
@command_options
def gaps(cli: CommandContext, text: tuple[str, ...], answer: str | None, **wanted: Any) -> None:
    """List the questions and prompts that memory could not answer, the most asked first, with the note that is nearest.
    A gap closes when a newer note answers it.

    They are counted on this machine without their words; usage.keep_questions = true keeps these, too.

    \b
    mcp-memory gaps
    mcp-memory gaps --answer 3f2a91 "The staging database is restored every Monday"
    """
    if answer or text:
        stored = cli.ask("gaps", target=answer, text=" ".join(text) or None)
        receipt = stored["stored"]
        cli.show(stored, [fit(f"answered; {receipt['outcome']}", receipt["path"], short_id(receipt["id"]))])
        return
    found = cli.ask("gaps", **wanted)
    cli.show(found, _report(found))


def _report(found: dict[str, Any]) -> Iterator[Any]:
    for gap in found["gaps"]:
        sessions = f" in {counted(gap['sessions'], 'session')}" if gap["sessions"] else ""
        when = gap["last"] if gap["first"] == gap["last"] else f"{gap['first']} to {gap['last']}"
        asked = f"asked {counted(gap['times'], 'time')}{sessions}, {when}"
        yield Heading(f"{gap['id']}  {gap['project'] or 'no project'}: {asked}")
        if gap["question"]:
            yield from wrap(gap["question"], "  ")
        if nearest := gap["nearest"]:
            yield fit("  nearest", nearest["title"], short_id(nearest["id"]))
        yield from wrap(f"to fill it: {gap['fill']}", "  ")
    if found["gaps"] and not any(gap["question"] for gap in found["gaps"]):
        yield Remark("their words aren't kept: usage.keep_questions = true keeps those of the next ones")
    if found["gaps"]:
        yield f'to answer one: mcp-memory gaps --answer {found["gaps"][0]["id"]} "…"'
    else:
        yield "no gap: nothing was asked that memory could not answer"
    if found["closed"]:
        yield f"{counted(len(found['closed']), 'gap')} closed, which newer notes answer"
