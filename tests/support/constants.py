"""Other constants for programs that a test starts, such as a small limit that is reached soon."""

from __future__ import annotations

import json
import os
from pathlib import Path

from tests.support.warm_process import CHECKOUT, VARIED


def with_constants(*folders: Path, **constants: float) -> dict[str, str]:
    """The environment of a process with these constants, each named by its section and field: `watch_debounce_s`.
    `folders`: further ones to import from."""
    named = {name.replace("_", ".", 1): value for name, value in constants.items()}
    path = os.pathsep.join(map(str, (CHECKOUT, VARIED, *folders)))
    return {"PYTHONPATH": path, "TEST_CONSTANTS": json.dumps(named)}
