"""A daemon that is down, hangs, is another program or starts only now: the agent does not notice."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest

from mcp_memory.client.connection import Address, DaemonConnection
from mcp_memory.daemon.instance import holder, is_held
from mcp_memory.errors import DeadlineExceeded, NotRunning
from mcp_memory.hooks.deadline import Deadline
from mcp_memory.hooks.hook_command import hook
from tests.daemon.place import RUN_S, START_S, Place, end, eventually
from tests.hooks.client import Session, logged
from tests.support.impostor import REPLIES, impostor

IMPATIENT = {"MCP_MEMORY_HOOKS_SESSION_START_MS": "1500", "MCP_MEMORY_HOOKS_PROMPT_MS": "1500"}
EVENTS = ("session-start", "prompt", "pre-compact", "session-end")


def call(place: Place, event: str, **more: str) -> tuple[str, list[str]]:
    """What is printed, and the causes in the log."""
    session = Session(place, "s")
    said = {**session.said(event), "prompt": "a private question"}
    with logged(place) as lines:
        out = session.run(event, json.dumps(said).encode(), **more)
    return out, [line["cause"] for line in lines]


@pytest.mark.parametrize("event", EVENTS)
def test_no_daemon_where_none_has_ever_been(place: Place, event: str):
    assert call(place, event) == ("", ["not_running"])
    assert not place.state.lock.exists(), "none was started"


@pytest.mark.parametrize("event", ["session-start", "prompt"])
def test_one_that_takes_the_call_and_never_answers(place: Place, event: str):
    never = threading.Event()

    def hang(_: bytes) -> bytes:
        never.wait(RUN_S)
        return b""

    with impostor(place, hang) as heard:
        assert call(place, event, **IMPATIENT) == ("", ["over_budget"])
    never.set()
    assert b"private" not in b"".join(heard)


@pytest.mark.parametrize("name", ["garbage", "no proof", "a megabyte", "a demand for the token"])
def test_another_program_on_its_port(place: Place, name: str):
    token = place.credentials.token("claude-code")
    with impostor(place, REPLIES[name]) as heard:
        assert call(place, "prompt") == ("", ["not_running"])
    sent = b"".join(heard)
    assert sent and b"private" not in sent and token.encode() not in sent


def test_one_that_answers_a_byte_at_a_time(place: Place):
    with impostor(place, REPLIES["a made-up proof"], drip_s=0.05):
        assert call(place, "prompt", **IMPATIENT) == ("", ["over_budget"])


def test_a_client_that_never_closes_the_input(place: Place):
    with logged(place) as lines:
        command = place.command("hook", "prompt", "--client", "codex")
        environ = {**place.environ, **IMPATIENT}
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environ
        )
        assert process.stdin and process.stdout and process.stderr
        process.stdin.write(b'{"session_id": "1"')
        process.stdin.flush()
        assert process.wait(RUN_S) == 0
        assert (process.stdout.read(), process.stderr.read()) == (b"", b"")
        for stream in (process.stdin, process.stdout, process.stderr):
            stream.close()
    assert [line["cause"] for line in lines] == ["over_budget"]


def test_the_first_prompt_brings_what_the_start_of_its_session_missed(place: Place):
    place.vault.mkdir()
    with place.serving():
        place.run("append", "-k", "preference", "Likes short answers.").ok()
    missed, told = Session(place, "missed"), list[bool]()
    assert not is_held(place.state)
    assert missed.start() == ""
    try:
        eventually(lambda: _answers(place), within_s=2 * START_S)
        with logged(place) as lines:
            assert "Likes short answers." in missed.prompt("which colour has the sky?")
        assert [(line["event"], line["outcome"], line["started"]) for line in lines] == [("prompt", "given", True)]
        assert missed.prompt("and the sea?") == "", "once"
        heard = Session(place, "heard")
        assert "Likes short answers." in heard.start()
        assert heard.prompt("which colour has the sky?") == ""
        unstarted = Session(place, "its hooks came later")
        assert "Likes short answers." in unstarted.prompt("which colour has the sky?")
        assert unstarted.prompt("and the sea?") == "", "once"
        for name in ("mill", "weir"):
            (place.root / name / ".git").mkdir(parents=True)
        place.run("append", "-k", "preference", "-p", "weir", "We open the weir on Mondays.").ok()
        heard = replace(heard, cwd=str(place.root / "mill"))
        assert heard.prompt("which colour has the sky?") == "", "memory has nothing of this project"
        for _ in range(2):
            heard = replace(heard, cwd=str(place.root / "weir"))
            told.append("open the weir" in heard.prompt("which colour has the sky?"))
            heard = replace(heard, cwd=str(place.root / "mill"))
            assert "open the weir" not in heard.prompt("and the sea?")
        assert told == [True, False], "once"
        late = Session(place, "late")
        claw = Session(place, "claw", client="openclaw")
        with stopped(place):
            assert late.start(**IMPATIENT) == claw.start(**IMPATIENT) == "", "past its deadline"
        assert "Likes short answers." in late.prompt("which colour has the sky?")
        assert claw.prompt("which colour has the sky?") == "", "it asks for the start again by itself"
    finally:
        end(place)


@pytest.mark.parametrize("event", EVENTS)
def test_any_hook_starts_it_where_the_caller_is_at_home(place: Place, monkeypatch: pytest.MonkeyPatch, event: str):
    """With the environment that the hook was given, not this process's own; and nothing imported from `/`."""
    started: list[tuple[list[str], dict[str, str]]] = []
    monkeypatch.setattr(subprocess, "Popen", lambda command, *, env, **_: started.append((command, env)))
    place.state.make()
    place.state.port.write_text("1")
    said = json.dumps(Session(place, "s").said(event)).encode()
    hook([event, "--client", "codex"], place.environ, lambda: said, lambda _: None, Deadline(10_000))
    ((command, environ),) = started
    assert command[1:] == ["-P", "-m", "mcp_memory", "--detached", "start"]
    assert environ == place.environ | {"PYTHONPATH": environ["PYTHONPATH"]}


@contextmanager
def stopped(place: Place) -> Iterator[None]:
    """The place's daemon runs and does nothing."""
    pid = holder(place.state)
    assert pid
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def _answers(place: Place) -> bool:
    try:
        DaemonConnection(Address.read(place.state.daemon), place.credentials).verify()
    except (NotRunning, DeadlineExceeded):
        return False
    return True
