"""Restores a running daemon's own files in the state folder if they are removed.

These are the lock, so that no second daemon starts beside it; the address, by which programs find it; the port in the
configuration of clients; and the tokens. All other files there are restored by the code that uses them.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass

import anyio

from mcp_memory.client.connection import Address
from mcp_memory.client.credentials import Credentials
from mcp_memory.daemon.instance import LOOK_AFTER_S, InstanceLock
from mcp_memory.daemon.listen import keep_port
from mcp_memory.errors import McpMemoryError, NotRunning
from mcp_memory.runtime.private_files import naming_the_cause
from mcp_memory.runtime.threads import in_thread
from mcp_memory.settings.state import StateFolder

DEADLINE_S = 30.0

log = logging.getLogger(__name__)


@dataclass
class RuntimeFiles:
    """The files of one daemon. `on_fault` gets the reason why the state folder can't be restored, and None after each
    restoration."""

    state: StateFolder
    instance: InstanceLock
    address: Address
    credentials: Credentials
    on_fault: Callable[[str | None], None]
    _fault: str | None = None
    _missed: bool = False

    async def keep(self) -> None:
        """Check the files until another daemon has taken our place."""
        while True:
            await anyio.sleep(LOOK_AFTER_S)
            try:
                restored = await in_thread(self._check, deadline_s=DEADLINE_S, what="looking after the state folder")
            except McpMemoryError as error:
                if self._is_replaced():
                    log.error("another daemon has taken over; this one ends")
                    return
                self._tell(error.message)
            else:
                if restored or self._fault:
                    self._tell(None)

    def _check(self) -> bool:
        """Check the files once; return whether something was restored. Raises StorageFailed, ConfigInvalid, and
        HeldLock if another process was faster."""
        with naming_the_cause(str(self.state.root)):
            # A removal may be under way: only files that are still missing at the next check are restored.
            places = [self.state.daemon, self.state.tokens, *([self.state.port] if self.address.port else [])]
            is_missing = not self.instance.is_current() or not all(place.exists() for place in places)
            missed_before, self._missed = self._missed, is_missing
            if not self._missed:
                self.credentials.remember()
            if not (missed_before and self._missed):
                return False
            self._restore()
            self._missed = False
            return True

    def _restore(self) -> None:
        self.state.make()
        if self.instance.is_current():
            self.credentials.renew()  # at most the tokens were removed, in order to get new ones
        else:
            self.instance.take_again()
            self.credentials.put_back()
            log.warning("the state folder was removed and is made again; clients keep their tokens")
        if self.address.port:
            keep_port(self.state, self.address.port)
        self.address.write(self.state.daemon)

    def _is_replaced(self) -> bool:
        """Return whether another daemon has taken over. A daemon publishes its address; a command has the lock only for
        a moment."""
        try:
            return not self.instance.is_current() and Address.read(self.state.daemon).pid != self.address.pid
        except (NotRunning, OSError):
            return False

    def _tell(self, fault: str | None) -> None:
        if fault and fault != self._fault:
            log.error("the state folder cannot be used: %s", fault)
        self._fault = fault
        self.on_fault(fault)
