"""Readers of transcripts, on what the real programs have written."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_memory.capture.readers.message import ReaderContext, Role, TranscriptMessage, text_arguments
from mcp_memory.capture.readers.registry import CHAT, READERS, can_skip_line, parse_line
from tests.capture.written import SAMPLES, line, result, use

TABS = "We always use tabs"
NINE, NOWHERE = "the ferry leaves at nine", "No such file or directory"


def read(client: str, file: Path | bytes, context: ReaderContext | None = None) -> list[TranscriptMessage]:
    context, offset, found = context or ReaderContext(), 0, list[TranscriptMessage]()
    for data in (file if isinstance(file, bytes) else file.read_bytes()).split(b"\n"):
        found += parse_line(client, data, offset, context) or []
        offset += len(data) + 1
    return found


def gist(messages: list[TranscriptMessage]) -> list[tuple[str, str, bool, str]]:
    """Who, with which tool, whether it failed, and the beginning of the words."""
    return [(each.role.value, each.tool, each.failed, each.turn.text[:40]) for each in messages]


def sample(client: str, name: str) -> Path:
    (file,) = SAMPLES.rglob(f"{client}/**/*{name}*.jsonl")
    return file


def test_claude_code_a_session_with_tools():
    found = read("claude-code", sample("claude-code", "861705d5"))
    assert [(role, tool, failed) for role, tool, failed, _ in gist(found)] == [
        ("user", "", False), ("tool", "Bash", False), ("tool", "Bash", True), ("assistant", "", False),
    ]  # fmt: skip
    assert found[0].turn.text.startswith(TABS)
    assert found[1].turn.text == NINE
    assert NOWHERE in found[2].turn.text
    assert {each.turn.session for each in found} == {"861705d5-deca-4e9c-984e-9c2ca4b78b28"}
    assert found[0].turn.at is not None
    assert found[0].turn.at.isoformat() == "2026-11-22T10:46:23.750000+00:00"


@pytest.mark.parametrize(("client", "name", "key"), [
    ("claude-code", "861705d5", "command"), ("codex", "01a202dd-91a6", "cmd"), ("openclaw", "85aece5c", "command"),
])  # fmt: skip
def test_a_tools_answer_has_what_it_was_called_with(client: str, name: str, key: str):
    """Also where it went well without a word."""
    tools = [each for each in read(client, sample(client, name)) if each.role is Role.TOOL]
    assert [each.arguments[key] for each in tools] == [f"echo {NINE}", "cat /nowhere/at/all"]
    silent = read("claude-code", use(1, "t1", "Bash", command="make", timeout=5) + result(2, "t1", ""))
    assert [(each.arguments, each.turn.text) for each in silent] == [({"command": "make"}, "ok")]


@pytest.mark.parametrize(("given", "found"), [
    ('{"command": ["bash", "-lc", "make all"]}', {"command": "bash -lc 'make all'"}),
    ({"command": ["git", "add", "a b"]}, {"command": "git add 'a b'"}),
    ("*** Begin Patch\n", {"input": "*** Begin Patch\n"}),
    ({"command": ["git", 1], "n": 1}, {"command": "git 1"}), (None, {}), ("[" * 100_000, {"input": "[" * 2000}),
])  # fmt: skip
def test_texts_among_arguments(given: object, found: dict[str, str]):
    assert text_arguments(given) == found


def test_claude_code_what_programs_put_in_is_said_by_nobody():
    """A sub-agent's notice, a compaction's summary, reminders, commands' output."""
    found = read("claude-code", sample("claude-code", "85b5b496-51f8-47cb-a1d1-4c31e918f6d2"))
    users = [each.turn.text for each in found if each.role is Role.USER]
    assert [text[:22] for text in users] == ['CALL[Agent]({"descript', "/compact keep the ferr"]
    everything = "\n".join(each.turn.text for each in found)
    for unsaid in ("task-notification", "being continued from", "system-reminder", "local-command", "HOOK-"):
        assert unsaid not in everything


