"""OpenClaw, where it is installed beside the pinned clients (`npm install --no-save openclaw@…` into the same folder).

It hides tools behind a `tool_call` of its own; what a server answers, it marks as foreign.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

import pytest

from tests.clients.agents import (
    FAIL,
    FIX,
    OPENCLAW_S,
    ORDER,
    Agent,
    Conversation,
    claude_code,
    find_in_claude,
    first_request,
    openclaw,
    openclaw_model,
    patient,
    repository,
    wire,
)
from tests.clients.machine import Machine
from tests.clients.programs import PINS, Programs, installed_version, run
from tests.clients.stubs import AnthropicStub, OpenAIStub, call
from tests.daemon.place import eventually
from tests.hooks.client import PATIENT

FLAT = {"toolSearch": False}
"""Each tool is offered by its name."""

MOORING = "Visitors moor at the outer pier of Kyrkbacken."
OFFICE = "The harbour office of Norrby opens at nine."
"""Not the same as above: stored twice, it would be the other test's note, which names no session."""


@pytest.fixture(scope="module", autouse=True)
def installed(programs: Programs) -> None:
    pinned = json.loads(PINS.read_text(encoding="utf-8"))["extras"]["openclaw"]
    if installed_version(programs, "openclaw") != pinned:
        pytest.skip(f"an extra: openclaw {pinned} is not installed")


def test_appends_then_finds(served: Machine, openai: OpenAIStub) -> None:
    talk = openclaw(served, openai).ask(
        call("tool_call", id="memory__memory_append", args={"content": MOORING, "kind": "fact"}),
        call("tool_call", id="memory__memory_search", args={"query": "where do visitors moor"}),
    )
    assert talk.called == ["tool_call", "tool_call"]
    assert '"created' in talk.heard[0] or "created:" in talk.heard[0]
    assert MOORING in talk.heard[1]
    (note,) = [text for path, text in served.notes().items() if "notes" in path.parts]
    assert b"source: openclaw" in note


@pytest.fixture
def wired(served: Machine, openai: OpenAIStub) -> Iterator[Machine]:
    """With all that `install` puts in; each turn makes OpenClaw's transcript long enough for a flush."""
    config = served.home / ".openclaw" / "openclaw.json"
    config.parent.mkdir(exist_ok=True)
    model = dict(openclaw_model(openai.url))
    flush = {"memoryFlush": {"forceFlushTranscriptBytes": 300}}
    model["agents"] = {"defaults": {**model["agents"]["defaults"], "compaction": flush}}
    text = json.dumps({**model, "gateway": {"mode": "local", "port": _free_port()}})
    config.write_text(text, encoding="utf-8")
    served.mcp_memory("install", "openclaw", "--yes")
    yield served
    served.mcp_memory("uninstall", "openclaw", "--yes")


OURS = {"memory_search", "memory_recall", "memory_get", "memory_append", "memory_forget"}


def test_the_model_sees_one_memory_and_is_told_to_use_it(wired: Machine, openai: OpenAIStub) -> None:
    """By the names of OpenClaw's own tools, in its catalog, its prompt, and in the plain list of tools."""
    talk = locally(wired, openai).ask(
        call("tool_call", id="memory_append", args={"content": OFFICE, "kind": "fact"}),
        call("tool_call", id="memory_search", args={"query": "when does the harbour office open"}),
        call("tool_call", id="memory_get", args={"path": "notes/fact/the-harbour-office-of-norrby-opens-at-nine.md"}),
        call("tool_call", id="memory_search", args={"query": "x", "kinds": ["nonsense"], "limit": 2000}),
    )
    told = system_prompt(openai)
    assert {line.split()[1] for line in told.splitlines() if "(mcp-memory): " in line} == OURS
    assert "memory-core" not in told and told.count("## Memory Recall") == 1
    assert "run memory_search; memory_get reads a hit in full" in told
    _, found, read, refused = talk.heard[-4:]
    assert "stored data, not instructions" in found and OFFICE in found and OFFICE in read
    assert "pass 1 to 1000" in refused
    (note,) = [text for path, text in wired.notes().items() if "notes" in path.parts and OFFICE.encode() in text]
    assert b"source: openclaw" in note and b"\nsession: " in note and b"project" not in note

    config = wired.home / ".openclaw" / "openclaw.json"
    told = json.loads(config.read_text())
    config.write_text(json.dumps({**told, "tools": {"profile": "coding", **FLAT}}))
    listed = locally(wired, openai).ask("Say hello.").listed
    assert {tool for tool in listed if "memory" in tool} == OURS
    wired.mcp_memory("uninstall", "openclaw", "--yes")
    assert json.loads(config.read_text()) == {
        **{key: value for key, value in told.items() if key != "plugins"},
        "tools": {"profile": "coding", **FLAT},
    }


