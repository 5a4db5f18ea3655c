"""What comes back, and what each part of the search adds to it: our own questions, and the sets that
`MCP_MEMORY_EVAL_SETS` names (folders, with `:` between them), each beside the figures of others that lie with it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from math import inf
from pathlib import Path

from tests.benchmarks.figures import Figure
from tests.benchmarks.site import models
from tests.evaluation.running import PARTS

OWN = Path(__file__).parents[1] / "eval" / "developer"
MEASURED = ("evidence@500tok", "evidence@1000tok", "evidence@2000tok")


def retrieval() -> Iterator[Figure]:
    named = [Path(each) for each in os.environ.get("MCP_MEMORY_EVAL_SETS", "").split(":") if each]
    with tempfile.TemporaryDirectory() as state:
        for folder in (OWN, *named):
            ablated = [word for part in PARTS for word in ("--ablate", part)]
            print(f"\n{folder.name}\n{_evaluated(folder, state, *ablated)}", flush=True)
            found = json.loads(_evaluated(folder, state, "--json", "--recall"))
            overall = found["categories"]["overall"]
            for name in MEASURED:
                yield Figure(f"{folder.name}: {name}", overall[name]["mean"], "of all", inf, bound="least")
                told = found["recall"]["categories"]["overall"][name]["mean"]
                yield Figure(f"{folder.name}: memory_recall, {name}", told, "of all", inf, bound="least")
            for kind, value in found["auroc"].items():
                yield Figure(f"{folder.name}: answerable from {kind}", value, "AUROC", inf, bound="least")


def _evaluated(folder: Path, state: str, *options: str) -> str:
    command = [sys.executable, "-m", "tests.evaluation", str(folder), "--state", state, *options]
    environment = os.environ | {"MCP_MEMORY_MODELS": str(models())}
    return subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True).stdout
