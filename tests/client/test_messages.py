"""The headers of a message are those that the protocol's own library asks for."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from mcp.shared.inbound import NAME_BEARING_METHODS, InboundModernRoute, classify_inbound_request

from mcp_memory.client.messages import NAMED_BY, headers_of, read
from tests.client.shim import HELLO, modern


@given(
    method=st.sampled_from([*NAME_BEARING_METHODS, "tools/list", "subscriptions/listen", "server/discover"]),
    name=st.text(st.characters(exclude_categories=["Cs"])),
)
def test_of_a_request_of_2026(method: str, name: str):
    named: dict[str, Any] = {key: name} if (key := NAME_BEARING_METHODS.get(method)) else {}
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": modern(named)}
    sent = headers_of(read(json.dumps(body).encode()), "2025-06-18")
    assert all(value.isascii() and "\n" not in value and "\r" not in value for value in sent.values())
    verdict = classify_inbound_request(body, headers={key.lower(): value for key, value in sent.items()})
    assert isinstance(verdict, InboundModernRoute), verdict
    assert dict(NAME_BEARING_METHODS) == NAMED_BY


def test_of_the_handshake_era():
    hello = read(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO}).encode())
    ping = read(b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}')
    assert headers_of(hello, "2025-06-18") == headers_of(ping, None) == {}
    assert headers_of(ping, "2025-06-18") == {"MCP-Protocol-Version": "2025-06-18"}
