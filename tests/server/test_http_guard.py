"""The gate in front of every route: Host, Origin, size and token, spoken to the byte."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mcp_memory.client.credentials import PERSON
from tests.daemon.place import Place, Running
from tests.daemon.wire import Wire, raw
from tests.support.constants import with_constants

ROUTES = [("GET", "/health"), ("POST", "/mcp"), ("GET", "/mcp"), ("POST", "/api/search"), ("POST", "/api/status")]
routes = pytest.mark.parametrize(("method", "route"), ROUTES, ids=lambda value: value)
AGENTS = {
    "search", "recall", "append", "forget", "restore", "advise", "brief", "flush", "status", "titles", "tree",
}  # fmt: skip
"""The operations that an agent's token may use."""
BODY = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'


def request(daemon: Running, method: str, route: str, *headers: str, host: str | None = None) -> int:
    """The status of an otherwise perfect request with these headers."""
    host = f"127.0.0.1:{daemon.address.port}" if host is None else host
    lines = [f"{method} {route} HTTP/1.1", *([f"Host: {host}"] if host else []), *headers]
    body = BODY if method == "POST" else b""
    lines += [
        f"Authorization: Bearer {daemon.token()}",
        "Content-Type: application/json",
        "Accept: application/json, text/event-stream",
        f"Content-Length: {len(body)}",
        "Connection: close",
    ]
    return raw(daemon, lines, body).status


def own(port: int) -> list[str]:
    return [f"127.0.0.1:{port}", f"localhost:{port}", f"[::1]:{port}", f"LocalHost:{port}"]


def foreign(port: int) -> list[str]:
    return [
        "evil.example", f"evil.example:{port}", "127.0.0.1", f"127.0.0.1:{port + 1}", f"127.0.0.1:{port}.evil.example",
        f"localhost.evil.example:{port}", f"127.0.0.1.nip.io:{port}", f"0.0.0.0:{port}", f"127.0.0.2:{port}",
        f"user@127.0.0.1:{port}", f"127.0.0.1:{port}/", "*", "::1",
    ]  # fmt: skip


def test_every_route_answers_a_good_request(daemon: Running):
    """Else a refusal below would prove nothing."""
    answers = {f"{method} {route}": request(daemon, method, route) for method, route in ROUTES}
    assert answers == {
        "GET /health": 200,
        "POST /mcp": 200,
        "GET /mcp": 405,
        "POST /api/search": 400,  # the body has other arguments
        "POST /api/status": 400,
    }


@routes
def test_only_our_own_hosts_are_served(daemon: Running, method: str, route: str):
    for host in own(daemon.address.port):
        assert request(daemon, method, route, host=host) != 421, host
    for host in foreign(daemon.address.port):
        assert request(daemon, method, route, host=host) == 421, host


@routes
def test_a_missing_or_doubled_host_is_refused(daemon: Running, method: str, route: str):
    good = f"Host: 127.0.0.1:{daemon.address.port}"
    assert request(daemon, method, route, host="") == 400
    assert request(daemon, method, route, good) == 400
    assert request(daemon, method, route, "Host: evil.example") == 400
    assert raw(daemon, [f"{method} {route} HTTP/1.0", "Content-Length: 0"]).status == 421


@routes
def test_no_web_page_may_call(daemon: Running, method: str, route: str):
    port = daemon.address.port
    origins = [
        "http://evil.example", "https://evil.example", "null", "", "http://localhost", "http://127.0.0.1",
        "http://localhost:6274", f"http://127.0.0.1:{port}", f"http://localhost:{port}", "file://", "*",
        "chrome-extension://abcdefgh",
    ]  # fmt: skip
    for origin in origins:
        assert request(daemon, method, route, f"Origin: {origin}") == 403, origin
    assert request(daemon, method, route, "Origin: http://a.example", "Origin: http://b.example") == 403


