"""A log that grows is cut as if it had been whole from the beginning."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mcp_memory.indexing import incremental_chunking
from mcp_memory.indexing.incremental_chunking import ChunkedLog, LogChunker
from mcp_memory.text.chunking.chunker import ChunkingConfig, cut

PIECES = [
    "## 10:30 Deploy\n", "## 9:05 AM - Standup\n", "## 11:00\n", "# A title\n", "### Below\n", "#### Deeper\n",
    "## no time\n", "words of a paragraph\n", "more words\n\n", "- an item\n", "  - one below\n", "\n", "\n\n",
    "```\n", "~~~\n", "    indented\n", "<!-- open\n", "-->\n", "<div>\n", "</div>\n", "| a | b |\n|---|---|\n",
    "***\n", "> quoted\n", "1. one\n", "```python\ncode\n```\n", "x" * 900 + "\n", "- - ```\n", "ends without a break",
]  # fmt: skip
text = st.lists(st.sampled_from(PIECES), max_size=14).map("".join)
head = st.sampled_from(["", "---\nforgotten: [a]\n---\n", "---\nforgotten: [a, b]\ntags: [c]\n---\n\n"])
config = st.sampled_from([ChunkingConfig(), ChunkingConfig(max_chars=300)])


@given(head, st.lists(text, min_size=1, max_size=6), st.lists(head, min_size=6, max_size=6), config)
def test_it_is_cut_as_if_it_had_been_whole(
    first: str, parts: list[str], heads: list[str], config: ChunkingConfig
) -> None:
    cutter = LogChunker(config)
    body = ""
    for part, frontmatter in zip(parts, [first, *heads], strict=False):
        body += part
        whole = frontmatter + body
        assert cutter.cut("a.md", whole, len(frontmatter)) == cut(whole, len(frontmatter), config, log=True)


@example("## 10:30 Deploy\n", "# A title\n## 10:30 Deploy\n", "", ChunkingConfig())
@given(text, text, head, config)
def test_a_log_that_was_edited_is_cut_anew(before: str, after: str, frontmatter: str, config: ChunkingConfig) -> None:
    cutter = LogChunker(config)
    cutter.cut("a.md", before, 0)
    whole = frontmatter + after
    assert cutter.cut("a.md", whole, len(frontmatter)) == cut(whole, len(frontmatter), config, log=True)


def test_only_the_end_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []

    def spying(text: str, *rest: object, **more: object) -> object:
        read.append(len(text))
        return cut(text, *rest, **more)

    monkeypatch.setattr(incremental_chunking, "cut", spying)
    cutter = LogChunker(ChunkingConfig())
    log = "# 2026-11-21\n" + "".join(f"\n## 10:{n % 60:02} entry {n}\n\nwords {n}\n" for n in range(500))
    cutter.cut("a.md", log, 0)
    cutter.cut("a.md", f"{log}\n## 11:00 one more\n\nwords\n", 0)
    assert read[0] > 10_000 and read[1] < 200


def test_the_limits_are_those_of_a_whole_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(incremental_chunking, "FINE_CHUNKS", 20)
    log = "".join(f"## 10:00 {n}\n\nwords\n\n" for n in range(20))
    config = ChunkingConfig()
    known = ChunkedLog(log, 0, cut(log, 0, config, log=True))
    assert known.grown(log, 0, config)
    assert known.grown(f"{log}## 11:00 one more\n\nwords\n", 0, config) is None
    monkeypatch.setattr(incremental_chunking, "MAX_LINES", 5)
    assert known.grown(log, 0, config) is None
