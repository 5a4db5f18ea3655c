"""A person's repository, made and looked at with the real git."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from mcp_memory.git.commits import CommitPart, CommitResult, commit_files
from mcp_memory.git.repository import find_repository

ADA = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")


@dataclass(frozen=True)
class Repo:
    """`vault` is the folder in it that is ours; `root` its work tree."""

    root: Path
    vault: Path
    home: Path

    def git(self, *arguments: str, ok: tuple[int, ...] = (0,), stdin: str = "", at: Path | None = None) -> str:
        done = subprocess.run(
            ["git", *ADA, *arguments],
            cwd=at or self.root,
            env={"PATH": os.environ["PATH"], "HOME": str(self.home), "GIT_EDITOR": "true"},
            input=stdin,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode in ok, done
        return done.stdout

    def write(self, path: str, text: str = "x\n") -> Path:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return file

    def theirs(self, message: str = "theirs", **files: str) -> None:
        """A commit of the person's."""
        for name, text in files.items():
            self.write(f"{name}.md", text)
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", message)

    def commit(self, *paths: str, message: str = "memory: test") -> CommitResult:
        """What the engine does when it has changed these paths of the vault."""
        return commit_files(find_repository(self.vault, 20), paths, lambda changes: [CommitPart(message, changes)])

    def status(self) -> str:
        return self.git("status", "--porcelain", "--untracked-files=all")

    def held(self, commit: str = "HEAD") -> list[str]:
        """The files that a commit changes."""
        return self.git("show", "--format=", "--name-only", "-z", commit).rstrip("\0").split("\0")

    def subjects(self) -> Sequence[str]:
        return self.git("log", "--format=%s").splitlines()


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A person's home without a configuration of git."""
    if not shutil.which("git"):
        pytest.skip("there is no git here")
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    for name in ("XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL", "GIT_DIR"):
        monkeypatch.delenv(name, raising=False)
    return home


@pytest.fixture
def repo(home: Path, tmp_path: Path) -> Repo:
    """With one commit of the person's."""
    root = tmp_path / "repo"
    root.mkdir()
    repo = Repo(root, root, home)
    repo.git("init", "-q", "-b", "main")
    repo.theirs("first", other="one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\n", note="old\n")
    return repo
