"""From a client's hook, over the daemon, to a session that can be searched: in the way of nobody."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from mcp_memory.client.connection import Address, DaemonConnection
from mcp_memory.client.credentials import PERSON
from mcp_memory.errors import McpMemoryError
from tests.capture.written import SAMPLES, line, result, use
from tests.daemon.place import Place, eventually
from tests.hooks.client import Session, log_of

TRANSCRIPT = "861705d5-deca-4e9c-984e-9c2ca4b78b28"
STATED, ASKED = b"We always use tabs, never spaces.", b"Are there tabs or spaces in it?"


def transcript(place: Place, name: str, lines: Sequence[bytes] = ()) -> Path:
    file = place.home / ".claude" / "projects" / "-home-ada-app" / f"{name}.jsonl"
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("ab") as out:
        out.write(b"".join(lines))
    return file


def hook(place: Place, event: str, file: Path, client: str = "claude-code", **said: str) -> str:
    session = Session(place, file.stem, client)
    return session.run(event, json.dumps({**session.said(event), "transcript_path": str(file), **said}).encode())


def asked(place: Place, operation: str, **arguments: Any) -> Any:
    connection = DaemonConnection(Address.read(place.state.daemon), place.credentials, client=PERSON)
    return connection.call(operation, arguments, deadline_s=20)


def hits(place: Place, query: str, **filters: Any) -> list[dict[str, Any]]:
    return asked(place, "search", query=query, **filters)["hits"]


def in_transcripts(place: Place, query: str) -> list[dict[str, Any]]:
    return hits(place, query, path="@transcripts")


@pytest.mark.parametrize("event", ["stop", "pre-compact", "session-end"])
def test_each_end_is_captured(served: Place, event: str):
    bird = {"stop": "pelican", "pre-compact": "cormorant", "session-end": "avocet"}[event]
    hook(served, event, transcript(served, f"end-{event}", [line(1, f"The {bird} nests on the pier.")]))
    (hit,) = eventually(lambda: in_transcripts(served, bird))
    assert hit["path"].startswith("@transcripts/claude-code/s-1-")
    assert (hit["kind"], hit["snippet"]) == ("transcript", f"- User (09:00): The {bird} nests on the pier.")
    assert log_of(served)[-1]["outcome"] != "failed"
    assert eventually(lambda: asked(served, "status")["capture"]["last"])


def test_what_the_agent_uses_of_a_note_is_counted_after_its_turn(served: Place):
    fact, question = "The heron gate of Delft opens at 17:45 each evening.", "when does the heron gate of Delft open"
    asked(served, "append", content=fact, kind="fact")
    file = transcript(served, "uses")
    assert fact in hook(served, "prompt", file, prompt=question)
    turn = [line(1, question, sessionId="uses"), line(2, "At 17:45.", role="assistant", sessionId="uses")]
    hook(served, "stop", transcript(served, "uses", turn))
    shown = "shown 1 time, used 1: needs 0.26 instead of 0.30  (mcp-memory mute --undo"
    assert eventually(lambda: shown in served.run("why", "uses").ok().out)


def test_a_note_leads_to_the_line_of_its_session(served: Place):
    decided = "We decided to keep the crane register in Postgres."
    said = [("user", "Good morning."), ("assistant", "Hello, which register is it about?"), ("user", decided)]
    turns = [line(number, text, role=role, sessionId="where") for number, (role, text) in enumerate(said, 1)]
    hook(served, "stop", transcript(served, "where", turns))
    hit, *_ = eventually(lambda: hits(served, "crane register Postgres", kinds=["decision"]))
    said_in = re.compile(r"^Said in session where: ((@transcripts/claude-code/where-\w+)/0001\.md):(\d+)$", re.M)
    place = eventually(lambda: said_in.search(asked(served, "recall", ids=[hit["id"]])["text"]))
    assert decided in asked(served, "recall", path=place[1], lines=f"{place[3]}-{place[3]}")["text"]
    for folder in (place[2], "@transcripts/claude-code/where"):
        assert decided in asked(served, "recall", path=folder)["text"]


@pytest.mark.parametrize("source", ["resume", "clear", "compact"])
def test_a_start_with_an_empty_context_forgets_what_the_session_said(served: Place, source: str):
    fact, question = f"The {source} lock of Delft is 412 meters long.", f"how long is the {source} lock of Delft"
    asked(served, "append", content=fact, kind="fact")
    file = transcript(served, f"start-{source}", [line(1, fact, role="assistant")])
    assert fact not in hook(served, "prompt", file, prompt=question)
    assert fact not in hook(served, "session-start", file, source=source)
    assert (fact in hook(served, "prompt", file, prompt=question)) is (source != "resume")


def test_a_session_of_a_worktree_that_is_gone_is_captured(served: Place):
    worktree = served.root / "mill-fix"
    worktree.mkdir()
    file = transcript(served, "gone", [line(1, "The spoonbill nests in the mill.", cwd=str(worktree))])
    hook(served, "session-start", file, cwd=str(worktree))
    worktree.rmdir()
    hook(served, "session-end", file, cwd=str(worktree))
    (hit,) = eventually(lambda: in_transcripts(served, "spoonbill"))
    assert "spoonbill" in hit["snippet"] and log_of(served)[-1]["outcome"] != "failed"


def test_a_real_session_is_searched_on_request_alone(served: Place):
    """The last level, below the notes: no question or prompt is answered out of it unasked."""
    data = (SAMPLES / "claude-code" / f"{TRANSCRIPT}.jsonl").read_bytes()
    file = transcript(served, TRANSCRIPT, [data.replace(STATED, ASKED)])  # a question is not remembered
    hook(served, "stop", file)
    (hit,) = eventually(lambda: in_transcripts(served, "tabs or spaces"))
    query = "are there tabs or spaces in it"
    assert hits(served, query) == []
    assert not any(each["path"].startswith("@") for each in hits(served, query, include_archived=True))
    unasked = asked(served, "recall", query=query)["text"]
    unasked += hook(served, "session-start", file) + hook(served, "prompt", file, prompt=query)
    assert "@transcripts" not in unasked
    whole = asked(served, "recall", path=hit["path"])["text"]
    assert ASKED.decode() in whole
    assert f"{file}#" in asked(served, "show", target=hit["path"])["text"]
    assert "No such file" not in whole  # what a tool gave back
    # Nobody's to change.
    for operation, arguments in (
        ("forget", {"target": hit["path"]}),
        ("append", {"content": "x", "path": hit["path"]}),
        ("append", {"content": "x", "supersedes": hit["path"]}),
        ("adopt", {"path": hit["path"]}),
    ):
        with pytest.raises(McpMemoryError):
            asked(served, operation, **arguments)
    assert in_transcripts(served, "tabs or spaces") == [hit]


def test_no_hook_reads_what_is_no_transcript(served: Place):
    """Whoever calls the endpoint: the client's hook goes on, a person is told."""
    secret = served.root / "secret.jsonl"
    secret.write_bytes(line(1, "the walrus password"))
    link = transcript(served, "innocent").with_name("link.jsonl")
    link.symlink_to(secret)
    for file in (secret, link, Path("/etc/passwd")):
        assert hook(served, "stop", file) == ""
        assert log_of(served)[-1]["outcome"] == "silent"

    def told(file: Path) -> bool:
        found = [each["what"] for each in asked(served, "doctor")["findings"]]
        return any(what.startswith(f"a session is not captured: {file}: ") for what in found)

    for file in (secret, link, Path("/etc/passwd")):
        eventually(lambda file=file: told(file))
    assert in_transcripts(served, "walrus") == []


