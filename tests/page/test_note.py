"""The view of one note: its text, its history and origin, who got it, and all that can be done with it."""

from __future__ import annotations

from urllib.parse import quote

import pytest

from tests.page.browser import Browser, Form, Page, call


def note_of(browser: Browser, content: str, client: str = "cli", **facts: object) -> str:
    return call(browser.daemon, "append", client, content=content, **{"kind": "fact", **facts})["id"]


def see(browser: Browser, note: str, more: str = "") -> Page:
    return browser.see(f"/ui/note?id={quote(note)}{more}")


def text_of(browser: Browser, note: str) -> str:
    return call(browser.daemon, "update", target=note)["text"]


def editor(page: Page, text: str) -> Form:
    form = page.form("Save")
    form.fields["text"] = text
    return form


def test_a_note_is_shown_with_its_facts(browser: Browser):
    note = note_of(
        browser, "## Backups\n\nThey run at **02:30**.", "codex", project="harbor", session="s-77", tags=["ops"]
    )
    page = see(browser, note)
    assert "<strong>02:30</strong>" in page.html
    for fact in ("Kind fact", "Project harbor", "Tags ops", "By codex", "session s-77"):
        assert fact in page.text
    source = see(browser, note, "&source=1")
    assert "They run at **02:30**." in source.text
    assert "<strong>02:30" not in source.html


def test_an_edit_is_saved_and_taken_back(browser: Browser):
    note = note_of(browser, "The gate opens at six.")
    before = text_of(browser, note)
    page = browser.press(editor(see(browser, note, "&edit=1"), "The gate opens at seven.\r\nOn Sundays at nine.\r\n"))
    assert "Saved." in page.text
    assert text_of(browser, note).endswith("The gate opens at seven.\nOn Sundays at nine.\n")
    assert "-The gate opens at six." in page.text
    assert "+The gate opens at seven." in page.text
    browser.press(page.form("Undo", target=note))
    assert text_of(browser, note).partition("---\n\n")[2] == before.partition("---\n\n")[2]


def test_a_note_that_was_changed_meanwhile_is_merged_by_hand(browser: Browser):
    note = note_of(browser, "The bridge carries ten tons.")
    form = editor(see(browser, note, "&edit=1"), "The bridge carries ten tons, and one tram.")
    call(browser.daemon, "update", target=note, text="The bridge carries twelve tons.")
    answer = browser.submit(form)
    page = Page(answer.text)
    assert answer.status == 409
    assert "Somebody else changed this note since you opened it" in page.text
    assert "The bridge carries ten tons, and one tram." in page.text
    assert "The bridge carries twelve tons." in page.text
    assert "twelve" in text_of(browser, note)  # nothing was written
    page = browser.press(editor(page, "The bridge carries twelve tons, and one tram."))
    assert "Saved." in page.text
    assert text_of(browser, note).strip().endswith("The bridge carries twelve tons, and one tram.")


def test_what_was_typed_is_kept_if_it_cannot_be_saved(browser: Browser):
    note = note_of(browser, "The tower has a bell.")
    form = editor(see(browser, note, "&edit=1"), "My words about the bell.")
    call(browser.daemon, "erase", target=note, sure=True)
    answer = browser.submit(form)
    assert answer.status == 409
    assert "My words about the bell." in answer.text
    assert "has a bell" not in answer.text


def test_invisible_characters_survive_an_edit(browser: Browser):
    note = note_of(browser, "Zero\u200bwidth and \u202ereversed.")
    page = see(browser, note, "&edit=1")
    field = page.html.partition('name="text"')[2].partition(">")[2].partition("</textarea>")[0].strip()
    assert field == "Zero\u200bwidth and \u202ereversed."
    browser.press(editor(page, f"{field} More."))
    assert "Zero\u200bwidth and \u202ereversed. More." in text_of(browser, note)
    assert "\\u{202E}" in see(browser, note).text


def test_a_long_note_is_read_and_edited_in_parts(browser: Browser):
    lines = [f"Line {number} of the long report.\n" for number in range(6_000)]
    note = note_of(browser, "".join(lines))
    page = see(browser, note, "&part=3")
    assert "part 3 of" in page.text
    assert len(page.html) < 120_000
    form = see(browser, note, "&part=3&edit=1").form("Save")
    start, end = int(form.fields["start"]), int(form.fields["end"])
    before = text_of(browser, note)
    browser.press(
        editor(see(browser, note, "&part=3&edit=1"), before[start:end].replace("Line", "Row").replace("\n", "\r\n"))
    )
    after = text_of(browser, note)
    assert after.count("Row ") == before[start:end].count("Line ")
    assert after.replace("Row ", "Line ").partition("---\n\n")[2] == before.partition("---\n\n")[2]
    assert see(browser, note).html.count("of the long report") < 2_000


def test_a_note_of_one_endless_line_is_shown_whole_in_parts(browser: Browser):
    note = note_of(browser, "word " * 30_000 + "the end of it")
    parts = [see(browser, note, f"&part={part}&source=1") for part in (1, 8)]
    assert all(len(part.html) < 60_000 for part in parts)
    assert "the end of it" in parts[1].text


def test_the_chain_of_a_note_is_shown(browser: Browser):
    old = note_of(browser, "The kiln fires at 1060 degrees.")
    new = note_of(browser, "The kiln fires at 1080 degrees.", supersedes=old)
    for note in (old, new):
        chain = see(browser, note).html.partition('id="chain"')[2].partition("</section>")[0]
        assert chain.index("1080") < chain.index("1060")
    assert "State superseded" in see(browser, old).text


