"""Names the files of the vault that a client reads by itself at each start of a session: those of OpenClaw's workspace,
and `AGENTS.md`. Other clients get them from us."""

import os
from collections.abc import Set
from datetime import datetime, timedelta
from pathlib import Path

from mcp_memory.integrations.clients.client import ClientPaths
from mcp_memory.integrations.clients.codex import Codex
from mcp_memory.integrations.clients.openclaw import OpenClaw
from mcp_memory.integrations.clients.opencode import OpenCode
from mcp_memory.models import NotePath
from mcp_memory.runtime.paths import absolute
from mcp_memory.vault.vault import Vault

_AGENTS = NotePath("AGENTS.md")
_FILES = (*map(NotePath, ("USER.md", "SOUL.md", "TOOLS.md")), _AGENTS)


def workspace_files(vault: Vault, now: datetime) -> list[NotePath]:
    """Return the files besides `MEMORY.md`, with the logs of today and yesterday; empty if the vault has no
    `SOUL.md`, and so isn't a workspace."""
    if not vault.glance(NotePath("SOUL.md")):
        return []
    days = now.date(), now.date() - timedelta(days=1)
    return [*_FILES, *(path for day in days for path in reversed(vault.daily_log.parts(day)))]


def files_loaded_by(client: str, folder: str, vault: Vault, now: datetime) -> Set[NotePath]:
    """Return the files of the vault that this client reads by itself in a session in this folder, if it is known. Reads
    OpenClaw's configuration."""
    home = vault.roots()[""]
    root = home.resolve()
    is_here = Path(folder) in {home, root}  # without a look at the disk, as a folder may be no path at all
    if client == OpenClaw.name:
        workspace = OpenClaw().workspace(ClientPaths(Path(absolute("~")), os.environ))
        if is_here or workspace.resolve() == root:
            return {vault.layout.memory, *workspace_files(vault, now)}
    return {_AGENTS} if is_here and client in {Codex.name, OpenCode.name} else frozenset()
