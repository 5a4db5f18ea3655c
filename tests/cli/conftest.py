"""One vault for the tests of the command line, served by a daemon that knows keywords only."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.daemon.conftest import KEYWORDS_ONLY, place
from tests.daemon.place import Place

__all__ = ["place", "served"]


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    root = tmp_path_factory.mktemp("cli")
    made = Place(root, root / "models", KEYWORDS_ONLY).make()
    with made.started():
        yield made