def test_links_lead_both_ways(browser: Browser):
    one = note_of(browser, "The lock is described alone.", title="The lock of the harbor gate")
    path = call(browser.daemon, "look", target=one)["path"]
    two = note_of(browser, f"See [[{path}]], and [[nowhere-at-all]].", title="What to know about gates")
    page = see(browser, two)
    assert "The lock of the harbor gate" in page.html.partition('id="links"')[2]
    assert "nowhere-at-all leads nowhere" in page.text
    assert "What to know about gates" in see(browser, one).html.partition('id="links"')[2]


def test_who_got_a_note_and_for_which_words(browser: Browser):
    note = note_of(browser, "We deploy the ferry service with make sail.", kind="workflow")
    prompt = "How do we deploy the ferry service?"
    assert "make sail" in call(browser.daemon, "brief", "codex", session="codex/abc123", prompt=prompt)["text"]
    text = see(browser, note).text.partition("When agents got it")[2]
    assert "for deploy ferry service" in text
    assert "codex session abc123" in text


def test_a_note_is_forgotten_restored_archived_and_muted(browser: Browser):
    note = note_of(browser, "The pier has nine lamps.")
    page = browser.press(see(browser, note).form("Forget"))
    assert "State forgotten" in page.text
    assert "nine lamps" in page.text
    page = browser.press(page.form("Restore"))
    assert "State active" in page.text
    page = browser.press(page.form("Archive"))
    assert "State archived" in page.text
    page = browser.press(page.form("Make it count again"))
    page = browser.press(page.form("Mute"))
    assert "muted everywhere" in page.text
    assert "muted" not in browser.press(page.form("Unmute")).text.partition("Move it")[0].partition("State")[2]


def test_a_note_is_moved_and_made_private(browser: Browser):
    note = note_of(browser, "The crane lifts five tons.")
    form = see(browser, note).form("Move")
    form.fields |= {"kind": "decision", "project": "docks"}
    page = browser.press(form)
    assert "Kind decision Project docks" in page.text
    assert [one["id"] for one in call(browser.daemon, "list", project="docks", kinds=["decision"])["notes"]] == [note]
    page = browser.press(page.form("Make it private"))
    assert "active, private" in page.text
    assert "five tons" not in page.html.partition("<title>")[2].partition("</title>")[0]
    assert "active, private" not in browser.press(page.form("No longer private")).text


def test_an_erasure_says_what_it_reaches_and_leaves_nothing(browser: Browser):
    note = note_of(browser, "The safe word is tangerine.")
    assert "Erase it for good?" not in see(browser, note).text
    page = see(browser, note, "&erase=1")
    assert "the file notes/" in page.text
    assert "tangerine" in page.text
    page = browser.press(page.form("Erase it for good"))
    assert "Erased" in page.text
    assert "tangerine" not in page.html
    answer = browser.send("GET", f"/ui/note?id={note}")
    assert answer.status == 400
    assert "tangerine" not in answer.text
    assert "tangerine" not in browser.see("/ui/search?q=tangerine&state=forgotten").html.partition("Results")[2]


@pytest.mark.parametrize("more", ["", "&source=1", "&edit=1", "&erase=1"])
def test_no_text_of_a_note_is_in_a_cache(browser: Browser, more: str):
    note = note_of(browser, "The harbor sleeps.")
    assert browser.send("GET", f"/ui/note?id={note}{more}").headers["cache-control"] == "no-store"


def test_an_entry_of_a_log_is_shown_and_edited(browser: Browser):
    call(browser.daemon, "append", "codex", content="Fixed the winch.", kind="log")
    entry = call(browser.daemon, "list", kinds=["log"])["notes"][0]["id"]
    page = see(browser, entry)
    assert "Fixed the winch." in page.text
    form = see(browser, entry, "&edit=1").form("Save")
    form.fields["text"] = "Fixed the winch, and the rope."
    answer = browser.submit(form)
    assert answer.status == 303
    assert "the rope" in browser.see("/ui/search?q=winch+rope").text


HOSTILE = [
    "<script>alert(1)</script>",
    "<svg onload=alert(1)></svg>",
    "[x](javascript:alert(1))",
    "<style>body{display:none}</style>",
    "![x](https://evil.example/pixel.png)",
    "</textarea><script>alert(1)</script>",
    "</pre><img src=x onerror=alert(1)>",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_does_nothing_in_any_view_of_it(browser: Browser, text: str):
    note = note_of(browser, f"A text {hash(text)}. {text}", title=f"On {text}"[:80])
    call(browser.daemon, "update", target=note, text=f"Changed {hash(text)}. {text}\n\nTwice {text}")
    queries = [f"/ui/note?id={note}{more}" for more in ("", "&source=1", "&edit=1", "&edit=source", "&erase=1")]
    queries += [
        f"/ui/search?q={quote(text)}",
        f"/ui/search?mode=prompt&q={quote(text)}&after={quote(text)}",
        "/ui/search",
    ]
    for query in queries:
        page = browser.see(query)
        assert not {"img", "svg", "iframe", "style", "object"} & {*page.tags}, query
        assert page.tags.count("script") == 1, query
        assert page.inline == [], query
        assert all(source.startswith(("/ui", "?", "#")) for source in page.sources), query
