"""A session: many questions to one engine, the daemon's where one runs, else one of our own that stays open."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from types import TracebackType
from typing import Any, Self

from mcp_memory.cli.console import print_status
from mcp_memory.daemon import engine_client
from mcp_memory.library.in_process import InProcess
from mcp_memory.settings.settings import Settings


class EngineSession:
    """For a `with` block."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._own: InProcess | None = None
        self.is_served: bool | None = None
        """Whether a daemon answers, so that a question may be no larger than it takes; None before the first one."""

    def ask(self, operation: str, arguments: Mapping[str, Any], *, deadline_s: float = engine_client.LONG_S) -> Any:
        """One operation's answer. Raises Busy when another process that is no daemon uses the vault for long."""
        if self._own:  # also where somebody has started a daemon meanwhile: it waits for the lock, which is ours
            return self._own.perform(operation, arguments, deadline_s)
        own = partial(self._in_process, deadline_s=deadline_s)
        answer = engine_client.ask(
            self._settings, operation, arguments, own, deadline_s=deadline_s, on_wait=print_status
        )
        self.is_served = self._own is None
        return answer

    def _in_process(self, operation: str, arguments: Mapping[str, Any], *, deadline_s: float) -> Any:
        self._own = InProcess(self._settings, print_status)
        return self._own.perform(operation, arguments, deadline_s)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._own:
            self._own.close()
