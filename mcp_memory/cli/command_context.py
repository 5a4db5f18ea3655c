"""Defines what all commands share: their context and its options. `--vault` and `--config` may come before the
command or after it."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from mcp_memory.cli.console import confirm, emit, print_status, say_all
from mcp_memory.errors import ConfigInvalid, InvalidInput, NotFound
from mcp_memory.settings.settings import Settings, load, load_without_mistakes

if TYPE_CHECKING:
    from mcp_memory.daemon.engine_client import EngineSession
    from mcp_memory.projects.projects import Projects


@dataclass(frozen=True)
class CommandContext:
    """The context of each command: the vault, a way to ask its engine, and how to print the answer."""

    vault: str | None = None
    config: Path | None = None
    as_json: bool = False
    without_project: str | None = None
    """The flag that switches off the project of the folder that you are in, for a command that has such a flag."""
    is_without_project: bool = False

    @cached_property
    def settings(self) -> Settings:
        return self.load()

    @cached_property
    def configuration_error(self) -> ConfigInvalid | None:
        """The mistake in the configuration, or None."""
        try:
            _ = self.settings
        except ConfigInvalid as error:
            return error
        return None

    @cached_property
    def settings_without_mistakes(self) -> Settings:
        """The settings. If they have a mistake, it is printed, and the result is the defaults for the vault that they
        name. These are enough to find its daemon and to end it. Raises ConfigInvalid if the settings don't name a
        vault."""
        if self.configuration_error is None:
            return self.settings
        found = load_without_mistakes(os.environ, self.config, {"vault.path": self.vault})
        print_status(f"{self.configuration_error}; until that is corrected, only the vault's path is used")
        return found

    def load(self, **flags: object) -> Settings:
        """Load the settings with these flags, such as `daemon__port` for `daemon.port`."""
        dotted = {name.replace("__", "."): value for name, value in flags.items()}
        return load(os.environ, file=self.config, flags={"vault.path": self.vault, **dotted})

    def ask(self, operation: str, *, deadline_s: float | None = None, **arguments: Any) -> Any:
        """Return the engine's answer to one question. Options that you didn't pass are omitted. The answer is a dict,
        since importing the dataclasses of `core.requests` takes 28 ms. Raises Busy if another process has the vault's
        lock for long."""
        from mcp_memory.daemon.engine_client import LONG_S, ask

        for name, value in arguments.items():
            if isinstance(value, tuple):
                arguments[name] = list(cast("tuple[str, ...]", value)) or None
        here = self.project_here if self.without_project and arguments.get("project", "") is None else None
        arguments |= {"project": here} if here else {}
        without_daemon = partial(_answer_here, self.settings)
        deadline_s = deadline_s or LONG_S
        answer = ask(self.settings, operation, arguments, without_daemon, deadline_s=deadline_s, on_wait=print_status)
        return answer | {"project": here} if here and self.as_json else answer

    @cached_property
    def projects(self) -> Projects:
        """The vault's projects, so that a command finds its own project without asking the engine."""
        from mcp_memory.projects.projects import Projects

        vault = self.settings.vault_path
        return Projects(vault, lambda: self.ask("stats")["by_project"] if vault.is_dir() else ())

    @cached_property
    def project_here(self) -> str | None:
        """The project of the git repository that you are in, as the hooks find it; None in the vault's own repository.
        The first use prints it, unless `--json` was passed."""
        if self.is_without_project:
            return "*"
        try:
            folder = os.getcwd()  # noqa: PTH109 -- it may be gone
        except OSError:
            return None
        found = self.projects.label_of(folder)
        if self.projects.is_git_late:
            print_status("note: git is too slow, so the project is found by its folder alone")
        if found and not self.as_json:
            print_status(
                f"project: {found} (the git repository you are in; else pass {self.without_project} or -p NAME)"
            )
        return found

    def show(self, payload: Any, lines: Iterable[str]) -> None:
        """Print the payload as JSON if `--json` was passed, else the lines."""
        emit(payload) if self.as_json else say_all(lines)

    def refuse_questions(self, hint: str = "pass --yes if you are sure") -> None:
        """Raise InvalidInput if `--json` was passed, because a script can't answer."""
        if self.as_json:
            raise InvalidInput("--json cannot ask", hint=hint)

    def agree(self, question: str, lines: Iterable[str], *, yes: bool, dry_run: bool = False) -> bool:
        """Show what a command is about to do, and ask whether to do it, unless `--yes` or `--dry-run` was passed. The
        answer no ends the command. Return whether to do it. With `--json`, show nothing; raises InvalidInput instead
        of asking."""
        if not (yes or dry_run):
            self.refuse_questions("pass --yes if you are sure, or --dry-run")
        if not self.as_json:
            say_all(lines)
        if not (yes or dry_run):
            confirm(question, abort=True)
        return not dry_run


def no_vault(settings: Settings) -> NotFound:
    """Return the error for a vault that doesn't exist, or that is gone."""
    from mcp_memory.cli.clients.connection_entries import typed_command

    if settings.state.marker_copy.is_file():
        hint = "mount the disk, finish the sync, or name its new place with --vault"
        return NotFound(f"the vault is no longer at {settings.vault_path}", hint=hint)
    hint = f"check the path, or make one: {typed_command(settings)}"
    return NotFound(f"there is no vault at {settings.vault_path}", hint=hint)


def _answer_here(settings: Settings, operation: str, arguments: Mapping[str, Any]) -> Any:
    """Answer one question with an engine in this process, which is closed afterwards. Raises NotFound without a vault,
    and Busy if another process has its lock."""
    import anyio

    from mcp_memory.daemon.engine_client import alone

    if operation != "append" and not settings.vault_path.is_dir():
        raise no_vault(settings)
    with alone(settings):
        return anyio.run(_perform, settings, operation, arguments)


async def _perform(settings: Settings, operation: str, arguments: Mapping[str, Any]) -> Any:
    from mcp_memory.daemon.engine_client import engine_config
    from mcp_memory.engine.engine import open_engine

    async with open_engine(engine_config(settings), watch=False, progress=print_status) as engine:
        await engine.settled()
        return await engine.perform(operation, arguments)


def open_session(settings: Settings) -> EngineSession:
    """Return a session of many questions, for one `with` block."""
    from mcp_memory.daemon.engine_client import EngineSession

    return EngineSession(settings, progress=print_status, on_wait=print_status)


F = TypeVar("F", bound=Callable[..., Any])

flag = partial(click.option, is_flag=True)
"""Adds an option without a value."""


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
uds = click.option("--uds", metavar="PATH", help="Listen on this Unix socket instead of a port.")
scope = click.option(
    "--scope",
    type=click.Choice(("user", "project")),
    default="user",
    show_default=True,
    help="For all your work, or only in this git repository.",
)
