"""A vault that is moved for good keeps what its clients know of it; a copy is another vault's affair."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from mcp_memory.client.connection import Address
from mcp_memory.daemon.instance import is_held
from tests.daemon.place import Place, end, eventually
from tests.daemon.wire import Wire


@pytest.fixture
def moved(place: Place):
    folder = place.root / "elsewhere" / "notes"
    folder.parent.mkdir()

    class Moved(Place):
        @property
        def vault(self) -> Path:
            return folder

    made = Moved(place.root, place.models, place.more)
    yield made
    end(made)


@pytest.mark.parametrize("first", ["start", "headers", "hook"])
def test_it_keeps_address_tokens_and_what_is_its_own(place: Place, moved: Place, first: str):
    with place.serving() as served, Wire(served) as wire:
        token, receipt = served.token("codex"), wire.api("append", {"content": "a violet teapot", "kind": "fact"}).json
        served.terminate()
    shutil.move(place.vault, moved.vault)
    if first == "hook":
        moved.run("hook", "prompt", "--client", "codex", stdin=b'{"session_id": "s", "prompt": "x"}').ok()
        eventually(lambda: moved.state.port.exists() and moved.state.daemon.exists(), within_s=120)
    elif first == "headers":
        assert moved.run("headers", "--client", "codex").ok().json["Authorization"] == f"Bearer {token}"
    moved.run("start").ok()
    assert Address.read(moved.state.daemon).url == served.address.url
    assert moved.credentials.token("codex") == token
    assert receipt["id"] in moved.run("search", "--json", "teapot").ok().out
    moved.run("forget", receipt["id"]).ok()  # it is still ours
    assert not place.state.port.exists()


def test_a_daemon_that_still_serves_the_old_place_ends(place: Place, moved: Place):
    with place.serving() as served:
        shutil.move(place.vault, moved.vault)
        moved.run("start").ok()
        assert served.process.wait(20) == 0
        assert Address.read(moved.state.daemon).url == served.address.url


def test_a_copy_gets_an_address_of_its_own(place: Place, moved: Place):
    with place.serving() as served:
        shutil.copytree(place.vault, moved.vault)
        moved.run("start").ok()
        assert is_held(place.state) and served.process.poll() is None
        assert Address.read(moved.state.daemon).url != served.address.url
        assert place.state.port.exists()
