"""Starting the daemon where a session starts and none runs: for the next prompt, since nobody waits for it here."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path


def start_daemon(vault: str | None, config: str | None, environ: Mapping[str, str]) -> None:
    """`mcp-memory start` in the background, which starts one daemon however often it is asked. Raises OSError."""
    command = [sys.executable, "-P", "-m", "mcp_memory", "start"]
    command += ["--vault", str(Path(vault).expanduser().absolute())] if vault else []
    command += ["--config", str(Path(config).absolute())] if config else []
    # `-m` must find this very package also where it runs from a source tree.
    package_root = str(Path(__file__).resolve().parents[2])
    path = os.pathsep.join(part for part in (package_root, environ.get("PYTHONPATH")) if part)
    subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd="/",
        env={**environ, "PYTHONPATH": path},
        start_new_session=True,
    )
