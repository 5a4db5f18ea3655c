"""Codex: HTTP with a headers helper, hooks that you have to trust, and `AGENTS.md`."""

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar

from mcp_memory.errors import McpMemoryError
from mcp_memory.integrations import text_file, toml
from mcp_memory.integrations.clients.client import ACTIONS, Client, ClientPaths, ConnectionDetails, Scope, has_ours
from mcp_memory.integrations.config_entries import ConfigEntry, HookEntries, HookEvent, HookTrust
from mcp_memory.integrations.config_plan import ConfigTarget
from mcp_memory.text.parsed_values import value_at


class Codex(Client):
    """Codex, configured in `config.toml` and `hooks.json` in `~/.codex` or `.codex`."""

    name = "codex"
    title = "Codex"
    program = "codex"
    home = ".codex"
    file = "config.toml"
    project_file = ".codex/config.toml"
    syntax = toml
    path = ("mcp_servers",)
    runs = "headers"
    rules = "AGENTS.md"
    hooks_switch = ("features", "hooks")
    own_memory = "features.memories"
    tolerates = ""
    hooks: ClassVar = {
        "SessionStart": HookEvent("session-start"),
        "UserPromptSubmit": HookEvent("prompt"),
        "PreToolUse": HookEvent("before-tool", ACTIONS),
        "PostToolUse": HookEvent("after-tool", ACTIONS),
        "SubagentStart": HookEvent("subagent-start"),
        "PreCompact": HookEvent("pre-compact"),
        "Stop": HookEvent("stop"),
        "SessionEnd": HookEvent("session-end"),
    }

    def folder(self, where: ClientPaths) -> Path:
        return where.folder("CODEX_HOME", self.home)

    def hooks_file(self, scope: Scope, where: ClientPaths) -> Path:
        return self.config_file(scope, where).with_name("hooks.json")

    def memory_folder(self, where: ClientPaths) -> Path | None:
        folders = (self.folder(where) / name for name in ("memories_v2", "memories"))
        return next((folder for folder in folders if any(folder.glob("*.md"))), None)

    def further_entries(self, wire: ConnectionDetails) -> Iterator[tuple[Path, ConfigEntry]]:
        config = self.config_file(wire.scope, wire.where)
        if wire.hooks:
            ours = self.hook_entries(wire.hooks, wire.vault, wire.name)
            yield config, HookTrust(_trust_keys(self.hooks_file(wire.scope, wire.where), ours))

    def why_unused(self, target: ConfigTarget, content: bytes | None) -> str | None:
        other = target.file.with_name("AGENTS.override.md")
        if target.file.name == "AGENTS.md" and has_ours(target, content):
            with suppress(McpMemoryError):
                if (text_file.read(other) or b"").strip():
                    return f"Codex reads {other} instead of {target.file}: copy the lines about memory from there"
        return super().why_unused(target, content)

    def why_server_off(self, name: str, entry: Mapping[str, Any], where: ClientPaths) -> str | None:  # noqa: ARG002 -- as the others
        for file, settings in self.layers(where):
            is_on = value_at(settings, *self.path, name, "enabled")
            if is_on is not None:
                return f"enabled = false in {file}" if is_on is False else None
        return None


def _trust_keys(file: Path, hooks: HookEntries) -> tuple[str, ...]:
    """Return Codex's keys for our handlers in that file. A key has the file, the event in snake case, and two
    numbers."""
    with suppress(McpMemoryError):  # reported when the hooks are planned
        return tuple(
            f"{file}:{re.sub(r'(?<!^)(?=[A-Z])', '_', event).lower()}:{group}:{number}"
            for event, group, number in hooks.places(text_file.read_text(file))
        )
    return ()
