"""Chat messages of several makes, read as turns."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from mcp_memory.errors import InvalidInput
from mcp_memory.text.conversation.messages import Turn, read_turns

BERLIN = timezone(timedelta(hours=1))
MORNING = datetime(2026, 11, 20, 9, 30, tzinfo=BERLIN)


def turn(**message: object) -> Turn:
    (found,) = read_turns([{"role": "user", "content": "Hello", **message}], BERLIN)
    return found


@pytest.mark.parametrize(
    ("message", "speaker"),
    [
        ({}, "User"), ({"role": "assistant"}, "Assistant"), ({"name": "ada"}, "ada"),
        ({"speaker": "Ada Lovelace", "name": "ada"}, "Ada Lovelace"), ({"name": "  Ada\n Lovelace "}, "Ada Lovelace"),
        ({"name": "**planner**: sub_agent"}, "planner sub_agent"), ({"name": "x" * 99}, "x" * 40),
        ({"role": None, "speaker": 7}, "7"),
    ],
)  # fmt: skip
def test_who_speaks(message: dict, speaker: str) -> None:
    assert turn(**message).speaker == speaker


@pytest.mark.parametrize(
    "value",
    [
        MORNING, MORNING.replace(tzinfo=None), "2026-11-20T09:30:00+01:00", "2026-11-20 09:30", "2026-11-20T08:30Z",
        MORNING.timestamp(), int(MORNING.timestamp() * 1000),
    ],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("key", ["timestamp", "created_at"])
def test_when(key: str, value: object) -> None:
    assert turn(**{key: value}).at == MORNING


def test_the_offset_that_was_given_is_kept() -> None:
    assert str(turn(timestamp="2026-11-20T08:30:00+00:00").at) == "2026-11-20 08:30:00+00:00"
    assert str(turn(timestamp="2026-11-20T09:30:00").at) == "2026-11-20 09:30:00+01:00"
    assert turn().at is None and turn(timestamp="").at is None


def test_the_session_of_a_message_comes_first() -> None:
    turns = read_turns([{"role": "user", "content": "a", "session": 7}, {"role": "user", "content": "b"}], UTC, "s")
    assert [each.session for each in turns] == ["7", "s"]


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("plain", "plain"),
        ("\n \n    code\r\nmore\rlast \n\n", "    code\nmore\nlast"),
        ("a\x1b[31mred\x00", "a [31mred"),
        ("half \ud800 pair", "half \ufffd pair"),
        ([{"type": "text", "text": "one"}, "two", {"text": "three"}], "one\n\ntwo\n\nthree"),
        ([{"type": "input_text", "text": "a"}, {"type": "output_text", "text": "b"}], "a\n\nb"),
        ([{"type": "image", "source": {}}, {"type": "text", "text": "What is it?"}], "[image]\n\nWhat is it?"),
        ([{"type": "image_url"}, {"type": "input_audio"}, {"type": "file"}], "[image]\n\n[audio]\n\n[file]"),
        ([{"type": "thinking", "thinking": "hm"}, {"text": "Yes."}, {"type": "tool_use", "name": "x"}], "Yes."),
        ([{"type": "refusal", "refusal": "No."}], "No."),
    ],
)  # fmt: skip
def test_what_is_said(content: object, text: str) -> None:
    assert turn(content=content).text == text


def test_text_is_another_name_for_content() -> None:
    assert read_turns([{"speaker": "Ada", "text": "Tea?"}], UTC) == [Turn("Ada", "Tea?")]


@pytest.mark.parametrize(
    "message",
    [
        {"role": "user", "content": ""}, {"role": "assistant", "content": None, "tool_calls": [{}]},
        {"role": "user"}, {"role": "user", "content": " \r\n\t"},
        {"role": "tool", "content": "4,000 lines", "tool_call_id": "1"},
        {"role": "user", "content": [{"type": "tool_result", "content": "4,000 lines"}]},
    ],
    ids=str,
)  # fmt: skip
def test_what_nobody_said_is_no_turn(message: dict) -> None:
    assert read_turns([message], UTC) == []


@pytest.mark.parametrize(
    ("message", "why"),
    [
        ("Hello", "no mapping"), ({"content": "Hello"}, "nobody says it"), ({"role": "**", "content": "x"}, "nobody"),
        ({"role": "user", "content": 7}, "its content"), ({"role": "user", "content": {"a": 1}}, "its content"),
        ({"role": "user", "content": [7]}, "a part of its content"),
        ({"role": "user", "content": "x", "timestamp": "yesterday"}, "ISO 8601"),
        ({"role": "user", "content": "x", "timestamp": 1e300}, "its time"),
        ({"role": "user", "content": "x", "timestamp": [1]}, "its time"),
        ({"role": "user", "content": "x", "timestamp": True}, "its time"),
    ],
    ids=str,
)  # fmt: skip
def test_what_cannot_be_read_is_named(message: object, why: str) -> None:
    with pytest.raises(InvalidInput, match=f"message 2: .*{why}") as refused:
        read_turns([{"role": "user", "content": "fine"}, message], UTC)
    assert refused.value.hint
