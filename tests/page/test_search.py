"""The view that finds notes as agents do, and shows what a prompt would get."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlencode

import pytest

from tests.daemon.place import Place, eventually
from tests.page.browser import Browser, Page, call, memory


@pytest.fixture
def search(place: Place) -> Iterator[Browser]:
    with memory(place) as browser:
        yield browser


def ask(browser: Browser, **fields: str | int) -> Page:
    return browser.see(f"/ui/search?{urlencode(fields)}")


def test_a_hit_says_why_it_is_there(search: Browser):
    call(
        search.daemon, "append", "codex", content="The staging proxy listens on port 8087.", kind="fact", project="shop"
    )
    page = ask(search, q="staging port")
    assert "fact The staging proxy listens on port 8087." in page.text
    assert "has staging port" in page.text
    assert "first by its words" in page.text
    assert "confidence" in page.text


def test_without_words_the_newest_notes_are_listed(search: Browser):
    for number in range(3):
        call(search.daemon, "append", content=f"The shelf {number} holds {number * 7 + 1} bowls.", kind="fact")
    text = ask(search).text
    assert text.index("The shelf 2") < text.index("The shelf 1") < text.index("The shelf 0")


@pytest.mark.parametrize("words", ["", "bowls"])
def test_filters_narrow_what_is_found(search: Browser, words: str):
    call(search.daemon, "append", "codex", content="The kiln shelf holds bowls.", kind="fact", project="kiln")
    call(search.daemon, "append", "gemini-cli", content="We pack bowls in straw.", kind="decision", project="shop")
    for fields in ({"kind": "fact"}, {"project": "kiln"}, {"client": "codex"}):
        page = ask(search, q=words, **fields)
        assert "The kiln shelf" in page.text
        assert "Found We pack" not in page.text.replace("The newest notes", "Found")
        titles = page.html.partition('aria-label="Results"')[2].partition("</section>")[0]
        assert "We pack bowls" not in titles
    assert "Nothing was found." in ask(search, q=words, until="2001-01-01").text
    assert "The kiln shelf" in ask(search, q=words, since="2001-01-01").text


def test_what_a_filter_leaves_out_is_named_with_the_filter(search: Browser):
    call(search.daemon, "append", content="The kiln fires at 1240 degrees.", kind="fact", project="pottery")
    text = ask(search, q="kiln degrees", project="shop").text
    assert "Left out by filters" in text
    assert "The kiln fires at 1240 degrees. because of project" in text


def test_long_lists_come_in_pages(search: Browser):
    for number in range(25):
        call(search.daemon, "append", content=f"The shelf {number} holds {number * 7 + 1} bowls.", kind="fact")
    for words in ("", "bowls"):
        first, second = ask(search, q=words), ask(search, q=words, page=2)
        assert first.html.count('<li class="row"') == 20
        assert second.html.count('<li class="row"') == 5
        assert any("page=2" in link for link in first.links)
        assert not any("page=3" in link for link in second.links)


def test_the_text_of_a_long_hit_can_be_read_whole(search: Browser):
    text = "The migration has many steps. " + " ".join(f"step{number}" for number in range(120)) + " end-of-it"
    call(search.daemon, "append", content=text, kind="workflow")
    assert "end-of-it" in ask(search, q="migration steps").html


def test_forgotten_notes_are_found_and_restored(search: Browser):
    note = call(search.daemon, "append", content="The queue needs four shards.", kind="fact")
    call(search.daemon, "forget", target=note["id"], reason="wrong")
    assert "four shards" not in ask(search, q="shards").text
    page = ask(search, q="shards", state="forgotten")
    assert "wrong" in page.text
    search.press(page.form("Restore"))
    assert "four shards" in ask(search, q="shards").text


def test_retired_notes_and_proposals_are_found_if_asked_for(search: Browser):
    note = call(search.daemon, "append", content="The old queue needs shards.", kind="fact")
    call(search.daemon, "forget", target=note["id"], archive=True)
    assert "old queue" not in ask(search, q="shards").html.partition("Left out")[0].partition("Results")[2]
    assert "old queue" in ask(search, q="shards", state="archived").html.partition("Left out")[0]


def test_a_private_hit_is_veiled(search: Browser):
    call(search.daemon, "append", content="The alarm code is 4417 at the clinic.", kind="fact", tags=["private"])
    for fields in ({"q": "alarm code"}, {}):
        html = ask(search, **fields).html
        parts = html.split("<details")[1:]
        veiled = [part.partition("</details>")[0] for part in parts if part.lstrip().startswith('class="veil"')]
        assert html.count("4417") == sum(part.count("4417") for part in veiled) > 0


def test_a_look_counts_as_no_use(search: Browser):
    note = call(search.daemon, "append", content="The kiln fires at 1240 degrees.", kind="fact")
    ask(search, q="kiln degrees")
    ask(search, q="a question that nothing answers at all")
    assert call(search.daemon, "stats", target=note["id"])["found"] == 0
    assert call(search.daemon, "stats", unanswered=True)["unanswered"] == []
    call(search.daemon, "search", query="kiln degrees")
    assert call(search.daemon, "stats", target=note["id"])["found"] == 1


def test_a_filter_that_cannot_be_read_is_said_in_words(search: Browser):
    assert "since" in ask(search, since="someday soon").text


def test_a_prompt_shows_what_an_agent_would_get(search: Browser):
    call(
        search.daemon, "append", content="We deploy the harbor service with make ship.", kind="workflow", project="shop"
    )
    secret = "The harbor service has the alarm code 4417."
    call(search.daemon, "append", content=secret, kind="fact", project="shop", tags=["private"])
    call(search.daemon, "append", content="The kiln service deploys by hand.", kind="fact", project="kiln")
    muted = call(
        search.daemon, "append", content="Never deploy the harbor service at night.", kind="fact", project="shop"
    )
    call(search.daemon, "mute", target=muted["id"])
    prompt = "How do we deploy the harbor service?"
    page = eventually(lambda: (page := ask(search, mode="prompt", q=prompt, project="shop")) and page)
    shown, _, rest = page.text.partition("It would not get")
    given = call(search.daemon, "brief", "codex", session="codex/s1", prompt=prompt, project="shop")["text"]
    assert "make ship" in given
    assert "make ship" in shown
    assert "4417" not in shown
    assert "It is private: agents get it only if they ask." in rest
    assert "It is muted here." in rest
    assert "It belongs to another project." in rest


def test_a_preview_records_nothing(search: Browser):
    note = call(search.daemon, "append", content="We deploy the harbor service with make ship.", kind="workflow")
    prompt = "How do we deploy the harbor service?"
    for _ in range(2):
        assert "make ship" in ask(search, mode="prompt", q=prompt).text.partition("It would not get")[0]
    assert call(search.daemon, "why", session="all")["given"] == []
    assert call(search.daemon, "stats", target=note["id"])["told"] == 0
    assert "make ship" in call(search.daemon, "brief", "codex", session="codex/s1", prompt=prompt)["text"]
