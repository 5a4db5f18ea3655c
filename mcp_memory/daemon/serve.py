"""Serving a vault in the foreground, from lock to last answer."""

from __future__ import annotations

import logging
import os
import signal
import socket
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import FrameType

from mcp_memory import __version__
from mcp_memory.client.connection import Address
from mcp_memory.client.credentials import Credentials
from mcp_memory.daemon.instance import only_instance
from mcp_memory.daemon.listen import bind
from mcp_memory.settings import Settings
from mcp_memory.telemetry import switch_off

GRACE_S = 8
"""How long running calls may take to finish after SIGTERM; with what else there is to close, 10 s in all."""

LOOPBACK_OF = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 -- not bound to, but mapped away
"""Where our own programs reach a daemon that listens everywhere."""

log = logging.getLogger(__name__)

Ready = Callable[[Address], None]


def serve(settings: Settings, *, on_listening: Ready, on_progress: Callable[[str], None]) -> None:
    """Serve until SIGTERM or SIGINT. Raises Busy when the vault or the port is taken."""
    # Until the server is up and handles it: unwind, rather than die with the address published.
    signal.signal(signal.SIGTERM, _unwind)
    state = settings.state
    state.make()
    with only_instance(state), bind(settings.daemon, state) as listening:
        address = _address(listening, settings)
        switch_off()
        # Third-party imports only now: a second daemon must find the lock taken without them.
        import anyio

        from mcp_memory.daemon.journal import open_log

        open_log(state.log, settings.daemon)
        log.info("version %s, pid %s, vault %s, %s", __version__, address.pid, address.vault, address.name)
        with _published(address, settings):
            anyio.run(_serve, settings, listening, address, on_listening, on_progress)
        log.info("stopped")


def _unwind(_signal: int, _frame: FrameType | None) -> None:
    sys.exit(0)


async def _serve(
    settings: Settings,
    listening: socket.socket,
    address: Address,
    on_listening: Ready,
    on_progress: Callable[[str], None],
) -> None:
    import anyio
    import uvicorn

    from mcp_memory.daemon.compose import engine_config
    from mcp_memory.engine.opening import open_engine
    from mcp_memory.server.app import asgi_app, build_server
    from mcp_memory.server.gate import GateConfig

    class Server(uvicorn.Server):
        """Signals are ours: uvicorn would raise them again and turn a clean end into a killed process."""

        @contextmanager
        def capture_signals(self) -> Generator[None]:
            yield

        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            log.info("listening")
            on_listening(address)

    async def stop_on_signal(server: Server) -> None:
        with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
            async for _ in signals:
                server.should_exit = True

    daemon = settings.daemon
    gate = GateConfig.for_port(
        address.port,
        host=daemon.host,
        hosts=daemon.allowed_hosts,
        origins=daemon.allowed_origins,
        max_body_bytes=daemon.max_body_bytes,
    )
    async with open_engine(engine_config(settings), progress=on_progress) as engine:
        mcp = build_server(
            engine,
            Credentials(settings.state.tokens),
            address,
            auth=daemon.auth == "token",
            vault=settings.vault,
            recall=settings.recall,
        )
        server = Server(
            uvicorn.Config(
                asgi_app(mcp, gate),
                log_config=None,
                access_log=False,
                server_header=False,
                timeout_graceful_shutdown=GRACE_S,
                timeout_keep_alive=75,
                ws="none",
            )
        )
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(stop_on_signal, server)
            await server.serve(sockets=[listening])
            tasks.cancel_scope.cancel()


def _address(listening: socket.socket, settings: Settings) -> Address:
    vault, pid = str(settings.vault_path), os.getpid()
    if listening.family == socket.AF_UNIX:
        return Address("localhost", 0, str(listening.getsockname()), pid, __version__, vault)
    host, port = listening.getsockname()[:2]
    host = LOOPBACK_OF.get(host, host)
    return Address(str(host), int(port), "", pid, __version__, vault)


@contextmanager
def _published(address: Address, settings: Settings) -> Generator[None]:
    """`daemon.json` says where we are, for as long as we are."""
    address.write(settings.state.daemon)
    try:
        yield
    finally:
        settings.state.daemon.unlink(missing_ok=True)
