"""The log of tool calls: who called what and how it ended, and nothing that was said."""

from __future__ import annotations

from pathlib import Path

from tests.daemon.conftest import KEYWORDS_ONLY
from tests.daemon.place import Place
from tests.daemon.wire import Wire

SECRET = "Rk7Canary"


def test_each_call_has_its_line_and_no_text(tmp_path: Path):
    place = Place(tmp_path, tmp_path / "models", {**KEYWORDS_ONLY, "MCP_MEMORY_DAEMON_LOG_LEVEL": "debug"}).make()
    with place.started() as daemon:
        with Wire(daemon) as wire:
            wire.tool("memory_search", {"query": SECRET})
            for name, arguments in (
                ("memory_search", {"query": SECRET, "limit": SECRET}),
                ("memory_append", {"content": SECRET, "kind": SECRET}),
                ("memory_forget", {"id": SECRET}),
                (SECRET, {}),
            ):
                wire.rpc("tools/call", {"name": name, "arguments": arguments})
        lines = [line for line in daemon.journal.splitlines() if "server.call_log" in line]
        assert "listening" in daemon.journal
    ends = [line.partition("server.call_log ")[2].rpartition(", ")[0] for line in lines]
    assert ends == [
        "memory_search by tests: ok",
        "memory_search by tests: invalid_input",
        "memory_append by tests: invalid_input",
        "memory_forget by tests: not_found",
        "unknown tool by tests: invalid_input",
    ]
    assert all(line.endswith(" ms") for line in lines)
    assert SECRET not in "".join(lines)
