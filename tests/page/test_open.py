"""`mcp-memory open` shows the link to the browser only, not to other users of the machine."""

from __future__ import annotations

import os
from pathlib import Path
from time import monotonic, sleep
from urllib.parse import unquote, urlsplit

import pytest

from mcp_memory.page import feature
from mcp_memory.page.sign_in import ROOT
from tests.page.browser import Browser
from tests.support.world import World


def opened(browser: Browser) -> tuple[str, Path]:
    """The arguments of the browser that `open` starts, and the file that they name."""
    place = browser.daemon.place
    arguments, program = place.root / "arguments", place.root / "a-browser"
    program.write_text(f'#!/bin/sh\necho "$@" > {arguments}\n')
    program.chmod(0o755)
    assert "opened in your browser" in place.run("open", BROWSER=f"{program} %s").ok().out
    deadline = monotonic() + 20
    while not arguments.exists() or not arguments.read_text().endswith("\n"):
        assert monotonic() < deadline
        sleep(0.05)
    given = arguments.read_text().strip()
    arguments.unlink()
    return given, Path(unquote(urlsplit(given).path))


def link_in(file: Path) -> str:
    url = urlsplit(file.read_text().partition("url=")[2].partition('"')[0])
    return f"{url.path}?{url.query}"


def test_the_browsers_command_line_has_no_key(browser: Browser):
    given, file = opened(browser)
    assert given.startswith("file://")
    assert link_in(file).partition("=")[2] not in given
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.parent.stat().st_mode & 0o777 == 0o700


def test_the_file_leads_in_once_and_is_gone(browser: Browser):
    _, file = opened(browser)
    link = link_in(file)
    assert Browser(browser.daemon).send("GET", link).status == 200
    assert not file.exists()
    assert Browser(browser.daemon).send("GET", link).status == 403


@pytest.mark.anyio
async def test_the_file_of_an_unused_link_is_removed(world: World, monkeypatch: pytest.MonkeyPatch):
    from anyio import fail_after
    from anyio import sleep as asleep

    from mcp_memory.client.credentials import Credentials

    monkeypatch.setattr(feature, "LINK_S", 0.2)
    async with world.engine() as engine:
        engine.sites[ROOT](engine.perform, Credentials(world.state / "tokens.json"))
        file = Path((await engine.perform("page_link", {"server": "http://127.0.0.1:1"}))["file"])
        assert file.exists()
        with fail_after(10):
            while file.exists():
                await asleep(0.05)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can connect as another user")
def test_another_user_of_the_machine_cannot_use_a_link(browser: Browser):
    link = browser.link()
    os.seteuid(65534)
    try:
        assert Browser(browser.daemon).send("GET", link).status == 403
    finally:
        os.seteuid(0)
    assert Browser(browser.daemon).send("GET", link).status == 200
