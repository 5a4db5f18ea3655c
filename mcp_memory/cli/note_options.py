"""Options that choose notes, the same in each command: kind, tag, project, client, dates and number."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

import click

from mcp_memory.cli.command_context import CommandContext, flag

F = TypeVar("F", bound=Callable[..., Any])
ALL_PROJECTS, NO_PROJECT = "--all-projects", "--no-project"

kinds = click.option("-k", "--kind", "kinds", multiple=True, help="Only this kind; may be repeated.")
tags = click.option("--tag", "tags", multiple=True, help="Only notes with this tag; may be repeated.")
archived = flag(
    "--archived", "--include-archive", "include_archived", help="Include archived, superseded and expired notes."
)
inbox = flag("--include-inbox", help="Include proposals that wait for review.")
agent = click.option("--agent", metavar="NAME", help="Only what this client wrote; `you` for your own notes.")
session = click.option("--session", help="Only from this session.")


def since(about: str) -> Callable[[F], F]:
    when = "yesterday, last week, 2 days ago, 14:30, 2026-11-20"
    return click.option("--since", metavar="WHEN", help=f"{about}: {when}.")


def until(about: str) -> Callable[[F], F]:
    return click.option("--until", metavar="WHEN", help=f"{about}; dates as for --since.")


def limit(default: int | None, most: int, about: str) -> Callable[[F], F]:
    shown = default is not None
    return click.option("-n", "--limit", type=click.IntRange(1, most), default=default, show_default=shown, help=about)


def project(about: str, otherwise: str = ALL_PROJECTS) -> Callable[[F], F]:
    """Add `--project`, whose default is the project of the folder that you are in, and the flag `otherwise` against
    this default."""

    def decorate(command: F) -> F:
        named = click.option("-p", "--project", help=f"{about}; default: the project of the git repository you are in.")
        meaning = "Without a project" if otherwise == NO_PROJECT else "All projects"
        flag = click.option(
            otherwise, is_flag=True, expose_value=False, callback=_keep, help=f"{meaning}; same as -p '*'."
        )
        return named(flag(command))

    return decorate


def _keep(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    context = ctx.ensure_object(CommandContext)
    ctx.obj = replace(context, without_project=param.opts[0], is_without_project=value)
