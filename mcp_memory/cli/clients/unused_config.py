"""What keeps a client from using what its files connect: they look right, and it goes by something else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mcp_memory.errors import McpMemoryError
from mcp_memory.integrations import config_files
from mcp_memory.integrations.claude_settings import ClaudeSettings
from mcp_memory.integrations.clients import TITLES, ClientPaths, config_file, explain_unread, overriding_file
from mcp_memory.integrations.config_entries import rule_for
from mcp_memory.integrations.config_plan import ConfigTarget
from mcp_memory.text.parsed_values import table_at, value_at


def unused_file(client: str, target: ConfigTarget, content: bytes | None) -> str | None:
    """Why the client does not go by a file that has something of ours; None where it does."""
    try:
        text = (content or b"").decode()
        if not any(piece.is_in(text) for piece in target.entries):
            return None
    except (McpMemoryError, UnicodeDecodeError):
        return None  # then nothing of ours is seen in it
    if other := overriding_file(client, target):
        return f"{TITLES[client]} reads {other} instead of {target.file}: copy the lines about memory from there"
    return explain_unread(client, target, content)


def unused_server(client: str, name: str, entry: Mapping[str, Any], place: ClientPaths) -> str | None:
    """What keeps the client from connecting to a server that is configured under that name; None where nothing does."""
    if client == "claude-code":
        return ClaudeSettings.read(place).server_off(name, entry.get("url"))
    file = config_file(client, "project", place)
    over = table_at(config_files.read_table(file), "mcp_servers", name) if file else {}
    if {**entry, **over}.get("enabled") is False:
        return f"enabled = false in {file if 'enabled' in over else config_file(client, 'user', place)}"
    return None


def why_hooks_are_off(client: str, place: ClientPaths) -> str | None:
    """What switches all hooks of a client off, as far as its files tell."""
    if client == "claude-code":
        return ClaudeSettings.read(place).hooks_off()
    for scope in ("project", "user"):
        file = config_file(client, scope, place)
        if file and value_at(config_files.read_table(file), "features", "hooks") is False:
            return f"features.hooks = false in {file}"
    return None


def rule_wanted(server: str, place: ClientPaths, remedy: str) -> str | None:
    """A line for a person where Claude Code asks before each call of our tools, or forbids it, and nobody said so."""
    said = ClaudeSettings.read(place).permission(server)
    if said == "no rule":
        return f"Claude Code asks before each memory tool, and `claude -p` refuses it: {remedy}"
    return f"a rule in permissions.deny shuts memory tools out: look for mcp__{server}" if said == "denied" else None


def by_hand(server: str) -> str:
    """What to do where `install` cannot put the rule in."""
    return f"add {rule_for(server)!r} to permissions.allow in its settings.json"
