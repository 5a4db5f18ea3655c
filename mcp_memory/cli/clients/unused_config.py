"""Finds out why a client doesn't use the entries in its files, although they look right."""

from collections.abc import Mapping
from typing import Any

from mcp_memory.errors import McpMemoryError
from mcp_memory.integrations import config_files
from mcp_memory.integrations.claude_settings import ClaudeSettings
from mcp_memory.integrations.clients import (
    OVER_STDIO,
    TITLES,
    ClientPaths,
    config_file,
    explain_unread,
    overriding_file,
)
from mcp_memory.integrations.config_plan import ConfigTarget
from mcp_memory.text.parsed_values import table_at, value_at


def unused_file(client: str, target: ConfigTarget, content: bytes | None) -> str | None:
    """Return why the client ignores a file that has an entry of ours; None if it doesn't."""
    try:
        text = (content or b"").decode()
        if not any(entry.is_in(text) for entry in target.entries):
            return None
    except (McpMemoryError, UnicodeDecodeError):
        return None  # a broken file shows nothing of ours
    if other := overriding_file(client, target):
        return f"{TITLES[client]} reads {other} instead of {target.file}: copy the lines about memory from there"
    return explain_unread(client, target, content)


def unused_server(client: str, name: str, entry: Mapping[str, Any], paths: ClientPaths) -> str | None:
    """Return why the client doesn't connect to the server that is configured under that name; None if it does."""
    if client == "claude-code":
        return ClaudeSettings.read(paths).server_off(name, entry.get("url"))
    if client in OVER_STDIO:
        return OVER_STDIO[client].server_off(name, entry, paths)
    file = config_file(client, "project", paths)
    over = table_at(config_files.read_table(file), "mcp_servers", name) if file else {}
    if {**entry, **over}.get("enabled") is False:
        return f"enabled = false in {file if 'enabled' in over else config_file(client, 'user', paths)}"
    return None


def why_hooks_are_off(client: str, paths: ClientPaths) -> str | None:
    """Return the setting that switches all hooks of a client off, as far as its files show."""
    if client == "claude-code":
        return ClaudeSettings.read(paths).hooks_off()
    if client in OVER_STDIO:
        return OVER_STDIO[client].hooks_off(paths)
    for scope in ("project", "user"):
        file = config_file(client, scope, paths)
        if file and value_at(config_files.read_table(file), "features", "hooks") is False:
            return f"features.hooks = false in {file}"
    return None


def missing_rule(server: str, paths: ClientPaths, remedy: str) -> str | None:
    """Return what to do if no rule covers our tools, so that Claude Code asks before each call, or if a rule denies
    them."""
    permission = ClaudeSettings.read(paths).permission(server)
    if permission == "no rule":
        return f"Claude Code asks before each memory tool, and `claude -p` refuses it: {remedy}"
    if permission == "denied":
        return f"a rule in permissions.deny blocks the memory tools: look for mcp__{server}"
    return None
