"""A topic's page: its properties come back, its links lead where they should, its gist is told from its lists."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_memory.models import NoteId, NotePath, etag_of
from mcp_memory.text.markdown import frontmatter
from mcp_memory.text.markdown.links import find_links, resolve
from mcp_memory.text.tokens import count_tokens
from mcp_memory.topics.page import (
    CHILDREN,
    PAGE,
    RELATED,
    PageChild,
    TopicPageText,
    covers,
    render,
    render_related,
    summary_text,
    with_related_section,
)

NOW = datetime(2026, 11, 22, 5, 30, tzinfo=timezone(timedelta(hours=2)))
FOLDER = "Agent/topics/01-japan trip (2026)"
TITLES = [
    "Plain", "[brackets] and ](./x.md) more", "`code` and ``two``", "a ` lone tick", "Größe über alles ñ 日本 🙂",
    r"back\slash \[x](y.md)", "<b>bold</b> *stars* _under_", "[[wiki|link]]", "![image](x.png)", "ends with \\", "",
    "two\n\n## Children\nlines", "# not a heading", "<https://example.org>", "&lt;", "~~~", "```", "\ud800 lone",
]  # fmt: skip
NAMES = ["plain.md", "with blank.md", "größe ñ 日本.md", "a(b)[c]#d?e%20f.md", "`tick`.md", 'x\\y*z|".md', "100%.md"]


def child(title: str = "A note", path: str = f"{FOLDER}/001-note.md", **values: object) -> PageChild:
    return replace(PageChild(NoteId("01J"), NotePath(path), title, "c0"), **values)


def page(children: Sequence[PageChild], text: str = "What it is about.", **values: object) -> TopicPageText:
    usual = TopicPageText(
        NoteId("01PAGE"), NotePath(f"{FOLDER}/{PAGE}"), "Japan: trip", text, "extractive", children, NOW, NOW
    )
    return replace(usual, **values)


def links_of(made: TopicPageText) -> list[str | None]:
    body = frontmatter.parse(render(made).decode()).body
    return [resolve(link.target, made.path) for link in find_links(body) if link.kind == "markdown"]


def test_the_properties_come_back() -> None:
    early = datetime(2026, 3, 4, tzinfo=UTC)
    children = [
        child("One", notes=7, depth=2, earliest=early, latest=NOW, tags=["rail", "japan"], sessions=["b/1", "b/2"]),
        child("Two", id=NoteId("path:a b.md"), earliest=NOW, latest=NOW, tags=["japan"], sessions=["b/2"]),
        child("Three", id=NoteId("01K")),
    ]
    made = render(page(children)).decode()
    document = frontmatter.parse(made)
    assert document.problem is None
    assert list(document.meta) == [
        "id", "title", "created", "updated", "tags", "source", "derived_from", "depth", "node_kind",
        "descendant_count", "earliest_at", "latest_at", "stale", "token_count", "sessions", "covers",
    ]  # fmt: skip
    meta = dict(document.meta)
    days = [datetime.fromisoformat(str(meta.pop(key))) for key in ("created", "updated", "earliest_at", "latest_at")]
    assert days == [NOW, NOW, early, NOW]
    assert meta == {
        "id": "01PAGE", "title": "Japan: trip", "source": "extractive", "derived_from": ["01J", "path:a b.md", "01K"],
        "depth": 3, "node_kind": "condensed", "descendant_count": 9, "stale": False,
        "token_count": count_tokens(document.body.strip()), "tags": ["japan", "rail"], "sessions": ["b/2", "b/1"],
        "covers": covers(FOLDER, children),
    }  # fmt: skip
    assert frontmatter.patch(made, {"stale": True}) == made.replace("stale: false", "stale: true")


def test_a_page_lists_what_is_below_and_beside_it() -> None:
    early, late = datetime(2026, 1, 2, tzinfo=UTC), datetime(2026, 3, 4, tzinfo=UTC)
    below = child("Kyoto", f"{FOLDER}/02-kyoto/{PAGE}", notes=5, earliest=early, latest=late, depth=1)
    note = child("Tickets", earliest=late, latest=late)
    made = page([below, note, child("No date")])
    beside = render_related(made.path, [("Trains", NotePath(f"Agent/topics/02-trains/{PAGE}"))])
    assert frontmatter.parse(with_related_section(render(made).decode(), beside)).body.strip() == "\n".join(
        [
            "What it is about.", "", "## Children", "",
            "- [Kyoto](./02-kyoto/_summary.md) (5 notes, 2026-01-02 to 2026-03-04)",
            "- [Tickets](./001-note.md) (2026-03-04)", "- [No date](./001-note.md)", "", "## Related", "",
            "- [Trains](../02-trains/_summary.md)",
        ]
    )  # fmt: skip
    assert etag_of(render(made)) == etag_of(render(made)) != etag_of(render(page([note])))


@pytest.mark.parametrize("title", TITLES)
def test_whatever_a_title_holds_the_links_lead_to_the_files(title: str) -> None:
    places = [*(f"{FOLDER}/{name}" for name in NAMES), "Agent/other folder/x y.md", "top.md", f"{FOLDER}/02-a b/{PAGE}"]
    children = [child(title, place, depth=at % 2, latest=NOW) for at, place in enumerate(places)]
    made = page(children)
    assert links_of(made) == places
    assert summary_text(frontmatter.parse(render(made).decode()).body) == made.text


@given(title=st.text(max_size=40), name=st.text(st.characters(exclude_characters="/\0", codec="utf-8"), min_size=1))
def test_any_title_and_name_make_one_link(title: str, name: str) -> None:
    if name not in {".", ".."}:
        assert links_of(page([child(title, f"{FOLDER}/{name}")])) == [f"{FOLDER}/{name}"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "One line.",
        "# Heading\n\n- a\n- b",
        f"It speaks of\n{CHILDREN}\nof its own.\n\n{RELATED}\n\nMore.",
        "Children",
    ],
)
def test_the_gist_is_the_text(text: str) -> None:
    for children in ([child()], []):
        made = render(page(children, text)).decode()
        body = frontmatter.parse(with_related_section(made, f"{RELATED}\n\n- [Beside](a.md)")).body
        assert summary_text(body) == text
        assert summary_text(body.replace("\n", "\r\n")) == text.replace("\n", "\r\n")
    assert summary_text("A person's own words.") == "A person's own words."


CHILD_SETS = st.dictionaries(
    st.sampled_from(["01A", "01B", "01C", "path:a b.md"]), st.sampled_from(["0", "1", "2"]), max_size=4
)


@given(CHILD_SETS, CHILD_SETS, st.randoms())
def test_covers_differs_exactly_when_a_child_does(one: dict[str, str], other: dict[str, str], random) -> None:
    def told(given: dict[str, str], place: str) -> str:
        children = [child(key, f"{place}/{key}.md", id=NoteId(key), covers=value) for key, value in given.items()]
        random.shuffle(children)
        return covers(place, children)

    assert (told(one, "here") == told(other, "moved")) == (one == other)
    assert len(told(one, "here")) == 16 and int(told(one, "here"), 16) >= 0


@pytest.mark.parametrize(
    ("folder", "path", "is_missed"),
    [
        ("topics/01-b", "topics/01-b/a.md", False), ("topics/01-a", "topics/01-a/b.md", True),
        ("topics/01-a", "topics/01-a/mine/a.md", True), ("topics/02-b", "topics/02-b/mine/a.md", True),
    ],
)  # fmt: skip
def test_a_page_is_stale_where_its_links_would_miss(folder: str, path: str, is_missed: bool) -> None:
    before = covers("topics/01-a", [child("a", "topics/01-a/a.md")])
    assert (before != covers(folder, [child("a", path)])) == is_missed


def test_a_page_tells_a_gist_what_holds_what_is_open_and_then_its_notes_by_kind() -> None:
    told = "We take no rail pass this year"
    children = [
        child(f"Japan trip: {told}", kind="decision"), child("The bag is packed", kind="note"),
        child("Kyoto", f"{FOLDER}/02-kyoto/{PAGE}", notes=5, depth=1),
        child("Unsaid", kind="fact", label="What a model says of it"),
    ]  # fmt: skip
    made = replace(
        page(children), title="Japan trip", gist=f"{told}.\nWe fly in May.", text="- The bag is packed.",
        questions=["Which bag?"],
    )  # fmt: skip
    body = frontmatter.parse(render(made).decode()).body
    assert [line for line in body.split("\n") if line] == [
        f"{told}.", "We fly in May.", "## What holds", "- The bag is packed.", "## Open questions", "- Which bag?",
        "## Children", "- [Kyoto](./02-kyoto/_summary.md) (5 notes)", "### Decisions",
        "- [We take no …](./001-note.md)", "### Facts", "- [What a model says of it](./001-note.md)",
        "### Notes", "- [The bag …](./001-note.md)",
    ]  # fmt: skip
    assert summary_text(body).endswith("- Which bag?")
