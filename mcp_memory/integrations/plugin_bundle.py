"""Generates the plugin for clients' own marketplaces. Pure.

The same folder is a plugin of Claude Code, Codex and OpenClaw, because each looks for a manifest of its own. One
marketplace file beside it serves all three.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mcp_memory.integrations.clients import hook_entries

NAME = "mcp-memory"
ABOUT = "Memory for coding agents: plain Markdown files, served over MCP by one local daemon"
IN_PLUGIN = f"plugin_{NAME}_memory"
"""Claude Code's name for the plugin's server, as in the names of its tools."""

FOLDER = "configs/plugin"
MARKETPLACE = ".claude-plugin/marketplace.json"
BY_HAND = ("README.md", "actions.js", "command.js", "flush.js", "index.js", "opencode.js", "scopes.js", "tools.js")
"""The files of the folder that are not generated."""

_TOOLS: Mapping[str, Mapping[str, bool]] = {
    "memory_search": {"replaySafe": True},
    "memory_recall": {"replaySafe": True},
    "memory_get": {"replaySafe": True},
    "memory_append": {"sideEffecting": True},
    "memory_forget": {"sideEffecting": True},
}
"""The tools of OpenClaw's plugin, each with the traits that OpenClaw requires before it loads the tool."""

SKILL = "long-term-memory"
ABOUT_SKILL = (
    "Long-term memory shared by all agents on this machine. Use it before deciding or answering anything that may have"
    " come up before, and at once when a decision, preference, correction, fix or fact comes up that a later session"
    " would want."
)


@dataclass(frozen=True, slots=True)
class BundleValues:
    """The values that differ between machines. `servers` and `hooks` are by client, and hooks also by the client's
    event name. `hook` is OpenClaw's command, with the placeholder EVENT."""

    version: str
    servers: Mapping[str, Mapping[str, Any]]
    hooks: Mapping[str, Mapping[str, str]]
    hook: str
    skill: str


def packages(filling: BundleValues) -> dict[str, str]:
    """Return all generated files: path from the folder that is added as a marketplace → text."""
    about = {"name": NAME, "version": filling.version, "description": ABOUT, "license": "MIT"}
    codex = {"skills": "./skills/", "hooks": "./codex/hooks.json", "mcpServers": "./codex/mcp.json"}
    npm = {"type": "module", "openclaw": {"extensions": ["./index.js"]}}
    inside = {
        ".claude-plugin/plugin.json": _json({**about, **_claude_code(filling.servers["claude-code"])}),
        ".codex-plugin/plugin.json": _json({**about, **codex}),
        "codex/mcp.json": _json({"mcpServers": {"memory": filling.servers["codex"]}}),
        "codex/hooks.json": hook_entries("codex", filling.hooks["codex"], None, IN_PLUGIN).insert(""),
        "claude-code/hooks.json": hook_entries("claude-code", filling.hooks["claude-code"], None, IN_PLUGIN).insert(""),
        "openclaw.plugin.json": _json(_openclaw(filling)),
        "package.json": _json({**about, **npm}),
        f"skills/{SKILL}/SKILL.md": f"---\nname: {SKILL}\ndescription: {json.dumps(ABOUT_SKILL)}\n---\n{filling.skill}",
    }
    plugin = {"name": NAME, "source": f"./{FOLDER}", "description": ABOUT, "version": filling.version}
    market = {"name": NAME, "owner": {"name": NAME}, "metadata": {"description": ABOUT}, "plugins": [plugin]}
    return {MARKETPLACE: _json(market), **{f"{FOLDER}/{name}": text for name, text in inside.items()}}


def _claude_code(server: Mapping[str, Any]) -> dict[str, Any]:
    address = {
        "type": "string",
        "title": "Address",
        "description": "Where the daemon listens: `mcp-memory status` shows it",
        "default": server["url"],
    }
    return {
        "author": {"name": NAME},
        "hooks": "./claude-code/hooks.json",
        "userConfig": {"url": address},
        "mcpServers": {"memory": {**server, "url": "${user_config.url}"}},
    }


def _openclaw(filling: BundleValues) -> dict[str, Any]:
    """Return OpenClaw's manifest. It declares no server: for a tool call, the plugin runs `mcp-memory stdio` and passes
    the session."""
    command = {"type": "string", "description": "What to run, with EVENT for the event", "default": filling.hook}
    return {
        "id": NAME,
        "name": NAME,
        "description": ABOUT,
        "version": filling.version,
        "kind": "memory",
        "categories": ["memory"],
        "activation": {"onStartup": True},
        "skills": ["./skills"],
        "contracts": {"tools": [*_TOOLS], "agentToolResultMiddleware": ["openclaw"]},
        "toolMetadata": {name: {"profiles": ["coding", "messaging"], **traits} for name, traits in _TOOLS.items()},
        "configSchema": {"type": "object", "additionalProperties": False, "properties": {"command": command}},
    }


def _json(value: Mapping[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"
