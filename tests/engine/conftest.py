from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.world import World, made


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def toy_plugin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The provider `toy`, installed as any other package's would be: by an entry point."""
    folder = tmp_path_factory.mktemp("plugin")
    info = folder / "toy_embedder-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: toy-embedder\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[mcp_memory.embedder]\ntoy = tests.support.toy:open_toy\n")
    sys.path.append(str(folder))
    yield
    sys.path.remove(str(folder))


@pytest.fixture
def world(tmp_path: Path) -> World:
    """An empty vault, searched by keywords."""
    return made(tmp_path)


@pytest.fixture
def toy_world(tmp_path: Path, toy_plugin: None) -> World:
    """An empty vault, searched by keywords and the toy embedder's vectors."""
    return made(tmp_path, "toy")