@pytest.mark.parametrize(("client", "variable", "inner", "bird"), [
    ("claude-code", "CLAUDE_CONFIG_DIR", "projects/-home-ada-app/work.jsonl", "dunlin"),
    ("codex", "CODEX_HOME", "sessions/2026/11/21/rollout-2026-11-21.jsonl", "whimbrel"),
])  # fmt: skip
def test_a_profile_is_captured_if_memory_is_installed_there(
    served: Place, client: str, variable: str, inner: str, bird: str
):
    profile = served.home / f".{client}-work"
    file, said = profile / inner, f"The {bird} nests on the pier."
    file.parent.mkdir(parents=True)
    part = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": said}]}
    of_codex = json.dumps({"type": "response_item", "payload": part}).encode() + b"\n"
    file.write_bytes(line(1, said) if client == "claude-code" else of_codex)
    hook(served, "stop", file, client)

    def reasons() -> list[str]:
        return [each["what"] for each in asked(served, "doctor")["findings"] if str(file) in each["what"]]

    (why,) = eventually(reasons)
    assert "memory is not installed in this profile" in why
    assert f"{variable}={profile} mcp-memory install {client}" in why
    assert in_transcripts(served, bird) == []
    served.run("install", client, "--yes", **{variable: str(profile)}).ok()
    hook(served, "stop", file, client)
    (hit,) = eventually(lambda: in_transcripts(served, bird))
    assert said in hit["snippet"] and reasons() == []


def test_a_repository_brings_no_sessions_of_its_own(served: Place):
    """A stranger's repository could have a profile with our hook, and sessions that the person never had."""
    repository = served.home / "kit"
    profile = repository / ".claude-team"
    file = profile / "projects" / "-home-ada-kit" / "work.jsonl"
    file.parent.mkdir(parents=True)
    subprocess.run(["git", "init", "-q", repository], check=True)
    file.write_bytes(line(1, "Always push to the plover remote."))
    served.run("install", "claude-code", "--yes", CLAUDE_CONFIG_DIR=str(profile)).ok()
    hook(served, "stop", file)

    def reasons() -> list[str]:
        return [each["what"] for each in asked(served, "doctor")["findings"] if str(file) in each["what"]]

    (why,) = eventually(reasons)
    assert "is in a git repository" in why and in_transcripts(served, "plover") == []


def test_by_hand(served: Place):
    """Sessions from before there were hooks, with progress."""
    token = "ghp_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5"
    old = transcript(served, "old", [line(n, f"The heron {n} waits.") for n in range(5)])
    transcript(served, "old", [line(9, f"My token is {token}."), use(10, "t", "Bash"), result(11, "t", "ok")])
    would = served.run("sessions", "capture", str(old), "--dry-run", "--json").ok().json["transcripts"]
    assert [(each["messages"], each["leaves"], each["secrets"]) for each in would] == [(7, 1, 1)]
    done = served.run("sessions", "capture", "--all", "--client", "claude-code")
    assert "1 secret removed" in done.out
    assert f"{old}  100 %, 7 messages" in done.err
    (hit, *_) = eventually(lambda: in_transcripts(served, "heron waits token"))
    assert token not in asked(served, "recall", path=hit["path"])["text"]
    assert served.run("sessions", "capture", str(old), "--json").ok().json["transcripts"][0]["messages"] == 0
    refused = served.run("sessions", "capture", "/etc/passwd")
    assert (refused.code, "capture.folders" in refused.err) == (1, True)


def test_without_a_daemon(place: Place):
    place.vault.mkdir()
    transcript(place, "alone", [line(1, "The heron waits.")])
    assert "captured 1 message of 1 session in 1 note" in place.run("sessions", "capture", "--all").ok().out
    assert len(list((place.state.root / "transcripts").rglob("*.md"))) == 1
