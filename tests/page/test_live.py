"""An open page hears of changes while agents work, and doesn't keep the daemon from stopping."""

from __future__ import annotations

import http.client
from collections.abc import Iterator
from contextlib import closing, contextmanager
from time import perf_counter

from tests.daemon.place import Place
from tests.page.browser import Browser, call, memory


@contextmanager
def stream(browser: Browser) -> Iterator[http.client.HTTPResponse]:
    address = browser.daemon.address
    cookies = "; ".join(f"{name}={value}" for name, value in browser.cookies.items())
    with closing(http.client.HTTPConnection(address.host, address.port, timeout=20)) as connection:
        connection.request("GET", "/ui/live", headers={"Cookie": cookies, "Accept": "text/event-stream"})
        yield connection.getresponse()


def next_event(answer: http.client.HTTPResponse) -> str:
    lines = iter(answer.readline, b"")
    return next(line.decode().split()[1] for line in lines if line.startswith(b"event:"))


def test_a_change_is_announced(browser: Browser):
    with stream(browser) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        assert next_event(answer) == "hello"
        call(browser.daemon, "append", "codex", content="The kiln fires at 1240 degrees.", kind="fact")
        assert next_event(answer) == "change"


def test_a_stream_ends_when_its_browser_is_signed_out(browser: Browser):
    with stream(browser) as answer:
        assert next_event(answer) == "hello"
        browser.daemon.place.run("clients", "token", "--client", "cli", "--rotate").ok()
        assert next_event(answer) == "signed-out"
    browser.sign_in()


def test_windows_beyond_the_limit_are_turned_away(browser: Browser):
    from contextlib import ExitStack

    with ExitStack() as windows:
        answers = [windows.enter_context(stream(browser)) for _ in range(9)]
        assert [answer.status for answer in answers] == [*[200] * 8, 503]


def test_an_open_page_does_not_delay_a_stop(place: Place):
    with memory(place) as browser, stream(browser) as answer:
        assert next_event(answer) == "hello"
        began = perf_counter()
        place.run("stop").ok()
        assert perf_counter() - began < 4
