"""Every text of a note is hostile: it is shown, and does nothing."""

from __future__ import annotations

from time import perf_counter

import pytest

from mcp_memory.page.markdown import render
from tests.page.browser import Browser, Page, call

HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<svg onload=alert(1)><script>alert(1)</script></svg>",
    "[x](javascript:alert(1))",
    "[x](data:text/html,<script>alert(1)</script>)",
    "<a href='javascript:alert(1)'>x</a>",
    "<style>body{display:none}</style>",
    "<iframe src='https://evil.example'></iframe>",
    "<form action='/ui/do/sign-out'><button>x</button></form>",
    "![x](https://evil.example/pixel.png)",
    "![x](/ui/do/sign-out)",
    '<https://evil.example/"onmouseover=alert(1)>',
    "[x]: javascript:alert(1)\n\n[x]",
    "<p style='position:fixed;inset:0'>x</p>",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_markdown_becomes_text_alone(text: str):
    page = Page(str(render(text)))
    allowed = {"p", "a", "em", "strong", "code", "pre", "ul", "li"}
    assert {*page.tags} <= allowed
    assert page.inline == []
    assert [source for source in page.sources if not source.startswith("https://")] == []


@pytest.mark.parametrize("text", HOSTILE)
def test_a_title_becomes_text_alone(browser: Browser, text: str):
    content = f"A text with the hash {hash(text)}."  # otherwise it would be the note stored before
    call(browser.daemon, "append", content=content, kind="fact", title=" ".join(f"Note {text}"[:100].split()))
    page = browser.see()
    assert not {"img", "svg", "iframe", "style"} & {*page.tags}
    assert page.tags.count("script") == 1
    assert page.inline == []
    assert f"Note {text}"[:15] in page.text


def test_characters_that_reorder_or_hide_text_are_shown_as_codes(browser: Browser):
    call(browser.daemon, "append", content="Pay \u202etsrif\u200b.", kind="fact", title="Pay \u202eeht rof")
    page = browser.see()
    assert "\u202e" not in page.html
    assert "Pay \\u{202E}eht rof" in page.text
    assert "\u202e" not in render("x \u202e y")


@pytest.mark.parametrize(
    "text", ["[" * 50_000, "> " * 25_000, "*a_ " * 20_000, "`" * 50_000, "![" * 25_000, "|" * 50_000, "x" * 2_000_000]
)
def test_a_bomb_is_rendered_in_time(text: str):
    began = perf_counter()
    render(text)
    assert perf_counter() - began < 2
