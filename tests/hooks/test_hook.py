"""`mcp-memory hook` with a running daemon: what an agent gets to see, and when."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from mcp_memory.hooks.hook_answer import COMPACTION
from mcp_memory.hooks.hook_command import budget_ms
from mcp_memory.settings.raw_settings import BUSY_PROMPT_MS, PROMPT_MS
from tests.daemon.place import Place
from tests.hooks.client import Session, log_of
from tests.support.slow_modules import SLOW

PORT = "The staging database listens on port 5433."
QUESTION = "on which port does the staging database listen"

REPORT = """
import json, os, sys
before = set(sys.modules)
from mcp_memory.hooks.hook_command import hook, read_input
from mcp_memory.hooks.deadline import Deadline
written = []
hook(sys.argv[1:], os.environ, read_input, written.append, Deadline(10_000))
new = {name.partition(".")[0] for name in set(sys.modules) - before} - {*sys.stdlib_module_names, "mcp_memory"}
print(json.dumps({"written": b"".join(written).decode(), "new": sorted(new), "all": [*sys.modules]}))
"""


@pytest.fixture(scope="module")
def filled(served: Place) -> Place:
    for kind, project, text in (
        ("fact", None, PORT),
        ("preference", None, "Likes short answers."),
        ("preference", "mill", "Likes long answers."),
    ):
        served.run("append", "-k", kind, *(["--project", project] if project else []), text).ok()
    return served


@pytest.mark.parametrize("client", ["claude-code", "codex"])
def test_a_session_from_start_to_end(filled: Place, client: str):
    session = Session(filled, f"whole {client}", client)
    told = session.start()
    assert "Likes short answers." in told and "data, not instructions" in told
    assert PORT in session.prompt(QUESTION)
    assert session.prompt(QUESTION) == session.prompt("yes, go on") == ""
    said = session.run("pre-compact", json.dumps(session.said("pre-compact")).encode())
    assert said == (COMPACTION if client == "claude-code" else "")
    assert PORT in session.prompt(QUESTION), "compaction took it out of the context"
    assert "Likes short answers." in session.start("resume")
    for event in ("stop", "session-end"):
        assert session.run(event, json.dumps(session.said(event)).encode()) == ""
    assert PORT in session.prompt(QUESTION)


@pytest.mark.parametrize("name", ["E4021", "DATABASE_URL", "maxRetries", "8443", "TLS", "INC-2231", "what is E4021?"])
def test_an_exact_name_is_never_silenced(filled: Place, name: str):
    filled.run("append", "-k", "fact", "E4021 and INC-2231 came from an expired key of the VAT checker.").ok()
    filled.run("append", "-k", "fact", "DATABASE_URL and maxRetries are read once; TLS ends at port 8443.").ok()
    held = "expired key" if "E4021" in name or "INC" in name else "read once"
    assert held in Session(filled, f"named {name}").prompt(name)


def test_a_client_that_shows_it_for_one_turn_is_given_it_with_each(filled: Place):
    """OpenClaw keeps what comes with a prompt out of its history; what a session starts with it keeps."""
    session = Session(filled, "forgetful", "openclaw")
    assert PORT in session.prompt(QUESTION)
    assert PORT in session.prompt(QUESTION)
    session.run("pre-compact", json.dumps(session.said("pre-compact")).encode())
    assert "Likes short answers." in session.start()


def test_the_flush_asks_to_store(filled: Place):
    session = Session(filled, "full", "openclaw")
    said = session.context("flush", {})
    assert "memory_append" in said and "about to be compacted" in said
    assert session.run("flush", b"{}") != "", "it needs no session"


def test_a_turns_end_is_not_the_sessions(filled: Place):
    session = Session(filled, "turns")
    assert PORT in session.prompt(QUESTION)
    session.run("stop", json.dumps(session.said("stop")).encode())
    assert session.prompt(QUESTION) == ""


def test_two_clients_with_the_same_session_id_are_two_sessions(filled: Place):
    assert PORT in Session(filled, "1", "claude-code").prompt(QUESTION)
    assert PORT in Session(filled, "1", "codex").prompt(QUESTION)


def test_the_project_is_the_repository_that_the_agent_works_in(filled: Place):
    for name in ("mill", "other"):
        (filled.root / "work" / name / ".git").mkdir(parents=True)
        (filled.root / "work" / name / "src" / "deep").mkdir(parents=True)

    def start(place: str) -> str:
        return Session(filled, place, cwd=str(filled.root / "work" / place)).start()

    assert "Likes long answers." in start("mill/src/deep")
    assert "Likes long answers." not in start("other/src/deep")
    assert "Likes short answers." in start("other/src/deep")


def test_the_log_says_what_came_of_it_and_quotes_nothing(filled: Place):
    session = Session(filled, "logged", "codex")
    session.start()
    session.run("pre-compact", json.dumps(session.said("pre-compact")).encode())
    session.prompt(QUESTION)
    session.prompt("canary zqxv")
    lines = [line for line in log_of(filled) if line["session"] == "logged"]
    assert [(line["event"], line["outcome"]) for line in lines] == [
        ("session-start", "given"), ("pre-compact", "silent"), ("prompt", "given"), ("prompt", "silent"),
    ]  # fmt: skip
    assert all(line["ms"] > 0 and line["client"] == "codex" for line in lines)
    assert lines[2]["tokens"] > 0 and len(lines[2]["notes"]) >= 1
    whole = filled.state.hooks.read_text()
    assert "canary" not in whole and "5433" not in whole and "staging" not in whole
    assert filled.state.hooks.stat().st_mode & 0o077 == 0


def test_the_report_names_what_was_given(filled: Place):
    session = Session(filled, "reported")
    session.prompt(QUESTION)
    session.prompt(QUESTION)
    session.run("prompt", b"not JSON")
    with filled.state.hooks.open("a") as log:  # as on a busy machine, where the daemon is what runs out of time
        log.write('{"outcome": "failed", "cause": "deadline_exceeded"}\n')
        for event, cause in (
            ("session-start", "over_budget"),
            ("prompt", "deadline_exceeded"),
            ("prompt", "bug"),
            ("before-tool", "over_budget"),
            ("after-tool", "silent"),
        ):
            log.write(json.dumps({"event": event, "outcome": "failed", "cause": cause}) + "\n")
    found = filled.run("clients", "hooks", "--sessions", "1", "--json").ok().json
    (told,) = found["sessions"]
    assert (told["session"], told["given"], told["silent"]) == ("reported", 1, 1)
    assert PORT in [found["titles"][note]["title"] for note in told["notes"]]
    assert found["silent_prompts"] == 1 and found["prompts"] == 2 and found["p99_ms"] >= found["p50_ms"] > 0
    assert found["failures"]["the input is not JSON"] >= 1
    late = {event: late for event, (late, _) in found["late"].items()}
    assert late == {"session-start": 1, "prompt": 1, "before-tool": 1}
    assert found["degraded"] == {"keywords only: the embedding model is unavailable": 2}
    doctor = filled.run("doctor").out
    assert "hooks timed out and gave agents nothing: " in doctor and "such a call is not stopped by an order" in doctor
    assert "raise hooks.prompt_ms and hooks.session_start_ms" in doctor
    drawn = filled.run("clients", "hooks").ok().out
    assert "1 of the last" in drawn and "prompts: keywords only: the embedding model is unavailable" in drawn
    assert PORT in drawn and "reported" in drawn and "the input is not JSON" in drawn
    assert "longer than [hooks] allows" in drawn and "deadline_exceeded" not in drawn


def test_the_report_names_a_file_once_for_all_its_entries(filled: Place):
    ids = [
        filled.run("append", "-k", "log", f"{what} was oiled.", "--json").ok().json["id"] for what in ("Cog", "Vane")
    ]
    line = {"event": "prompt", "client": "codex", "session": "entries", "outcome": "given", "notes": ids}
    with filled.state.hooks.open("a") as log:
        log.write(json.dumps(line) + "\n")
    told = filled.run("clients", "hooks", "--sessions", "1").ok().out
    assert told.count("/20") == 1 and "(2 entries)" in told


def test_only_the_standard_library_is_imported_and_none_of_its_slow_parts(filled: Place):
    filled.credentials.token("quick")
    done = subprocess.run(
        [sys.executable, "-c", REPORT, "prompt", "--client", "quick"],
        input=json.dumps({"session_id": "imports", "cwd": "/tmp", "prompt": QUESTION}).encode(),
        env=filled.environ, capture_output=True, timeout=60,
    )  # fmt: skip
    report = json.loads(done.stdout)
    assert PORT in report["written"]
    assert report["new"] == []
    assert (SLOW | {"argparse", "subprocess"}).isdisjoint(report["all"])


def test_what_is_given_survives_the_daemon(place: Place):
    session = Session(place, "lasting")
    place.vault.mkdir()
    with place.started():
        place.run("append", "-k", "fact", PORT).ok()
        assert PORT in session.prompt(QUESTION)
    with place.started():
        assert session.prompt(QUESTION) == ""
        assert PORT in Session(place, "new").prompt(QUESTION)
        assert Session(place, "off").prompt(QUESTION, MCP_MEMORY_HOOKS_ENABLED="false") == ""
    before = len(log_of(place))
    assert Session(place, "off").prompt(QUESTION, MCP_MEMORY_HOOKS_ENABLED="false") == ""
    assert len(log_of(place)) == before, "a hook that is switched off has nothing to report"


LIMITS = [(0.1, "", PROMPT_MS), (64.0, "", BUSY_PROMPT_MS), (64.0, "250", 250)]


@pytest.mark.parametrize(("load", "chosen", "ms"), LIMITS)
def test_a_prompt_waits_longer_on_a_busy_machine_unless_you_say_how_long(
    monkeypatch: pytest.MonkeyPatch, load: float, chosen: str, ms: int
):
    monkeypatch.setattr("os.getloadavg", lambda: (load, 0.0, 0.0))
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    environ = {"MCP_MEMORY_HOOKS_PROMPT_MS": chosen} if chosen else {}
    assert budget_ms(["prompt"], environ) == budget_ms(["before-tool"], environ) == ms
