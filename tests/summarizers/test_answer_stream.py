"""An answer that comes piece by piece is the same, however the bytes are cut."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from mcp_memory.summarizers.base import MOST_ANSWER_BYTES
from mcp_memory.summarizers.openai_chat import AnswerStream


def event(text: str | None = None, **more: object) -> bytes:
    return b"data: " + json.dumps({"choices": [{"delta": {"content": text}, **more}]}).encode() + b"\r\n\r\n"


@given(st.lists(st.text(max_size=20), max_size=8), st.integers(1, 40))
def test_the_text_is_that_of_its_pieces(texts: list[str], size: int) -> None:
    body = b": comment\n\n" + b"".join(map(event, texts)) + event(None, finish_reason="stop") + b"data: [DONE]\n\n"
    answer = AnswerStream()
    heard = [piece for at in range(0, len(body), size) for piece in answer.feed(body[at : at + size])]
    assert heard == [text for text in texts if text] and answer.text == "".join(texts)
    assert not answer.is_over


def test_what_is_no_answer_and_what_ends_early() -> None:
    for body in (b"data: nonsense\n", b'data: {"error": {"message": "overloaded"}}\n', b'data: {"choices": "no"}\n'):
        answer = AnswerStream()
        assert not list(answer.feed(event("a") + body + event("b")))[1:] and answer.failed
    answer = AnswerStream()
    assert list(answer.feed(event("a", finish_reason="length"))) == ["a"] and answer.cut and not answer.failed
    for flood in (b"x" * (MOST_ANSWER_BYTES + 1), event("x" * (MOST_ANSWER_BYTES + 1))):
        answer = AnswerStream()
        list(answer.feed(flood))
        assert answer.cut
