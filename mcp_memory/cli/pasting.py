"""What to paste into a client so that it finds the daemon: the templates of `configs/clients`, filled in."""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path

from mcp_memory.client.connection import Address
from mcp_memory.engine.config import VaultConfig
from mcp_memory.settings import PREFERRED_PORT, Settings, shipped

TEMPLATE_URL = f"http://127.0.0.1:{PREFERRED_PORT}/mcp"


def snippets(settings: Settings, address: Address) -> dict[str, str]:
    """Client → text to paste, with this daemon's address and this program's path in it."""
    claude = " ".join(_filled("claude-code.json", settings, address).split())
    codex = "\n".join(
        line for line in _filled("codex.toml", settings, address).splitlines() if line and not line.startswith("#")
    )
    return {
        "Claude Code": f"claude mcp add-json --scope user memory '{claude}'",
        "Codex: add to ~/.codex/config.toml": codex,
        "OpenClaw": f"openclaw mcp add memory --url {address.url} --transport streamable-http --no-probe "
        "--header 'Authorization=Bearer ${MCP_MEMORY_TOKEN}'   # with MCP_MEMORY_TOKEN from: mcp-memory token",
    }


def command_path() -> str:
    """The absolute path of `mcp-memory`, since a client starts it without our PATH."""
    beside = Path(sys.executable).with_name("mcp-memory")
    found = str(beside) if beside.exists() else shutil.which("mcp-memory")
    return shlex.quote(found) if found else f"{shlex.quote(sys.executable)} -m mcp_memory"


def _filled(name: str, settings: Settings, address: Address) -> str:
    vault = "" if settings.vault.path == VaultConfig().path else f" --vault {shlex.quote(str(settings.vault_path))}"
    helper = f"{command_path()} headers{vault}"
    return shipped(f"clients/{name}").replace(TEMPLATE_URL, address.url).replace("mcp-memory headers", helper)
