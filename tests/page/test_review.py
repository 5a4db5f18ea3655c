"""What waits, side by side: each choice and its undo, the notes nearby, and the same choice for many."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.daemon.place import Place, eventually
from tests.page.browser import Browser, Form, Page, call, memory

PORTS = [f"The staging proxy listens on port {port}." for port in (8087, 8090)]


@pytest.fixture
def review(place: Place) -> Iterator[Browser]:
    with memory(place) as browser:
        yield browser


def propose(browser: Browser, *texts: str, more: str = "") -> list[str]:
    """Put proposals into the inbox; return their ids once the page shows them."""
    vault = browser.daemon.place.vault
    box = next(vault.rglob("_inbox"), vault / "_inbox")
    box.mkdir(exist_ok=True)
    ids = [f"01KDZZZZZZZZZZZZZZZZZZZZ{number:02}" for number in range(len(texts))]
    for note_id, text in zip(ids, texts, strict=True):
        head = f"id: {note_id}\ntitle: {text[:40]}\nkind: preference\n{more}"
        (box / f"{note_id}.md").write_text(f"---\n{head}---\n\n{text}\n")
    shown(browser, *ids)
    call(browser.daemon, "adopt", path=box.name)
    return ids


def shown(browser: Browser, *words: str, kind: str = "") -> Page:
    """The page once it has these words in it."""
    return eventually(
        lambda: (
            (page := browser.see(f"/ui/review?n=40&kind={kind}")) and all(word in page.html for word in words) and page
        )
    )


def chosen(page: Page, label: str, *items: str) -> str:
    """The address that the form for many leads to."""
    query = "".join(f"&items={item}" for item in items)
    return f"/ui/review?choice={label.replace('[', '%5B').replace(']', '%5D')}{query}"


def contents(browser: Browser, note: str) -> str:
    return call(browser.daemon, "history", target=note)["chain"][0]["text"]


def decision(page: Page, label: str, **fields: str) -> Form:
    return next(one for one in page.forms if one.label == label and fields.items() <= one.fields.items())


def test_nothing_waits_in_an_empty_memory(browser: Browser):
    assert "No decision waits for you." in browser.see("/ui/review").text
    assert "Nothing is outdated." in browser.see("/ui/review?kind=archive").text
    assert browser.send("GET", "/ui/review?kind=nonsense&n=-1&choice=x&items=y").status == 200


def test_a_contradiction_shows_both_sides_and_where_they_differ(review: Browser):
    old, new = (call(review.daemon, "append", "codex", content=text, kind="fact")["id"] for text in PORTS)
    page = shown(review, "Keep this")
    assert "<mark>8087</mark>" in page.html
    assert "<mark>8090</mark>" in page.html
    assert page.html.count("<mark>") == 2
    page = review.press(decision(page, "Keep this", note=old))
    assert "Decided." in page.text
    assert "No decision waits" in page.text
    statuses = {one["id"]: one["status"] for one in call(review.daemon, "history", target=old)["chain"]}
    assert (statuses[old], statuses[new]) == ("active", "superseded")
    page = review.press(page.form("Undo"))
    assert len(call(review.daemon, "history", target=new)["chain"]) == 1


def test_a_proposal_is_merged_into_the_nearest_note_and_taken_back(review: Browser):
    text = "Small commits, each with the reason in the body of its message."
    note = call(review.daemon, "append", "codex", content=text, kind="preference")["id"]
    (proposed,) = propose(review, "Prefer small commits with the reason in the body.")
    page = shown(review, "Merge into it")
    page = review.press(decision(page, "Merge into it", note=note, items=proposed))
    assert "Merged." in page.text
    assert "Prefer small commits" in contents(review, note)
    page = review.press(page.form("Undo"))
    assert "Prefer small commits" not in contents(review, note)
    assert "Merge into it" in page.text


def test_a_proposal_is_merged_into_another_note_by_its_id(review: Browser):
    note = call(review.daemon, "append", "codex", content="The kiln fires at 1240 degrees.", kind="fact")["id"]
    (proposed,) = propose(review, "Prefer small commits.")
    form = decision(shown(review, "Merge into"), "Merge", items=proposed)
    form.fields["note"] = note
    assert "Merged." in review.press(form).text
    assert "Prefer small commits." in contents(review, note)


def test_a_proposal_is_accepted_with_other_words_and_another_kind(review: Browser):
    (proposed,) = propose(review, "Prefer small commits.")
    form = decision(shown(review, "Accept it so"), "Accept it so", items=proposed)
    form.fields |= {"text": "Prefer commits of at most 200 lines.", "kind": "decision"}
    assert "Stored." in review.press(form).text
    (note,) = call(review.daemon, "list")["notes"]
    assert (note["kind"], note["title"]) == ("decision", "Prefer commits of at most 200 lines.")


def test_a_proposal_that_changed_meanwhile_is_left_alone(review: Browser):
    (proposed,) = propose(review, "Prefer small commits.")
    page = shown(review, proposed)
    file = next(review.daemon.place.vault.rglob(f"{proposed}.md"))
    file.write_text(file.read_text().replace("small", "tiny"))
    page = review.press(page.form("Accept", items=proposed))
    assert "has changed since you saw it" in page.text
    assert not call(review.daemon, "list")["notes"]


def test_many_are_dropped_after_a_preview_and_come_back_together(review: Browser):
    ids = propose(review, "Prefer small commits.", "Answer in metric units.", "The kiln fires at 1240 degrees.")
    page = review.see("/ui/review?all=1")
    assert page.html.count(" checked") == 3
    page = review.see(chosen(page, "[d]rop", *ids[:2]))
    assert "Drop 2 items?" in page.text
    assert "Nothing is done yet." in page.text
    assert len(call(review.daemon, "waiting")["waiting"]) == 3
    page = review.press(page.form("Drop 2 items"))
    assert "2 decisions made." in page.text
    assert [one["id"] for one in call(review.daemon, "waiting")["waiting"]] == [ids[2]]
    review.press(page.form("Undo"))
    assert sorted(one["id"] for one in call(review.daemon, "waiting")["waiting"]) == ids


def test_a_preview_names_what_stays(review: Browser):
    for text in PORTS:
        call(review.daemon, "append", "codex", content=text, kind="fact")
    (proposed,) = propose(review, "Prefer small commits.")
    page = shown(review, "Keep this", proposed)
    conflict = decision(page, "Both are right").fields["items"]
    page = review.see(chosen(page, "[d]rop", proposed, conflict, "01KDZZZZZZZZZZZZZZZZZZZZ99"))
    assert "Drop 1 item?" in page.text
    assert "1 item can't be decided so" in page.text
    assert "1 item no longer waits" in page.text


def test_items_about_one_subject_are_together(review: Browser):
    propose(review, "The harbor API answers in 200 ms.", "Prefer tea.", "The harbor API answers in 200 ms or retries.")
    page = shown(review, "One subject")
    assert page.text.count("One subject") == 1
    assert "2 decisions" in page.text


def test_more_items_come_with_the_next_page(review: Browser):
    propose(review, *(f"Prefer option number {number}." for number in range(12)))
    page = review.see("/ui/review")
    assert page.html.count('class="row item entry"') == 10
    more = next(link for link in page.links if "n=40" in link and "all" not in link)
    assert review.see(f"/ui/review{more}").html.count('class="row item entry"') == 12


def test_a_private_proposal_is_veiled(review: Browser):
    propose(review, "The clinic is in the second street.", more="tags: [private]\n")
    html = review.see("/ui/review").html
    before, _, after = html.partition("The clinic")
    assert before.rindex('class="veil"') > before.rindex("</details>")
    assert "Private" in before and "</details>" in after


def test_a_proposal_of_a_dream_is_marked_in_its_file_and_the_mark_is_taken_back(review: Browser):
    vault = review.daemon.place.vault
    call(review.daemon, "append", content="Prefer small commits.", kind="log")
    folder = next(vault.rglob("memory"))
    (folder / ".dreams").mkdir()
    facts = {"text": "Prefer small commits.", "status": "proposed", "why": "said on 3 days", "days": ["2026-11-30"]}
    (folder / ".dreams" / "0123abcd.json").write_text(json.dumps(facts))
    dreams = folder.parent / "DREAMS.md"
    dreams.write_text("# Dreams\n\n## Preferences\n\n- [ ] Prefer small commits. ^dream-0123abcd\n")
    page = shown(review, "said on 3 days", kind="proposal")
    page = review.press(page.form("Accept"))
    assert "Marked in DREAMS.md" in page.text
    assert "- [x] Prefer small commits. ^dream-0123abcd" in dreams.read_text()
    page = review.press(page.form("Undo"))
    assert "- [ ] Prefer small commits. ^dream-0123abcd" in dreams.read_text()
    review.press(page.form("Accept"))
    page = review.press(review.see("/ui/review?kind=proposal").form("Dream now"))
    assert "Dreamed" in page.text
    assert "Prefer small commits." in (folder.parent / "MEMORY.md").read_text()
