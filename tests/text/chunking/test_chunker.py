"""Chunks are exact slices, cover the body, stay within bounds, and take linear time to find."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_memory.models import Chunk
from mcp_memory.text.chunking import chunker
from mcp_memory.text.chunking.boundaries import cluster_start
from mcp_memory.text.chunking.chunker import ChunkingConfig, cut
from mcp_memory.text.markdown import logs
from mcp_memory.text.markdown.blocks import scan
from mcp_memory.text.markdown.frontmatter import parse

ENTRY = ChunkingConfig()


def texts(text: str, config: ChunkingConfig = ENTRY, *, log: bool = False) -> list[str]:
    return [each.text for each in cut(text, parse(text).body_start, config, log=log).chunks]


def check(text: str, body_start: int, config: ChunkingConfig, *, log: bool) -> list[Chunk]:
    """What must hold of any text."""
    chunks = cut(text, body_start, config, log=log).chunks
    covered = bytearray(len(text))
    for each in chunks:
        assert each.text == text[each.start : each.end]
        assert each.text.strip() and each.text == each.text.rstrip()
        assert each.text.split("\n")[0].strip()
        assert each.start >= body_start
        assert each.start_line == text.count("\n", 0, each.start) + 1
        assert each.end_line == text.count("\n", 0, each.end) + 1
        covered[each.start : each.end] = b"\1" * (each.end - each.start)
    headings = bytearray(len(text))
    for block in scan(text, body_start, breaks=logs.starts_entry if log else None):
        if block.kind in {"heading", "rule"}:
            headings[block.start : block.end] = b"\1" * (block.end - block.start)
    for place in range(body_start, len(text)):
        assert covered[place] or headings[place] or text[place].isspace(), (place, text[place])
    starts = [each.start for each in chunks]
    assert starts == sorted(starts)
    assert [each.section for each in chunks] == sorted(each.section for each in chunks)
    assert all(one.end <= other.start for one, other in itertools.pairwise(chunks))
    assert all(len(each.text) <= config.max_chars for each in chunks)
    if log:
        for each in chunks:
            holders = [entry for entry in logs.entries(text, body_start) if entry.start <= each.start < entry.end]
            assert [entry.hash for entry in holders] == ([each.entry] if each.entry else [])
            assert all(each.end <= entry.end for entry in holders)
    return chunks


class TestEntries:
    def test_a_log_has_a_chunk_for_each_bullet_and_paragraph(self):
        text = (
            "# 2026-11-21\n\n## 10:30 AM - Topic\n\n- Ann: one\n  more\n\n  and more\n- Bob: two\n  - nested\nlazy\n\n"
            "Paragraph\nof two\n### Detail\n- three\n\n## 11:00 Empty\n"
        )
        found = check(text, 0, ENTRY, log=True)
        assert [each.text for each in found] == [
            "- Ann: one\n  more\n\n  and more",
            "- Bob: two\n  - nested\nlazy",
            "Paragraph\nof two",
            "- three",
            "## 11:00 Empty",
        ]
        assert found[0].headings == ("2026-11-21", "10:30 AM - Topic")
        assert found[3].headings == ("2026-11-21", "10:30 AM - Topic", "Detail")
        assert found[4].headings == ("2026-11-21",)
        assert [each.time for each in found] == ["10:30"] * 4 + ["11:00"]
        assert [(each.start_line, each.end_line) for each in found] == [(5, 8), (9, 11), (13, 14), (16, 16), (18, 18)]

    def test_a_heading_in_an_entry_does_not_take_over_the_next_entries(self):
        found = cut("# Day\n## 10:00 a\n# Big\nx\n## 11:00 b\ny\n", 0, ENTRY, log=True).chunks
        assert [each.headings for each in found] == [("Day", "10:00 a", "Big"), ("Day", "11:00 b")]

    def test_small_neighbours_join_under_one_heading_only(self):
        assert texts("# A\n\none\n\n- two\n- three\n\n## B\n\nfour\n") == ["one\n\n- two\n- three", "four"]
        assert texts("one\n\n" + "x" * 299 + "\n\ntwo\n") == ["one", "x" * 299, "two"]

    def test_fences_and_tables_stay_whole(self):
        fence = "```py\n" + "x = 1\n\n# no heading\n" * 40 + "```"
        table = "| a | b |\n|---|---|\n" + "| 1 | 2 |\n" * 60
        assert texts(f"# T\n\nIntro:\n\n{fence}\n\n{table}\nend\n") == ["Intro:", fence, table.rstrip(), "end"]

    def test_long_entries_are_cut_at_the_best_place(self):
        sentences = "This is a sentence. " * 200
        for piece in texts(sentences)[:-1]:
            assert piece.endswith(".") and len(piece) > 800
        lines = "\n".join("word " * 15 for _ in range(60))
        assert all(piece.endswith("word") and piece.startswith("word") for piece in texts(lines))

    def test_headings_alone_can_be_found(self):
        assert texts("# Title\n") == ["# Title"]
        assert texts("---\na: 1\n---\n# Title") == ["# Title"]
        found = cut("# A\n\n## B\n\n## C\n\n## D\n\ntext\n\n# E\n", 0, ENTRY, log=False).chunks
        assert [(each.text, each.headings) for each in found] == [
            ("## B\n\n## C", ("A",)),
            ("text", ("A", "D")),
            ("# E", ()),
        ]

    def test_underlined_headings_rules_and_long_headings(self):
        found = cut("Title\n=====\n\nbody\n\n---\n\nSub\n---\nmore\n", 0, ENTRY, log=False).chunks
        assert [(each.text, each.headings) for each in found] == [("body", ("Title",)), ("more", ("Title", "Sub"))]
        assert texts("# " + "x" * 400) == ["# " + "x" * 400]

    def test_unclosed_comment_hides_nothing(self):
        found = cut("<!-- oops\n\n# Heading\n\ntext\n", 0, ENTRY, log=False).chunks
        assert found[-1].headings == ("Heading",)
        assert texts("<!-- a\n\n# no heading\n-->\n\ntext\n") == ["<!-- a\n\n# no heading\n-->\n\ntext"]

    def test_list_items(self):
        assert texts("1. " + "a" * 290 + "\n2. b" + "b" * 295 + "\n10) c\n") == [
            "1. " + "a" * 290,
            "2. b" + "b" * 295,
            "10) c",
        ]
        assert texts("In\n1986. A great year\n") == ["In\n1986. A great year"]

    @pytest.mark.parametrize("text", ["", "\n \n", "\ufeff", "---\na: 1\n---\n"])
    def test_nothing_to_find(self, text: str):
        assert texts(text) == []


class TestConfig:
    def test_fingerprints_differ_where_chunks_would(self):
        configs = [
            ENTRY,
            ChunkingConfig(join_chars=200),
            ChunkingConfig(max_chars=800),
        ]
        assert len({config.fingerprint for config in configs}) == len(configs)


lines = st.sampled_from(
    [
        "text here.",
        "",
        "",
        "# H1",
        "## 10:00 x",
        "## H2",
        "### H3",
        "```",
        "~~~~",
        "- item",
        "  - nested",
        "1. one",
        "2) two",
        "    code",
        "\tcode",
        "| a | b |",
        "|---|:-:|",
        "| 1 | 2 |",
        "---",
        "===",
        "> quote",
        "<!-- c",
        "-->",
        "<pre>",
        "</pre>",
        "- ```",
        "  ```",
        "*",
        "* * *",
        "#",
        "#x",
        "  ",
        "\u3000",
        "\x0c",
        "日本語の文。" * 12,
        "👩\u200d👩\u200d👧\u200d👦" * 20,
        "é" * 60,
        "x" * 130,
    ]
)
small = ChunkingConfig(join_chars=40, max_chars=100)


@given(
    st.lists(lines, max_size=14),
    st.sampled_from(["\n", "\r\n"]),
    st.booleans(),
    st.booleans(),
    st.sampled_from([small, ENTRY]),
    st.sampled_from(["", "---\na: 1\n---\n"]),
)
def test_any_note(rows: list[str], newline: str, ended: bool, log: bool, config: ChunkingConfig, head: str):
    text = head + newline.join(rows) + (newline if ended else "")
    check(text, parse(text).body_start, config, log=log)


@given(st.text(max_size=200), st.booleans())
def test_any_text(text: str, log: bool):
    check(text, 0, small, log=log)


def test_cuts_do_not_split_what_the_eye_sees_as_one():
    family, flag, accent = "👩‍👩‍👧‍👦", "🇩🇪", "e\u0301"
    assert cluster_start("ab" + family, 0, 5) == 2
    assert cluster_start(flag * 3, 0, 3) == 2
    assert cluster_start(flag * 3, 0, 4) == 4
    assert cluster_start(accent * 3, 0, 3) == 2
    assert cluster_start("\u0301" * 500, 0, 200) == 200
    for piece in texts(family * 400):
        assert piece.count(family) * len(family) == len(piece)


# -- limits ----------------------------------------------------------------------------------------------------------


LIMITED_LOG = "# D\n\n" + "".join(f"## 10:{n:02} part {n}\n\n- word{n} one\n- two\n\n" for n in range(60))


def test_in_a_log_they_never_reach_across_two_entries(monkeypatch):
    monkeypatch.setattr(chunker, "FINE_CHUNKS", 7)
    found = check(LIMITED_LOG, 0, ENTRY, log=True)
    assert len({each.entry for each in found if each.entry}) == 60
    monkeypatch.setattr(chunker, "MAX_CHUNKS", 20)
    bounded = cut(LIMITED_LOG, 0, ENTRY, log=True)
    assert bounded.chunks == found[:20]
    assert bounded.end == found[20].start


def test_a_longer_log_keeps_whole_entries_so_that_a_forgotten_one_stays_forgotten(monkeypatch):
    hashes = [entry.hash for entry in logs.entries(LIMITED_LOG)]
    for chars in range(30, 400):
        monkeypatch.setattr(chunker, "MAX_CHARS", chars)
        found = cut(LIMITED_LOG, 0, ENTRY, log=True)
        said = list(dict.fromkeys(each.entry for each in found.chunks if each.entry))
        assert said == hashes[: len(said)]
        assert not said or LIMITED_LOG.startswith("## ", found.end)
