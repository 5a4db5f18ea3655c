"""The real client programs: where they are, which versions the tests are written for, how one is run."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import pytest

LOCATION = "MCP_MEMORY_CLIENTS"
PINS = Path(__file__).with_name("package.json")
"""`dependencies` are needed by the tests; `extras` are used where they are installed, and need as much room again."""


@dataclass(frozen=True, slots=True)
class Programs:
    """An installed `package.json`: a folder with `node_modules`."""

    folder: Path

    @property
    def bin(self) -> Path:
        return self.folder / "node_modules" / ".bin"

    def has(self, name: str) -> bool:
        return (self.bin / name).exists()


@dataclass(frozen=True, slots=True)
class Ran:
    """How a program ended, and what it printed."""

    returncode: int
    out: str
    err: str

    def succeeded(self) -> Ran:
        """This, or a failed test that shows what the program said."""
        assert self.returncode == 0, f"exit {self.returncode}\n{self.out}\n{self.err}"
        return self


def locate(environ: Mapping[str, str]) -> Programs:
    """The installed programs, each in its pinned version; skips without them, fails where `CI` is true."""
    folder = environ.get(LOCATION)
    if not folder:
        _give_up(
            environ, f"needs the real clients: `npm ci` in a copy of tests/clients/, then {LOCATION}=<that folder>"
        )
    programs = Programs(Path(folder))
    for package, pinned in json.loads(PINS.read_text(encoding="utf-8"))["dependencies"].items():
        found = installed_version(programs, package)
        if found != pinned:
            _give_up(environ, f"{package} is {found or 'missing'} in {folder}, the tests are written for {pinned}")
    return programs


def installed_version(programs: Programs, package: str) -> str | None:
    """The version of a package in `node_modules`; None when it is not there."""
    manifest = programs.folder / "node_modules" / package / "package.json"
    return json.loads(manifest.read_text(encoding="utf-8"))["version"] if manifest.exists() else None


def run(*command: str | Path, environ: Mapping[str, str], cwd: Path, timeout_s: float = 60) -> Ran:
    """Run a program to its end, with nothing of our own environment, and leave none of its children behind."""
    process = subprocess.Popen(
        command,
        env=environ,
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        out, err = process.communicate(timeout=timeout_s)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    return Ran(process.returncode, out, err)


def _give_up(environ: Mapping[str, str], reason: str) -> NoReturn:
    if environ.get("CI", "").lower() in {"1", "true", "yes"}:
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)
