"""The project of a folder, as git itself lays out repositories, worktrees and submodules."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from mcp_memory.runtime.paths import project_of


def git(*arguments: str, cwd: Path) -> None:
    identity = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "protocol.file.allow=always")
    subprocess.run(["git", *identity, *arguments], cwd=cwd, check=True, capture_output=True)


@pytest.fixture(scope="module")
def disk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`mill` with a submodule and two worktrees, and the bare repositories `weir.git` and `hull/.bare`."""
    disk = tmp_path_factory.mktemp("disk")
    for name in ("dam", "mill"):
        git("init", name, cwd=disk)
        git("commit", "--allow-empty", "-m", "first", cwd=disk / name)
    mill = disk / "mill"
    (mill / "src" / "deep").mkdir(parents=True)
    git("submodule", "add", str(disk / "dam"), "libs/sluice", cwd=mill)
    git("commit", "-m", "with a submodule", cwd=mill)
    git("worktree", "add", "../mill-fix", cwd=mill)
    git("worktree", "add", ".claude/worktrees/rye", cwd=mill)
    git("worktree", "add", str(disk / "sluice-fix"), cwd=mill / "libs" / "sluice")
    git("submodule", "update", "--init", cwd=disk / "mill-fix")
    (disk / "mill-fix" / "src").mkdir()
    for bare in ("weir.git", "hull/.bare"):
        git("clone", "--bare", str(disk / "dam"), bare, cwd=disk)
    git("worktree", "add", str(disk / "weir-fix"), cwd=disk / "weir.git")
    (disk / "hull" / ".git").write_text("gitdir: ./.bare\n")
    git("worktree", "add", "keel", cwd=disk / "hull")
    (disk / "kept").mkdir()
    git("init", "--separate-git-dir", str(disk / "kept" / "lock.git"), str(disk / "lock"), cwd=disk)
    return disk


@pytest.mark.parametrize(
    ("folder", "project"),
    {
        "mill": "mill", "mill/src/deep": "mill", "mill/.git": "mill", "mill/.git/worktrees/rye": "mill",
        "mill-fix": "mill", "mill-fix/src": "mill", "mill/.claude/worktrees/rye": "mill",
        "mill/libs/sluice": "sluice", "mill-fix/libs/sluice": "sluice", "sluice-fix": "sluice",
        "weir.git": "weir", "weir.git/refs": "weir", "weir-fix": "weir",
        "hull": "hull", "hull/.bare": "hull", "hull/keel": "hull", "lock": "lock",
        "mill/src/gone/for/good": "mill", ".": None, "kept": None,
    }.items(),
)  # fmt: skip
def test_worktrees_belong_to_their_repository(disk: Path, folder: str, project: str | None) -> None:
    assert project_of(str(disk / folder)) == project


def test_relative_paths_and_links_lead_there_too(disk: Path, tmp_path: Path) -> None:
    """As git 2.48 writes them with `worktree.useRelativePaths`."""
    file = disk / "mill-fix" / ".git"
    was = file.read_text()
    file.write_text("gitdir: ../mill/.git/worktrees/mill-fix\n")
    (tmp_path / "link").symlink_to(disk / "mill-fix" / "src")
    (tmp_path / "root").symlink_to(disk / "mill-fix")
    try:
        assert project_of(str(disk / "mill-fix" / "src")) == project_of(str(tmp_path / "root")) == "mill"
    finally:
        file.write_text(was)


def test_a_worktree_keeps_its_project_when_the_repository_moves(tmp_path: Path) -> None:
    git("init", "mill", cwd=tmp_path)
    git("commit", "--allow-empty", "-m", "first", cwd=tmp_path / "mill")
    git("worktree", "add", "../fix", cwd=tmp_path / "mill")
    (tmp_path / "mill").rename(tmp_path / "old")
    assert project_of(str(tmp_path / "fix")) == "mill"


@pytest.mark.parametrize(
    "content",
    [b"", b"gitdir:", b"gitdir: /etc", b"gitdir: /dev/zero", b"\0\xff", b"gitdir: \0", b"gitdir: .", b"x" * 9999],
)
def test_a_hostile_file_names_the_folder_that_it_is_in(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "mill").mkdir()
    (tmp_path / "mill" / ".git").write_bytes(content)
    assert project_of(str(tmp_path / "mill")) == "mill"


def test_what_would_wait_or_has_no_end_is_not_read(tmp_path: Path) -> None:
    for name in ("mill", "weir", "hull", "lock"):
        (tmp_path / name).mkdir()
    os.mkfifo(tmp_path / "mill" / ".git")
    (tmp_path / "weir" / ".git").symlink_to("/dev/zero")
    (tmp_path / "hull" / ".git").symlink_to(tmp_path / "nowhere")
    os.mkfifo(tmp_path / "lock" / "commondir")
    (tmp_path / "lock" / ".git").write_text("gitdir: .")
    assert [project_of(str(tmp_path / name)) for name in ("mill", "weir", "hull", "lock")] == [
        "mill", "weir", "hull", "lock",
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["a\nb", "x" * 101, "\udcff"])
def test_a_name_that_is_not_plain_is_none(tmp_path: Path, name: str) -> None:
    (tmp_path / name / ".git").mkdir(parents=True)
    assert project_of(str(tmp_path / name)) is None


def test_relative_folders_and_nul_have_none() -> None:
    assert project_of("mill") is project_of("/tmp/\0") is project_of("") is None
