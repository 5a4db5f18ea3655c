from __future__ import annotations

from pathlib import Path

import pytest

from mcp_memory.storage.filesystem import FilesystemBackend


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    folder = tmp_path / "vault"
    folder.mkdir()
    return folder


@pytest.fixture
def files(vault: Path, tmp_path: Path) -> FilesystemBackend:
    return FilesystemBackend(vault, locks=tmp_path / "state" / "locks", marker=None)
