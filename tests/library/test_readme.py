"""The README's example runs as it stands there."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from tests.daemon.place import Place

README = Path(__file__).parents[2] / "README.md"


def test_the_example(place: Place) -> None:
    examples = re.findall(
        r"<!-- library-example -->\n```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL
    )
    assert len(examples) == 1
    for _ in ("first", "again"):
        done = subprocess.run(
            [sys.executable, "-c", examples[0]],
            env={name: value for name, value in place.environ.items() if name != "MCP_MEMORY_VAULT"},
            cwd=place.root, capture_output=True, text=True, timeout=120,
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (0, ""), done.stderr
        assert "In SQLite: one file" in done.stdout
        assert "Ada wants short answers." in done.stdout
    notes = sorted(path.name for path in (place.home / "memory").rglob("*.md"))
    assert notes == ["001-what-do-we-keep-the-index-in.md", "README.md", "ada-wants-short-answers.md"]
