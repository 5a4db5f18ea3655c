"""Links: found outside code, resolved inside the vault only, written so that they resolve."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_memory.text.markdown.links import find_links, relative_link, resolve


def found(text: str) -> list[tuple[str, str, str]]:
    links = find_links(text)
    for link in links:
        assert text[link.target_start : link.target_end] == link.target
        assert text[link.start : link.end].startswith(("[", "!["))
    return [(link.kind, link.target, link.label) for link in links]


@pytest.mark.parametrize(
    ("text", "links"),
    [
        ("a [label](./a.md) b", [("markdown", "./a.md", "label")]),
        ('[x]( <a b.md> "a title" )', [("markdown", "a b.md", "x")]),
        ("[x](a_(b)_c.md 'it')", [("markdown", "a_(b)_c.md", "x")]),
        ("![pic](p.png)[x](y.md)", [("markdown", "p.png", "pic"), ("markdown", "y.md", "x")]),
        ("[![pic](p.png)](y.md)", [("markdown", "y.md", "![pic](p.png)"), ("markdown", "p.png", "pic")]),
        ("[a [b](c.md)](d.md)", [("markdown", "c.md", "b")]),
        ("[a [b] c](d.md)", [("markdown", "d.md", "a [b] c")]),
        ("[two\nlines](d.md)", [("markdown", "d.md", "two\nlines")]),
        ("[ref]: ./x.md 'T'\n", [("markdown", "./x.md", "ref")]),
        (
            "[[Note]] ![[Pic#h|label]] [[a/b.md#^block]]",
            [("wiki", "Note", ""), ("wiki", "Pic#h", "label"), ("wiki", "a/b.md#^block", "")],
        ),
        (
            "- item\n  [x](y.md)\n\n> [q](r.md)\n\n| [c](d.md) |\n|---|\n",
            [("markdown", "y.md", "x"), ("markdown", "r.md", "q"), ("markdown", "d.md", "c")],
        ),
        ("# [h](i.md)\n", [("markdown", "i.md", "h")]),
        ("`a` [x](y.md) `b`", [("markdown", "y.md", "x")]),
        ("``a ` [x](y.md)`` [c](d.md)", [("markdown", "d.md", "c")]),
        ("`unpaired [x](y.md)", [("markdown", "y.md", "x")]),
        ("\\`[x](y.md)`", [("markdown", "y.md", "x")]),
    ],
)
def test_links(text: str, links: list[tuple[str, str, str]]):
    assert found(text) == links


@pytest.mark.parametrize(
    "text",
    [
        "`[x](y.md)`",
        "`[[x]]`",
        "```\n[x](y.md)\n```",
        "~~~\n[[x]]\n",
        "- a\n  ```\n  [x](y.md)\n  ```\n",
        "\\[x](y.md)",
        "[x] (y.md)",
        "[x](y.md",
        "[x](a b.md)",
        "[x]()",
        "[[]]",
        "[[a\nb]]",
        "[x](<a\nb>)",
        "[^1]: note",
        '[x](y.md "open)',
    ],
)
def test_no_links(text: str):
    assert found(text) == []


@pytest.mark.parametrize(
    ("target", "path"),
    [
        ("./b.md", "notes/b.md"),
        ("b.md#part", "notes/b.md"),
        ("../x/./y.md", "x/y.md"),
        ("a%20b%C3%A9.md", "notes/a bé.md"),
        ("a\\(b\\).md", "notes/a(b).md"),
        ("/root.md", "root.md"),
        ("#here", "notes/a.md"),
        ("../../etc/passwd", None),
        ("..%2f..%2fetc", None),
        ("..", None),
        ("", None),
        ("https://x.org/a.md", None),
        ("mailto:a@b.c", None),
        ("//host/a.md", None),
        ("a%00b.md", None),
    ],
)
def test_resolve(target: str, path: str | None):
    assert resolve(target, "notes/a.md") == path


def test_a_source_is_a_root_of_its_own():
    assert resolve("../b.md", "@team/docs/a.md") == "@team/b.md"
    assert resolve("../../b.md", "@team/docs/a.md") is None
    assert resolve("/b.md", "@team/docs/a.md") == "@team/b.md"


def test_relative_link():
    assert relative_link("notes/a.md", "notes/b.md") == "./b.md"
    assert relative_link("a/b/c.md", "a/d e(1).md") == "../d%20e%281%29.md"


names = st.text(
    st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="/\\"), min_size=1, max_size=8
).filter(lambda name: name not in {".", ".."})
paths = st.lists(names.filter(lambda name: not name.startswith("@")), min_size=1, max_size=4).map("/".join)


@given(paths, paths)
def test_what_is_written_resolves_and_is_found(from_path: str, to_path: str):
    target = relative_link(from_path, to_path)
    assert resolve(target, from_path) == to_path
    assert found(f"see [label]({target}).") == [("markdown", target, "label")]


@given(st.text(alphabet="[]()!`\\<>|#: \n-~\"'ab./", max_size=80))
def test_any_text(text: str):
    links = found(text)
    assert all(target for _, target, _ in links)
