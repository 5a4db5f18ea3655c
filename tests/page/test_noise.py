"""The view of noise: many notes are chosen, looked at, changed at once, and brought back at once."""

from urllib.parse import urlencode

from tests.daemon.place import Place
from tests.page.browser import Browser, call, memory


def store(browser: Browser, *texts: str, **more: str) -> list[str]:
    return [call(browser.daemon, "append", "codex", content=text, kind="fact", **more)["id"] for text in texts]


def preview(kind: str, do: str, items: list[str], **more: str) -> str:
    return "/ui/noise?" + urlencode({"kind": kind, "do": do, "items": items, **more}, doseq=True)


def listed(browser: Browser) -> set[str]:
    return {note["id"] for note in call(browser.daemon, "list", limit=100)["notes"]}


def test_fragments_are_forgotten_and_brought_back_as_one(place: Place):
    with memory(place) as browser:
        whole, *parts = store(browser, "The kiln fires at 1240 degrees for stoneware.", "ok then", "the port", "hmm")
        page = browser.see("/ui/noise?kind=fragment")
        assert "hmm" in page.text and "stoneware" not in page.text
        page = browser.see(preview("fragment", "forget", parts[:2]))
        assert "Forget 2 notes?" in page.text and "hmm" not in page.text
        assert listed(browser) == {whole, *parts}
        page = browser.press(page.form("Forget 2 notes"))
        assert "2 notes forgotten." in page.text
        assert listed(browser) == {whole, parts[2]}
        page = browser.press(page.form("Undo"))
        assert "Undone." in page.text
        assert listed(browser) == {whole, *parts}


def test_the_notes_of_one_session_are_archived_as_one(place: Place):
    with memory(place) as browser:
        mine = store(browser, "The port of staging is 8087.", "Otters sleep afloat.", session="abc")
        other = store(browser, "Herons hunt at dusk.", session="def")
        page = browser.see("/ui/noise?kind=session")
        assert "2 notes" in page.text and "codex · abc" in page.text
        page = browser.see("/ui/noise?kind=session&name=abc")
        assert "Otters" in page.text and "Herons" not in page.text
        page = browser.press(browser.see(preview("session", "archive", mine, name="abc")).form("Archive 2 notes"))
        assert "2 notes archived." in page.text and listed(browser) == {*other}
        browser.press(page.form("Undo"))
        assert listed(browser) == {*mine, *other}


def test_what_says_the_same_is_merged(place: Place):
    with memory(place) as browser:
        store(browser, *(f"Use uv, not pip, in every Python project{end}" for end in (".", "!")))
        call(browser.daemon, "waiting", only=["double"])
        page = browser.see("/ui/noise")
        assert "Use uv, not pip" in page.text
        (item,) = call(browser.daemon, "waiting", only=["double"])["waiting"]
        page = browser.press(browser.see(preview("double", "merge", [item["id"]])).form("Merge 1 group"))
        assert "No two notes say the same." in page.text and len(listed(browser)) == 1
        browser.press(page.form("Undo"))
        assert len(listed(browser)) == 2


def test_a_note_that_changed_meanwhile_stays(place: Place):
    with memory(place) as browser:
        (part,) = store(browser, "ok then")
        form = browser.see(preview("fragment", "forget", [part])).form("Forget 1 note")
        call(browser.daemon, "erase", target=part, sure=True)
        assert "1 note had to stay" in browser.press(form).text
        assert "Nothing is chosen" in browser.see(preview("fragment", "forget", [part])).text


def test_each_kind_says_when_there_is_none(place: Place):
    with memory(place) as browser:
        for kind, words in {
            "unused": "used in the last 90 days",
            "expired": "has expired",
            "imported": "was imported",
        }.items():
            assert words in browser.see(f"/ui/noise?kind={kind}").text
