"""Asking an engine: the daemon's where one runs, else one of our own under the same lock."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from typing import Any

from mcp_memory.client.connection import Address, Connection
from mcp_memory.client.credentials import PERSON, Credentials
from mcp_memory.daemon.instance import Held, is_held, only_instance
from mcp_memory.errors import Busy, NotRunning
from mcp_memory.settings.settings import Settings
from mcp_memory.settings.state import was_served

LONG_S = 3600.0
"""A reindex of a large vault with a slow model."""


def compaction_s(settings: Settings) -> float:
    """The longest that a compaction may take: a language model may take its time for each answer of a day."""
    return LONG_S + settings.summarizer.day_s


Own = Callable[[str, Mapping[str, Any]], Any]
"""Answers an operation with an engine of this process, which is opened within `alone`."""


def ask(
    settings: Settings,
    operation: str,
    arguments: Mapping[str, Any],
    own: Own,
    *,
    client: str = PERSON,
    deadline_s: float = LONG_S,
) -> Any:
    """One operation's answer; arguments that are None are left out. `client` is the name that the daemon knows us by.

    Raises Held when another process that is no daemon uses the vault, and what the engine raises.
    """
    given = {key: value for key, value in arguments.items() if value is not None}
    try:
        address = Address.read(settings.state.daemon)
    except NotRunning:
        try:
            return own(operation, given)
        except Held as held:
            address = _returned(settings, held)
    try:
        connection = Connection(address, Credentials(settings.state.tokens), client=client)
        return connection.call(operation, given, deadline_s=deadline_s)
    except (NotRunning, Busy):
        if is_held(settings.state):
            raise
        return own(operation, given)  # daemon.json of a daemon that was killed


@contextmanager
def alone(settings: Settings) -> Generator[None]:
    """Hold the vault's lock, for an engine of our own. Raises Held."""
    settings.state.make()
    with only_instance(settings.state, known_vault=was_served(settings.vault_path)):
        yield


def _returned(settings: Settings, held: Held) -> Address:
    """Of a daemon whose state folder was removed, and which has put itself back meanwhile."""
    try:
        return Address.read(settings.state.daemon)
    except NotRunning:
        raise held from None
