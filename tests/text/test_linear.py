"""Whatever a text is made of, the time that a function over it takes grows as its length does."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime

import pytest

from mcp_memory.errors import InvalidInput
from mcp_memory.index.keywords.tokenizer import count
from mcp_memory.search.boosts import is_question, read_question
from mcp_memory.search.filters import asks_for_commitments
from mcp_memory.text import escape_invisible, tokens
from mcp_memory.text.chunking import chunker
from mcp_memory.text.conversation import conversation_chunks, messages, off_record, own_words, speaker_prefix
from mcp_memory.text.dates.mentioned import mentioned_dates
from mcp_memory.text.language import facts, identifiers, sentences, terms, word_runs
from mcp_memory.text.markdown import blocks, frontmatter, link_targets, links, logs, note_links
from mcp_memory.text.secrets import finder
from mcp_memory.vault.note_file import derive_title, first_heading, slug
from tests.support.world import EXHAUSTIVE

NOW = datetime(2026, 11, 20, tzinfo=UTC)

CHARS = 1000 if EXHAUSTIVE else 500
TIMES = 16
MOST_TIMES = 48
"""Three times what a linear function takes for a text that is TIMES as long; a quadratic one takes 256 times that."""

FLEETING_S = CHARS / 100_000
"""In less time nothing is told apart."""

UNITS = [
    "\n", " ", "\t", "\r", "\r\n", "\u2028", "`", "~", "``` ", "```\n", "~~~\n", "- ```\n", "[", "]", "[[", "[a](",
    "](", "[a](b) ", "![", " [a]: ", "(", ")", "(a) ", "<", "<!--\n", "<pre>\n", "{", "}", '"', "'", "> ", ">",
    "- ", "- a\n", "-  \n", "  - a\n", "1. ", "#", "# ", "# a\n", "## 10:30 x\n", "*", "_", "a", "A", "aA", "a_",
    "_a", "a.", "a-", "a/", "/", "../", "\\", "=", "---\n", "===\n", "|", "| a |\n|---|\n", "é", "e\u0301",
    "\u0301", "🇩🇪", "\u200d", "漢", "字。", "ก", "0", "1,", "12:", "2023-05-07 ", "May 3, ", "May 3-",
    "between 3 and ", "in 2023 ", "two weeks ago ", "1 and ", "3/4/2023 ", "not ", "don't ", "no, ", "eyJ", "a://",
    "a://a:", "https://", "sk-", "token=", "token ", "A=", "KEY=", "password: ", "-----BEGIN PRIVATE KEY-----\n",
    "bearer ", "cookie: ", "authorization: ", "e.g. ", "A. ", "? ", "?", "Ada: ", "- Ada: x\n", "Ab ", "Ab-",
    "ABC ", "a`b ", "a: ", "a: [", "&a ", "deadbeef0", "a\n", "a  \n", "\n ", "\n\n```\n\n",
    "<private>", "don't save this, ", "don't store ", "-->\n", "abc>>> ", "explain this ", "off the record ",
    "[09:12] Eva: ", "please ", "<|a|>", "that's ",
]  # fmt: skip
AROUND = ["{}", "x{}x"]

FUNCTIONS: dict[str, Callable[[str], object]] = {
    "blocks": lambda text: list(blocks.scan(text, breaks=logs.starts_entry)),
    "chunks": lambda text: chunker.cut(text, 0, chunker.ChunkingConfig(), log=False),
    "chunks of a log": lambda text: chunker.cut(text, 0, chunker.ChunkingConfig(), log=True),
    "dates": lambda text: mentioned_dates(text, NOW),
    "question": lambda text: read_question(text, NOW),
    "is question": is_question,
    "facts": facts.facts,
    "frontmatter": lambda text: frontmatter.parse(f"---\n{text}\n---\nx"),
    "frontmatter patched": lambda text: frontmatter.patch(f"---\n{text}\n---\nx", {"title": "x"}),
    "frontmatter written": lambda text: frontmatter.render({"title": text}, text),
    "identifiers": identifiers.words_and_parts,
    "identifiers' parts": identifiers.parts_of,
    "identifiers known": lambda text: identifiers.names_known(text, text),
    "lead": speaker_prefix.speaker_of,
    "names": speaker_prefix.possible_names,
    "conversation chunks": lambda text: conversation_chunks.chunk_conversation(
        [messages.Turn("Ada", text)], conversation_chunks.MIN_TOKENS
    ),
    "off the record": off_record.off_record,
    "private": off_record.without_private,
    "typed": own_words.own_words,
    "links": links.find_links,
    "links between notes": lambda text: note_links.note_links(f"---\na: x\n{text}\n---\n", 0, "a.md"),
    "links taken out": link_targets.unlinked,
    "links that move": lambda text: link_targets.redirects(text, 0, "a.md", {"a.md": "b/c.md"}, lambda _: False),
    "log": logs.entries,
    "log entry": lambda text: logs.render_entry("10:30", "x", text),
    "log append": lambda text: logs.append_entry(text, "## 10:30 x\n\ny\n"),
    "messages": lambda text: messages.read_turns([{"role": "user", "content": text}], UTC),
    "speaker": lambda text: messages.read_turns([{"name": text, "content": "a"}], UTC),
    "phrases": lambda text: [list(word_runs.runs(line, lambda _: False)) for line in text.split("\n")],
    "plain": terms.plain,
    "redaction": finder.redact,
    "secrets": finder.find_secret,
    "sentences": sentences.sentences,
    "subject": terms.topic_asked_about,
    "commitments": asks_for_commitments,
    "terms": terms.terms,
    "words": terms.words,
    "keys": count,
    "truncate": lambda text: tokens.truncate(text, len(text) // 8),
    "visible": escape_invisible.visible,
    "title": derive_title,
    "heading": first_heading,
    "slug": slug,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_time_grows_with_the_length_alone(name: str) -> None:
    function, slow = FUNCTIONS[name], list[str]()
    for unit in UNITS:
        for around in AROUND:
            long = made(unit, around, TIMES * CHARS)
            long_s = took_s(function, long)
            if long_s < FLEETING_S:
                continue
            short_s = min(took_s(function, made(unit, around, CHARS)) for _ in range(3))
            # What else the machine does can only make it longer.
            if long_s > MOST_TIMES * short_s and (again_s := took_s(function, long)) > MOST_TIMES * short_s:
                slow.append(f"{around.format(unit)!r}: {1000 * short_s:.1f} and {1000 * again_s:.1f} ms")
    assert not slow, f"{name} with {CHARS:,} and {TIMES} times as many characters of {slow[:10]}"


def made(unit: str, around: str, chars: int) -> str:
    return around.replace("{}", (unit * (chars // len(unit) + 1))[:chars])


def took_s(function: Callable[[str], object], text: str) -> float:
    """Of this thread's own processor time, without the garbage collector's, which grows with what other tests left."""
    gc.disable()
    try:
        began = time.thread_time()
        with suppress(InvalidInput):
            function(text)
        return time.thread_time() - began
    finally:
        gc.enable()
