"""Who may see the page: a browser that opened a link of `mcp-memory open`, and nobody else."""

from __future__ import annotations

from http.cookies import SimpleCookie
from typing import Any

import pytest

from mcp_memory.client.credentials import Credentials
from mcp_memory.page import sign_in
from mcp_memory.page.sign_in import ROOT, SignIn
from tests.daemon.place import Place
from tests.page.browser import Browser, call
from tests.support.world import World

SECRET = "The vault code is 4711."


def test_a_link_signs_one_browser_in_once(browser: Browser):
    link, first, second = browser.link(), Browser(browser.daemon), Browser(browser.daemon)
    assert first.send("GET", link).status == 200
    assert first.see().text
    refused = second.send("GET", link)
    assert refused.status == 403
    assert "set-cookie" not in refused.headers
    assert second.send("GET", ROOT).status == 403


def test_a_link_of_somebody_elses_making_is_refused(browser: Browser):
    stranger = Browser(browser.daemon)
    for key in ("", "x", browser.link().partition("=")[2][:-1]):
        assert stranger.send("GET", f"/ui/enter?key={key}").status == 403
    assert stranger.cookies == {}


def test_a_link_works_for_two_minutes(place: Place, monkeypatch: pytest.MonkeyPatch):
    place.state.make()
    signing, now = SignIn(place.credentials), [1000.0]
    monkeypatch.setattr(sign_in, "monotonic", lambda: now[0])
    early, late = (signing.make_link().partition("=")[2] for _ in range(2))
    now[0] += 119
    assert signing.redeem(early)
    now[0] += 2
    assert signing.redeem(late) is None


@pytest.mark.anyio
async def test_a_link_works_on_this_machine_only(world: World):
    async with world.engine() as engine:
        site = engine.sites[ROOT](engine.perform, Credentials(world.state / "tokens.json"))

        async def status(host: str) -> int:
            answer: list[Any] = []
            path, _, query = (await engine.perform("page_link", {}))["path"].partition("?")

            async def send(message: Any) -> None:
                answer.append(message)

            scope = {"type": "http", "method": "GET", "path": path, "query_string": query.encode(), "headers": []}
            await site({**scope, "server": ("x", 80), "scheme": "http", "client": (host, 1)}, None, send)  # type: ignore[arg-type]
            return answer[0]["status"]

        assert [await status(host) for host in ("127.0.0.1", "::1")] == [200, 200]
        assert [await status(host) for host in ("10.0.0.5", "fe80::1")] == [403, 403]


def test_the_cookie_stays_in_the_browser_and_on_the_page(browser: Browser):
    answer = Browser(browser.daemon).send("GET", browser.link())
    (cookie,) = SimpleCookie(answer.headers["set-cookie"]).values()
    assert cookie["httponly"] is True
    assert (cookie["samesite"], cookie["path"]) == ("strict", "/ui")
    assert cookie.key.endswith(f"_{browser.daemon.address.port}")


@pytest.mark.parametrize("path", ["/ui", "/ui/live", "/ui/do/forget", "/ui/nothing"])
def test_nobody_else_sees_anything(browser: Browser, path: str):
    call(browser.daemon, "append", content=SECRET, kind="fact")
    name, value = next((name, value) for name, value in browser.cookies.items() if name.startswith("mcp_memory"))
    issued, random, signature = value.split(".")
    other = "0" if signature[0] != "0" else "1"
    for forged in ("", "x", f"{int(issued) + 9}.{random}.{signature}", f"{issued}.{random}.{other}{signature[1:]}"):
        stranger = Browser(browser.daemon)
        stranger.cookies = {name: forged} if forged else {}
        answer = stranger.send("GET", path)
        assert answer.status == 403
        assert "mcp-memory open" in answer.text
        assert SECRET not in answer.text


def test_an_agent_gets_no_link(browser: Browser):
    from tests.daemon.wire import Wire

    with Wire(browser.daemon, client="codex") as agent:
        assert agent.api("page_link").status == 403
        assert agent.send("GET", "/ui").status == 403


@pytest.mark.parametrize("words", [["token", "--rotate"], ["clients", "token", "--client", "cli", "--rotate"]])
def test_rotating_a_token_signs_all_browsers_out(browser: Browser, words: list[str]):
    browser.daemon.token("default")
    other = Browser(browser.daemon).sign_in()
    assert other.send("GET", "/ui").status == 200
    browser.daemon.place.run(*words).ok()
    assert other.send("GET", "/ui").status == 403
    browser.sign_in()


def test_signing_out_everywhere_ends_all_browsers(browser: Browser):
    other = Browser(browser.daemon).sign_in()
    browser.sign_in()
    assert other.submit(other.see().form("Sign out everywhere")).status == 303
    assert [one.send("GET", "/ui").status for one in (other, browser)] == [403, 403]
    browser.sign_in()


def test_a_restart_keeps_browsers_signed_in(place: Place):
    with place.started("--port", "0") as daemon:
        browser = Browser(daemon).sign_in()
        place.run("restart").ok()
        assert browser.send("GET", "/ui").status == 200


def test_open_says_that_a_browser_cannot_reach_a_socket(place: Place):
    with place.started("--uds", str(place.root / "socket")):
        ran = place.run("open", "--print")
        assert ran.code == 1
        assert "Unix socket" in ran.err
