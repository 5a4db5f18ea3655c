"""The projects command: which projects there are, and which repositories are one."""

import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from mcp_memory.cli.command_context import CommandContext, command_options
from mcp_memory.cli.console import Heading, wrap
from mcp_memory.text.pluralize import counted

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


def _report(answer: Mapping[str, Any]) -> Iterator[Any]:
    for project in answer["projects"]:
        yield from _lines(project)
    for near in answer["near"]:
        yield from wrap(f"{near['label']} {near['why']} {near['other']}: are they one project? If so:", "")
        yield f"  mcp-memory projects merge {shlex.quote(near['label'])} {shlex.quote(near['other'])}"
    if not answer["projects"]:
        yield "no project is known: each git repository that an agent works in becomes one"


def _lines(project: Mapping[str, Any]) -> Iterator[Any]:
    notes = f"  {counted(project['notes'], 'note')}" if "notes" in project else ""
    yield Heading(f"{project['label']}{notes}")
    for name, words in _KNOWN_BY.items():
        values = [one[:12] if name == "first_commits" else one for one in project[name]]
        if values:
            yield from wrap(f"{words} {', '.join(values)}", "  ")
    if not (project["origins"] or project["folders"]):
        yield "  no repository is known"
