"""A feature goes with its folder and its line in the list: the rest starts, stores, searches and stops."""

import subprocess
import sys
from pathlib import Path

import pytest

from mcp_memory.engine.features import FEATURES

WITHOUT = """
import sys
from importlib.abc import MetaPathFinder

from mcp_memory.engine import features

gone = f"mcp_memory.{sys.argv[1]}"


class Gone(MetaPathFinder):
    def find_spec(self, fullname, path, target=None):
        if fullname == gone or fullname.startswith(f"{gone}."):
            raise ModuleNotFoundError(f"no {fullname}")


sys.meta_path.insert(0, Gone())
features.FEATURES = tuple(name for name in features.FEATURES if name != sys.argv[1])

from mcp_memory import Memory

with Memory.open(sys.argv[2]) as memory:
    memory.append("The kiln fires at 1240 degrees.", kind="fact")
    print(memory.search("kiln").hits[0].snippet)
    print(memory.recall("How hot is the kiln?"))
"""


@pytest.mark.parametrize("name", FEATURES)
def test_everything_else_works_without_a_feature(name: str, tmp_path: Path):
    run = subprocess.run(
        [sys.executable, "-c", WITHOUT, name, str(tmp_path / "vault")],
        env={"HOME": str(tmp_path), "MCP_MEMORY_EMBEDDER_PROVIDER": "none", "PATH": ""},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.count("The kiln fires at 1240 degrees.") == 2
