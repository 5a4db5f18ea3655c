"""Asks the daemon if it runs, otherwise an engine in this process under the same lock."""

from __future__ import annotations

import atexit
import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import fields, replace
from functools import partial
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any, Self

from mcp_memory.client.connection import Address, DaemonConnection
from mcp_memory.client.credentials import PERSON, Credentials
from mcp_memory.core.config import Sections
from mcp_memory.daemon.instance import HeldLock, is_held, only_instance
from mcp_memory.daemon.moved_vault import follow
from mcp_memory.daemon.reachability import find_barrier
from mcp_memory.errors import Busy, DeadlineExceeded, InvalidInput, NotRunning
from mcp_memory.runtime.telemetry import switch_off
from mcp_memory.settings.settings import Settings
from mcp_memory.settings.state import was_served

if TYPE_CHECKING:
    from anyio.from_thread import BlockingPortal

    from mcp_memory.core.core import EngineConfig
    from mcp_memory.engine.engine import Engine

LONG_S = 3600.0
"""The time limit of the longest operation, a reindex of a large vault with a slow model."""

TURN_S = 30.0
"""How long a command waits while another command uses the vault. Storing or searching takes some seconds."""

POLL_S = 0.05

WHOLE_S = 60.0
"""The time that a question waits for the first sweep and its vectors, since a script asks once. After that, the answer
names the missing parts."""

_NEED_ALL = frozenset({"search", "recall", "compact"})


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


class EngineSession:
    """Asks the vault's daemon if it is running. Otherwise opens an engine in this process, which has the vault's lock
    from the first such question until `close`, at the latest until the program ends. Any thread may ask.

    An engine of our own puts the switches of `mcp_memory.runtime.telemetry` into the environment, which apply to later
    imports."""

    def __init__(
        self,
        settings: Settings,
        *,
        wait_s: float = TURN_S,
        progress: Callable[[str], None] | None = None,
        on_wait: Callable[[str], None] = lambda _: None,
    ) -> None:
        """`progress` gets a line for each step while the model is compiled, `on_wait` the reason for a wait."""
        self._settings = settings
        self._wait_s = wait_s
        self._progress = progress
        self._on_wait = on_wait
        self._lock = threading.Lock()
        self._open = ExitStack()
        self._engine: tuple[BlockingPortal, Engine] | None = None
        self._is_closed = False
        self.is_served: bool | None = None
        """Whether a daemon answers, which limits the size of a question; None before the first question."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close an engine of our own; the vault is free afterwards. Idempotent."""
        with self._lock:
            self._is_closed = True
            atexit.unregister(self.close)
            self._open.close()
            self._engine = None

    def ask(
        self, operation: str, arguments: Mapping[str, Any], *, client: str = PERSON, deadline_s: float = LONG_S
    ) -> Any:
        """Return the answer to one question. Raises InvalidInput after `close`, and the errors of `ask` and of
        `open_engine`."""
        own = partial(self._ask_own, client=client, deadline_s=deadline_s)
        if self._engine:  # even if a daemon was started meanwhile: it waits for our lock
            return own(operation, {name: value for name, value in arguments.items() if value is not None})
        self._check_open()
        answer = ask(
            self._settings, operation, arguments, own, client=client, deadline_s=deadline_s, wait_s=self._wait_s,
            on_wait=self._on_wait,
        )  # fmt: skip
        self.is_served = self._engine is None
        return answer

    def _check_open(self) -> None:
        if self._is_closed:
            raise InvalidInput("this memory is closed", hint="open it again: Memory.open(vault)")

    def _ask_own(self, operation: str, arguments: Mapping[str, Any], *, client: str, deadline_s: float) -> Any:
        with self._lock:
            self._check_open()
            if self._engine is None:
                self._engine = self._open_engine()
            portal, engine = self._engine
        return portal.call(_perform, engine, operation, arguments, client, deadline_s)

    def _open_engine(self) -> tuple[BlockingPortal, Engine]:
        switch_off()
        from anyio.from_thread import start_blocking_portal

        from mcp_memory.engine.engine import open_engine
        from mcp_memory.topics.config import TopicsConfig

        config = engine_config(self._settings)
        # A program may not run for long, so notes move only on its request.
        topics = replace(config.section("topics", TopicsConfig), automatic=False)
        config = replace(config, features={**config.features, "topics": topics})
        with ExitStack() as opening:
            opening.enter_context(alone(self._settings))
            portal = opening.enter_context(start_blocking_portal(name="mcp-memory"))
            engine = open_engine(config, progress=self._progress)
            opened = opening.enter_context(portal.wrap_async_context_manager(engine))
            self._open = opening.pop_all()
        # Otherwise Python would wait forever at exit for a thread that it has stopped.
        atexit.register(self.close)
        return portal, opened


async def _perform(engine: Engine, operation: str, arguments: Mapping[str, Any], client: str, deadline_s: float) -> Any:
    """Perform an operation. Raises DeadlineExceeded, and the engine's errors."""
    import anyio

    from mcp_memory.engine.engine import caller_named

    try:
        with anyio.fail_after(deadline_s):
            if operation in _NEED_ALL:
                with anyio.move_on_after(WHOLE_S):
                    await engine.settled()
            return await engine.perform(operation, arguments, caller_named(client))
    except TimeoutError as error:
        late = f"{operation} took longer than {deadline_s:g} s"
        raise DeadlineExceeded(late, hint="mcp-memory doctor") from error
