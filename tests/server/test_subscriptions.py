"""What one session appends reaches those that listen: the protocol's own client, over HTTP and over stdio."""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import Any
from urllib.parse import quote

import anyio
import pytest
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.client.subscriptions import ListenNotSupportedError
from mcp.shared._httpx_utils import create_mcp_http_client

from tests.client.shim import HELLO
from tests.daemon.conftest import place
from tests.daemon.place import Place, Running
from tests.daemon.wire import Wire
from tests.support.official_client import over_http, over_stdio

__all__ = ["place"]

pytestmark = pytest.mark.anyio
SOON_S = 30


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def heard(subscription: Any, *wanted: str) -> None:
    """Returns once the listener has heard of all of these, and fails if it hears of something else."""
    missing = set(wanted)
    with anyio.fail_after(SOON_S):
        while missing:
            event = await anext(subscription)
            assert event.uri in wanted, event
            missing.discard(event.uri)


@pytest.mark.parametrize("over", [over_http, over_stdio])
async def test_a_listener_hears_what_others_store_change_and_forget(daemon: Running, over: Any):
    place = daemon.place
    async with over(place, "listener") as listener, over_http(place, "writer") as writer:
        content = f"Éva over {over.__name__} fires the kiln at 1,240 degrees."
        stored = (await writer.call_tool("memory_append", {"content": content})).structured_content
        by_id, by_path = (f"memory://note/{quote(stored[key])}" for key in ("id", "path"))
        async with (
            listener.listen(resource_subscriptions=["memory://tree"]) as tree,
            listener.listen(resource_subscriptions=[by_id, by_path, f"memory://note/{stored['path']}"]) as note,
        ):
            await writer.call_tool("memory_append", {"content": f"Something else over {over.__name__}."})
            await heard(tree, "memory://tree")
            forgotten = await writer.call_tool("memory_forget", {"id": stored["id"]})
            assert not forgotten.is_error
            await heard(note, by_id, by_path, f"memory://note/{stored['path']}")
            file = place.vault / stored["path"]
            file.write_text(file.read_text() + "\nAnd a person's own line.\n")
            await heard(note, by_id, by_path, f"memory://note/{stored['path']}")


async def test_the_handshake_era_is_told_that_it_cannot_listen(daemon: Running):
    async with over_http(daemon.place, "old", "legacy") as client:
        assert not client.server_capabilities.resources.subscribe
        with pytest.raises(ListenNotSupportedError):
            async with client.listen(resource_subscriptions=["memory://tree"]):
                pass


def test_a_handshake_leaves_no_session_behind(daemon: Running):
    """Else `mcp-memory stdio` would have to open it again with each new daemon, and listen on it."""
    with Wire(daemon) as wire:
        answer = wire.rpc("initialize", HELLO)
        assert answer.json["result"]["serverInfo"]["name"] == "mcp-memory"
        assert "mcp-session-id" not in answer.headers
        assert wire.send("GET", "/mcp", MCP_Protocol_Version=HELLO["protocolVersion"]).status == 405


def test_it_needs_a_token(daemon: Running):
    with Wire(daemon, era="2026-07-28") as wire:
        params = {"notifications": {"resourceSubscriptions": ["memory://tree"]}}
        assert wire.rpc("subscriptions/listen", params, token="wrong").status == 401


async def test_many_listen_and_the_daemon_ends_at_once(place: Place):
    """Each is told that it is over, where a connection that is cut would fail; over stdio one goes on with the next
    daemon."""
    place.vault.mkdir()
    with place.serving() as served:
        url, token = served.address.url, served.token("crowd")
        async with AsyncExitStack() as stack:
            lasting = await stack.enter_async_context(over_stdio(place, "lasting"))
            kept = await stack.enter_async_context(lasting.listen(resource_subscriptions=["memory://tree"]))
            http = create_mcp_http_client(headers={"Authorization": f"Bearer {token}"})
            client = await stack.enter_async_context(Client(streamable_http_client(url, http_client=http)))
            ended = [
                await stack.enter_async_context(client.listen(resource_subscriptions=["memory://tree"]))
                for _ in range(50)
            ]
            assert await anyio.to_thread.run_sync(served.terminate) == 0
            with anyio.fail_after(SOON_S):
                for subscription in ended:
                    async for _ in subscription:  # the first index may be complete only now
                        pass
            with place.serving():
                await heard(kept, "memory://tree")
                stored = await lasting.call_tool("memory_append", {"content": "After the restart."})
                assert stored.structured_content["outcome"] == "created"
                await heard(kept, "memory://tree")
