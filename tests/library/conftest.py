"""A place whose vault this very process opens, or a daemon serves."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.daemon.place import Place, end


@pytest.fixture
def place(tmp_path: Path, model_cache: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    """With the real model. What a program started here would find, this process finds as well."""
    made = Place(tmp_path, model_cache).make()
    for name in [name for name in os.environ if name.startswith("MCP_MEMORY_")]:
        monkeypatch.delenv(name)
    for name, value in made.environ.items():
        monkeypatch.setenv(name, value)
    yield made
    end(made)


@pytest.fixture(params=["alone", "daemon"])
def vault(request: pytest.FixtureRequest, place: Place) -> Iterator[Path]:
    """A vault that nobody serves, and one that a daemon does."""
    if request.param == "alone":
        yield place.vault
        return
    with place.started():
        yield place.vault
