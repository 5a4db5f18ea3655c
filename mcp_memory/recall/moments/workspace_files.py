"""Names the files that OpenClaw reads at each start of a session, if the vault is its workspace. Other clients get them
from us."""

import os
from collections.abc import Set
from datetime import datetime, timedelta
from pathlib import Path

from mcp_memory.integrations.clients.client import ClientPaths
from mcp_memory.integrations.clients.openclaw import OpenClaw
from mcp_memory.models import NotePath
from mcp_memory.runtime.paths import absolute
from mcp_memory.vault.vault import Vault

_FILES = tuple(map(NotePath, ("USER.md", "SOUL.md", "TOOLS.md", "AGENTS.md")))


def workspace_files(vault: Vault, now: datetime) -> list[NotePath]:
    """Return the files besides `MEMORY.md`, with the logs of today and yesterday; empty if the vault has no
    `SOUL.md`, and so isn't a workspace."""
    if not vault.glance(NotePath("SOUL.md")):
        return []
    days = now.date(), now.date() - timedelta(days=1)
    return [*_FILES, *(path for day in days for path in reversed(vault.daily_log.parts(day)))]


def files_loaded_by(client: str, vault: Vault, now: datetime) -> Set[NotePath]:
    """Return the files of the vault that this client reads by itself. Reads OpenClaw's configuration."""
    if client == OpenClaw.name:
        workspace = OpenClaw().workspace(ClientPaths(Path(absolute("~")), os.environ))
        if workspace.resolve() == vault.roots()[""].resolve():
            return {vault.layout.memory, *workspace_files(vault, now)}
    return frozenset()
