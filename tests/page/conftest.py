"""A daemon for the tests of a file, with a browser that is signed in."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.daemon.conftest import KEYWORDS_ONLY, place
from tests.daemon.place import Place
from tests.page.browser import Browser, memory

__all__ = ["place"]


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    folder = tmp_path_factory.mktemp("page")
    with memory(Place(folder, folder / "models", KEYWORDS_ONLY).make()) as signed_in:
        yield signed_in
