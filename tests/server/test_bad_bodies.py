"""Bodies that are no MCP, no JSON or no text: refused, with the daemon still there and nothing in its log."""

from __future__ import annotations

import json

import pytest

from tests.daemon.place import Running
from tests.daemon.wire import Wire


def call(arguments: str, tool: str = "memory_search") -> bytes:
    """A tool call whose arguments are written as they come."""
    params = f'{{"name":"{tool}","arguments":{arguments}}}'
    return f'{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}'.encode()


MALFORMED = {
    "nothing": b"",
    "half an object": b'{"jsonrpc": "2.0"',
    "a list": b"[]",
    "null": b"null",
    "a number": b"5",
    "a string": b'"tools/call"',
    "not a message": b'{"hello": "world"}',
    "another version": b'{"jsonrpc":"1.0","id":1,"method":"tools/list"}',
    "no method": b'{"jsonrpc":"2.0","id":1}',
    "an object for a method": b'{"jsonrpc":"2.0","id":1,"method":{}}',
    "invalid UTF-8": b'{"jsonrpc":"2.0","id":1,"method":"\xff\xfe"}',
    "UTF-16": '{"jsonrpc":"2.0","id":1,"method":"tools/list"}'.encode("utf-16"),
    "overlong UTF-8": call('{"query":"\xc0\xaf"}').replace("\xc0\xaf".encode(), b"\xc0\xaf"),
    "deep lists": b"[" * 200_000,
    "deep objects": b'{"a":' * 100_000,
    "deep arguments": call('{"query":' + "[" * 5_000 + "]" * 5_000 + "}"),
    "a form": b"jsonrpc=2.0&method=tools/list",
    "NUL bytes": b"\0" * 100,
    "a lone surrogate in the method": b'{"jsonrpc":"2.0","id":1,"method":"\\ud800"}',
    "a lone surrogate in the id": b'{"jsonrpc":"2.0","id":"\\udfff","method":"tools/list"}',
    "a lone surrogate in a query": call('{"query":"half \\ud800 pair"}'),
    "a lone surrogate in a note": call('{"content":"half \\udc00 pair"}', "memory_append"),
    "a lone surrogate in a name": call('{"half \\ud800":1}'),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_what_is_no_mcp_is_a_client_error(both: Wire, name: str):
    answer = both.send("POST", "/mcp", MALFORMED[name], MCP_Protocol_Version=both.era)
    assert 400 <= answer.status < 500, answer
    assert "Traceback" not in answer.text
    assert both.rpc("tools/list").status == 200


@pytest.mark.parametrize("name", MALFORMED)
def test_the_same_on_our_own_interface(wire: Wire, name: str):
    answer = wire.send("POST", "/api/search", MALFORMED[name])
    assert answer.status == 400
    assert answer.json["code"] == "invalid_input"


ODD = [
    '{"query":"a \\u0000 b"}',
    '{"query":"a \\u0007 \\u001b[2J b"}',
    '{"query":"\\ud83d\\ude00"}',
    '{"query":"NEAR(a b) \\"x* -y :z ^"}',
    '{"query":"x","limit":1e400}',
    '{"query":"x","limit":NaN}',
    '{"query":"x","limit":-Infinity}',
    '{"query":"x","limit":123456789012345678901234567890}',
    '{"query":"x","query":"y"}',
    '{"query":' + "[" * 100 + "]" * 100 + "}",
]


@pytest.mark.parametrize("arguments", ODD)
def test_odd_but_valid_json_is_answered(both: Wire, arguments: str):
    headers = {"MCP_Protocol_Version": both.era}
    body = json.loads(call("{}"))
    if both.era == "2026-07-28":
        headers |= {"Mcp_Method": "tools/call", "Mcp_Name": "memory_search"}
        body["params"]["_meta"] = {
            "io.modelcontextprotocol/protocolVersion": both.era,
            "io.modelcontextprotocol/clientInfo": {"name": "tests", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        }
    written = json.dumps(body).replace('"arguments": {}', f'"arguments": {arguments}')
    answer = both.send("POST", "/mcp", written.encode(), **headers)
    assert answer.status in {200, 400}, answer
    assert "Traceback" not in answer.text


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""])
def test_a_content_type_that_a_web_page_could_send_without_asking(wire: Wire, kind: str):
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).encode()
    assert 400 <= wire.send("POST", "/mcp", body, Content_Type=kind).status < 500


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "PATCH", "OPTIONS", "HEAD", "TRACE"])
@pytest.mark.parametrize("route", ["/mcp", "/health", "/api/search", "/api/", "/", "/nowhere", "/mcp/../api/search"])
def test_other_methods_and_routes(wire: Wire, method: str, route: str):
    answer = wire.send(method, route)
    expected = {200} if route == "/health" and method in {"GET", "HEAD"} else {307, 400, 403, 404, 405, 406}
    assert answer.status in expected, answer


def test_the_log_knows_nothing_of_it(daemon: Running, wire: Wire):
    for body in MALFORMED.values():
        wire.send("POST", "/mcp", body, MCP_Protocol_Version="2025-06-18")
        wire.send("POST", "/api/search", body)
    assert "Traceback" not in daemon.journal
    assert "ERROR" not in daemon.journal