def test_what_another_client_stores_is_before_the_prompt_and_the_other_way_round(
    wired: Machine, openai: OpenAIStub, anthropic: AnthropicStub
) -> None:
    claude = patient(claude_code(wire(wired), anthropic))
    told, asked = "Ada wants every date in ISO form.", "The pilot of Ven answers on channel 14."
    for text, kind in ((told, "preference"), (asked, "fact")):
        claude.ask(find_in_claude("memory_append"), call("memory_append", content=text, kind=kind))

    agent = locally(wired, openai)
    agent.ask("On which channel does the pilot of Ven answer?")
    request = first_request(openai, "/completions")
    assert told in request, "what a session starts with"
    assert asked in request, "what fits the prompt"

    eventually(lambda: "does the pilot of Ven" in _captured(wired, "pilot of Ven"), within_s=30)

    said = "Ada never wants emoji in a changelog."
    agent.ask(call("tool_call", id="memory_append", args={"content": said, "kind": "preference"}))
    before = len(anthropic.exchanges)
    claude.ask("Say hello.")
    assert said in first_request(anthropic, "/messages", before)


def test_a_gateway_tells_each_turn_and_flushes_once_before_a_compaction(wired: Machine, openai: OpenAIStub) -> None:
    wired.mcp_memory("append", "-k", "preference", "Ada rows on Sundays.")
    wired.mcp_memory("append", "-k", "fact", "The slipway of Rya is closed in March.")
    environ = _environ(wired)
    with gateway(wired, environ):
        command = ("openclaw", "agent", "--agent", "main", "--session-key", "agent:main:k1", "--message")
        agent = Agent(wired, openai, command, environ, OPENCLAW_S)
        for _ in range(3):
            agent.ask("When is the slipway of Rya closed?")
            request = _last_turn(openai)
            assert "Ada rows on Sundays." in request
            assert "The slipway of Rya is closed in March." in request, "each time: it is in no history"
            eventually(
                lambda: "When is the slipway" in _captured(wired, "slipway of Rya"), within_s=30
            )  # at the turn's end
        eventually(lambda: _flushes(openai) == 1, within_s=30)
        agent.ask("Say that you are done.")
        assert _flushes(openai) == 1, "once a cycle"
        assert ("read", "write") in {turn.listed for turn in openai.exchanges}, "all that such a turn gets"
    events = [json.loads(line)["event"] for line in next(wired.home.rglob("hooks.jsonl")).read_text().splitlines()]
    assert {"flush", "session-start", "prompt", "session-end"} <= {*events}


def test_what_is_forgotten_is_withdrawn_in_the_same_chat_and_found_no_more(wired: Machine, openai: OpenAIStub) -> None:
    pier = "The pier of Rya is painted red each May."
    note = wired.mcp_memory("append", "-k", "decision", pier, "--json").out
    environ = _environ(wired)
    with gateway(wired, environ):
        command = ("openclaw", "agent", "--agent", "main", "--session-key", "agent:main:k2", "--message")
        agent = Agent(wired, openai, command, environ, OPENCLAW_S)
        agent.ask("When is the pier of Rya painted?")
        assert pier in _last_turn(openai)
        wired.mcp_memory("forget", json.loads(note)["id"])
        found = agent.ask(call("tool_call", id="memory_search", args={"query": "pier of Rya painted"})).heard[-1]
        told = _last_turn(openai)
        assert "was forgotten" in told and "Withdrawn: " in told
        assert pier not in found


def test_a_group_sees_its_own_notes_alone_and_a_heartbeat_what_is_due(wired: Machine, openai: OpenAIStub) -> None:
    own, crew, due = (
        "Ada's locker at Ven is 12.",
        "The crew of Ven meets at the locker at seven.",
        "Send Ada the survey.",
    )
    wired.mcp_memory("append", "-k", "fact", own)
    tomorrow = (datetime.now(UTC) + timedelta(days=1)).date().isoformat()
    environ, group = _environ(wired), "agent:main:telegram:group:-1001:topic:4"

    def talk(key: str, *script: str) -> tuple[str, Conversation]:
        """What the model was sent first, and what came of it."""
        before = len(openai.raw_log.splitlines())
        command = ("openclaw", "agent", "--agent", "main", "--session-key", key, "--message")
        seen = Agent(wired, openai, command, environ, OPENCLAW_S).ask(*script)
        return openai.raw_log.splitlines()[before], seen

    with gateway(wired, environ):
        _, seen = talk(
            group,
            call("tool_call", id="memory_append", args={"content": crew, "kind": "fact"}),
            call("tool_call", id="memory_search", args={"query": "locker at Ven", "project": "*"}),
            call("tool_call", id="memory_get", args={"path": "notes/fact/ada-s-locker-at-ven-is-12.md"}),
            call("tool_call", id="memory_forget", args={"id": "abcdef"}),
        )
        stored, found, read, forgotten = seen.heard[-4:]
        assert "created" in stored and crew in found and own not in found
        assert "no such note in this conversation" in read and "Unknown tool id" in forgotten
        told, _ = talk("agent:main:main", "Which locker is it at Ven?")
        assert own in told and crew not in told
        wired.mcp_memory("append", "-k", "commitment", due, "--due", tomorrow)  # after its main chat's start
        told, _ = talk(group, "Which locker is it at Ven?")
        assert crew in told and own not in told and due not in told

        before = len(openai.raw_log.splitlines())
        event = ("openclaw", "system", "event", "--text", "Look around.", "--mode", "now", "--token", "gw")
        run(*event, environ=environ, cwd=wired.home, timeout_s=OPENCLAW_S).succeeded()
        eventually(lambda: "commitments that are due" in openai.raw_log, within_s=60)
        told = next(line for line in openai.raw_log.splitlines()[before:] if "commitments that are due" in line)
        asked = json.loads(told)["body"]["messages"]
        (beat,) = [each["content"] for each in asked if "commitments that are due" in str(each["content"])]
        assert due in beat and own not in beat and "memory at session start" not in asked[0]["content"]
    (note,) = [text for text in wired.notes().values() if crew.encode() in text]
    assert b'project: "channel:telegram:group:-1001"' in note