def test_a_preflight_is_granted_nothing(daemon: Running):
    answer = raw(
        daemon,
        [
            "OPTIONS /mcp HTTP/1.1",
            f"Host: 127.0.0.1:{daemon.address.port}",
            "Origin: http://evil.example",
            "Access-Control-Request-Method: POST",
            "Access-Control-Request-Headers: authorization",
            "Connection: close",
        ],
    )
    assert answer.status == 403
    assert not [name for name in answer.headers if name.lower().startswith("access-control")]


@pytest.fixture(scope="module")
def widened(tmp_path_factory: pytest.TempPathFactory, model_cache: Path) -> Iterator[Running]:
    """A daemon with a host, an origin and a small body limit of its own."""
    place = Place(
        tmp_path_factory.mktemp("widened"),
        model_cache,
        {
            "MCP_MEMORY_DAEMON_ALLOWED_HOSTS": "Memory.lan:80, memory.lan",
            "MCP_MEMORY_DAEMON_ALLOWED_ORIGINS": "http://localhost:6274",
            **with_constants(daemon_max_body_bytes=2000),
            "MCP_MEMORY_EMBEDDER_PROVIDER": "none",
        },
    ).make()
    with place.serving("--port", "0") as served:
        yield served


def test_what_is_configured_is_let_in_and_nothing_else(widened: Running):
    assert request(widened, "GET", "/health", host="memory.lan:80") == 200
    assert request(widened, "GET", "/health", host="MEMORY.lan") == 200
    assert request(widened, "GET", "/health", host="memory.lan:81") == 421
    assert request(widened, "GET", "/health", "Origin: http://localhost:6274") == 200
    assert request(widened, "POST", "/mcp", "Origin: http://localhost:6274") == 200
    assert request(widened, "GET", "/health", "Origin: http://localhost:6275") == 403
    both = ("Origin: http://localhost:6274", "Origin: http://evil.example")
    assert request(widened, "GET", "/health", *both) == 403


@pytest.mark.parametrize("route", ["/mcp", "/api/append", "/health", "/nowhere"])
def test_a_body_over_the_limit_is_refused_with_the_reason(widened: Running, route: str):
    with Wire(widened) as wire:
        answer = wire.send("POST", route, b"x" * 2001)
        assert answer.status == 413
        assert "the request is larger than 2,000 bytes" in answer.text


@pytest.mark.parametrize("route", ["/mcp", "/api/append"])
def test_a_chunked_body_is_counted_as_it_comes(widened: Running, route: str):
    head = [
        f"POST {route} HTTP/1.1",
        f"Host: 127.0.0.1:{widened.address.port}",
        f"Authorization: Bearer {widened.token()}",
        "Content-Type: application/json",
        "Accept: application/json, text/event-stream",
        "Transfer-Encoding: chunked",
    ]
    chunk = b"100\r\n" + b"x" * 256 + b"\r\n"
    assert raw(widened, head, chunk * 40 + b"0\r\n\r\n").status == 413
    assert raw(widened, head, chunk * 40).status == 413, "it need not end"


@pytest.mark.parametrize("length", ["-1", "0x10", "1e3", "99999999999999999999999"])
def test_a_length_that_is_none(daemon: Running, length: str):
    head = ["POST /mcp HTTP/1.1", f"Host: 127.0.0.1:{daemon.address.port}", f"Content-Length: {length}"]
    assert raw(daemon, head, finish=True).status in {400, 413}


@pytest.mark.parametrize("token", [None, "wrong", "é", "x" * 5000, "Bearer"])
def test_without_a_token_nothing_but_health(daemon: Running, token: str | None):
    with Wire(daemon) as wire:
        for operation in ("search", "recall", "append", "forget", "status", "doctor", "reindex", "nothing"):
            assert wire.api(operation, {"query": "x", "content": "x"}, token=token).status == 401
        assert wire.send("POST", "/mcp", BODY, token=token).status == 401
        assert wire.send("GET", "/health", token=token).status == 200


