"""The commands about subjects: wiki shows what notes claim about them, projects lists them and their repositories."""

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from mcp_memory.cli import note_options
from mcp_memory.cli.command_context import CommandContext, command_options, located
from mcp_memory.cli.console import Facts, Heading, short_id, wrap
from mcp_memory.text.pluralize import counted

_project = note_options.project("Claims of this project and those without one")


@click.group()
@located
def wiki() -> None:
    """Show what is known about a project or another subject, with evidence and certainty.

    \b
    mcp-memory wiki search port            claims about a subject, or with these words
    mcp-memory wiki get shop               one subject; without a name, all subjects
    mcp-memory wiki lint                   conflicts, and pages that quote forgotten notes
    mcp-memory wiki apply confirm KABTV4   decide; your decision is stored in the notes"""


@wiki.command()
@click.argument("words", nargs=-1, required=True)
@_project
@note_options.limit(6, 1000, "Show at most this many claims.")
@command_options
def search(cli: CommandContext, words: tuple[str, ...], **wanted: Any) -> None:
    """Find claims by their subject or words.

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
    """Show the claims about SUBJECT, with their evidence, and what they replaced. Without SUBJECT, list the subjects;
    --json then lists all claims.

    \b
    mcp-memory wiki get shop
    mcp-memory wiki get --json"""
    answer = cli.ask("claims", subject=" ".join(subject) or None, **wanted)
    found = answer["subjects"]
    if subject:
        cli.show(answer, [line for one in found for line in _subject(one)])
    else:
        lines = [f"{one['name']}  ({one['kind']}, {counted(len(one['claims']), 'claim')})" for one in found]
        cli.show(answer, lines or ["nothing yet: no note has a project, and no name is in enough notes"])


@wiki.command()
@command_options
def lint(cli: CommandContext) -> None:
    """List open conflicts, and pages that are based on forgotten notes. Exits with 1 if
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


def _subject(subject: Facts) -> Iterator[Any]:
    yield Heading(f"{subject['name']}  ({subject['kind']})")
    for claim in sorted(subject["claims"], key=lambda one: not one["holds"]):
        project = f"; {claim['project']}" if claim["project"] and claim["project"] != subject["name"] else ""
        yield from wrap(f"{'' if claim['holds'] else 'no longer: '}{claim['text']}", "  ")
        yield f"    {claim['certainty']}{project}"
        for key, kind in (("evidence", ""), ("earlier", "earlier: ")):
            for one in claim[key]:
                yield f"    {kind}{one['date']}  {one['path']}:{one['line']}  {short_id(one['id'])}"
        if newer := claim["replaced_by"]:
            yield from wrap(f"now: {newer['text']}  {short_id(newer['id'])}", "    ")


def _problem(problem: Facts) -> Iterator[Any]:
    yield Heading(f"{problem['kind']}: {problem['text']}")
    yield from wrap(problem["why"], "  ")
    yield f"  {problem['remedy']}"


_KNOWN_BY = {"origins": "from", "folders": "in", "aliases": "also called", "first_commits": "begins with"}


@click.command()
@click.argument("verb", required=False, type=click.Choice(["merge", "split"]))
@click.argument("name", required=False)
@click.argument("other", metavar="[INTO|FOLDER]", required=False)
@command_options
def projects(cli: CommandContext, verb: str | None, name: str | None, other: str | None) -> None:
    """List the projects, what identifies their repositories, and which projects may be the same.

    Repositories with the same origin are one project, whatever their folders are called: clones, worktrees and moved
    folders. Without a remote, the first commit identifies a repository. `merge` makes the project NAME part of INTO,
    and its name an alias. `split` makes the repository in FOLDER a project of its own. No note is rewritten; the result
    is in .mcp-memory/projects.toml in the vault, which you can edit.

    \b
    mcp-memory projects
    mcp-memory projects merge "shop (mine)" shop
    mcp-memory projects split shop ~/work/shop-review"""
    if verb == "split" and other:
        other = str(Path(other).expanduser().absolute())
    answer = cli.ask("projects", verb=verb, name=name, other=other)
    if verb:
        cli.show(answer, _lines(answer["project"]))
        return
    cli.show(answer, _report(answer))


def _report(answer: Facts) -> Iterator[Any]:
    for project in answer["projects"]:
        yield from _lines(project)
    for near in answer["near"]:
        yield from wrap(f"{near['label']} {near['why']} {near['other']}: are they one project? If so:", "")
        yield f"  mcp-memory projects merge {shlex.quote(near['label'])} {shlex.quote(near['other'])}"
    if not answer["projects"]:
        yield "no project is known: each git repository that an agent works in becomes one"


def _lines(project: Facts) -> Iterator[Any]:
    notes = f"  {counted(project['notes'], 'note')}" if "notes" in project else ""
    yield Heading(f"{project['label']}{notes}")
    for name, words in _KNOWN_BY.items():
        values = [one[:12] if name == "first_commits" else one for one in project[name]]
        if values:
            yield from wrap(f"{words} {', '.join(values)}", "  ")
    if not (project["origins"] or project["folders"]):
        yield "  no repository is known"
