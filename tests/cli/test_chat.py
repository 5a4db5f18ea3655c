"""chat: a model is given what memory has for each line, what is stated is stored, and the session is captured."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from mcp_memory.cli.sessions.chat import Conversation
from mcp_memory.summarizers.base import LlmReply
from tests.daemon.conftest import KEYWORDS_ONLY
from tests.daemon.place import Place
from tests.support.stub_endpoint import Answer, StubEndpoint, serving
from tests.support.terminal import typed

FACT = "The shop uses PostgreSQL 16, since MySQL lost transactions."
PROMPT = re.compile("you> ")


def completion(request: dict[str, Any]) -> Answer:
    """Answers with what memory was told of databases, so that only what it was given can be in the answer."""
    given = "\n".join(message["content"] for message in request["messages"])
    text = "PostgreSQL 16" if FACT in given else f"nothing of it in {len(request['messages'])} messages"
    return 200, {"choices": [{"message": {"role": "assistant", "content": text}}]}, {}


@pytest.fixture(scope="module")
def endpoint() -> Iterator[StubEndpoint]:
    with serving(completion) as made:
        yield made


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, endpoint: StubEndpoint) -> Iterator[Place]:
    root = tmp_path_factory.mktemp("chat")
    model = {"MCP_MEMORY_SUMMARIZER_ENDPOINT": endpoint.address, "MCP_MEMORY_SUMMARIZER_MODEL": "stub"}
    made = Place(root, root / "models", {**KEYWORDS_ONLY, **model}).make()
    with made.started():
        yield made


def said(place: Place, *lines: str, options: tuple[str, ...] = ()) -> Any:
    return place.run("chat", *options, stdin="".join(f"{line}\n" for line in lines).encode())


def transcripts(place: Place) -> list[Path]:
    return sorted((place.state.root / "chats").glob("*.jsonl"), key=lambda file: file.stat().st_mtime)


def test_without_an_endpoint_it_says_what_to_set(tmp_path: Path) -> None:
    place = Place(tmp_path, tmp_path / "models", KEYWORDS_ONLY).make()
    for model in ({}, {"MCP_MEMORY_SUMMARIZER_ENDPOINT": "http://127.0.0.1:1/v1"}):
        ran = place.run("chat", stdin=b"hello\n", **model)
        assert ran.code == 2 and "endpoint =" in ran.err and "[summarizer]" in ran.err and not ran.out


def test_a_chat_is_answered_from_memory_and_remembered(served: Place, endpoint: StubEndpoint) -> None:
    endpoint.requests.clear()
    stated, question = "We decided to deploy the shop every Friday at 10.", "which database does the shop use?"
    ran = said(served, "hello", f"/save {FACT}", question, stated, "/quit", "never said").ok()
    answers = ran.out.splitlines()
    assert answers[0] == "nothing of it in 2 messages" and answers[1].startswith("created ")
    assert answers[2] == "PostgreSQL 16", endpoint.requests[1]
    assert f"stored: {stated}" in ran.err and f"stored: {FACT}" not in ran.err
    roles = [message["role"] for message in endpoint.requests[1]["messages"]]
    assert roles == ["system", "user", "assistant", "user"]
    history = endpoint.requests[2]["messages"]
    assert history[3]["content"] == question, "without what memory gave then"
    assert served.run("search", "deploy Friday", "--json").ok().json["hits"][0]["kind"] == "decision"
    captured = [page.read_text() for page in (served.state.root / "transcripts" / "chat").rglob("*.md")]
    assert any("deploy the shop every Friday" in page for page in captured), "which the next sweep indexes"
    assert transcripts(served)[-1].stat().st_mode & 0o777 == 0o600
    assert "never said" not in transcripts(served)[-1].read_text()


def test_commands(served: Place) -> None:
    said(served, f"/save {FACT}").ok()
    ran = said(
        served,
        "/memories",
        "/memories PostgreSQL",
        "/tree",
        "which database does the shop use?",
        "/help",
        "/nonsense",
    ).ok()
    lines = ran.out.splitlines()
    assert sum(FACT in line for line in lines) >= 3, "in both lists and the tree"
    assert sum(line.startswith("/quit") for line in lines) == 2


def test_json_is_a_document_a_line(served: Place) -> None:
    ran = said(served, "Remember: the nightly job runs at 02:15.", "/tree", options=("--json",)).ok()
    answer, tree = map(json.loads, ran.out.splitlines())
    assert answer["stored"][0]["title"] == "The nightly job runs at 02:15." and "topics" in tree


def test_an_answer_that_cannot_be_shown_is_an_error_and_a_cut_one_says_so(
    served: Place, endpoint: StubEndpoint
) -> None:
    too_long = {"choices": [{"message": {"content": "x" * 3_000_000}}]}
    silent = {"choices": [{"message": {"content": " "}}]}
    for body, why in ((too_long, "longer than can be shown"), (silent, "empty")):
        endpoint.script[:] = [(200, body, {})]
        ran = said(served, "hello")
        assert ran.code == 1 and why in ran.err and not ran.out.strip()
    cut = {"choices": [{"message": {"content": "The beginning"}, "finish_reason": "length"}]}
    endpoint.script[:] = [(200, cut, {})]
    ran = said(served, "hello").ok()
    assert "The beginning" in ran.out and "the answer was cut after 1,000 tokens" in ran.err


def test_an_endpoint_that_fails_is_an_error_for_a_script_and_a_remark_on_a_terminal(
    served: Place, endpoint: StubEndpoint
) -> None:
    endpoint.script[:] = [(500, {"error": {"code": "overloaded"}}, {})]
    ran = said(served, "We moved the lunch to noon.", "hello")
    assert ran.code == 1 and "answers 500 (overloaded)" in ran.err and not ran.out
    assert "lunch" in transcripts(served)[-1].read_text(), "what was said is kept"
    endpoint.script[:] = [(500, {}, {})]
    shown = typed(
        served,
        "chat",
        ["which database does the shop use?\n", "which database does the shop use?\n", "\x04"],
        prompt=PROMPT,
    )
    assert "answers 500" in shown and "PostgreSQL 16" in shown.partition("answers 500")[2]


def test_a_long_chat_forgets_its_beginning_and_old_chats_are_removed(served: Place, endpoint: StubEndpoint) -> None:
    old = served.state.root / "chats" / "old.jsonl"
    old.write_text("{}")
    os.utime(old, (1, 1))
    endpoint.requests.clear()
    tokens = {"MCP_MEMORY_SUMMARIZER_PROMPT_TOKENS": "1500"}
    lines = "".join(f"word{number} {'and so on ' * 100}\n" for number in range(12)).encode()
    served.run("chat", stdin=lines, **tokens).ok()
    last = endpoint.requests[-1]["messages"]
    assert [message["role"] for message in last][:2] == ["system", "user"] and len(last) < 20
    assert "word11 " in last[-1]["content"] and not any("word0 " in message["content"] for message in last)
    assert not old.exists()


def test_it_needs_no_daemon(tmp_path: Path, endpoint: StubEndpoint) -> None:
    model = {"MCP_MEMORY_SUMMARIZER_ENDPOINT": endpoint.address, "MCP_MEMORY_SUMMARIZER_MODEL": "stub"}
    place = Place(tmp_path, tmp_path / "models", {**KEYWORDS_ONLY, **model}).make()
    ran = said(place, "We decided to use uv, not pip.", "hello").ok()
    assert "stored: We decided to use uv, not pip." in ran.err and ran.out.count("nothing of it") == 2


def test_where_sessions_are_not_captured_only_what_is_saved_is_stored(served: Place) -> None:
    before = transcripts(served)
    lines = b"We decided to paint the office green.\n/save The office is blue.\n"
    ran = served.run("chat", stdin=lines, MCP_MEMORY_CAPTURE_ENABLED="false").ok()
    assert "stored:" not in ran.err and "created " in ran.out and transcripts(served) == before
    assert "green" not in served.run("list").ok().out


def test_what_is_off_the_record_is_written_nowhere(served: Place) -> None:
    secret = "zanzibar"
    lines = [
        f"Off the record: we decided to move to {secret}.",
        "Can I tell you something off the record?",
        f"We decided to move to {secret} in May.",
        "We decided to keep the shop in Ghent.",
        f"Always call the new office {secret}.",
        "don't remember what I just said",
    ]
    said(served, *lines).ok()
    roots = (served.state.root, served.root)
    files = [file for root in roots for file in root.rglob("*") if file.is_file()]
    holders = [file for file in files if secret.encode() in file.read_bytes()]
    assert [file.name for file in holders] == []
    assert "Ghent" in transcripts(served)[-1].read_text()


def test_what_is_taken_back_is_kept_in_the_transcript_until_it_is_deleted_elsewhere(tmp_path: Path) -> None:
    asked: list[bool] = []

    class Busy:
        def ask(self, operation: str, arguments: dict[str, Any]) -> dict[str, Any]:
            if operation == "capture":
                has_it = "zanzibar" in Path(arguments["files"][0]).read_text()
                asked.append(has_it)
                return {"reports": [{"error": "another program writes to it"} if len(asked) == 2 else {"at_end": True}]}
            return {"text": "", "notes": []}

    class Model:
        name = "stub"

        def write(self, *_: Any) -> LlmReply:
            return LlmReply("ok", 0)

    engine, model = cast("Any", Busy()), cast("Any", Model())
    chat = Conversation(engine, model, None, tmp_path, 4000)
    chat.say("Always call the new office zanzibar.")
    chat.say("don't remember what I just said")
    assert asked[:3] == [True, True, True], "it is asked again where the first attempt failed"
    assert chat.transcript and "zanzibar" not in chat.transcript.file.read_text()
