"""Asking an engine, as a command does: one question, and the engine is closed again where it is our own."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from mcp_memory.cli.console import print_status
from mcp_memory.daemon import engine_client
from mcp_memory.errors import NotFound
from mcp_memory.settings.settings import Settings


def ask(
    settings: Settings, operation: str, arguments: Mapping[str, Any], *, deadline_s: float = engine_client.LONG_S
) -> Any:
    """One operation's answer. Raises Busy when another process that is no daemon uses the vault for long."""
    own = partial(_in_process, settings)
    return engine_client.ask(settings, operation, arguments, own, deadline_s=deadline_s, on_wait=print_status)


def _in_process(settings: Settings, operation: str, arguments: Mapping[str, Any]) -> Any:
    import anyio

    if operation != "append" and not settings.vault_path.is_dir():
        from mcp_memory.cli.clients.snippets import start_command

        raise NotFound(
            f"there is no vault at {settings.vault_path}",
            hint=f"check the path, or make one: {start_command(settings)}",
        )
    with engine_client.alone(settings):
        return anyio.run(_perform, settings, operation, arguments)


async def _perform(settings: Settings, operation: str, arguments: Mapping[str, Any]) -> Any:
    from mcp_memory.daemon.engine_client import engine_config
    from mcp_memory.engine.factory import open_engine

    async with open_engine(engine_config(settings), watch=False, progress=print_status) as engine:
        await engine.settled()
        return await engine.perform(operation, arguments)
