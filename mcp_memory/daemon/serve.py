"""Serves a vault in the foreground, from the lock to the last answer."""

import gc
import logging
import os
import signal
import socket
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType

from mcp_memory import __version__
from mcp_memory.client.connection import Address
from mcp_memory.client.credentials import Credentials
from mcp_memory.daemon.instance import InstanceLock, only_instance
from mcp_memory.daemon.listen import BACKLOG, LOOPBACK_OF, bind
from mcp_memory.daemon.moved_vault import follow
from mcp_memory.errors import DeadlineExceeded, McpMemoryError, NotRunning
from mcp_memory.runtime.allocator import give_back, share_one_arena
from mcp_memory.runtime.telemetry import switch_off
from mcp_memory.settings.settings import Settings
from mcp_memory.settings.state import was_served

GRACE_S = 8
"""How long running calls may take to finish after SIGTERM. Closing takes at most 10 s in all."""

ACCEPTED_AT_ONCE = 64
"""The number of connections that the event loop accepts before it serves any; the others wait in the kernel's queue."""

TICK_S = 1.0
"""How often uvicorn renews its Date header. By default it does so ten times a second, which costs an idle daemon more
than anything except sweeps."""

SWITCH_S = 0.0005
"""How long a worker thread may keep the interpreter while the event loop waits. Python's default of 5 ms is as long as
a whole search, and each of a search's threads makes the loop wait that long."""

GIVE_BACK_S = 60.0
"""How often freed memory is returned to the system, which takes some milliseconds."""

KEEP_ALIVE_S = 75
"""How long an idle connection is kept, which is nginx's default."""

PRELOAD_S = 60.0

log = logging.getLogger(__name__)


def serve(settings: Settings, *, on_listening: Callable[[Address], None], on_progress: Callable[[str], None]) -> None:
    """Serve until SIGTERM or SIGINT. Raises HeldLock if the vault is taken, Busy if the port is taken."""
    # Until the server handles SIGTERM: unwind, rather than die with the address published.
    signal.signal(signal.SIGTERM, lambda _signal, _frame: sys.exit(0))
    share_one_arena()
    state = settings.state
    follow(settings)
    state.make()
    known = was_served(settings.vault_path)
    with only_instance(state, known_vault=known) as instance, bind(settings.daemon, state) as listening:
        address = _address(listening, settings)
        switch_off()
        # Third-party imports come only now: a second daemon must find the lock taken without them.
        import anyio

        from mcp_memory.daemon import settings_in_force
        from mcp_memory.daemon.logging import open_log

        open_log(state.log, settings.daemon)
        sys.setswitchinterval(SWITCH_S)
        log.info("version %s, pid %s, vault %s, %s", __version__, address.pid, address.vault, address.name)
        with suppress(OSError):  # the daemon also starts with a full disk
            settings_in_force.record_settings(settings)
        with _published(address, settings):
            anyio.run(_serve, settings, instance, listening, address, on_listening, on_progress)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # Python resets a handler when it exits
        log.info("stopped")


