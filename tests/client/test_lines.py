"""What comes in and goes out, and when the program ends."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.client.shim import HELLO, Shim, modern, shim
from tests.daemon.place import Place, eventually
from tests.support.slow_modules import SLOW

REPORT = """
import json, os, sys
sys.argv = ["mcp-memory", "stdio", "--client", "quick"]
before = set(sys.modules)
def report(_):
    new = {name.partition(".")[0] for name in set(sys.modules) - before} - {*sys.stdlib_module_names, "mcp_memory"}
    print(json.dumps({"new": sorted(new), "all": [*sys.modules]}), flush=True)
    end(0)
end, os._exit = os._exit, report
from mcp_memory.cli import main
main()
"""

PARENT = """
import subprocess, sys, time
child = subprocess.Popen(sys.argv[1:])
print(child.pid, flush=True)
time.sleep(600)
"""


NO_MESSAGES = [
    (b"hello", -32700),
    (b"\xff\xfe", -32700),
    (b"[" * 200_000, -32700),
    (b'{"jsonrpc": "2.0", "id": 1, "meth', -32700),
    (b"7", -32600),
    (b"[]", -32600),
    (b'[{"jsonrpc": "2.0", "id": 1, "method": "ping"}]', -32600),
    (b'{"jsonrpc": "2.0", "id": null, "method": "ping"}', -32600),
    (b'{"jsonrpc": "2.0", "id": {}, "method": "ping"}', -32600),
    (b'{"jsonrpc": "2.0", "id": 1, "method": 7}', -32600),
    (b'{"jsonrpc": "2.0", "id": 1}', -32600),
]


@pytest.fixture(scope="module")
def client(served: Place) -> Iterator[Shim]:
    with shim(served) as made:
        yield made


def test_a_line_that_is_no_message(client: Shim):
    for line, code in NO_MESSAGES:
        client.write(line + b"\n")
        said = client.next()
        assert (said["id"], said["error"]["code"]) == (None, code), line[:50]
    assert "result" in client.ask("ping")


def test_lines_come_in_pieces_and_several_at_once(client: Shim):
    whole = b"\r\n\n" + b"".join(
        json.dumps({"jsonrpc": "2.0", "id": number, "method": "ping"}).encode() + b"\r\n" for number in range(30)
    )
    for start in range(0, len(whole), 7):
        client.write(whole[start : start + 7])
    assert all(client.answer(number)["result"] == {} for number in range(30))


def test_numbers_of_every_kind_come_back_as_they_were(client: Shim):
    for number in (0, -1, "0", "", "é\n", 1.5, 2**60):
        assert client.ask("ping", number=number)["id"] == number


def test_notifications_and_answers_have_no_answer(served: Place):
    with shim(served) as client:
        client.ask("initialize", HELLO)
        client.send("notifications/initialized")
        client.send("notifications/roots/list_changed")
        client.write(b'{"jsonrpc": "2.0", "id": 77, "result": {}}\n{"jsonrpc": "2.0", "id": 78, "error": {}}\n')
        assert "result" in client.ask("ping", number=2)
        assert client.end() == 0
        assert client.rest() == []


def test_what_is_too_long_is_refused_with_the_reason(client: Shim):
    answer = client.tool("memory_append", {"content": "x" * 5_000_000})
    assert "the request is larger than" in answer["error"]["message"]


def test_an_unknown_method_in_both_eras(client: Shim):
    assert client.ask("no/such", number=1)["error"]["code"] == -32601
    assert client.ask("no/such", modern(), number=2)["error"]["code"] == -32601


def test_names_that_no_header_can_hold(client: Shim):
    for number, name in enumerate(("é 茶", " a ", "a\r\nX: y", "=?base64?YQ==?=")):
        answer = client.ask("resources/read", modern({"uri": f"memory://note/{name}"}), number=number)
        assert "error" in answer and "header" not in answer["error"]["message"].lower(), name


def test_it_ends_with_its_input_and_answers_what_it_was_asked(served: Place):
    with shim(served) as client:
        for number in range(5):
            client.send("tools/call", {"name": "memory_search", "arguments": {"query": "x"}}, number=number)
        assert client.end() == 0
        assert {said["id"] for said in client.rest()} == set(range(5))


def test_it_ends_when_nobody_reads(served: Place):
    command, pipe = served.command("stdio"), subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, env=served.environ) as process:
        assert process.stdin and process.stdout
        process.stdout.close()
        process.stdin.write(b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n')
        process.stdin.flush()
        assert process.wait(20) == 0


def test_it_ends_with_the_program_that_started_it(served: Place):
    """Whose other children may hold the input open."""
    reading, writing = os.pipe()
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, *served.command("stdio")],
        stdin=reading, stdout=subprocess.PIPE, env=served.environ, text=True,
    )  # fmt: skip
    os.close(reading)
    assert parent.stdout
    child = int(parent.stdout.readline())
    os.write(writing, b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n')
    assert json.loads(parent.stdout.readline())["result"] == {}
    parent.kill()
    parent.wait(20)
    eventually(lambda: not _lives(child))
    os.close(writing)
    parent.stdout.close()


def test_only_the_standard_library_is_imported_and_none_of_its_slow_parts(served: Place):
    served.credentials.token("quick")
    asked = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"}) + "\n"
    done = subprocess.run(
        [sys.executable, "-c", REPORT], input=asked, env=served.environ, capture_output=True, text=True, timeout=60
    )
    answer, report = map(json.loads, done.stdout.splitlines())
    assert (answer["result"], report["new"]) == ({}, [])
    assert (SLOW - {"threading"}).isdisjoint(report["all"])


def test_wrong_options_are_said_before_anything_is_served(place: Place):
    file = place.root / "odd.toml"
    file.write_text("[vault]\npath = 7\n", encoding="utf-8")
    for arguments in (["--nonsense"], ["--config", str(file)]):
        ran = place.run("stdio", *arguments, MCP_MEMORY_VAULT="")
        assert (ran.code, ran.out) == (2, "")
    assert "example" in place.run("stdio", "--help").ok().out
    assert "mcpServers" in place.run("stdio", "--vault", "x", "--help").ok().out


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
