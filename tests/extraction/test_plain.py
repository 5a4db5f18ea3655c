"""The plain form: a message a line, read with its place, and written so that it is read again."""

from __future__ import annotations

import json
from datetime import UTC

import pytest

from mcp_memory.capture.readers.message import Role
from mcp_memory.capture.readers.own_format import read_plain, write_plain
from mcp_memory.errors import InvalidInput


def test_messages_with_their_places():
    lines = [
        '{"role": "user", "text": "Grüße", "at": "2026-11-20T09:30:00", "speaker": "Ada", "x": 1}',
        "",
        '{"role": "tool", "text": "no", "tool": "Bash", "failed": true}',
        '{"role": "assistant", "text": ""}',
    ]
    one, two = read_plain("\n".join(lines).encode(), UTC)
    assert (one.role, one.turn.text, one.turn.speaker, one.offset) == (Role.USER, "Grüße", "Ada", 0)
    assert one.turn.at is not None and one.turn.at.tzinfo is not None
    assert (two.tool, two.failed, two.offset) == ("Bash", True, len(lines[0].encode()) + 2)
    assert read_plain(write_plain([one, two]).encode(), UTC) == [one, two]


@pytest.mark.parametrize(
    "line",
    [b"{", b"[]", b"\xff", b'{"role": "system", "text": "x"}', b'{"role": "user"}', b'{"role": "user", "text": 1}',
     b'{"role": "user", "text": "x", "at": 3}', b'{"role": "user", "text": "x", "at": "soon"}',
     b'{"role": ["user"], "text": "x"}', b'{"role": "user", "text": "x", "offset": -1}'],
)  # fmt: skip
def test_what_is_no_message_is_named_by_its_line(line: bytes):
    with pytest.raises(InvalidInput, match="line 2"):
        read_plain(json.dumps({"role": "user", "text": "x"}).encode() + b"\n" + line, UTC)
