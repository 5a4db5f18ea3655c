"""Links between notes have a line, a type and the name of their target; what leads nowhere isn't one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_memory.text.markdown.frontmatter import split_head
from mcp_memory.text.markdown.note_links import names_of, note_links

HEAD = """---
id: 01KBZ0000000000000004K7Q2M
title: about [[nothing]]
supersedes: 01KBZ000000000000000ABCDEF
related: [[foo]]
sources:
  - "[[a/b|B]]"
  - "[[c]]"
derived_from: [notes/x.md, session.md@12, 01KBZ000000000000000ABCDEF]
---
"""


def found(text: str, path: str = "n/n.md") -> list[tuple[int, str, str, str]]:
    links = note_links(text, split_head(text).body_start, path)
    assert all(text[link.at :].startswith(link.target) for link in links)
    assert all(link.line == text.count("\n", 0, link.at) + 1 for link in links)
    return [(link.line, link.type, link.target, link.key) for link in links]


def test_properties_are_links_of_their_own_type() -> None:
    assert found(HEAD) == [
        (4, "supersedes", "01KBZ000000000000000ABCDEF", "01kbz000000000000000abcdef"),
        (5, "related", "foo", "foo"),
        (7, "sources", "a/b", "a/b"),
        (8, "sources", "c", "c"),
        (9, "derived_from", "notes/x.md", "notes/x"),
        (9, "derived_from", "01KBZ000000000000000ABCDEF", "01kbz000000000000000abcdef"),
    ]


@pytest.mark.parametrize(
    ("line", "types"),
    [
        ("- because: [[a]]", ["because"]),
        ("* **caused by**:: [[a]], [b](b.md) and more", ["caused_by", "caused_by"]),
        ("> 1. Depends on: [[a#h|it]] or [[b]]", ["depends_on", "link"]),
        ("- [x] supersedes: [[a]]", ["supersedes"]),
        ("because: it is so, see [[a]]", ["link"]),
        ("We use Brevo, because: [[a]]", ["because"]),
        ("We use Brevo (caused by: [[a]])", ["caused_by"]),
        ("It is noisy because [[a]] hums", ["link"]),
        ("see https://x.org: and 12: [[a]]", ["link"]),
        ("weil: [[ä]]", ["weil"]),
        (f"{'x' * 200}: [[a]]", ["link"]),
    ],
)
def test_the_start_of_a_line_is_the_type_of_what_follows_it_at_once(line: str, types: list[str]) -> None:
    assert [link_type for _, link_type, _, _ in found(line)] == types


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("[[Note]] [[note^block]] [[note#h]] [[note.md|x]]", ["note"] * 4),
        ("[[Folder/Two  Words]] [[/a/b]] [[../b]]", ["folder/two words", "/a/b.md", "/b.md"]),
        ("[a](b.md#h) [b](../c.md 'x') [c](/d%20e.md) [d](</f g.md>)", ["/n/b.md", "/c.md", "/d e.md", "/f g.md"]),
        ("[[@docs/a#h]] [b](@docs/a.md)", ["@docs/a", "/@docs/a.md"]),
        ("[own](n.md#h) [out](../../x/y.md)", ["/n/n.md", "/../y.md"]),
        ("[a](http://x.md) [b](#h) [c](//x/../y.md) [d](a:../x.md) [e](x.png) [[x.png]] [[#h]] [[]] [[ ]]", []),
        ("`[[a]]` ``[b](b.md)``\n\n```\n[[c]]\n```\n\n[[unclosed [d](d.md", []),
        ("[[v1.2 release]] [[node.js]]", ["v1.2 release", "node.js"]),
    ],
)
def test_a_link_is_what_may_lead_to_a_note(text: str, keys: list[str]) -> None:
    assert [key for _, _, _, key in found(text)] == keys


def test_a_note_is_found_by_id_path_name_alias_and_title() -> None:
    names = names_of("a/b/C d.md", "01KBZ0000000000000004K7Q2M", "A title", ["Other"])
    assert names == {
        "/a/b/C d.md": 1, "a/b/c d": 1, "01kbz0000000000000004k7q2m": 0, "4k7q2m": 0, "b/c d": 2, "c d": 2,
        "other": 3, "a title": 4,
    }  # fmt: skip
    assert names_of("@docs/a/b.md", "path:@docs/a/b.md", "b", ()) == {
        "/@docs/a/b.md": 1, "@docs/a/b": 1, "@docs:a/b": 1, "@docs:b": 2,
    }  # fmt: skip


@given(st.text(alphabet="[]()|#^:-*` \n\"'a\\/.@", max_size=60))
def test_whatever_a_note_says_places_and_lines_are_right(body: str) -> None:
    found(body)
    found(f"---\nx: {body}\n---\n{body}")