async def _serve(
    settings: Settings,
    instance: InstanceLock,
    listening: socket.socket,
    address: Address,
    on_listening: Callable[[Address], None],
    on_progress: Callable[[str], None],
) -> None:
    import asyncio

    import anyio
    import uvicorn

    from mcp_memory.daemon.connections import ConnectionLimits, connections_that_fit
    from mcp_memory.daemon.engine_client import engine_config
    from mcp_memory.daemon.runtime_files import RuntimeFiles
    from mcp_memory.daemon.settings_operation import settings_operation
    from mcp_memory.engine.engine import open_engine
    from mcp_memory.runtime.threads import in_thread
    from mcp_memory.server.app import asgi_app, build_server, preload
    from mcp_memory.server.call_log import CallLog
    from mcp_memory.server.http_guard import HttpGuardConfig

    class Server(uvicorn.Server):
        """A server without signal handlers: uvicorn would raise our signals again and turn a clean end into a killed
        process."""

        @contextmanager
        def capture_signals(self) -> Generator[None]:
            yield

        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            listening.listen(BACKLOG)  # uvicorn makes the kernel's queue only as long as ACCEPTED_AT_ONCE
            log.info("listening")
            on_listening(address)

        async def main_loop(self) -> None:
            while not await self.on_tick(0):
                with anyio.move_on_after(TICK_S):
                    await ending.wait()

        def end(self) -> None:
            self.should_exit = True
            ending.set()

        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            connections.draining = True
            await super().shutdown(sockets)

    ending = anyio.Event()
    daemon = settings.daemon
    most = connections_that_fit(daemon.max_connections, accepted_at_once=ACCEPTED_AT_ONCE)
    if most < daemon.max_connections:
        log.warning("room for %d connections, not %d: the system allows no more files", most, daemon.max_connections)
    connections = ConnectionLimits(most=most, patience_s=daemon.transfer_timeout_s)
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(connections.complain)
    gate = HttpGuardConfig.for_port(
        address.port,
        host=daemon.host,
        hosts=daemon.allowed_hosts,
        origins=daemon.allowed_origins,
        max_body_bytes=daemon.max_body_bytes,
    )
    credentials = Credentials(settings.state.tokens, remembers=True)
    credentials.remember()  # a daemon that can't read tokens couldn't answer anyone
    async with open_engine(engine_config(settings), progress=on_progress) as engine:
        engine.offer({"settings": settings_operation(settings)})
        calls = CallLog()
        mcp = build_server(
            engine,
            credentials,
            address,
            calls,
            auth=daemon.auth == "token",
            hooks=settings.hooks,
            hooks_log=settings.state.hooks,
        )
        server = Server(
            uvicorn.Config(
                asgi_app(mcp, engine, calls, gate, credentials, most),
                log_config=None,
                access_log=False,
                server_header=False,
                timeout_graceful_shutdown=GRACE_S,
                timeout_keep_alive=KEEP_ALIVE_S,
                http=connections.protocol(),
                ws="none",
                backlog=ACCEPTED_AT_ONCE,
            )
        )

        def drain(_signal: int, _frame: FrameType | None) -> None:
            with suppress(RuntimeError):  # the loop is closed, so all work is done
                loop.call_soon_threadsafe(server.end)

        # Until the process ends: a second signal must not kill a daemon that is closing the index.
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, drain)
        presence = RuntimeFiles(settings.state, instance, address, credentials, engine.report_state_fault)

        async def leave_to_successor() -> None:
            await presence.keep()
            server.end()

        async def make_ready() -> None:
            try:
                await in_thread(preload, deadline_s=PRELOAD_S, what="importing")
            except (McpMemoryError, OSError) as error:  # for example no free descriptor; then the first call imports it
                log.info("the first call will be slow: %s", type(error).__name__)
            # The libraries' 130,000 objects are permanent: each full collection would scan them for 76 ms.
            gc.freeze()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(leave_to_successor)
            tasks.start_soon(make_ready)
            tasks.start_soon(_stay_small)
            await server.serve(sockets=[listening])
            tasks.cancel_scope.cancel()


async def _stay_small() -> None:
    import anyio

    from mcp_memory.runtime.threads import in_thread

    while True:
        await anyio.sleep(GIVE_BACK_S)
        with suppress(DeadlineExceeded):  # the machine slept meanwhile
            await in_thread(give_back, what="giving memory back")


def _address(listening: socket.socket, settings: Settings) -> Address:
    vault, pid = str(settings.vault_path), os.getpid()
    if listening.family == socket.AF_UNIX:
        return Address("localhost", 0, str(listening.getsockname()), pid, __version__, vault)
    host, port = listening.getsockname()[:2]
    host = LOOPBACK_OF.get(host, host)
    return Address(str(host), int(port), "", pid, __version__, vault)


@contextmanager
def _published(address: Address, settings: Settings) -> Generator[None]:
    """Publish our address in `daemon.json` within the block, and then remove it with our Unix socket."""
    address.write(settings.state.daemon)
    try:
        yield
    finally:
        with suppress(NotRunning):
            if Address.read(settings.state.daemon).pid == address.pid:  # not a successor's
                settings.state.daemon.unlink(missing_ok=True)
                if address.uds:
                    Path(address.uds).unlink(missing_ok=True)
