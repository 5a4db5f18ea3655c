"""One real daemon for the tests of the wire, and a connection of each era to it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.daemon.conftest import place
from tests.daemon.place import Place, Running
from tests.daemon.wire import ERAS, Wire

__all__ = ["both", "daemon", "place", "wire"]


@pytest.fixture(scope="session")
def daemon(tmp_path_factory: pytest.TempPathFactory, model_cache: Path) -> Iterator[Running]:
    place = Place(tmp_path_factory.mktemp("wire"), model_cache).make()
    with place.started() as running:
        yield running


@pytest.fixture
def wire(daemon: Running) -> Iterator[Wire]:
    with Wire(daemon) as connection:
        yield connection


@pytest.fixture(params=ERAS)
def both(request: pytest.FixtureRequest, daemon: Running) -> Iterator[Wire]:
    """A connection that speaks the handshake era, then one that speaks the sessionless one."""
    with Wire(daemon, era=request.param) as connection:
        yield connection
