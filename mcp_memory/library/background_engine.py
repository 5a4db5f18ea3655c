"""Runs an engine in a thread of this process, for callers that aren't asynchronous."""

import atexit
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

from mcp_memory.client.credentials import PERSON
from mcp_memory.daemon.engine_client import alone
from mcp_memory.errors import DeadlineExceeded
from mcp_memory.runtime.telemetry import switch_off
from mcp_memory.settings.settings import Settings

WHOLE_S = 60.0
"""The time that a question waits for the first sweep and its vectors, since a script asks once. After that, the answer
names the missing parts."""

_NEED_ALL = frozenset({"search", "recall", "compact"})


class InProcess:
    """An engine in this process. It takes the vault's lock until `close`, at the latest until the program ends. Any
    thread may call it. It puts the switches of `mcp_memory.runtime.telemetry` into the environment, which apply to
    later imports."""

    def __init__(self, settings: Settings, progress: Callable[[str], None] | None) -> None:
        """Open the engine. Raises Held, and the errors of `open_engine`."""
        switch_off()
        from anyio.from_thread import start_blocking_portal

        from mcp_memory.daemon.engine_client import engine_config
        from mcp_memory.engine.factory import open_engine
        from mcp_memory.topics.config import TopicsConfig

        with ExitStack() as opening:
            opening.enter_context(alone(settings))
            self._portal = opening.enter_context(start_blocking_portal(name="mcp-memory"))
            config = engine_config(settings)
            # A program may not run for long, so notes move only on its request.
            topics = replace(config.section("topics", TopicsConfig), automatic=False)
            config = replace(config, features={**config.features, "topics": topics})
            engine = open_engine(config, progress=progress)
            self._engine = opening.enter_context(self._portal.wrap_async_context_manager(engine))
            self._open = opening.pop_all()
        # Otherwise Python would wait forever at exit for a thread that it has stopped.
        atexit.register(self.close)

    def perform(self, operation: str, arguments: Mapping[str, Any], deadline_s: float, client: str = PERSON) -> Any:
        """Perform an operation for this client. Raises DeadlineExceeded, and the engine's errors."""
        return self._portal.call(self._perform, operation, arguments, deadline_s, client)

    def close(self) -> None:
        """Close the engine; the vault is free afterwards. Idempotent."""
        atexit.unregister(self.close)
        self._open.close()

    async def _perform(self, operation: str, arguments: Mapping[str, Any], deadline_s: float, client: str) -> Any:
        import anyio

        from mcp_memory.engine.engine import caller_named

        try:
            with anyio.fail_after(deadline_s):
                if operation in _NEED_ALL:
                    with anyio.move_on_after(WHOLE_S):
                        await self._engine.settled()
                return await self._engine.perform(operation, arguments, caller_named(client))
        except TimeoutError as error:
            late = f"{operation} took longer than {deadline_s:g} s"
            raise DeadlineExceeded(late, hint="mcp-memory doctor") from error
