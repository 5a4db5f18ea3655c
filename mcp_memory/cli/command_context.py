"""The context of a command: its vault, a way to ask the engine, and how to print the answer."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

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
    from mcp_memory.engine.factory import open_engine

    async with open_engine(engine_config(settings), watch=False, progress=print_status) as engine:
        await engine.settled()
        return await engine.perform(operation, arguments)


def open_session(settings: Settings) -> EngineSession:
    """Return a session of many questions, for one `with` block."""
    from mcp_memory.daemon.engine_client import EngineSession

    return EngineSession(settings, progress=print_status, on_wait=print_status)
