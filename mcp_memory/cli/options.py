"""Options that commands share. `--vault` and `--config` may come before the command or after it."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import click

from mcp_memory.cli.command_context import CommandContext

F = TypeVar("F", bound=Callable[..., Any])


class TextCommand(click.Command):
    """A command whose arguments are your words, which may begin with a hyphen."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        texts = [argument for argument in args if _is_text(argument)]
        # No argument can hold a NUL, so a placeholder for a text is never taken for an option.
        numbers = iter(range(len(texts)))
        try:
            rest = super().parse_args(ctx, [f"\0{next(numbers)}" if _is_text(word) else word for word in args])
        except click.NoSuchOption as error:
            what = f"{error.format_message()} If it is one of your words, put -- before them."
            raise click.UsageError(what, ctx) from error

        def restored(value: Any) -> Any:
            if isinstance(value, tuple):  # a value of click has no type
                return tuple(map(restored, value))  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType] -- of click
            return texts[int(value[1:])] if isinstance(value, str) and value.startswith("\0") else value

        ctx.params = {name: restored(value) for name, value in ctx.params.items()}
        return rest


_OPTION = re.compile(r"-\Z|--?[A-Za-z][A-Za-z\-]*(?:\Z|=)|-[A-Za-z]\S*\Z")


def _is_text(argument: str) -> bool:
    """Return whether an argument begins like an option but can't be an option."""
    return argument.startswith("-") and argument != "--" and not _OPTION.match(argument)


def located(command: F) -> F:
    """Add `--vault` and `--config`; the innermost value applies."""
    return _vault(_config(command))


def _keep(ctx: click.Context, param: click.Parameter, value: object) -> None:
    context = ctx.ensure_object(CommandContext)
    if value is not None and param.name:
        ctx.obj = replace(context, **{param.name: value})


_vault = click.option(
    "--vault", metavar="DIR", expose_value=False, callback=_keep, help="The vault's folder; default: as configured."
)
_config = click.option(
    "--config",
    type=click.Path(path_type=Path),
    metavar="FILE",
    expose_value=False,
    callback=_keep,
    help="Another configuration file.",
)
_json = click.option(
    "--json", "as_json", is_flag=True, expose_value=False, callback=_keep, help="Print JSON, for scripts."
)


def command_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add `--vault`, `--config` and `--json` after the command's own options, and pass the CommandContext first."""
    return located(_json(click.pass_obj(command)))


port = click.option("--port", type=int, help="Port; default: chosen once for this vault and kept.")
scope = click.option(
    "--scope",
    type=click.Choice(("user", "project")),
    default="user",
    show_default=True,
    help="For all your work, or only in this git repository.",
)
