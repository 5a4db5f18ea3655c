"""The newer parts of the protocol: skills, how long lists hold, icons."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from fastmcp import Client
from fastmcp.client.transports import StreamableHttpTransport

from tests.client.shim import HELLO
from tests.daemon.place import Place, Running
from tests.daemon.wire import HANDSHAKE, SESSIONLESS, Wire

ENDING = "Q7Q7Q7"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def own(tmp_path: Path, model_cache: Path) -> Iterator[Running]:
    """A daemon whose vault is changed by hand."""
    with Place(tmp_path, model_cache).make().started() as running:
        yield running


def test_lists_hold_for_a_while_and_notes_do_not(wire: Wire, daemon: Running):
    with Wire(daemon, era=SESSIONLESS) as newer:
        for method in ("tools/list", "prompts/list", "resources/list", "resources/templates/list"):
            result = newer.rpc(method).json["result"]
            assert (result["ttlMs"], result["cacheScope"]) == (600_000, "private")
            assert "ttlMs" not in wire.rpc(method).json["result"]
        assert not newer.rpc("resources/read", {"uri": "memory://status"}).json["result"].get("ttlMs")


def test_no_answer_begins_a_session_or_a_stream(wire: Wire, daemon: Running):
    """Otherwise `mcp-memory stdio` would have to open it again with each new daemon."""
    answer = wire.rpc("initialize", HELLO)
    assert answer.json["result"]["serverInfo"]["name"] == "mcp-memory"
    assert "mcp-session-id" not in answer.headers
    assert wire.send("GET", "/mcp", MCP_Protocol_Version=HANDSHAKE).status == 405
    with Wire(daemon, era=SESSIONLESS) as newer:
        listened = newer.rpc("subscriptions/listen", {"notifications": {"resourceSubscriptions": ["memory://tree"]}})
        assert listened.json["error"]["code"] == -32601


def test_people_see_titles_and_an_icon(both: Wire):
    tools = both.rpc("tools/list").json["result"]["tools"]
    for entry in tools:
        assert entry["icons"][0]["src"].startswith("data:image/svg+xml;base64,") and entry["annotations"]["title"]
    assert len(str(tools[0]["icons"])) < 500


@pytest.mark.anyio
async def test_our_skill_is_served(daemon: Running):
    transport = StreamableHttpTransport(daemon.address.url, auth=daemon.token("library"))
    async with Client(transport) as client:
        listed = [str(resource.uri) for resource in await client.list_resources()]
        (uri,) = [uri for uri in listed if uri.endswith("SKILL.md")]
        (content,) = await client.read_resource(uri)
        assert "memory_append" in getattr(content, "text", "")
