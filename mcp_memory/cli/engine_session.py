"""Answers questions with an engine in this process, where no daemon runs."""

from collections.abc import Mapping
from contextlib import ExitStack
from functools import partial
from typing import Any

from mcp_memory.cli.console import print_status
from mcp_memory.daemon import engine_client
from mcp_memory.errors import NotFound
from mcp_memory.library.background_engine import InProcess
from mcp_memory.settings.settings import Settings


def no_vault(settings: Settings) -> NotFound:
    """Return the error for a vault that doesn't exist, or that is gone."""
    from mcp_memory.cli.clients.snippets import typed_command

    if settings.state.marker_copy.is_file():
        hint = "mount the disk, finish the sync, or name its new place with --vault"
        return NotFound(f"the vault has gone from {settings.vault_path}", hint=hint)
    hint = f"check the path, or make one: {typed_command(settings)}"
    return NotFound(f"there is no vault at {settings.vault_path}", hint=hint)


def answer_here(settings: Settings, operation: str, arguments: Mapping[str, Any]) -> Any:
    """Answer one question with an engine in this process, which is closed afterwards. Raises NotFound without a vault,
    and Busy if another process has its lock."""
    import anyio

    if operation != "append" and not settings.vault_path.is_dir():
        raise no_vault(settings)
    with engine_client.alone(settings):
        return anyio.run(_perform, settings, operation, arguments)


async def _perform(settings: Settings, operation: str, arguments: Mapping[str, Any]) -> Any:
    from mcp_memory.engine.factory import open_engine

    async with open_engine(engine_client.engine_config(settings), watch=False, progress=print_status) as engine:
        await engine.settled()
        return await engine.perform(operation, arguments)


class EngineSession(ExitStack):
    """A session of many questions in one `with` block, in which an engine in this process stays open."""

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        self._settings = settings
        self._own: InProcess | None = None
        self.is_served: bool | None = None
        """Whether a daemon answers, which limits the size of a question; None before the first question."""

    def ask(self, operation: str, arguments: Mapping[str, Any], *, deadline_s: float = engine_client.LONG_S) -> Any:
        """Return the answer to one question. Raises Busy if another process that isn't a daemon has the vault's lock
        for long."""
        if self._own:  # even if a daemon was started meanwhile: it waits for our lock
            return self._own.perform(operation, arguments, deadline_s)
        own = partial(self._in_process, deadline_s=deadline_s)
        answer = engine_client.ask(
            self._settings, operation, arguments, own, deadline_s=deadline_s, on_wait=print_status
        )
        self.is_served = self._own is None
        return answer

    def _in_process(self, operation: str, arguments: Mapping[str, Any], *, deadline_s: float) -> Any:
        self._own = InProcess(self._settings, print_status)
        self.callback(self._own.close)
        return self._own.perform(operation, arguments, deadline_s)
