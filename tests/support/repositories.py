"""Repositories that the real git makes."""

from __future__ import annotations

import subprocess
from pathlib import Path

_IDENTITY = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "protocol.file.allow=always")


def git(*arguments: str, cwd: Path) -> str:
    done = subprocess.run(["git", *_IDENTITY, *arguments], cwd=cwd, check=True, capture_output=True, text=True)
    return done.stdout


def repository(folder: Path, origin: str = "", *, first: str | None = "first", **remotes: str) -> Path:
    """A new repository whose history begins with a commit of its own, unless `first` is None."""
    folder.mkdir(parents=True)
    git("init", "--quiet", cwd=folder)
    if first is not None:
        git("commit", "--quiet", "--allow-empty", "-m", f"{first} in {folder}", cwd=folder)
    for name, url in {**({"origin": origin} if origin else {}), **remotes}.items():
        git("remote", "add", name, url, cwd=folder)
    return folder
