"""Every shipped back end, and every way in which a file system may refuse the strict calls, keeps the contract."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcp_memory.errors import ConfigInvalid
from mcp_memory.storage import STORAGE
from mcp_memory.storage.base import StorageBackend
from mcp_memory.storage.filesystem import FilesystemBackend
from tests.storage.refusing import LACKS, RefusingRenames
from tests.support.storage_contract import StorageContract


class TestFilesystem(StorageContract):
    @pytest.fixture
    def backend(self, tmp_path: Path) -> StorageBackend:
        (tmp_path / "vault").mkdir()
        return FilesystemBackend(tmp_path / "vault", locks=tmp_path / "locks", marker=None)


class TestFilesystemWithoutLockFolder(StorageContract):
    @pytest.fixture
    def backend(self, tmp_path: Path) -> StorageBackend:
        return FilesystemBackend(tmp_path, marker=None, deadline_s=30)


@pytest.mark.parametrize("lacks", LACKS, ids="+".join)
class TestFilesystemThatLacksCalls(StorageContract):
    @pytest.fixture
    def backend(self, tmp_path: Path, lacks: tuple[str, ...]) -> StorageBackend:
        return FilesystemBackend(tmp_path, marker=None, renames=RefusingRenames(*lacks), deadline_s=30)


def test_back_ends_are_chosen_by_name() -> None:
    assert STORAGE.get("filesystem") is FilesystemBackend
    with pytest.raises(ConfigInvalid, match="floppy"):
        STORAGE.get("floppy")
