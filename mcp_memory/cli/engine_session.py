"""Answers questions with an engine in this process, where no daemon runs."""

from collections.abc import Mapping
from typing import Any

from mcp_memory.cli.console import print_status
from mcp_memory.daemon import engine_client
from mcp_memory.errors import NotFound
from mcp_memory.settings.settings import Settings


def no_vault(settings: Settings) -> NotFound:
    """Return the error for a vault that doesn't exist, or that is gone."""
    from mcp_memory.cli.clients.connection_entries import typed_command

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


def open_session(settings: Settings) -> engine_client.EngineSession:
    """Return a session of many questions, for one `with` block."""
    return engine_client.EngineSession(settings, progress=print_status, on_wait=print_status)