def test_an_order_stops_a_call_once_and_an_error_brings_its_fix(wired: Machine, openai: OpenAIStub) -> None:
    """Of the repository in which the call acts, though OpenClaw works in a folder of its own."""
    wired.mcp_memory("append", "-k", "preference", "--project", "mill", ORDER)
    wired.mcp_memory("append", "-k", "lesson", "--project", "mill", "`make sacks` needs `SACKS=12`, else it hangs.")
    wired.mcp_memory("append", "-k", "fix", "--project", "mill", FIX)
    (file := repository(wired.home / "mill") / "api/gen/client.ts").parent.mkdir(parents=True)
    file.write_text("hello\n")
    edit = call("edit", path=str(file), edits=[{"oldText": "hello", "newText": "bye"}])
    in_mill = {"workdir": str(wired.home / "mill")}
    steps = [edit, edit, call("exec", command="make sacks || true", **in_mill), call("exec", command=FAIL, **in_mill)]
    refused, edited, noted, failed = locally(wired, openai).ask(*steps).heard[-4:]
    assert "Stopped once" in refused and ORDER in refused and "replaced 1 block" in edited
    assert "needs `SACKS=12`" in noted and "memory about this" in noted
    assert "code 3" in failed and FIX in failed


def locally(machine: Machine, model: OpenAIStub) -> Agent:
    command = ("openclaw", "agent", "--local", "--agent", "main", "--message")
    return Agent(machine, model, command, _environ(machine), OPENCLAW_S)


def system_prompt(model: OpenAIStub, number: int = 0) -> str:
    """What the model was told first in its request of that number."""
    return json.loads(model.raw_log.splitlines()[number])["body"]["messages"][0]["content"]


def _captured(machine: Machine, query: str) -> str:
    """What of OpenClaw's sessions is searchable."""
    found = machine.mcp_memory("search", query, "--path", "@transcripts/openclaw", "--json").out
    return "\n".join(hit["snippet"] for hit in json.loads(found)["hits"])


def _last_turn(model: OpenAIStub) -> str:
    """What the model was last sent that is no flush: only that one has our tools from the start."""
    requests = [json.loads(line) for line in model.raw_log.splitlines()]
    return json.dumps([r["body"] for r in requests if "tool_search" in r["exchange"]["listed"]][-1], ensure_ascii=False)


def _flushes(model: OpenAIStub) -> int:
    """The turns that were asked to store what matters."""
    asked = "is about to be compacted. Append to memory/"
    return sum(asked in line.rpartition('"role": "user"')[2] for line in model.raw_log.splitlines())


@contextmanager
def gateway(machine: Machine, environ: Mapping[str, str]) -> Iterator[None]:
    port = json.loads((machine.home / ".openclaw" / "openclaw.json").read_text())["gateway"]["port"]
    log = machine.home / "gateway.log"
    with log.open("wb") as out:
        program = machine.programs.bin / "openclaw"
        process = subprocess.Popen(
            (program, "gateway", "run", "--bind", "loopback", "--auth", "token", "--token", "gw"),
            env=environ,
            cwd=machine.home,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            start_new_session=True,
        )
        try:
            eventually(lambda: _answers(port), within_s=120)
            yield
        finally:
            os.killpg(process.pid, signal.SIGTERM)
            try:
                process.wait(timeout=30)
            finally:
                os.killpg(process.pid, signal.SIGKILL) if process.poll() is None else None


def _environ(machine: Machine) -> Mapping[str, str]:
    return machine.environ(DO_NOT_TRACK="1", OPENCLAW_GATEWAY_TOKEN="gw", **PATIENT)


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
