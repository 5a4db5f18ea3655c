"""Options that commands share. Which vault and which configuration can be said before the command or after it."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import click

from mcp_memory.settings.settings import Settings, load

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class CommonOptions:
    """What a command works on; settings are read when it asks for them."""

    vault: str | None = None
    config: Path | None = None

    def settings(self, **flags: object) -> Settings:
        dotted = {name.replace("__", "."): value for name, value in flags.items()}
        return load(os.environ, file=self.config, flags={"vault.path": self.vault, **dotted})


class TextCommand(click.Command):
    """A command whose arguments are a person's words, which may begin with a hyphen."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        texts = [each for each in args if _is_text(each)]
        # No argument can hold a NUL: what stands in for a text is no option.
        stand_ins = iter(range(len(texts)))
        rest = super().parse_args(ctx, [f"\0{next(stand_ins)}" if _is_text(each) else each for each in args])

        def back(value: Any) -> Any:
            if isinstance(value, tuple):
                return tuple(map(back, value))  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
            return texts[int(value[1:])] if isinstance(value, str) and value.startswith("\0") else value

        ctx.params = {name: back(value) for name, value in ctx.params.items()}
        return rest


def _is_text(argument: str) -> bool:
    """Whether it begins as an option and goes on as none does."""
    return argument.startswith("-") and argument != "--" and not _OPTION.match(argument)


_OPTION = re.compile(r"-\Z|--?[A-Za-z][A-Za-z\-]*(?:\Z|=)|-[A-Za-z]\S*\Z")


def located(command: F) -> F:
    """`--vault` and `--config`; they land in the context's `Common`, where the innermost one counts."""
    return _vault(_config(command))


def _keep(ctx: click.Context, param: click.Parameter, value: object) -> None:
    common = ctx.ensure_object(CommonOptions)
    if value is not None and param.name:
        ctx.obj = replace(common, **{param.name: value})


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
as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON, for scripts.")


def command_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """`--vault`, `--config` and `--json`, after the options on the command itself. Passes the CommonOptions first."""
    return located(as_json(click.pass_obj(command)))


port = click.option("--port", type=int, help="Port; default: chosen once for this vault and kept.")
