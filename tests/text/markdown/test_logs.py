"""Daily logs: entries keep their names, appends only add, content cannot forge an entry."""

from __future__ import annotations

import hashlib
import itertools
from datetime import date

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from mcp_memory.errors import InvalidInput
from mcp_memory.text.markdown.frontmatter import parse
from mcp_memory.text.markdown.logs import (
    Labels,
    LogEntry,
    append_entry,
    entries,
    is_log_path,
    labels,
    new_log,
    render_entry,
    tags_in,
    without_author,
)


@pytest.mark.parametrize(
    ("line", "time", "title"),
    [
        ("## 10:30", "10:30", ""),
        ("## 9:05 title", "09:05", "title"),
        ("## 10:30 AM - Topic", "10:30", "Topic"),
        ("## 12:10 am — Night", "00:10", "Night"),
        ("## 12:10 PM: Noon", "12:10", "Noon"),
        ("## 3:00pm", "15:00", ""),
        ("## 3:00 p.m. tea", "15:00", "tea"),
        ("##\t18:12 Joanna and Nate  ", "18:12", "Joanna and Nate"),
        ("## 10:30:59 seconds", "10:30", "seconds"),
        ("## 10:30: colon", "10:30", "colon"),
        ("## 10:30 ambient music", "10:30", "ambient music"),
        ("## 10:30-11:00 span", "10:30", "-11:00 span"),
        ("## 23:59 C#", "23:59", "C#"),
    ],
)
def test_headings_that_begin_an_entry(line: str, time: str, title: str):
    (entry,) = entries(f"# Day\n\n{line}\r\nText\n")
    assert (entry.time, entry.title, entry.start_line, entry.end_line) == (time, title, 3, 4)


@pytest.mark.parametrize(
    "line",
    [
        "# 10:30 x",
        "### 10:30 x",
        "##10:30",
        " ## 10:30",
        "## 24:00",
        "## 10:60",
        "## 16:9",
        "## at 10:30",
        "## 10:30x",
        "## 10:300",
        "\\## 10:30",
        "- ## 10:30",
        "> ## 10:30",
        "## " + "10:30 " * 60,
    ],
)
def test_lines_that_do_not(line: str):
    assert entries(f"# Day\n\n{line}\ntext\n") == []


def test_fences_hide_headings_but_lists_and_comments_do_not():
    text = (
        "# Day\n## 10:00 a\n```\n## 10:01 no\n```\n- x\n  ```\n  code\n## 10:02 b\n<!-- open\n## 10:03 c\n-->\n"
        "~~~md\n## 10:04 no\n"
    )
    assert [entry.time for entry in entries(text)] == ["10:00", "10:02", "10:03"]


def test_frontmatter_is_skipped_and_offsets_are_the_files():
    text = "---\nx: 1\n---\n# D\n\n## 10:00 a\n\nA\n\n## 11:00 b\n\nB\n"
    first, second = entries(text, 13)
    assert text[first.start : first.end] == "## 10:00 a\n\nA\n\n"
    assert text[second.start : second.end] == "## 11:00 b\n\nB\n"
    assert (first.start_line, first.end_line, second.start_line, second.end_line) == (6, 8, 10, 12)
    assert second.hash == hashlib.sha256(b"## 11:00 b\n\nB").hexdigest()[:16]


def test_the_hash_ignores_line_endings_and_blank_ends():
    text = "## 10:00 a\n\nA\nB\n"
    assert entries(text)[0].hash == entries("\r\n" + text.replace("\n", "\r\n") + "\r\n\r\n")[0].hash
    assert entries(text)[0].hash != entries(text.replace("B", "C"))[0].hash


@pytest.mark.parametrize(
    ("text", "glue"),
    [
        ("# D\n", "\n"),
        ("# D", "\n\n"),
        ("# D\n\n", ""),
        ("# D\n  ", "\n"),
        ("# D\r\n\r\nx", "\r\n\r\n"),
        ("", ""),
        ("\ufeff", ""),
        ("## 9:00\n```\ncode", "\n```\n\n"),
        ("---\na: |\n  ```\n---\nx\n", "\n"),
    ],
)
def test_append_adds_one_blank_line_in_the_files_own_style(text: str, glue: str):
    entry = render_entry("10:30", "Title", "One\nTwo")
    wanted = entry.replace("\n", "\r\n") if "\r\n" in text else entry
    assert append_entry(text, entry) == text + glue + wanted


def test_content_cannot_begin_an_entry():
    entry = render_entry("10:30", "T", "\n\nok\n## 11:00 forged\n```\n## 11:01 in code\n```\n## Plain\n```py\nopen")
    assert entry == ("## 10:30 T\n\nok\n\\## 11:00 forged\n```\n## 11:01 in code\n```\n## Plain\n```py\nopen\n```\n")
    assert len(entries(entry)) == 1


def test_bad_arguments():
    for time in ("9:00", "24:00", "10:60", "10:30 AM", "", "1٠:30"):
        with pytest.raises(InvalidInput):
            render_entry(time, "t", "c")
    with pytest.raises(InvalidInput):
        render_entry("10:00", "x" * 300, "c")


