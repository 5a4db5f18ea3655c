"""The wiki commands: what notes claim about projects, people, services and tools."""

from collections.abc import Iterator, Mapping
from typing import Any

import click

from mcp_memory.cli import note_options
from mcp_memory.cli.command_context import CommandContext, command_options, located
from mcp_memory.cli.console import Heading, short_id, wrap
from mcp_memory.text.pluralize import counted

_project = note_options.project("Claims of this project and those without one")


@click.group()
@located
def wiki() -> None:
    """Show what is known about a project, person, service or tool: each claim with its evidence, date and certainty.

    \b
    mcp-memory wiki search port            claims with these words
    mcp-memory wiki get shop               one subject; without a name, all subjects
    mcp-memory wiki lint                   conflicts, uncertain claims, pages that are out of date
    mcp-memory wiki apply confirm KABTV4   decide; your decision is stored in the notes"""


@wiki.command()
@click.argument("words", nargs=-1, required=True)
@_project
@note_options.limit(6, 1000, "Show at most this many claims.")
@command_options
def search(cli: CommandContext, words: tuple[str, ...], **wanted: Any) -> None:
    """Find claims by their words.

    \b
    mcp-memory wiki search which port does the API use"""
    answer = cli.ask("search", query=" ".join(words), path="@claims", **wanted)
    lines = [line for hit in answer["hits"] for line in wrap(f"{hit['snippet']}  {short_id(hit['id'])}", "")]
    cli.show(answer, lines or ["no claim has any of these words"])


@wiki.command()
@click.argument("subject", nargs=-1)
@_project
@command_options
def get(cli: CommandContext, subject: tuple[str, ...], **wanted: Any) -> None:
    """Show the claims about SUBJECT, with their evidence, and which are disputed. If no subject has that name, show the
    claims with these words. Without SUBJECT, list the subjects; --json then lists all claims.

    \b
    mcp-memory wiki get shop
    mcp-memory wiki get label printer
    mcp-memory wiki get --json"""
    answer = cli.ask("claims", subject=" ".join(subject) or None, **wanted)
    found = answer["subjects"]
    if subject:
        cli.show(answer, [line for one in found for line in _subject(one)])
    else:
        lines = [f"{one['name']}  ({one['kind']}, {counted(len(one['claims']), 'claim')})" for one in found]
        cli.show(answer, lines or ["nothing yet: a subject needs at least three claims"])


@wiki.command()
@command_options
def lint(cli: CommandContext) -> None:
    """List open conflicts, uncertain claims, and pages that are stale or based on forgotten notes. Exits with 1 if
    there are any.

    \b
    mcp-memory wiki lint"""
    answer = cli.ask("claim_problems")
    found = answer["problems"]
    cli.show(answer, [line for one in found for line in _problem(one)] or ["nothing needs a decision"])
    if found:
        raise click.exceptions.Exit(1)


@wiki.command()
@click.argument("verb", type=click.Choice(["confirm", "drop"]))
@click.argument("note", metavar="ID")
@command_options
def apply(cli: CommandContext, verb: str, note: str) -> None:
    """Decide about the claim that a note or log entry makes. `confirm` records that you checked it. `drop` forgets its
    notes; `restore` brings them back. `mcp-memory review --conflicts` settles contradictions.

    \b
    mcp-memory wiki apply confirm KABTV4"""
    answer = cli.ask("review", items=[f"claim-{note}"], choice=verb)
    past = {"confirm": "confirmed", "drop": "dropped"}[verb]
    cli.show(answer, [f"{past}: {one['title']}  ({', '.join(map(short_id, one['notes']))})" for one in answer["done"]])


def _subject(subject: Mapping[str, Any]) -> Iterator[Any]:
    yield Heading(f"{subject['name']}  ({subject['kind']})")
    for claim in sorted(subject["claims"], key=lambda one: not one["holds"]):
        facts = f"since {claim['since']}, {claim['confidence']:.0%} sure: {claim['why']}"
        project = f"; {claim['project']}" if claim["project"] and claim["project"] != subject["name"] else ""
        yield from wrap(f"{'' if claim['holds'] else 'disputed: '}{claim['text']}", "  ")
        yield f"    {facts}{project}"
        for key, kind in (("evidence", ""), ("contradicts", "against it: ")):
            for one in claim[key]:
                yield f"    {kind}{one['date']}  {one['path']}:{one['line']}  {short_id(one['id'])}"
        if newer := claim["refuted_by"]:
            yield from wrap(f"newer: {newer['text']}  {short_id(newer['id'])}", "    ")


def _problem(problem: Mapping[str, Any]) -> Iterator[Any]:
    yield Heading(f"{problem['kind']}: {problem['text']}")
    yield from wrap(problem["why"], "  ")
    yield f"  {problem['remedy']}"