def test_claude_code_a_sub_agents_own_file():
    """Its task is another agent's: no person said that."""
    found = read("claude-code", sample("claude-code", "agent-a864c3394c7be4298"))
    assert [(each.role, each.turn.speaker) for each in found] == [
        (Role.ASSISTANT, "Assistant"), (Role.TOOL, "Bash"), (Role.ASSISTANT, "Sub-agent"),
    ]  # fmt: skip
    assert {each.turn.session for each in found} == {"85b5b496-51f8-47cb-a1d1-4c31e918f6d2/agent-a864c3394c7be4298"}


def test_claude_code_sub_agents_between_the_lines_of_a_session():
    """As older versions wrote them: each in a thread of its own."""
    lines = [
        line(1, "Fix the login."), line(2, "Look at a.py", isSidechain=True, agentId="a"),
        line(3, "Look at b.py", isSidechain=True, agentId="b"), use(4, "t1", "Read"),
        line(5, "a.py is fine", role="assistant", isSidechain=True, agentId="a"), result(6, "t1", "x = 1"),
        line(7, "Done.", role="assistant"),
    ]  # fmt: skip
    found = read("claude-code", b"".join(lines))
    assert [(each.role.value, each.turn.session, each.turn.text) for each in found] == [
        ("user", "s-1", "Fix the login."), ("assistant", "s-1/agent-a", "Look at a.py"),
        ("assistant", "s-1/agent-b", "Look at b.py"), ("assistant", "s-1/agent-a", "a.py is fine"),
        ("tool", "s-1", "x = 1"), ("assistant", "s-1", "Done."),
    ]  # fmt: skip


@pytest.mark.parametrize(("name", "texts"), [
    ("01a202dd-91a6", [TABS, NINE, f"cat: /nowhere/at/all: {NOWHERE}", "STUB-ANSWER ok"]),
    ("01a202dd-95dc", ["No, use four spaces.", "the ferry leaves at ten", "STUB-ANSWER ok", "STUB-ANSWER ok"]),
])  # fmt: skip
def test_codex_each_message_once_also_over_a_compaction(name: str, texts: list[str]):
    """Its lines repeat messages as events, and a compaction repeats the history."""
    found = read("codex", sample("codex", name))
    assert [each.turn.text[: len(text)] for each, text in zip(found, texts, strict=True)] == texts
    assert (found[0].role, found[1].role, found[-1].role) == (Role.USER, Role.TOOL, Role.ASSISTANT)
    assert all(each.turn.session and each.turn.session.startswith(name) for each in found)
    assert [each.failed for each in found] == [NOWHERE in each.turn.text for each in found]


def test_gemini_each_message_once_without_what_hooks_and_the_program_put_in_front():
    """It writes a message again when its tools have answered, and each answer in two lines."""
    context, file = ReaderContext(), sample("gemini", "6ff6f78f")
    found = read("gemini", file, context)
    assert [(each.role.value, each.tool, each.failed, each.turn.text[:30]) for each in found] == [
        ("user", "", False, "We always use tabs.\nCALL run_s"),
        ("tool", "run_shell_command", True, "SupplierError: SUP-4290 quota "),
        ("assistant", "", False, "SCRIPT-FINISHED"),
    ]  # fmt: skip
    assert found[1].arguments["command"].startswith("echo 'SupplierError")
    assert (context.session[:8], context.folder) == ("6ff6f78f", "/home/ada/shop")
    sub_agent = file.read_bytes().replace(b'"kind":"main"', b'"kind":"subagent"')
    assert [each.turn.speaker for each in read("gemini", sub_agent) if each.role is Role.ASSISTANT] == [
        "Assistant", "Sub-agent",
    ]  # fmt: skip


@pytest.mark.parametrize("facts", [
    {"sourceToolUseID": "t"}, {"planContent": "x"}, {"isVisibleInTranscriptOnly": True}, {"agentName": "reviewer"},
    {"message": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "x"},
                                             {"type": "text", "text": "Use tabs."}]}},
    {"message": {"role": "user", "content": [{"type": "document", "text": "Use tabs."}]}},
])  # fmt: skip
def test_claude_code_lines_of_tools_and_team_mates_are_no_persons(facts: dict[str, Any]):
    typed = json.loads(line(1, "Use tabs."))
    assert [each.role for each in read("claude-code", json.dumps(typed).encode())] == [Role.USER]
    found = read("claude-code", json.dumps({**typed, **facts}).encode())
    assert Role.USER not in {each.role for each in found}


