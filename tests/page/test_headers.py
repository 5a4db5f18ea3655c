"""What each answer says to the browser: run nothing but the page's own script, load from nowhere else, keep nothing."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from mcp_memory.page.views import VIEWS
from tests.page.browser import Browser, call

PAGES = ["/ui", "/ui?day=2026-01-01", "/ui/nothing", *(f"/ui/{view.name}" for view in VIEWS if view.is_listed)]


@pytest.mark.parametrize("path", [*PAGES, "/ui/static/page.js", "/ui/static/page.css", "/ui/enter?key=x"])
def test_each_answer_has_the_headers(browser: Browser, path: str):
    headers = browser.send("GET", path).headers
    policy = dict(part.strip().split(" ", 1) for part in headers["content-security-policy"].split(";"))
    assert policy["default-src"] == "'none'"
    assert {policy[name] for name in ("script-src", "style-src", "img-src", "connect-src", "form-action")} == {"'self'"}
    assert policy["base-uri"] == policy["frame-ancestors"] == "'none'"
    assert headers["x-frame-options"] == "DENY"
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "same-origin"
    assert headers["cache-control"] == ("max-age=31536000" if "static" in path else "no-store")


@pytest.mark.parametrize("path", PAGES)
def test_a_page_has_nothing_inline_and_nothing_from_elsewhere(browser: Browser, path: str):
    call(browser.daemon, "append", content="The kiln fires at 1240 degrees.", kind="fact")
    status = 404 if path == "/ui/nothing" else 200
    page = browser.see(path, status)
    assert page.inline == []
    assert [source for source in page.sources if not source.startswith(("/ui", "#", "?"))] == []


def test_each_class_has_one_rule_of_its_own(browser: Browser):
    """Two views that give a class other meanings would change each other."""
    sheet = browser.send("GET", "/ui/static/page.css").text.partition("@media (max-width")[0]
    names = Counter(re.findall(r"^(\.[a-z-]+) \{", sheet, re.MULTILINE))
    assert names and [name for name, count in names.items() if count > 1] == []
