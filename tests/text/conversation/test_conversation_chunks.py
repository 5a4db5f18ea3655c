"""Conversations cut into chunks: nothing is lost, nothing is longer than a chunk, and what was Markdown still is."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_memory.errors import InvalidInput
from mcp_memory.text.chunking.chunker import ChunkingConfig, cut
from mcp_memory.text.conversation.conversation_chunks import (
    CHUNK_TOKENS,
    GOES_ON,
    MIN_TOKENS,
    ConversationChunk,
    chunk_conversation,
)
from mcp_memory.text.conversation.messages import Turn, read_turns
from mcp_memory.text.conversation.speaker_prefix import speaker_of
from mcp_memory.text.markdown.blocks import scan
from mcp_memory.text.tokens import count_tokens

NINE = datetime(2026, 11, 20, 9, 0, tzinfo=UTC)
CODE = "Do this:\n\n```sh\nmake  # twice\n\nmake install\n```\n\n- then rest\n  - or not"


def turns_of(*texts: str, **rest: object) -> list[Turn]:
    return [Turn(("Ada", "Grace")[number % 2], text, **rest) for number, text in enumerate(texts)]


def items(chunk: ConversationChunk) -> list[str]:
    """The list items of a chunk, as our own reader of Markdown sees them."""
    blocks = list(scan(chunk.content))
    assert {block.kind for block in blocks} <= {"heading", "item"}
    return [chunk.content[block.start : block.end] for block in blocks if block.kind == "item"]


def told(chunks: Iterable[ConversationChunk]) -> list[str]:
    """The texts of all turns, read back; those that go on are put together again."""
    found: list[str] = []
    for item in (item for chunk in chunks for item in items(chunk)):
        head, body = re.fullmatch(r"- [^:]*?((?: \([^()]*\))?):(?: |\n\n  |\Z)(.*)", item, re.DOTALL).groups()
        text = body.replace("\n  ", "\n").removesuffix(f"\n\n{GOES_ON}")
        if "continued" in head:
            found[-1] += text
        else:
            found.append(text)
    return found


def test_a_leaf() -> None:
    turns = [
        Turn("Ada", "Shall we fly or sail to Dover?", NINE, "s1"),
        Turn("Grace", CODE, NINE + timedelta(minutes=1), "s1"),
        Turn("Ada", "Good.", NINE + timedelta(days=1), "s1"),
        Turn("Grace", "Bye.", None, "s1"),
    ]
    (chunk,) = chunk_conversation(turns)
    assert chunk.content == (
        "## 2026-11-20\n\n"
        "- Ada (09:00): Shall we fly or sail to Dover?\n"
        "- Grace (09:01): Do this:\n\n"
        "  ```sh\n  make  # twice\n\n  make install\n  ```\n\n"
        "  - then rest\n    - or not\n"
        "\n## 2026-11-21\n\n"
        "- Ada (09:00): Good.\n"
        "- Grace: Bye.\n"
    )
    assert (chunk.title, chunk.session) == ("Shall we fly or sail to Dover?", "s1")
    assert chunk.speakers == ("Ada", "Grace")
    assert (chunk.began, chunk.ended) == (NINE, NINE + timedelta(days=1))
    assert [speaker_of(item) for item in items(chunk)] == ["Ada", "Grace", "Ada", "Grace"]


def test_nothing_said_is_no_leaf() -> None:
    assert chunk_conversation([]) == []


def test_a_turn_is_an_entry_to_the_search() -> None:
    (chunk,) = chunk_conversation([Turn("Ada", "Hi.", NINE), *turns_of("So?", CODE, "Yes.", "Tea.")])
    whole = cut(chunk.content, 0, ChunkingConfig(), log=False)
    assert whole.turns
    assert [speaker_of(each.text) for each in whole.chunks] == ["Ada", "Ada", "Grace", "Ada", "Grace"]
    assert {each.headings for each in whole.chunks} == {("2026-11-20",)}
    assert "make install" in whole.chunks[2].text and "or not" in whole.chunks[2].text


def test_a_session_ends_a_leaf() -> None:
    one, two = turns_of("a"), turns_of("b")
    chunks = chunk_conversation([*turns_of("x", "y", session="1"), *turns_of("z", session="2"), *one, *two])
    assert [(chunk.session, len(items(chunk))) for chunk in chunks] == [("1", 2), ("2", 1), (None, 2)]


def test_leaves_are_cut_between_turns() -> None:
    texts = [f"{number} " + "word " * 300 for number in range(20)]
    chunks = chunk_conversation(turns_of(*(text.strip() for text in texts)))
    assert len(chunks) == 4
    assert all(count_tokens(chunk.content) <= CHUNK_TOKENS for chunk in chunks)
    assert "goes on" not in "".join(chunk.content for chunk in chunks)
    assert told(chunks) == [text.strip() for text in texts]


def test_what_is_added_changes_the_last_leaf_alone() -> None:
    texts = [f"{number} " + "word " * 300 for number in range(20)]
    before, after = chunk_conversation(turns_of(*texts[:12])), chunk_conversation(turns_of(*texts))
    assert after[: len(before) - 1] == before[:-1]


def test_a_long_turn_goes_on_at_the_next_paragraph() -> None:
    paragraphs = [f"Paragraph {number}. " + "Some more words. " * 40 for number in range(30)]
    text = "\n\n".join(each.strip() for each in paragraphs)
    chunks = chunk_conversation([*turns_of("Before."), Turn("Ada", text, NINE), *turns_of("Behind.")])
    assert len(chunks) > 2
    for chunk in chunks[1:-1]:
        assert chunk.content.endswith(f"Some more words.\n\n  {GOES_ON}\n")
        assert count_tokens(chunk.content) > CHUNK_TOKENS / 2
    assert chunks[2].content.startswith("## 2026-11-20\n\n- Ada (09:00, continued): Paragraph ")
    assert chunks[2].title.startswith("Paragraph ")
    assert chunks[-1].content.endswith("- Ada: Behind.\n"), "what follows has room in the last one"
    assert letters(told(chunks)[1]) == letters(text)


def test_a_fence_that_is_cut_is_one_on_both_sides() -> None:
    lines = [f"line {number}" for number in range(3000)]
    chunks = chunk_conversation(turns_of("Look:\n\n```python\n" + "\n".join(lines) + "\n```\n\nDone."))
    assert len(chunks) > 2
    found: list[str] = []
    for chunk in chunks:
        (block,) = scan(chunk.content)
        ((start, end),) = block.fences
        opener, *code, closer = (line.strip() for line in chunk.content[start:end].split("\n"))
        assert (opener, closer) == ("```python", "```")
        found += code
    assert found == lines
    assert chunks[-1].content.endswith("  Done.\n")


def test_a_fence_stays_whole_where_it_can() -> None:
    fence = "```\n" + "\n\n".join(["code"] * 400) + "\n```"
    first, second = chunk_conversation(turns_of("word word\n" * 500 + "\n" + fence))
    assert "code" not in first.content and second.content.count("```") == 2


@pytest.mark.parametrize(
    "text",
    ["```\ncode\n```", "# Title\n\nwords", "1. one\n2. two", "> quoted", "| a | b |\n|---|---|", "a | b\n--|--\n1 | 2",
     "    code", "\tcode", "Title\n====", "<b>x</b>", "- one\n- two", "~~~\nunclosed"],
)  # fmt: skip
def test_what_begins_a_block_stands_below_the_name(text: str) -> None:
    chunks = chunk_conversation(turns_of(text, "Next."))
    assert items(chunks[0])[0].startswith("- Ada:\n\n  ")
    assert told(chunks) == [text, "Next."]


@pytest.mark.parametrize(
    ("texts", "title"),
    [
        (["Hey Mel!", "Hi! How was the trip to Dover? Fine."], "How was the trip to Dover?"),
        (["Das Hotel nehmen wir ab dem 30. März."], "Das Hotel nehmen wir ab dem 30. März."),
        (["Well. From 1. April on, the heating is off."], "From 1. April on, the heating is off."),
        (["Hi", "Yes"], "Hi"), (["…", "🙂"], "Conversation"),
        (["Which permit?", "Only for moving the gas line, the rest is yours."], "Which permit?"),
        (["How are you?", "Thanks, I'm quite well today.", "We sail from Dover on Friday."],
         "We sail from Dover on Friday."),
        (["Nur für den Gasanschluss braucht man eine Genehmigung.", "ok"],
         "Nur für den Gasanschluss braucht man eine Genehmigung."),
        (["**Use** `uv`, _not_ pip, for all_of_it"], "Use uv, not pip, for all_of_it"),
        (["```\nx\n```", "Why does the build fail on Mondays"], "Why does the build fail on Mondays"),
        (["好。我们把索引放在数据库里，因为它只需要一个文件而且不用服务器。好的"],
         "我们把索引放在数据库里，因为它只需要一个文件而且不用服务器。"),
        (["word " * 40], f"{'word ' * 20}…"), (["x" * 300], f"{'x' * 100} …"),
    ],
)  # fmt: skip
def test_the_title_is_the_first_sentence_that_tells_something_and_is_no_reply(texts: list[str], title: str) -> None:
    assert chunk_conversation(turns_of(*texts))[0].title == title


def test_the_title_is_what_the_person_asked_or_decided_before_what_the_agent_says() -> None:
    turns = [Turn("Assistant", "I have moved the deploy job."), Turn("User", "We deploy on Tuesdays from now on.")]
    assert chunk_conversation(turns)[0].title == "We deploy on Tuesdays from now on."


def test_a_leaf_needs_some_room() -> None:
    with pytest.raises(InvalidInput, match="127 tokens"):
        chunk_conversation([], MIN_TOKENS - 1)


MARKDOWN = st.lists(
    st.sampled_from(
        ["word ", "two words. ", "\n", "\n\n", "```", "```py\n", "~~~\n", "- ", "1. ", "# ", "> ", "  ", "\t", "| a |",
         "---", "<!--", "x" * 90, "é\u0301", "🇩🇪", "\u2028", ":", "(goes on)", "## 10:30 x\n"]
    ) | st.text(max_size=8),
    min_size=1,
    max_size=200,
).map("".join)  # fmt: skip


@given(
    st.lists(
        st.fixed_dictionaries(
            {"role": st.sampled_from(["user", "assistant", "system"]), "content": MARKDOWN},
            optional={
                "timestamp": st.datetimes(datetime(1990, 1, 1), datetime(2030, 1, 1)),
                "session": st.sampled_from(["a", "b"]),
                "name": st.text(max_size=60),
            },
        ),
        max_size=12,
    ),
    st.integers(MIN_TOKENS, 400),
)
@settings(max_examples=150, deadline=None)
def test_no_word_is_lost(messages: list[dict], max_tokens: int) -> None:
    turns = read_turns(messages, UTC)
    chunks = chunk_conversation(turns, max_tokens)
    assert all(count_tokens(chunk.content) <= max_tokens for chunk in chunks)
    assert list(map(letters, told(chunks))) == [letters(turn.text) for turn in turns]
    assert list(dict.fromkeys(name for chunk in chunks for name in chunk.speakers)) == list(
        dict.fromkeys(turn.speaker for turn in turns)
    )
    for chunk in chunks:
        assert chunk.title.strip() and len(chunk.title) <= 200 and "\n" not in chunk.title


def letters(text: str) -> str:
    """Without white space and without the marks of fences, which a cut adds to."""
    return re.sub(r"[`~]{3,}[ \t]*[^\s`]{0,20}|\s+", "", text)


GROWTH = 1.2
"""How many times as long as what was said chunks may be, but for the indentation of lines."""

REPEATED = st.sampled_from(["`", "~", "- ", "> ", "[", "word ", "\n", "\n\n", "# ", "  ", "x"])
HOSTILE = st.lists(
    st.tuples(REPEATED, st.integers(1, 9000)),
    min_size=1,
    max_size=8,
).map(lambda pieces: "\n".join(piece * (times // len(piece) + 1) for piece, times in pieces))


@given(HOSTILE)
@settings(max_examples=100, deadline=None)
def test_whatever_is_said_is_cut_without_loss_and_grows_by_a_fifth_at_most(text: str) -> None:
    (turn,) = read_turns([{"role": "user", "content": f"{text} end"}], UTC)
    chunks = chunk_conversation([turn])
    content = "".join(chunk.content for chunk in chunks)
    assert all(count_tokens(chunk.content) <= CHUNK_TOKENS for chunk in chunks)
    assert len(content) - 2 * content.count("\n") <= GROWTH * len(turn.text) + 200
    said = re.sub(r"^- User(?: \(continued\))?:", "", content.replace(GOES_ON, ""), flags=re.MULTILINE)
    assert letters(said) == letters(turn.text)
    assert all(said.count(mark) >= turn.text.count(mark) for mark in "`~")
