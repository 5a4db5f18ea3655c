"""The project of a folder, as git itself lays out repositories, worktrees and submodules."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mcp_memory.projects.repository_facts import find_repository_facts
from tests.support.repositories import git, repository


def project_of(folder: str) -> str | None:
    found = find_repository_facts(folder)
    return found and found.name


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


@pytest.mark.parametrize("name", ["a\nb", "x" * 101, "\udcff", "*", "channel:ops"])
def test_a_name_that_is_not_plain_is_none(tmp_path: Path, name: str) -> None:
    (tmp_path / name / ".git").mkdir(parents=True)
    assert project_of(str(tmp_path / name)) is None


def test_relative_folders_and_nul_have_none() -> None:
    assert project_of("mill") is project_of("/tmp/\0") is project_of("") is None


def test_a_home_folder_that_is_a_repository_is_no_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = repository(tmp_path / "users" / "ada", "git@github.com:ada/dotfiles")
    git("worktree", "add", "-q", str(tmp_path / "dots"), cwd=home)
    repository(home / "code" / "mill")
    (tmp_path / "link").symlink_to(home)
    monkeypatch.setenv("HOME", str(tmp_path / "link"))
    for folder in (home, home / "Documents", tmp_path / "link" / "Documents", tmp_path / "dots"):
        assert project_of(str(folder)) is None, folder
    assert project_of(str(home / "code" / "mill" / "src")) == "mill"
    git("init", "-q", cwd=tmp_path / "users")
    assert project_of(str(tmp_path / "users" / "ben")) is None, "it holds the home folder"


@pytest.mark.parametrize(
    ("written", "origin"),
    [
        ('[remote "origin"]\n\turl = git@github.com:ada/mill.git\n', "github.com/ada/mill"),
        ('[remote "origin"] url = "https://github.com/ada/mill" ; a comment\n', "github.com/ada/mill"),
        ('[REMOTE "origin"]\nURL=https://github.com/ada/mi\\\nll\n', "github.com/ada/mill"),
        ('[remote "github"]\nurl = https://github.com/ada/mill\n', "github.com/ada/mill"),
        ('[remote "a"]\nurl = h:a\n[remote "b"]\nurl = h:b\n', ""),
        ('[remote "origin"]\nurl = gh:ada/mill\n[url "https://github.com/"]\ninsteadOf = gh:\n', "github.com/ada/mill"),
        ('[remote "origin"]\nurl = git@work:ada/mill\n', "github.com/ada/mill"),
        ('[remote "origin"]\nurl = mine:ada/mill\n', "github.com/ada/mill"),
        ('[remote "origin"]\nurl = \\\n', ""),
        ("[remote", ""),
        ("\0\xff" * 100, ""),
    ],
)
def test_the_origin_is_read_without_git(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: str, origin: str
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PATH", "")
    (tmp_path / "home" / ".ssh").mkdir(parents=True)
    (tmp_path / "home" / ".ssh" / "config").write_text(
        "Host other\n  HostName x.org\nHost work w\n\tHostName github.com\n"
    )
    (tmp_path / "home" / ".gitconfig").write_text('[url "https://github.com/"]\n\tinsteadOf = mine:\n')
    (tmp_path / "mill" / ".git").mkdir(parents=True)
    (tmp_path / "mill" / ".git" / "config").write_text(written)
    found = find_repository_facts(str(tmp_path / "mill"))
    assert found and found.origin == origin
