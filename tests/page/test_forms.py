"""Only a form of the page itself changes anything: each defence alone is enough to refuse, and nothing happens."""

from __future__ import annotations

import pytest

from tests.page.browser import Browser, Form, call


@pytest.fixture
def form(browser: Browser) -> Form:
    """A form that would forget a note."""
    note = call(browser.daemon, "append", content="The gate opens at six.", kind="fact")["id"]
    return browser.see().form("Forget", target=note)


def is_there(browser: Browser, form: Form) -> bool:
    return form.fields["target"] in [one["id"] for one in call(browser.daemon, "list")["notes"]]


def test_a_form_of_the_page_works(browser: Browser, form: Form):
    """Else a refusal below would prove nothing."""
    page = browser.press(form)
    assert "Forgotten." in page.text
    assert not is_there(browser, form)
    page = browser.press(page.form("Undo", target=form.fields["target"]))
    assert "Undone." in page.text
    assert is_there(browser, form)
    assert "Undone." not in browser.see().text


def test_a_form_needs_the_token_of_this_browser(browser: Browser, form: Form):
    other = Browser(browser.daemon).sign_in()
    for token in ("", "x", other.see().form("Sign out everywhere").fields["token"]):
        form.fields["token"] = token
        assert browser.submit(form).status == 403
    assert is_there(browser, form)


@pytest.mark.parametrize("site", ["", "none", "cross-site", "same-site"])
def test_a_form_has_to_come_from_the_page(browser: Browser, form: Form, site: str):
    assert browser.submit(form, **{"Sec-Fetch-Site": site}).status == 403
    assert is_there(browser, form)


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:1", "http://localhost"])
def test_a_page_of_another_origin_is_refused(browser: Browser, form: Form, origin: str):
    assert browser.submit(form, Origin=origin).status == 403
    assert is_there(browser, form)


def test_a_form_needs_the_cookie(browser: Browser, form: Form):
    stranger = Browser(browser.daemon)
    assert stranger.submit(form).status == 403
    assert is_there(browser, form)


def test_an_address_alone_changes_nothing(browser: Browser, form: Form):
    query = "&".join(f"{name}={value}" for name, value in form.fields.items())
    assert browser.send("GET", f"{form.action}?{query}", Sec_Fetch_Site="same-origin").status == 404
    assert is_there(browser, form)


@pytest.mark.parametrize("path", ["//evil.example", "https://evil.example", "/ui\\evil", "/uix", "/ui/\nx", "/mcp"])
def test_a_form_leads_back_to_the_page_only(browser: Browser, form: Form, path: str):
    form.fields["next"] = path
    assert browser.submit(form).headers["location"] == "/ui"


def test_an_error_is_shown_in_words(browser: Browser, form: Form):
    form.fields["target"] = "nothing-of-this-name"
    page = browser.press(form)
    assert "nothing-of-this-name" in page.text
    assert "→" in page.text


def test_an_unknown_action_is_no_action(browser: Browser, form: Form):
    form.action = "/ui/do/erase-everything"
    assert browser.submit(form).status == 404


def test_another_host_is_refused(browser: Browser):
    assert browser.send("GET", "/ui", Host="memory.evil.example").status == 421
