"""The map of topics, a topic's page with what it leaves out, and each change of a topic with its undo."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from urllib.parse import quote

import anyio
import pytest

from tests.daemon.conftest import KEYWORDS_ONLY
from tests.daemon.place import Place
from tests.page.browser import Browser, Page, call, memory
from tests.support.topics import ALL_AT_ONCE, RAIL, TEA, told
from tests.support.world import World


@pytest.fixture
def topics(place: Place, toy_plugin: None) -> Iterator[Browser]:
    """A memory with two topics, and with a folder of a person's own."""
    now = datetime.now(UTC) - timedelta(days=40)
    place.vault.mkdir()
    place.state.root.mkdir(parents=True, exist_ok=True)
    world = World(place.vault, place.state.root, place.models, "toy", now).with_home("")
    world.write("topics/Garden/roses.md", "Roses need lime.\n")

    async def file() -> None:
        async with world.engine(topics=ALL_AT_ONCE) as engine:
            await told(engine, TEA + RAIL)
            await engine.compact()

    anyio.run(file)
    with memory(Place(place.root, place.models, KEYWORDS_ONLY)) as browser:
        yield browser


def open_topic(browser: Browser, title: str) -> Page:
    folder = next(one["path"] for one in tree(browser) if one["title"] == title)
    return browser.see(f"/ui/topics?topic={quote(folder)}")


def tree(browser: Browser) -> list[dict]:
    found = list[dict]()
    todo = call(browser.daemon, "tree")["topics"]
    while todo:
        found.append(one := todo.pop(0))
        todo += one["topics"]
    return found


def titles(browser: Browser) -> list[str]:
    return [one["title"] for one in tree(browser)]


def test_the_map_shows_counts_and_ages(topics: Browser):
    page = topics.see("/ui/topics")
    assert "9 notes in 3 topics" in page.text
    assert "latest note this year" in page.text
    assert page.text.index("Green tea") < page.text.index("Garden"), "the largest first"


def test_an_empty_map_says_when_topics_appear(browser: Browser):
    assert "once there are a few of them" in browser.see("/ui/topics").text


def test_a_topic_shows_its_page_its_notes_and_what_the_page_leaves_out(topics: Browser):
    title = next(one for one in titles(topics) if "tea" in one.lower())
    page = open_topic(topics, title)
    assert "<h1>" + title in page.html
    assert "4 notes" in page.text
    assert page.html.count('name="notes"') == 4
    assert "## " not in page.text, "rendered"
    assert "Children" not in page.text
    call(topics.daemon, "append", content="x", kind="log")
    folder = next(one["path"] for one in tree(topics) if one["title"] == title)
    file = topics.daemon.place.vault / folder / "_summary.md"
    head = file.read_text().partition("\n---\n")[0]
    file.write_text(f"{head}\n---\n\n# {title}\n\nTea.\n")
    call(topics.daemon, "reconcile")
    link = next(one for one in open_topic(topics, title).links if one.endswith("&left=1"))
    page = topics.see(link)
    assert "What the page leaves out" in page.text
    assert "water of 63 degrees" in page.text.partition("and the page doesn't.")[2].partition("Its notes")[0]


def test_a_topic_that_is_gone_is_an_error_in_words(topics: Browser):
    assert "no topic" in topics.see("/ui/topics?topic=nothing", 400).text


def test_a_folder_of_ones_own_cannot_be_changed(topics: Browser):
    page = open_topic(topics, "Garden")
    assert "A folder of your own" in page.text
    assert "Rename" not in page.text


def test_a_topic_is_renamed_and_the_name_is_taken_back(topics: Browser):
    title = next(one for one in titles(topics) if "tea" in one.lower())
    page = open_topic(topics, title)
    form = page.form("Rename")
    form.fields |= {"name": "Hot drinks", "next": "/ui/topics"}
    page = topics.press(form)
    assert "Renamed." in page.text
    assert "Hot drinks" in page.text.partition("latest note")[2]
    page = topics.press(page.form("Undo"))
    assert title in page.text
    assert "Hot drinks" not in titles(topics)


def test_a_topic_is_moved_into_another_and_back(topics: Browser):
    tea, rail = (next(one for one in titles(topics) if word in one.lower()) for word in ("tea", "vienna"))
    form = open_topic(topics, tea).form("Move")
    form.fields |= {"into": rail, "next": "/ui/topics"}
    page = topics.press(form)
    assert "Moved." in page.text
    assert len(call(topics.daemon, "tree")["topics"]) == 2
    topics.press(page.form("Undo"))
    assert len(call(topics.daemon, "tree")["topics"]) == 3


def test_a_topic_is_merged_into_another_and_back(topics: Browser):
    tea, rail = (next(one for one in titles(topics) if word in one.lower()) for word in ("tea", "vienna"))
    form = open_topic(topics, tea).form("Merge")
    form.fields["into"] = rail
    page = topics.press(form)
    assert "Merged." in page.text
    assert tea not in titles(topics)
    topics.press(page.form("Undo"))
    assert tea in titles(topics)


def test_chosen_notes_are_split_off_and_come_back(topics: Browser):
    tea = next(one for one in titles(topics) if "tea" in one.lower())
    form = open_topic(topics, tea).form("Split")
    notes = [leaf["path"] for one in tree(topics) if one["title"] == tea for leaf in one["leaves"]]
    form.fields |= {"name": "Cool water", "notes": notes[0], "next": "/ui/topics"}
    page = topics.press(form)
    assert "Split." in page.text
    assert "Cool water" in titles(topics)
    topics.press(page.form("Undo"))
    assert "Cool water" not in titles(topics)


def test_a_refused_change_says_why(topics: Browser):
    tea = next(one for one in titles(topics) if "tea" in one.lower())
    form = open_topic(topics, tea).form("Rename")
    form.fields["name"] = "!!!"
    page = topics.press(form)
    assert "needs a letter or a digit" in page.text


def test_notes_without_a_topic_are_counted_and_filed_on_request(topics: Browser):
    call(topics.daemon, "append", "codex", content="The lighthouse has a new lamp.", kind="fact")
    page = topics.see("/ui/topics")
    assert "1 note without a topic yet." in page.text
    assert "Nothing was to do." in topics.press(page.form("File now")).text
