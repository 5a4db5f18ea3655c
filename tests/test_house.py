"""The rules of the house, each as one test: imports go one way, ruff, pyright."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[1]
OURS = ["mcp_memory", "tests"]


def check(*command: str) -> None:
    done = subprocess.run(
        [sys.executable, *command],
        cwd=CHECKOUT,
        env={**os.environ, "PYRIGHT_PYTHON_IGNORE_WARNINGS": "1"},  # else it asks the network for a newer pyright
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=240,
    )
    if done.returncode:
        pytest.fail(f"{' '.join(command)}\n{done.stdout}{done.stderr}", pytrace=False)


def test_imports_go_one_way():
    check("-c", "import sys; from importlinter.cli import lint_imports_command as lint; sys.exit(lint())", "--no-cache")


def test_ruff_finds_nothing():
    check("-m", "ruff", "check", "--no-cache", *OURS)


def test_ruff_would_format_nothing():
    check("-m", "ruff", "format", "--no-cache", "--diff", *OURS)


def test_pyright_is_content():
    check("-m", "pyright", "--pythonpath", sys.executable)
