"""Asking an engine: the daemon's where one runs, else one of our own under the same lock."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mcp_memory.client.connection import Address, Connection
from mcp_memory.client.credentials import Credentials
from mcp_memory.daemon.instance import Held, is_held, only_instance
from mcp_memory.errors import NotFound, NotRunning
from mcp_memory.settings.settings import Settings
from mcp_memory.settings.state import was_served

LONG_S = 3600.0
"""A reindex of a large vault with a slow model."""


def ask(settings: Settings, operation: str, arguments: Mapping[str, Any], *, deadline_s: float = LONG_S) -> Any:
    """One operation's answer. Raises Busy when another process that is no daemon uses the vault."""
    given = {key: value for key, value in arguments.items() if value is not None}
    try:
        address = Address.read(settings.state.daemon)
    except NotRunning:
        try:
            return _in_process(settings, operation, given)
        except Held as held:
            address = _returned(settings, held)
    try:
        return Connection(address, Credentials(settings.state.tokens)).call(operation, given, deadline_s=deadline_s)
    except NotRunning:
        if is_held(settings.state):
            raise
        return _in_process(settings, operation, given)  # daemon.json of a daemon that was killed


def _returned(settings: Settings, held: Held) -> Address:
    """Of a daemon whose state folder was removed, and which has put itself back meanwhile."""
    try:
        return Address.read(settings.state.daemon)
    except NotRunning:
        raise held from None


def _in_process(settings: Settings, operation: str, arguments: Mapping[str, Any]) -> Any:
    import anyio

    if operation != "append" and not settings.vault_path.is_dir():
        raise NotFound(
            f"there is no vault at {settings.vault_path}", hint="check the path, or make one: mcp-memory start"
        )
    settings.state.make()
    with only_instance(settings.state, known_vault=was_served(settings.vault_path)):
        return anyio.run(_perform, settings, operation, arguments)


async def _perform(settings: Settings, operation: str, arguments: Mapping[str, Any]) -> Any:
    from mcp_memory.cli.console import tell
    from mcp_memory.daemon.compose import engine_config
    from mcp_memory.engine.opening import open_engine
    from mcp_memory.engine.operations import perform

    async with open_engine(engine_config(settings), watch=False, progress=tell) as engine:
        await engine.settled()
        return await perform(engine, operation, arguments)
