"""Whatever is wrong with the input, the surroundings or ourselves: nothing printed, exit code 0, a line in the log."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mcp_memory.hooks.deadline import Deadline
from mcp_memory.hooks.hook_answer import COMPACTION, EVENTS, TAKES_COMPACTION
from mcp_memory.hooks.hook_command import hook
from tests.daemon.place import RUN_S, Place
from tests.hooks.client import EVENT_NAMES, PATIENT, Session, logged
from tests.support.world import more

EXAMPLES = more(100)
WANTED = "The heron at the weir wants its fish raw."


@pytest.fixture(scope="module")
def filled(served: Place) -> Place:
    served.run("append", "-k", "preference", WANTED).ok()
    return served


INPUTS: dict[str, bytes] = {
    "empty": b"",
    "no JSON": b"hello",
    "half of it": b'{"session_id": "x", "prom',
    "a list": b"[]",
    "a number": b"7",
    "NUL": b"\0" * 10,
    "not UTF-8": b'\xff\xfe{"session_id"',
    "deep": b"[" * 200_000,
    "wrong types": b'{"session_id": 7, "cwd": [], "prompt": {}}',
    "no session": b'{"prompt": "what does the heron like"}',
    "5 MB of no JSON": b"x" * 5_000_000,
    "too much": b" " * 17_000_000,
}


@pytest.mark.parametrize("name", INPUTS)
def test_input_that_cannot_be_used(filled: Place, name: str):
    with logged(filled) as lines:
        assert Session(filled, "x").run("prompt", INPUTS[name]) == ""
    assert [line["outcome"] for line in lines] == ["failed"]


def test_input_that_can(filled: Place):
    session = Session(filled, "odd")
    said = {**session.said("prompt"), "prompt": "what does the heron like", "from a newer version": [{"deep": [1]}]}
    assert WANTED in session.run("prompt", b"\xef\xbb\xbf" + json.dumps(said).encode())
    said |= {"session_id": "\ud800 odd", "prompt": "what does the heron like \ud800" + "z" * 5_000_000, "cwd": "/\0"}
    assert WANTED in session.run("prompt", json.dumps(said).encode())
    text = json.dumps({**said, "session_id": "bytes"}).encode().replace(b"heron", b"\xff heron \xc3")
    assert WANTED in session.run("prompt", text)


ARGUMENTS = {
    "nothing": (),
    "an unknown event": ("session-begin", "--client", "codex"),
    "an unknown option": ("prompt", "--clint", "codex"),
    "no value": ("prompt", "--client"),
    "a bad client": ("prompt", "--client", "a b\n"),
    "a missing configuration": ("prompt", "--client", "codex", "--config", "/nowhere.toml"),
    "a vault that cannot be": ("prompt", "--client", "codex", "--vault", ""),
    "another vault": ("prompt", "--client", "codex", "--vault", "/nowhere"),
}


@pytest.mark.parametrize("name", ARGUMENTS)
def test_arguments_that_cannot_be_used(filled: Place, name: str):
    said = json.dumps({**Session(filled, "x").said("prompt"), "prompt": "what does the heron like"})
    with logged(filled) as lines:
        ran = filled.run("hook", *ARGUMENTS[name], stdin=said.encode(), **PATIENT)
    assert (ran.code, ran.err) == (0, "") and {*json.loads(ran.out or "{}")} <= {"systemMessage"}
    if name != "another vault":  # that has a log of its own
        assert [line["outcome"] for line in lines] == ["failed"]


def test_help_is_for_people(filled: Place):
    assert "session-start" in filled.run("hook", "--help").ok().out


def _broken_configuration(place: Place) -> dict[str, str]:
    (place.root / "broken.toml").write_text("[hooks\n")
    return {"MCP_MEMORY_CONFIG": str(place.root / "broken.toml")}


def _a_daemons_configuration(place: Place) -> dict[str, str]:
    (place.root / "odd.toml").write_text("[daemon]\nlog_level = 'shouting'\n")
    return {"MCP_MEMORY_CONFIG": str(place.root / "odd.toml")}


SURROUNDINGS: dict[str, Callable[[Place], dict[str, str]]] = {
    "a broken configuration": _broken_configuration,
    "a budget that is no number": lambda _: {"MCP_MEMORY_HOOKS_PROMPT_MS": "soon"},
    "a budget of nothing": lambda _: {"MCP_MEMORY_HOOKS_PROMPT_MS": "0"},
    "a state folder that is a file": lambda place: {"MCP_MEMORY_STATE": str(Path(__file__))},
    "a state folder that nobody may make": lambda _: {"MCP_MEMORY_STATE": "/proc/nowhere"},
    "a home that nobody may make": lambda _: {"HOME": "/proc/nowhere", "MCP_MEMORY_STATE": ""},
}


@pytest.mark.parametrize("name", SURROUNDINGS)
def test_surroundings_that_are_broken(filled: Place, name: str):
    session = Session(filled, f"in {name}")
    assert session.prompt("what does the heron like", **SURROUNDINGS[name](filled)) == ""


def test_a_configuration_of_which_nothing_is_needed(filled: Place):
    assert WANTED in Session(filled, "new").prompt("what does the heron like", **_a_daemons_configuration(filled))


STREAMS = {
    "no standard output": "exec >&-; exec {}",
    "no standard error": "exec 2>&-; exec {}",
    "no standard input": "exec <&-; exec {}",
    "none at all": "exec <&- >&- 2>&-; exec {}",
    "a reader that is gone": "{} | true; exit ${{PIPESTATUS[0]}}",
    "a full disk": "exec >/dev/full; exec {}",
}


@pytest.mark.parametrize("name", STREAMS)
def test_streams_that_are_broken(filled: Place, name: str):
    session = Session(filled, f"with {name}")
    command = " ".join(f"'{each}'" for each in filled.command("hook", "prompt", "--client", "codex"))
    done = subprocess.run(
        ["bash", "-c", STREAMS[name].format(command)],
        input=json.dumps({**session.said("prompt"), "prompt": "what does the heron like"}).encode(),
        env={**filled.environ, **PATIENT}, cwd=filled.root, capture_output=True, timeout=RUN_S,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, b"")
    assert not done.stdout or WANTED in done.stdout.decode()


BREAKS = ["socket", "hashlib", "json", "mcp_memory.hooks.hook_command", "mcp_memory.client.connection", "tomllib"]


@pytest.mark.parametrize("module", BREAKS)
def test_an_import_that_is_broken(filled: Place, module: str):
    config = filled.root / "some.toml"
    config.write_text("")
    program = "import sys; sys.modules[sys.argv.pop(1)] = None; from mcp_memory.cli import main; sys.exit(main())"
    with logged(filled) as lines:
        done = subprocess.run(
            [sys.executable, "-c", program, module, "hook", "prompt", "--client", "codex", "--config", str(config)],
            input=b"{}", env={**filled.environ, **PATIENT}, capture_output=True, timeout=RUN_S,
        )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    if module not in {"json", "hashlib"}:  # without these there can be no log
        (line,) = lines
        assert "ModuleNotFoundError" in line["cause"]


JUNK = st.recursive(
    st.one_of(st.none(), st.booleans(), st.floats(), st.integers(), st.text()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
TEXTS = st.one_of(st.text(), st.sampled_from(["what does the heron like", "/", "/tmp", "..", "\0", "\ud800"]))
SAID = st.one_of(
    st.fixed_dictionaries({}, optional=dict.fromkeys(("session_id", "cwd", "prompt", "source"), TEXTS | JUNK)),
    JUNK,
)
BYTES = st.one_of(SAID.map(lambda said: json.dumps(said).encode()), st.binary(max_size=200))
WORDS = st.one_of(st.text(max_size=20), st.sampled_from(["--client", "codex", "--client=x", "--", "-", "--vault="]))
CALLS = st.one_of(
    st.sampled_from(EVENTS).map(lambda event: [event, "--client", "claude-code"]),
    st.lists(st.one_of(st.sampled_from(EVENTS), WORDS), max_size=5),
)


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(CALLS, BYTES)
def test_any_bytes_and_arguments(filled: Place, arguments: list[str], data: bytes):
    written: list[bytes] = []
    if {"-h", "--help"} & set(arguments):
        return
    hook(arguments, filled.environ, lambda: data, written.append, Deadline(20_000))
    check(arguments, b"".join(written))


TOLD: tuple[tuple[str, dict[str, Any]], ...] = (
    ("session-start", {"source": "startup"}),
    ("prompt", {"prompt": "what does the heron like"}),
    ("prompt", {"prompt": "what does the heron like", "agent_id": "a", "agent_type": "general-purpose"}),
    ("before-tool", {"tool_name": "mcp__memory__memory_append", "tool_input": {"content": "the heron likes fish"}}),
    ("before-tool", {"tool_name": "Bash", "tool_input": {"command": "git push --force"}}),
    ("before-tool", {"tool_name": "Agent", "tool_input": {"prompt": "ask the heron", "subagent_type": "builder"}}),
    ("after-tool", {"tool_name": "Bash", "tool_input": {"command": "make"}, "tool_response": {"stdout": "no heron"}}),
    ("after-tool", {"tool_name": "Bash", "tool_input": {"command": "make"}, "error": "no such heron"}),
    ("subagent-start", {"agent_id": "a", "agent_type": "general-purpose"}),
    *((event, {}) for event in EVENTS),
)
"""What clients say at an event, besides what they say at all."""

ODD: tuple[Any, ...] = (
    None, True, -1, 10**400, "", "\0", "\ud800", "\u202e", "x" * 100_000, [], {}, {"a": {"b": []}}, "../..", "<<<",
)  # fmt: skip

TAKEN: dict[str, tuple[set[str], set[str]]] = {
    **{event: ({name}, {"additionalContext"}) for event, name in EVENT_NAMES.items()},
    "subagent-start": ({"SubagentStart"}, {"additionalContext"}),
    "after-tool": ({"PostToolUse", "PostToolUseFailure"}, {"additionalContext"}),
    "before-tool": (
        {"PreToolUse"}, {"additionalContext", "permissionDecision", "permissionDecisionReason", "updatedInput"},
    ),
}  # fmt: skip
"""Event → the names and the fields that a client takes."""


def bent(said: dict[str, Any], chance: random.Random) -> bytes:
    for _ in range(chance.randrange(3)):
        key = chance.choice([*said, "new"])
        said = {**said, key: chance.choice(ODD)}
        if chance.random() < 0.3:
            del said[key]
    data = json.dumps(said, ensure_ascii=chance.random() < 0.5).encode("utf-8", "surrogatepass")
    at = chance.randrange(len(data) + 1)
    ways = [data[:at], data[:at] + chance.randbytes(9) + data[at:], data * 2, b"\xef\xbb\xbf" + data, b"[%b]" % data]
    return chance.choice(ways) if chance.random() < 0.3 else data


def check(arguments: list[str], out: bytes) -> None:
    """Fail where the client would stumble."""
    if not out:
        return
    if out == COMPACTION.encode():
        assert arguments[0] == "pre-compact" and TAKES_COMPACTION & {*arguments}
        return
    said = json.loads(out.decode("ascii"))
    assert said.keys() <= {"hookSpecificOutput", "systemMessage"}
    answer = said["hookSpecificOutput"]
    names, fields = TAKEN[arguments[0]]
    assert answer.pop("hookEventName") in names
    assert answer and answer.keys() <= fields and all(answer.values())


def test_what_clients_say_bent(filled: Place):
    chance = random.Random(7)
    environ = {**filled.environ, **PATIENT}
    with logged(filled) as lines:
        for number in range(300):
            event, more = chance.choice(TOLD)
            session = Session(filled, f"bent {number % 50}", chance.choice(["claude-code", "codex", "openclaw"]))
            data = bent({**session.said(event), **more}, chance)
            arguments, written = [event, "--client", session.client], list[bytes]()
            if number < 2:
                written.append(session.run(event, data).encode())
            else:
                hook(arguments, environ, lambda data=data: data, written.append, Deadline(20_000))
            check(arguments, b"".join(written))
    outcomes = [line["outcome"] for line in lines]
    assert outcomes.count("given") > 20 and outcomes.count("failed") > 20, "neither all in order nor all broken"


GOOD = b'{"hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "additionalContext": "x"}}'


@pytest.mark.parametrize(
    "out", [b"hello", b"{}", GOOD.replace(b'"x"', b'""'), GOOD.replace(b"User", b"Other"), GOOD + b"{}"]
)
def test_what_a_client_could_not_read_fails(out: bytes):
    check(["prompt"], GOOD)
    for event, said in (("prompt", out), ("stop", GOOD)):
        with pytest.raises((AssertionError, KeyError, ValueError)):
            check([event], said)


def test_root_is_not_needed_to_be_refused():
    """What the tests above rely on: that a state folder under /proc can be made by nobody, root included."""
    with pytest.raises(OSError):
        Path("/proc/nowhere").mkdir()
