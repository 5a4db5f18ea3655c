"""A place whose vault this very process opens, or a daemon serves."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.daemon.conftest import KEYWORDS_ONLY
from tests.daemon.place import Place, end


@pytest.fixture
def place(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    """Knows keywords only, unless the test is marked `with_model`. What a program started here would find, this process
    finds as well."""
    if request.node.get_closest_marker("with_model"):
        made = Place(tmp_path, request.getfixturevalue("model_cache")).make()
    else:
        made = Place(tmp_path, tmp_path / "models", KEYWORDS_ONLY).make()
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
