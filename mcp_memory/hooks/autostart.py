"""Starting the daemon where a hook finds none: for the hooks to come, since nobody waits for it here."""

from __future__ import annotations

import os
from collections.abc import Mapping

from mcp_memory.client.detached_process import Detached
from mcp_memory.runtime.paths import absolute


def start_daemon(vault: str | None, config: str | None, environ: Mapping[str, str]) -> None:
    """`mcp-memory start` in the background, which starts one daemon however often it is asked. Raises OSError."""
    options = ["--vault", absolute(vault)] if vault else []
    options += ["--config", os.path.abspath(config)] if config else []
    Detached(["start", *options], environ).close()
