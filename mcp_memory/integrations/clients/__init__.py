"""The clients that can be connected, one per file. All configuration files are edited directly.

`claude mcp add-json` and `openclaw mcp add` rewrite the whole file, and `codex mcp add` can't configure a headers
helper. None of the three can show its changes beforehand.
"""

import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from mcp_memory.integrations.clients.claude_code import ClaudeCode
from mcp_memory.integrations.clients.client import Client, ClientPaths, Scope
from mcp_memory.integrations.clients.codex import Codex
from mcp_memory.integrations.clients.editors import Cursor, VsCode
from mcp_memory.integrations.clients.gemini import GeminiCli
from mcp_memory.integrations.clients.openclaw import OpenClaw
from mcp_memory.integrations.clients.opencode import OpenCode
from mcp_memory.integrations.config_entries import HookTrust
from mcp_memory.integrations.config_plan import ConfigTarget

_CLIENTS = (ClaudeCode(), Codex(), OpenClaw(), GeminiCli(), OpenCode(), Cursor(), VsCode())

CLIENTS: Mapping[str, Client] = {client.name: client for client in _CLIENTS}
TITLES = {client.name: client.title for client in _CLIENTS}

CONNECTABLE: tuple[tuple[str, Scope], ...] = tuple(
    (client.name, scope) for client in _CLIENTS for scope in client.scopes
)
"""Each client with each scope in which its configuration can have our entries."""


def with_hook_trust(found: Sequence[ConfigTarget], hashes: Mapping[str, str]) -> list[ConfigTarget]:
    """Add Codex's trust in our hooks. `hashes` maps the key of each hook to its hash."""
    trust = HookTrust(tuple(hashes), hashes)
    return [
        replace(target, entries=tuple(trust if isinstance(entry, HookTrust) else entry for entry in target.entries))
        for target in found
    ]


def find_client(client: str, where: ClientPaths) -> list[Path]:
    """Return the client's program on the PATH and the client's folder, each if it exists."""
    program = shutil.which(CLIENTS[client].program, path=where.environ.get("PATH"))
    folder = CLIENTS[client].folder(where)
    return [*([Path(program)] if program else []), *([folder] if os.access(folder, os.F_OK) else [])]