def test_paths():
    assert is_log_path("memory/2026-11-21.md") == date(2026, 11, 21)
    assert is_log_path("@team/memory/2026-11-21.md") == date(2026, 11, 21)
    assert is_log_path("Agent/memory/2026-11-21.md") == date(2026, 11, 21)
    assert is_log_path("memory/2026-11-21.2.md") == is_log_path("memory/2026-11-21.10.md") == date(2026, 11, 21)
    for path in (
        "memory/2026-11-21-1430.md",
        "memory/2026-11-21.02.md",
        "memory/2026-13-21.md",
        "a/b/memory/2026-11-21.md",
        "memory/2026-11-21.txt",
        "memory/2026-1-2.md",
    ):
        assert is_log_path(path) is None
    assert new_log(date(2026, 1, 2)) == "# 2026-01-02\n"


lines = st.sampled_from(
    [
        "text",
        "",
        "## 10:00 x",
        "## 9:15 PM y",
        "```",
        "````",
        "```py",
        "~~~",
        "- item",
        "  more",
        "  ```",
        "- ```",
        "<!--",
        "-->",
        "<pre>",
        "# H",
        "### h",
        "| a | b |",
        "|---|---|",
        "---",
        "===",
        "> q",
        "\ufeff",
        "  ",
        "\t",
        "\\## 10:00",
        "1. a",
    ]
)
contents = st.lists(lines, max_size=8).map("\n".join)
times = st.sampled_from(["00:00", "09:05", "10:30", "23:59"])
titles = st.sampled_from(["", "Title", "AM radio", "- dash", "12 o'clock", ":30", "pm", "two\nlines", "a  b"])


@given(contents, st.lists(st.tuples(times, titles, contents), min_size=1, max_size=4), st.booleans())
def test_appends_keep_all_earlier_bytes_and_hashes(start: str, added: list[tuple[str, str, str]], crlf: bool):
    assume(not start.lstrip("\ufeff").startswith("---"))  # added text would make frontmatter of a lone rule on top
    text = start.replace("\n", "\r\n") if crlf else start
    known = [entry.hash for entry in read(text)]
    for time, title, content in added:
        longer = append_entry(text, render_entry(time, title, content))
        assert longer.startswith(text)
        found = read(longer)
        assert [entry.hash for entry in found[:-1]] == known
        assert found[-1].time == time
        assert found[-1].title == " ".join(title.split())
        assert longer.endswith("\n")
        text, known = longer, [entry.hash for entry in found]


def read(text: str) -> list[LogEntry]:
    return entries(text, parse(text).body_start)


@given(st.text(max_size=100))
def test_entries_partition_any_text(text: str):
    found = entries(text)
    for one, other in itertools.pairwise(found):
        assert one.end == other.start
    assert not found or found[-1].end == len(text)


WORDS = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=20).map(str.strip).filter(bool)


@given(
    st.none() | WORDS, st.lists(WORDS, max_size=4, unique=True), st.none() | WORDS, st.none() | WORDS,
    st.sampled_from(["", "Deploy"]),
)  # fmt: skip
def test_an_entry_names_its_project_and_tags(
    project: str | None, tags: list[str], source: str | None, session: str | None, title: str
):
    said = Labels(project, tuple(tags), source, session)
    assume(len(said.rendered()) < 250)
    try:
        text = append_entry(new_log(date(2026, 11, 21)), render_entry("10:30", title, "The text", said))
    except InvalidInput:
        assume(False)
        raise
    (entry,) = entries(text)
    heading = text[entry.start :].partition("\n")[0].removeprefix("## ")
    assert labels(["2026-11-21", heading, "Below"]) == said
    assert set(tags_in(text)) == set(tags)
    assert text.split("\n\n")[-1] == "The text\n"
    alone = without_author(text[entry.start :])
    assert labels([alone.partition("\n")[0].removeprefix("## ")]) == Labels(project, tuple(tags))


@pytest.mark.parametrize(
    ("heading", "project", "tags"),
    [
        ("10:30 Deploy (project: infra; tags: db, ops)", "infra", ("db", "ops")),
        ("10:30 (tags: db)", None, ("db",)),
        ("10:30 Deploy (in vain) (project:infra)", "infra", ()),
        ("10:30 Deploy (in vain)", None, ()),
        ("10:30 Deploy (project: infra) at last", None, ()),
        ("10:30 Deploy ()", None, ()),
        ("10:30 Deploy (project: infra; see below)", None, ()),
        ("Deploy (project: infra)", None, ()),
    ],
)
def test_labels_that_a_person_wrote(heading: str, project: str | None, tags: tuple[str, ...]):
    assert labels([heading]) == Labels(project, tags)


def test_who_wrote_an_entry_is_left_out_where_the_heading_is_full():
    own = Labels("infra", ("db",), "codex", "s" * 100)
    assert render_entry("10:30", "Deploy", "", own).startswith("## 10:30 Deploy (project: infra; tags: db; source: cod")
    assert render_entry("10:30", "D" * 200, "", own) == f"## 10:30 {'D' * 200} (project: infra; tags: db)\n"
    of_title = render_entry("10:30", "Deploy (tags: db)", "", Labels(source="codex"))
    assert of_title == "## 10:30 Deploy (tags: db; source: codex)\n", "a title may have labels"


def test_labels_too_long_for_a_heading_are_refused():
    with pytest.raises(InvalidInput, match="title, project and tags"):
        render_entry("10:30", "Deploy", "", Labels("infra", tuple(f"tag number {number}" for number in range(30))))
