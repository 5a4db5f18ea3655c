"""Calls an engine: the daemon's if a daemon runs, otherwise an engine in this process under the same lock."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any

from mcp_memory.client.connection import Address, DaemonConnection
from mcp_memory.client.credentials import PERSON, Credentials
from mcp_memory.core.config import Sections
from mcp_memory.daemon.instance import HeldLock, is_held, only_instance
from mcp_memory.daemon.moved_vault import follow
from mcp_memory.daemon.reachability import find_barrier
from mcp_memory.errors import Busy, NotRunning
from mcp_memory.settings.settings import Settings
from mcp_memory.settings.state import was_served

if TYPE_CHECKING:
    from mcp_memory.core.core import EngineConfig

LONG_S = 3600.0
"""The time limit of the longest operation, a reindex of a large vault with a slow model."""

TURN_S = 30.0
"""How long a command waits while another command uses the vault. Storing or searching takes some seconds."""

POLL_S = 0.05


def compaction_s(settings: Settings) -> float:
    """Return the time limit of a compaction, which includes all of a day's answers of a slow language model."""
    return LONG_S + settings.summarizer.day_s


Own = Callable[[str, Mapping[str, Any]], Any]
"""A function that answers an operation with an engine in this process, opened within `alone`."""


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
    """Return one operation's answer; omit arguments that are None. `client` is our name at the daemon.

    While another process uses the vault, or a daemon is starting, this waits, and calls `on_wait` once with the reason.
    After `wait_s` it raises NotRunning, or HeldLock with the name of the process. It also raises what the engine
    raises."""
    passed = {key: value for key, value in arguments.items() if value is not None}
    until, is_waiting = monotonic() + wait_s, False
    while True:
        try:
            return _answer(settings, operation, passed, own, client, deadline_s)
        except (HeldLock, NotRunning) as error:
            if monotonic() >= until:
                if isinstance(error, HeldLock):
                    raise HeldLock(f"{error.message}, and did so for {wait_s:g} s", hint=error.hint) from None
                raise
            if not is_waiting:
                on_wait(f"{error.message}; waiting up to {wait_s:g} s")
                is_waiting = True
            sleep(POLL_S)


def _answer(
    settings: Settings, operation: str, passed: Mapping[str, Any], own: Own, client: str, deadline_s: float
) -> Any:
    """Return the answer. Raises HeldLock if another command uses the vault, NotRunning if a daemon is starting."""
    try:
        address = Address.read(settings.state.daemon)
    except NotRunning:
        return own(operation, passed)
    try:
        connection = DaemonConnection(address, Credentials(settings.state.tokens), client=client)
        return connection.call(operation, passed, deadline_s=deadline_s)
    except (NotRunning, Busy) as error:
        if is_held(settings.state):
            raise (find_barrier(settings) or error) from error.__cause__
        return own(operation, passed)  # daemon.json is from a killed daemon


@contextmanager
def alone(settings: Settings) -> Generator[None]:
    """Take the vault's lock for an engine in this process. Raises HeldLock."""
    follow(settings)
    settings.state.make()
    with only_instance(settings.state, known_vault=was_served(settings.vault_path)):
        yield


def engine_config(settings: Settings) -> EngineConfig:
    """Build the engine's configuration from the settings."""
    from mcp_memory.core.core import EngineConfig

    sections = {section.name: getattr(settings, section.name) for section in fields(Sections)}
    return EngineConfig(settings.vault_path, settings.state.root, settings.state.models, **sections)
