"""The examples of the README and of the guide run as they stand there."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.daemon.place import Place

CHECKOUT = Path(__file__).parents[2]
ADA = "ada-wants-short-answers.md"


@pytest.mark.with_model
@pytest.mark.parametrize(
    ("page", "printed", "notes"),
    [
        ("README.md", "Ada wants short answers.", [ADA]),
        ("mcp_memory/guide/library.md", "In SQLite: one file", ["001-what-do-we-keep-the-index-in.md", ADA]),
    ],
)
def test_the_example(page: str, printed: str, notes: list[str], place: Place) -> None:
    text = (CHECKOUT / page).read_text(encoding="utf-8")
    (example,) = re.findall(r"<!-- library-example -->\n```python\n(.*?)```", text, re.DOTALL)
    for _ in ("first", "again"):
        done = subprocess.run(
            [sys.executable, "-c", example],
            env={name: value for name, value in place.environ.items() if name != "MCP_MEMORY_VAULT"},
            cwd=place.root, capture_output=True, text=True, timeout=120,
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (0, ""), done.stderr
        assert printed in done.stdout
    assert {path.name for path in (place.home / "memory").rglob("*.md")} == {*notes}
