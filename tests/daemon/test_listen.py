"""The socket: which port, kept how, and quick."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path

import pytest

from mcp_memory.daemon.listen import bind
from mcp_memory.errors import ConfigInvalid
from mcp_memory.settings.settings import PREFERRED_PORT, DaemonConfig
from mcp_memory.settings.state import StateFolder
from tests.daemon.place import Place


@pytest.fixture
def state(tmp_path: Path) -> StateFolder:
    made = StateFolder.for_vault(tmp_path / "vault", {"MCP_MEMORY_STATE": str(tmp_path / "state")})
    made.make()
    return made


def port_of(listening: socket.socket) -> int:
    with listening:
        return listening.getsockname()[1]


def test_a_port_is_chosen_once_and_kept(state: StateFolder):
    first = port_of(bind(DaemonConfig(), state))
    assert port_of(bind(DaemonConfig(), state)) == first
    with socket.create_server(("127.0.0.1", 0)) as other:
        free = other.getsockname()[1]
    assert port_of(bind(DaemonConfig(port=free), state)) == free
    assert port_of(bind(DaemonConfig(), state)) == free, "clients were told of the port that was given"


def test_the_preferred_port_is_only_preferred(state: StateFolder):
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as ours does: what has just ended is no obstacle
        try:
            other.bind(("127.0.0.1", PREFERRED_PORT))
            other.listen()
        except OSError:
            pass  # somebody has it already: as good
        assert port_of(bind(DaemonConfig(), state)) != PREFERRED_PORT


@pytest.mark.parametrize("kept", ["", "x", "-5", "0", "70000", "\xff"])
def test_a_damaged_note_of_the_port_is_no_obstacle(state: StateFolder, kept: str):
    state.port.write_text(kept, encoding="latin-1")
    assert port_of(bind(DaemonConfig(), state)) > 0


@pytest.mark.parametrize("host", ["192.0.2.1", "256.1.1.1", "no such host"])
def test_an_address_that_is_not_ours(state: StateFolder, host: str):
    with pytest.raises(ConfigInvalid, match="cannot listen"):
        bind(DaemonConfig(host=host, port=8423), state)


def test_a_unix_socket_where_none_can_be(state: StateFolder, tmp_path: Path):
    (tmp_path / "file").touch()
    for path in (
        tmp_path / "file" / "s",
        tmp_path / "file" / "deep" / "s",
        Path("/proc/nowhere/s"),
        tmp_path / "x\0y/s",
    ):
        with pytest.raises(ConfigInvalid, match="Unix socket") as caught:
            bind(DaemonConfig(uds=str(path)), state)
        assert caught.value.hint
    with pytest.raises(ConfigInvalid, match="208 bytes") as caught:
        bind(DaemonConfig(uds=f"/tmp/{'é' * 100}/so"), state)
    assert "107" in str(caught.value)


@pytest.mark.parametrize(("host", "reached"), [("127.0.0.2", "127.0.0.2"), ("0.0.0.0", "127.0.0.1"), ("::", "::1")])
def test_our_own_client_reaches_every_host(place: Place, host: str, reached: str):
    with place.serving("--host", host, MCP_MEMORY_DAEMON_ALLOW_REMOTE="true") as served:
        assert served.address.host == reached
        assert place.run("status", "--json").ok().json["pid"] == served.address.pid


def test_an_answer_does_not_wait_for_the_last_packets_acknowledgement(state: StateFolder):
    """asyncio turns Nagle's algorithm off only for sockets that name their protocol: 40 ms a call otherwise."""

    async def accepted() -> int:
        found: asyncio.Future[int] = asyncio.get_running_loop().create_future()

        async def look(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            connection = writer.get_extra_info("socket")
            found.set_result(connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
            writer.close()

        listening = bind(DaemonConfig(), state)
        host, port = listening.getsockname()
        async with await asyncio.start_server(look, sock=listening):
            _, writer = await asyncio.open_connection(host, port)
            option = await found
            writer.close()
            return option

    assert asyncio.run(accepted()) == 1
