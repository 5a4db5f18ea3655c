"""A folder tree is walked whatever its depth, and where it links to itself."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mcp_memory.capture.transcript_paths import TranscriptPaths
from mcp_memory.storage.folder_walk import walk

LEVELS = 400
"""Fewer than Python's usual limit of recursion, since pytest removes the folders again."""


@pytest.fixture
def deep(tmp_path: Path) -> Iterator[Path]:
    """A chain of more folders than functions may call each other now, a file in the last one, and a link to the top."""
    top = tmp_path / "top"
    Path(top, *["d"] * LEVELS).mkdir(parents=True)
    Path(top, *["d"] * LEVELS, "last.jsonl").touch()
    (top / "loop").symlink_to(".")
    usual = sys.getrecursionlimit()
    sys.setrecursionlimit(len(inspect.stack(0)) + LEVELS // 2)
    yield top
    sys.setrecursionlimit(usual)


def test_every_folder_once_and_no_link(deep: Path) -> None:
    seen = list(walk(deep))
    assert len(seen) == LEVELS + 1
    assert (seen[0][0], sorted(seen[0][1])) == (str(deep), ["d", "loop"])
    assert seen[-1][2] == ["last.jsonl"]


def test_what_is_taken_out_is_not_entered_and_what_is_gone_is_skipped(tmp_path: Path) -> None:
    for name in ("a/x", "b/x", "c/x"):
        (tmp_path / name).mkdir(parents=True)
    seen: list[str] = []
    for folder, folders, _ in walk(tmp_path):
        seen.append(Path(folder).name)
        folders[:] = sorted({*folders} - {"b"})
        if Path(folder) == tmp_path:
            (tmp_path / "c" / "x").rmdir()
            (tmp_path / "c").rmdir()
    assert seen == [tmp_path.name, "a", "x"]
    assert list(walk(tmp_path / "none")) == []


def test_transcripts_in_deep_folders_are_found(deep: Path) -> None:
    assert len(TranscriptPaths({"codex": str(deep)}).list_transcripts("codex")) == 1
