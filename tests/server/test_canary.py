"""What is stored, asked or used as a token never shows in a log, on standard error or in a process's arguments."""

from __future__ import annotations

import json
import os
from pathlib import Path

import psutil

from tests.daemon.place import Place, Ran
from tests.daemon.wire import HANDSHAKE, SESSIONLESS, Wire, raw

CANARY = "Xk4Canary9Wq"


def test_texts_queries_and_tokens_leave_no_trace(tmp_path: Path, model_cache: Path):
    """At the most talkative level."""
    place = Place(tmp_path, model_cache, {"MCP_MEMORY_DAEMON_LOG_LEVEL": "debug"}).make()
    place.vault.mkdir()
    damaged = {
        "broken.md": f"---\ntitle: [{CANARY}\n---\n{CANARY}\n".encode(),
        "aliases.md": f"---\na: &a [{CANARY}]\nb: *a\n---\n{CANARY}\n".encode(),
        "bytes.md": f"{CANARY} \xff\xfe\n".encode("latin-1"),
        "wide.md": f"{CANARY}\n".encode("utf-16"),
    }
    for name, data in damaged.items():
        (place.vault / name).write_bytes(data)
    with place.started() as daemon:
        secret = json.loads(place.state.tokens.read_text())["secret"]
        tokens = [daemon.token(client) for client in ("tests", "other")]
        for era in (HANDSHAKE, SESSIONLESS):
            with Wire(daemon, era=era) as wire:
                trouble(wire, place.vault)
        with Wire(daemon, client="cli") as wire:
            wire.api("doctor")
            wire.api("reindex")
            for body in (CANARY, f'{{"{CANARY}":1}}', f'["{CANARY}"]', f'{{"query":"{CANARY}","limit":"{CANARY}"}}'):
                wire.send("POST", "/api/search", body.encode())
                wire.send("POST", "/mcp", body.encode())
            wire.send("POST", f"/api/{CANARY}", b"{}")
            wire.send("GET", f"/{CANARY}?{CANARY}={CANARY}")
            wire.send("POST", "/api/search", b"{}", token=CANARY)
            wire.send("POST", "/mcp", b"{}", token=CANARY)
        raw(daemon, [f"GET /{CANARY} HTTP/1.1", f"Host: {CANARY}", f"{CANARY}: {CANARY}"])
        raw(daemon, [f"{CANARY} nonsense"])
        printed = [
            place.run("append", f"{CANARY} from the shell", "--kind", "nothing"),
            place.run("append", "--path", "../out.md", f"{CANARY}"),
            place.run("forget", "notes/none.md"),
        ]
        assert_clean(CANARY, daemon.journal, printed)
        for value in (*tokens, secret):
            assert_clean(value, daemon.journal, printed)
            assert value not in arguments_and_environments(daemon.address.pid)
        place.run("stop").ok()
        assert_clean(CANARY, daemon.journal, [])
        assert CANARY in (place.vault / "broken.md").read_text(), "the canary was really there"


def trouble(wire: Wire, vault: Path) -> None:
    """Every tool, well and badly used."""
    note = wire.tool("memory_append", {"content": f"{CANARY} sings {wire.era}", "title": f"{CANARY} title"})
    note_id = note["structuredContent"]["id"]
    calls = [
        ("memory_append", {"content": f"{CANARY} in the log", "kind": "log", "session": CANARY}),
        ("memory_append", {"content": f"password = {CANARY}hunter2hunter2"}),
        ("memory_append", {"content": f"-----BEGIN RSA PRIVATE KEY-----\n{CANARY}\n"}),
        ("memory_append", {"content": [CANARY]}),
        ("memory_append", {"content": CANARY, "kind": CANARY}),
        ("memory_append", {"content": CANARY, "path": f"../{CANARY}.md"}),
        ("memory_append", {"content": f"{CANARY}\0"}),
        ("memory_append", {"content": CANARY * 100_000}),
        ("memory_append", {"content": CANARY, "supersedes": CANARY, CANARY: CANARY}),
        ("memory_search", {"query": CANARY}),
        ("memory_search", {"query": f'"{CANARY}" NEAR( * ^', "explain": True}),
        ("memory_search", {"query": CANARY, "limit": 0}),
        ("memory_search", {"query": CANARY, "since": CANARY}),
        ("memory_search", {"query": {CANARY: CANARY}}),
        ("memory_recall", {}),
        ("memory_recall", {"query": CANARY}),
        ("memory_recall", {"ids": [note_id, CANARY]}),
        ("memory_recall", {"path": f"notes/{CANARY}.md"}),
        ("memory_forget", {"id": note_id, "reason": CANARY}),
        ("memory_forget", {"id": note_id, "restore": True}),
        ("memory_forget", {"path": "broken.md"}),
        (CANARY, {}),
    ]
    for name, arguments in calls:
        wire.rpc("tools/call", {"name": name, "arguments": arguments})
    wire.rpc("resources/read", {"uri": f"memory://note/{CANARY}"})
    wire.rpc("prompts/get", {"name": CANARY, "arguments": {CANARY: CANARY}})
    wire.rpc(CANARY)


def assert_clean(text: str, journal: str, printed: list[Ran]) -> None:
    for name, said in {"journal": journal, **{f"stderr {n}": ran.err for n, ran in enumerate(printed)}}.items():
        assert text not in said, f"{name}: {said[max(0, said.index(text) - 500) :][:1000]}"


def arguments_and_environments(pid: int) -> str:
    daemon = psutil.Process(pid)
    mine = [psutil.Process(os.getpid()), daemon, *daemon.children(recursive=True)]
    return "\n".join(f"{process.cmdline()} {process.environ()}" for process in mine)
