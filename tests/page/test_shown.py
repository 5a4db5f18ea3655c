"""The view of sessions: what each was given unasked, at what cost, and what it did next."""

from tests.daemon.place import Place
from tests.page.browser import Browser, call, memory

PORT = "The staging database listens on port 5433."
QUESTION = "on which port does the staging database listen"


def ask(browser: Browser, session: str, prompt: str = QUESTION) -> None:
    assert call(browser.daemon, "brief", session=session, prompt=prompt)["text"]


def test_without_hooks_it_says_what_will_appear(place: Place):
    with memory(place) as browser:
        assert "Nothing was shown yet" in browser.see("/ui/shown").text


def test_a_session_is_a_timeline_with_cost_and_what_came_next(place: Place):
    with memory(place) as browser:
        note = call(browser.daemon, "append", "codex", content=PORT, kind="fact")["id"]
        ask(browser, "codex/first")
        ask(browser, "codex/second")
        call(browser.daemon, "append", "codex", content="Otters sleep afloat.", session="second")
        call(browser.daemon, "forget", "codex", target=note, session="second")
        page = browser.see("/ui/shown")
        assert "tokens" in page.text and "for: port, staging, database, listen" in page.text
        assert "Otters sleep afloat" in page.text and "the agent forgot it" in page.text
        assert "1 answer" in page.text and "1 note shown" in page.text
        first = browser.see("/ui/shown?session=codex/first")
        assert PORT[:-1] in first.text and "Otters" not in first.text


def test_a_note_is_muted_from_there(place: Place):
    with memory(place) as browser:
        note = call(browser.daemon, "append", "codex", content=PORT, kind="fact")["id"]
        ask(browser, "codex/first")
        page = browser.press(browser.see("/ui/shown").form("Mute", target=note))
        assert "Agents no longer get it unasked." in page.text
        assert not call(browser.daemon, "brief", session="codex/next", prompt=QUESTION)["text"]
        browser.press(page.form("Undo", target=note))
        ask(browser, "codex/last")


def test_a_session_that_nobody_knows_is_said_to_be_empty(browser: Browser):
    assert "No session of this name" in browser.see("/ui/shown?session=codex/nobody").text
