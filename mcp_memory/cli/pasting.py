"""What to paste into a client so that it finds the daemon: the templates of `configs/clients`, filled in."""

from __future__ import annotations

import json
import shlex
import shutil
import sys
from pathlib import Path

from mcp_memory.client.connection import Address
from mcp_memory.engine.config import VaultConfig
from mcp_memory.engine.notes import slug
from mcp_memory.settings.settings import PREFERRED_PORT, Settings, shipped

TEMPLATE_URL = f"http://127.0.0.1:{PREFERRED_PORT}/mcp"


def snippets(settings: Settings, address: Address) -> dict[str, str]:
    """Client → text to paste, with this daemon's address and this program's path in it."""
    name = server_name(settings)
    claude = json.dumps(json.loads(_filled("claude-code.json", settings, address)), ensure_ascii=False)
    codex = "\n".join(
        line for line in _filled("codex.toml", settings, address).splitlines() if line and not line.startswith("#")
    )
    token = f"{command_path()} token --client openclaw{_vault_option(settings)}"
    return {
        "Claude Code": f"claude mcp add-json --scope user {name} {shlex.quote(claude)}",
        "Codex: add to ~/.codex/config.toml": codex.replace("[mcp_servers.memory]", f"[mcp_servers.{name}]"),
        f"OpenClaw: start it with MCP_MEMORY_TOKEN set to what this prints: {token}": f"openclaw mcp add {name} "
        f"--url {address.url} --transport streamable-http --no-probe "
        "--header 'Authorization=Bearer ${MCP_MEMORY_TOKEN}'",
    }


def server_name(settings: Settings) -> str:
    """What clients call this vault's server."""
    return "memory" if _is_default(settings) else f"memory-{slug(settings.vault_path.name)}"


def command_path() -> str:
    """The absolute path of `mcp-memory` as a shell word, since a client starts it without our PATH."""
    beside = Path(sys.executable).with_name("mcp-memory")
    found = str(beside) if beside.exists() else shutil.which("mcp-memory")
    return _word(found) if found else f"{_word(sys.executable)} -m mcp_memory"


def _filled(name: str, settings: Settings, address: Address) -> str:
    """Both formats take JSON's string escapes, and both templates hold the command inside a string."""
    helper = json.dumps(f"{command_path()} headers{_vault_option(settings)}", ensure_ascii=False)[1:-1]
    return shipped(f"clients/{name}").replace(TEMPLATE_URL, address.url).replace("mcp-memory headers", helper)


def _vault_option(settings: Settings) -> str:
    return "" if _is_default(settings) else f" --vault {_word(str(settings.vault_path))}"


def _is_default(settings: Settings) -> bool:
    return settings.vault.path == VaultConfig().path


def _word(text: str) -> str:
    """One shell word, in double quotes where it needs any: the whole is quoted once more with single ones."""
    if shlex.quote(text) == text:
        return text
    escaped = "".join(f"\\{c}" if c in '"\\$`' else c for c in text)
    return f'"{escaped}"'