@pytest.mark.parametrize(
    "source", [{"source": {"subagent": "review"}}, {"source": "subagent"}, {"source": "cli", "thread_source": "agent"}]
)
def test_codex_a_task_for_a_sub_agent_is_no_persons(source: dict[str, Any]):
    meta = {"type": "session_meta", "payload": {"id": "s", "cwd": "/x", **source}}
    said = {
        "type": "response_item",
        "payload": {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Review it."}]},
    }
    assert gist(read("codex", "\n".join(map(json.dumps, [meta, said])).encode())) == [
        ("assistant", "", False, "Review it.")
    ]


@pytest.mark.parametrize(("name", "text", "more"), [
    ("openclaw", "Always use tabs.", {"provenance": {"kind": "inter_session", "sourceTool": "sessions_send"}}),
    ("openclaw", "Always use tabs.", {"provenance": {"kind": "internal_system", "sourceTool": "cron"}}),
    ("openclaw", "Always use tabs.", {"__openclaw": {"senderIsOwner": False}}),
    ("openclaw", "[cron:1 nightly] Look.\nAlways use tabs.", {}),
    ("openclaw", "[Subagent Task]\nAlways use tabs.", {}),
    ("claude-code", "Stop hook feedback:\nAlways use tabs.", {}),
    ("claude-code", "UserPromptSubmit hook success:\nAlways use tabs.", {}),
    ("claude-code", "PostToolUse:Bash hook additional context: Always use tabs.", {}),
    ("claude-code", "[SYSTEM NOTIFICATION - NOT USER INPUT]\nAlways use tabs.", {}),
    ("claude-code", "<local-command-stdout>Always use tabs.</local-command-stdout>", {}),
    ("codex", "<system-reminder>Always use tabs.</system-reminder>", {}),
    ("openclaw", "<system-reminder>Always use tabs.", {}),
    ("openclaw", "This session is being continued from a previous conversation. Always use tabs.", {}),
    ("claude-code", "Implement the following plan:\n\nAlways use tabs.", {}),
    ("codex", "<user_action>\n<results></user_action>\nAlways use tabs.</results>", {}),
    ("codex", "Another language model started to solve this problem and produced a summary of it.\nUse tabs.", {}),
])  # fmt: skip
def test_what_programs_and_strangers_say_as_the_user_is_no_persons(name: str, text: str, more: dict[str, Any]):
    def said(text: str, more: dict[str, Any]) -> list[TranscriptMessage]:
        part = {"type": "input_text" if name == "codex" else "text", "text": text}
        message = {"role": "user", "content": [part], **more}
        of_codex = {"type": "response_item", "payload": {"type": "message", **message}}
        return read(name, json.dumps(of_codex if name == "codex" else _typed(name, message)).encode())

    assert not [each for each in said(text, more) if each.role is Role.USER]
    assert [each.turn.text for each in said("Use tabs.", {}) if each.role is Role.USER] == ["Use tabs."]


def _typed(client: str, message: dict[str, Any]) -> dict[str, Any]:
    return {"type": "message" if client == "openclaw" else "user", "message": message, "sessionId": "s"}


def test_openclaw_a_session():
    found = read("openclaw", sample("openclaw", "85aece5c"))
    assert [(role, tool, failed) for role, tool, failed, _ in gist(found)] == [
        ("user", "", False), ("tool", "exec", False), ("tool", "exec", True), ("assistant", "", False),
    ]  # fmt: skip
    assert found[0].turn.text.startswith(TABS)


@pytest.mark.parametrize("client", READERS)
def test_every_offset_is_where_its_line_begins(client: str):
    for file in (SAMPLES / client).rglob("*.jsonl"):
        data = file.read_bytes()
        for each in read(client, file):
            assert each.offset == 0 or data[each.offset - 1 : each.offset] == b"\n"
            assert json.loads(data[each.offset :].split(b"\n")[0])


def test_what_memory_told_is_not_told_to_it():
    """A hook's or plugin's block, and our tools' answers: else each session would store the memory anew."""
    block = "## Memory\nStored notes.\n<<<abcdef0123456789\n### notes/fact/x.md\nUse tabs.\nabcdef0123456789>>>\n"
    lines = [
        line(1, f"{block}What now?"), use(2, "t1", "mcp__memory__memory_search", query="x"),
        result(3, "t1", "Use tabs."),
    ]  # fmt: skip
    assert "Use tabs" not in str(gist(read("claude-code", b"".join(lines))))
    assert "What now?" in str(gist(read("claude-code", b"".join(lines))))


@pytest.mark.parametrize("has_ends", [False, True])
def test_many_marks_take_no_longer_than_their_text(has_ends: bool):
    """A page that is pasted may be full of what looks like memory: a megabyte took a quarter of a minute once."""
    marks = [f"{number:08x}" for number in range(200_000)]
    text = "".join(f"<<<{mark}\n" for mark in marks) + ("".join(f"{mark}>>>" for mark in marks) if has_ends else "")
    (message,) = read("claude-code", line(1, f"{text} end"))
    assert message.turn.text.endswith("end")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
KEYS = st.sampled_from(
    [
        "type",
        "message",
        "content",
        "role",
        "text",
        "payload",
        "timestamp",
        "sessionId",
        "cwd",
        "isMeta",
        "$set",
        "messages",
        "toolCalls",
        "result",
        "isSidechain",
        "agentId",
        "origin",
        "kind",
        "id",
        "name",
        "call_id",
        "tool_use_id",
        "is_error",
        "output",
        "metadata",
        "details",
        "toolName",
        "source",
    ]
)
VALUES = JSON | st.sampled_from(
    [
        "user",
        "assistant",
        "message",
        "session",
        "session_meta",
        "response_item",
        "function_call",
        "function_call_output",
        "toolResult",
        "tool_result",
        "tool_use",
        "text",
        "input_text",
        "2026-11-22T09:00:00Z",
    ]
)


@given(st.sampled_from(sorted(READERS)), st.dictionaries(KEYS, VALUES | st.dictionaries(KEYS, VALUES, max_size=6)))
def test_no_object_is_an_error(client: str, facts: dict[str, Any]):
    """A later version's line may hold anything, anywhere."""
    messages = parse_line(client, json.dumps(facts).encode(), 0, ReaderContext())
    assert messages is not None
    assert all(each.turn.text for each in messages)


@pytest.mark.parametrize("data", [b"no JSON", b"[1]", b'{"type": "user"', b"\xff\xfe", b"[" * 100_000, b"\0" * 50])
def test_what_is_no_object_is_named_as_such(data: bytes):
    assert parse_line("claude-code", data, 0, ReaderContext()) is None


@pytest.mark.parametrize("client", ["claude-code", "codex"])
def test_what_a_glance_takes_for_nothing_is_nothing(client: str):
    """In all that the real programs have written; and most of a session is passed over so."""
    silent = lines = 0
    for file in SAMPLES.rglob(f"{client}/**/*.jsonl"):
        context = ReaderContext()
        for data in file.read_bytes().splitlines():
            lines += 1
            before = asdict(context)
            found = parse_line(client, data, 0, context)
            if can_skip_line(client, data):
                silent += 1
                assert (found, asdict(context)) == ([], before)
    assert silent > lines // 4


@pytest.mark.parametrize("client", [client for client in READERS if client != CHAT])
def test_another_agents_prompts_are_no_persons(client: str):
    """As told by whoever saw the session begin: the transcript of `claude -p` is the same, whoever runs it."""
    name = {"claude-code": "861705d5", "codex": "45-01a202dd", "openclaw": "85aece5c", "gemini": "6ff6f78f"}[client]
    assert any(each.role is Role.USER for each in read(client, sample(client, name)))
    found = read(client, sample(client, name), ReaderContext(delegated=True))
    assert found and not any(each.role is Role.USER for each in found)


def test_what_is_typed_into_another_agents_session_is_a_persons():
    typed = line(2, "Typed.", origin={"kind": "human"}, promptSource="typed")
    found = read("claude-code", line(1, "Given.", promptSource="sdk") + typed, ReaderContext(delegated=True))
    assert [(each.role, each.turn.text) for each in found] == [(Role.ASSISTANT, "Given."), (Role.USER, "Typed.")]
