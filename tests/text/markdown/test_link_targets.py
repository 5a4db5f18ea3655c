"""Links follow files: only targets that would lead elsewhere change, and they lead where they did."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_memory.text.markdown.link_targets import redirected, redirects, retargeted, unlinked
from mcp_memory.text.markdown.links import find_links, resolve

OLD, NEW = "topics/_fresh/001-tea.md", "topics/01-green tea/001-tea.md"
MOVED = {OLD: NEW}


def rewritten(text: str, path: str, moved: dict[str, str] = MOVED, there: tuple[str, ...] = ()) -> str:
    return redirected(text, redirects(text, 0, path, moved, lambda place: place in there))


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("[a](../topics/_fresh/001-tea.md)", "[a](../topics/01-green%20tea/001-tea.md)"),
        ("[a](../topics/_fresh/001-tea.md#hot 'why')", "[a](../topics/01-green%20tea/001-tea.md#hot 'why')"),
        ("[a](</topics/_fresh/001-tea.md>)", "[a](</topics/01-green%20tea/001-tea.md>)"),
        ("[a]: ../topics/_fresh/001-tea.md\n", "[a]: ../topics/01-green%20tea/001-tea.md\n"),
        ("[[topics/_fresh/001-tea]]", "[[topics/01-green tea/001-tea]]"),
        ("[[topics/_fresh/001-tea.md#hot|it]]", "[[topics/01-green tea/001-tea.md#hot|it]]"),
        ("[[_fresh/001-tea]]", "[[01-green tea/001-tea]]"),
        ("[[../topics/_fresh/001-tea]]", "[[../topics/01-green tea/001-tea]]"),
        ("[[001-tea]] `[a](../topics/_fresh/001-tea.md)` <../topics/_fresh/001-tea.md>", None),
        ("[a](../topics/_fresh/002-rail.md) [b](https://x.org/topics/_fresh/001-tea.md) [c](#d)", None),
    ],
)
def test_a_link_follows_the_file_that_it_leads_to(text: str, after: str | None) -> None:
    assert rewritten(text, "notes/a.md") == (after or text)


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("[a](../../notes/b.md)", "[a](../../notes/b.md)"),
        ("[a](img/x.png)", "[a](../_fresh/img/x.png)"),
        ("[a](./002-b.md) [own](001-tea.md#hot)", "[a](../_fresh/002-b.md) [own](001-tea.md#hot)"),
        ("[a](src/main.py) [[./002-b]]", "[a](src/main.py) [[../_fresh/002-b]]"),
    ],
)
def test_a_moved_note_leads_where_it_did(text: str, after: str) -> None:
    there = ("notes/b.md", "topics/_fresh/img/x.png", "topics/_fresh/002-b.md")
    assert rewritten(text, OLD, there=there) == after


def test_what_moves_together_keeps_its_links() -> None:
    moved = {OLD: NEW, "topics/_fresh/002-b.md": "topics/01-green tea/002-b.md"}
    assert rewritten("[a](./002-b.md) [b](002-b.md)", OLD, moved, tuple(moved)) == "[a](./002-b.md) [b](002-b.md)"


NAMES = st.sampled_from(["a.md", "b c.md", "d(1).md", "é.md", "x%20y.md"])
FOLDERS = st.sampled_from(["", "n/", "n/m/", "topics/01-x/", "topics/01-x/02-y/"])
PATHS = st.builds(str.__add__, FOLDERS, NAMES)


@given(st.lists(PATHS, min_size=1, max_size=5, unique=True), st.dictionaries(PATHS, PATHS, max_size=4), PATHS)
def test_every_link_leads_on_to_the_same_file(targets: list[str], moved: dict[str, str], path: str) -> None:
    from mcp_memory.text.markdown.links import relative_link

    text = "Tea ".join(f"[x]({relative_link(path, target)})" for target in targets)
    after = rewritten(text, path, moved, tuple(targets))
    now = moved.get(path, path)
    assert [resolve(link.target, now) for link in find_links(after)] == [moved.get(each, each) for each in targets]
    shown = [link.label for link in find_links(after)]
    assert shown == ["x"] * len(targets)


@pytest.mark.parametrize(
    ("kind", "target", "after"),
    [
        ("markdown", "../b.md#h", "../x/y%20z.md#h"), ("markdown", "/b.md", "/x/y%20z.md"),
        ("markdown", "c.md", "../x/y%20z.md"),
        ("wiki", "b#h", "y z#h"), ("wiki", "n/b^block", "x/y z^block"), ("wiki", "b.md", "y z.md"),
        ("wiki", "../b", "../x/y z"), ("wiki", "/b", "/x/y z"), ("id", "b.md", None),
    ],
)  # fmt: skip
def test_a_link_is_given_another_target_in_the_form_that_it_had(kind: str, target: str, after: str | None) -> None:
    assert retargeted(kind, target, "n/a.md", "x/y z.md", lambda _: True) == after
    assert retargeted(kind, target, "n/a.md", "x/y z.md", lambda _: False) is None


def test_as_few_folders_are_written_as_lead_there() -> None:
    assert retargeted("wiki", "b", "a.md", "x/y/z.md", lambda target: "/" in target) == "y/z"
    assert retargeted("wiki", "b/c", "a.md", "z.md", lambda _: True) == "z"
    assert retargeted("wiki", "b", "a.md", "x/a|b.md", lambda _: True) is None


def test_what_is_left_without_links() -> None:
    text = "[a](b.md) [[c/d|e]] [[f]] ![g](./h.png) [i](https://x.org)"
    assert unlinked(text, "n/a.md") == "a e f g [i](https://x.org)"
    assert unlinked(text) == "a e f g i"


def test_a_text_that_says_something_else_is_refused() -> None:
    with pytest.raises(ValueError, match="another target"):
        redirected("abc", [(0, "x", "y")])
