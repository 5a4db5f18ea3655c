"""The packages for clients' own shops: which files there are, and what stands in them. Pure.

One folder is a plugin of Claude Code, Codex and OpenClaw at once, since each looks for a manifest of its own; one
marketplace file beside it serves all three.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mcp_memory.integrations.clients import HOOK_EVENTS, HOOK_TIMEOUT_S
from mcp_memory.integrations.config_entries import HookEntries

NAME = "mcp-memory"
ABOUT = "Memory for coding agents: plain Markdown files, served over MCP by one local daemon"
FOLDER = "configs/plugin"
MARKETPLACE = ".claude-plugin/marketplace.json"
BY_HAND = ("README.md", "index.js")
"""The files of the folder that are not generated."""

SKILL = "long-term-memory"
ABOUT_SKILL = (
    "Long-term memory shared by all agents on this machine. Use it before deciding or answering anything that may have"
    " come up before, and at once when a decision, preference, correction, fix or fact comes up that a later session"
    " would want."
)


@dataclass(frozen=True, slots=True)
class BundleValues:
    """What differs from machine to machine. `servers` and `hooks` are by client, hooks then by the events of
    `HOOK_EVENTS`; `hook` is OpenClaw's command, with EVENT for the event."""

    version: str
    servers: Mapping[str, Mapping[str, Any]]
    hooks: Mapping[str, Mapping[str, str]]
    hook: str
    skill: str


def packages(filling: BundleValues) -> dict[str, str]:
    """All generated files: path from the folder that is added as a marketplace → text."""
    inside = {
        ".claude-plugin/plugin.json": _json(_claude_code(filling)),
        ".codex-plugin/plugin.json": _json(_codex(filling)),
        "codex/mcp.json": _json({"mcpServers": {"memory": filling.servers["codex"]}}),
        "codex/hooks.json": _hooks("codex", filling),
        "claude-code/hooks.json": _hooks("claude-code", filling),
        "openclaw.plugin.json": _json(_openclaw(filling)),
        "package.json": _json(_npm(filling)),
        f"skills/{SKILL}/SKILL.md": f"---\nname: {SKILL}\ndescription: {json.dumps(ABOUT_SKILL)}\n---\n{filling.skill}",
    }
    return {MARKETPLACE: _json(_marketplace(filling)), **{f"{FOLDER}/{name}": text for name, text in inside.items()}}


def _marketplace(filling: BundleValues) -> dict[str, Any]:
    plugin = {"name": NAME, "source": f"./{FOLDER}", "description": ABOUT, "version": filling.version}
    return {"name": NAME, "owner": {"name": NAME}, "metadata": {"description": ABOUT}, "plugins": [plugin]}


def _about(filling: BundleValues) -> dict[str, Any]:
    return {"name": NAME, "version": filling.version, "description": ABOUT, "license": "MIT"}


def _claude_code(filling: BundleValues) -> dict[str, Any]:
    server = filling.servers["claude-code"]
    address = {
        "type": "string",
        "title": "Address",
        "description": "Where the daemon listens: `mcp-memory status` shows it",
        "default": server["url"],
    }
    return {
        **_about(filling),
        "author": {"name": NAME},
        "hooks": "./claude-code/hooks.json",
        "userConfig": {"url": address},
        "mcpServers": {"memory": {**server, "url": "${user_config.url}"}},
    }


def _codex(filling: BundleValues) -> dict[str, Any]:
    parts = {"skills": "./skills/", "hooks": "./codex/hooks.json", "mcpServers": "./codex/mcp.json"}
    return {**_about(filling), **parts}


def _openclaw(filling: BundleValues) -> dict[str, Any]:
    """It declares no server: the token would have to come from a variable that a shop cannot set."""
    command = {
        "type": "string",
        "description": "What to run, with EVENT for the event",
        "default": filling.hook,
    }
    return {
        "id": NAME,
        "name": NAME,
        "description": ABOUT,
        "version": filling.version,
        "kind": "memory",
        "categories": ["memory"],
        "activation": {"onStartup": True},
        "skills": ["./skills"],
        "configSchema": {"type": "object", "additionalProperties": False, "properties": {"command": command}},
    }


def _npm(filling: BundleValues) -> dict[str, Any]:
    return {**_about(filling), "type": "module", "openclaw": {"extensions": ["./index.js"]}}


def _hooks(client: str, filling: BundleValues) -> str:
    commands = {HOOK_EVENTS[event]: command for event, command in filling.hooks[client].items()}
    return HookEntries(commands, client, None, HOOK_TIMEOUT_S).insert("")


def _json(value: Mapping[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"
