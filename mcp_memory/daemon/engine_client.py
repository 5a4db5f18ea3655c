"""Asking an engine: the daemon's where one runs, else one of our own under the same lock."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from time import monotonic, sleep
from typing import Any

from mcp_memory.client.connection import Address, DaemonConnection
from mcp_memory.client.credentials import PERSON, Credentials
from mcp_memory.daemon.instance import HeldLock, is_held, only_instance
from mcp_memory.daemon.moved_vault import follow
from mcp_memory.errors import Busy, NotRunning
from mcp_memory.settings.settings import Settings
from mcp_memory.settings.state import was_served

LONG_S = 3600.0
"""A reindex of a large vault with a slow model."""


TURN_S = 30.0
"""How long a command waits while another one uses the vault; one that stores or searches takes some seconds."""

POLL_S = 0.05


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
    wait_s: float = TURN_S,
    on_wait: Callable[[str], None] = lambda _: None,
) -> Any:
    """One operation's answer; arguments that are None are left out. `client` is the name that the daemon knows us by.

    Where another process that is no daemon uses the vault, or a daemon is starting, this waits its turn, and `on_wait`
    hears once for whom. Raises Held that names the process, or NotRunning, after `wait_s`, and what the engine raises.
    """
    given = {key: value for key, value in arguments.items() if value is not None}
    until, is_told = monotonic() + wait_s, False
    while True:
        try:
            return _answer(settings, operation, given, own, client, deadline_s)
        except (HeldLock, NotRunning) as error:
            if monotonic() >= until:
                if isinstance(error, HeldLock):
                    raise HeldLock(f"{error.message}, and did so for {wait_s:g} s", hint=error.hint) from None
                raise
            if not is_told:
                on_wait(f"{error.message}; waiting up to {wait_s:g} s")
                is_told = True
            sleep(POLL_S)


def _answer(
    settings: Settings, operation: str, given: Mapping[str, Any], own: Own, client: str, deadline_s: float
) -> Any:
    """Raises Held when another process that is no daemon uses the vault, NotRunning for a daemon that is starting."""
    try:
        address = Address.read(settings.state.daemon)
    except NotRunning:
        return own(operation, given)
    try:
        connection = DaemonConnection(address, Credentials(settings.state.tokens), client=client)
        return connection.call(operation, given, deadline_s=deadline_s)
    except (NotRunning, Busy):
        if is_held(settings.state):
            raise
        return own(operation, given)  # daemon.json of a daemon that was killed


@contextmanager
def alone(settings: Settings) -> Generator[None]:
    """Hold the vault's lock, for an engine of our own. Raises Held."""
    follow(settings)
    settings.state.make()
    with only_instance(settings.state, known_vault=was_served(settings.vault_path)):
        yield