def test_an_agents_token_may_do_what_its_tools_and_hooks_do(daemon: Running):
    with Wire(daemon, client="agent") as agent, Wire(daemon, client=PERSON) as person:
        known = person.api("nothing", {}).json["hint"].removeprefix("known: ").split(", ")
        refused = {name for name in known if agent.api(name, {"no such": 1}).status == 403}
        assert len(refused) > 40
        assert set(known) - refused == AGENTS
        assert agent.api("jobs", {}).json["message"] == "only a person can use jobs, at the command line"
        assert {person.api(name, {"no such": 1}).status for name in known} == {400}


@pytest.mark.parametrize(
    ("operation", "arguments"),
    [
        ("jobs", {"action": "pause", "name": "compact"}),
        ("organize", {"memory": True}),
        ("lint", {"fix": True, "personal": True}),
        ("review", {"items": ["archive-a"], "choice": "archive"}),
        ("digest", {"save": True}),
        ("refs", {"target": "a", "confirm": True}),
        ("brief", {"session": "s", "transcript": "/tmp/forged.jsonl"}),
        ("brief", {"session": "s", "for_person": True}),
    ],
)
def test_what_changes_the_persons_own_is_refused_to_an_agent(
    daemon: Running, operation: str, arguments: dict[str, Any]
):
    with Wire(daemon, client="agent") as agent:
        assert agent.api(operation, arguments).status == 403


@pytest.mark.parametrize("scheme", ["Basic", "bearer2", ""])
def test_the_token_in_another_scheme(daemon: Running, scheme: str):
    with Wire(daemon) as wire:
        header = {"Authorization": f"{scheme} {daemon.token()}".strip()}
        assert wire.send("POST", "/api/status", b"{}", token=None, **header).status == 401
        assert wire.send("POST", "/mcp", BODY, token=None, **header).status == 401


def test_a_token_in_the_url_counts_for_nothing(daemon: Running):
    with Wire(daemon) as wire:
        token = daemon.token()
        for name in ("token", "access_token"):
            assert wire.send("POST", f"/api/status?{name}={token}", b"{}", token=None).status == 401
            assert wire.send("POST", f"/mcp?{name}={token}", BODY, token=None).status == 401


def test_a_revoked_or_rotated_token_is_refused_from_the_next_call_on(daemon: Running):
    place = daemon.place
    with Wire(daemon, client="leaver") as leaver:
        assert leaver.send("POST", "/mcp", BODY).status == 200
        place.run("clients", "token", "--client", "leaver", "--revoke").ok()
        assert leaver.send("POST", "/mcp", BODY).status == 401
        assert leaver.api("status").status == 401
    with Wire(daemon, client="spinner") as spinner:
        assert spinner.api("status").status == 200
        fresh = place.run("clients", "token", "--client", "spinner", "--rotate").ok().out.strip()
        assert spinner.api("status").status == 401
        assert spinner.send("POST", "/mcp", BODY).status == 401
        assert spinner.api("status", token=fresh).status == 200
        assert spinner.send("POST", "/mcp", BODY, token=fresh).status == 200


def test_health_is_bland_and_its_proof_is_about_this_address(daemon: Running):
    with Wire(daemon) as wire:
        plain = wire.send("GET", "/health", token=None)
        assert set(plain.json) == {"service", "version", "pid"}
        assert plain.json["service"] == "mcp-memory"
        assert str(daemon.place.root) not in plain.text
        proved = wire.send("GET", "/health?nonce=abc", token=None).json
        assert set(proved) == {"service", "version", "pid", "proof"}
        assert proved["proof"] == daemon.place.credentials.proof("abc", daemon.address.name)
        assert proved["proof"] != daemon.place.credentials.proof("abd", daemon.address.name)
        assert wire.send("GET", "/health?nonce=" + "n" * 10_000, token=None).status == 200
