"""Codex: HTTP with a headers helper, hooks that you have to trust, and `AGENTS.md`."""

import re
from contextlib import suppress
from pathlib import Path
from typing import ClassVar

from mcp_memory.errors import McpMemoryError
from mcp_memory.integrations import text_file
from mcp_memory.integrations.clients.client import ACTIONS, Client, ClientPaths, ConnectionDetails, Scope
from mcp_memory.integrations.config_entries import HookEntries, HookEvent, HookTrust
from mcp_memory.integrations.config_plan import ConfigTarget
from mcp_memory.integrations.marked_block import InstructionBlock
from mcp_memory.integrations.own_memory import OwnMemory
from mcp_memory.integrations.server_entry import EntryIdentity, ServerEntry


class Codex(Client):
    """Codex, configured in `config.toml` and `hooks.json` in `~/.codex` or `.codex`."""

    name: ClassVar = "codex"
    title: ClassVar = "Codex"
    program: ClassVar = "codex"
    scopes: ClassVar = ("user", "project")
    tolerates: ClassVar = ""
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

    def config_file(self, scope: Scope, where: ClientPaths) -> Path | None:
        if scope == "project":
            return where.project / ".codex" / "config.toml" if where.project else None
        return self.folder(where) / "config.toml"

    def folder(self, where: ClientPaths) -> Path:
        return where.folder("CODEX_HOME", ".codex")

    def memory_folder(self, where: ClientPaths) -> Path | None:
        folders = (self.folder(where) / name for name in ("memories_v2", "memories"))
        return next((folder for folder in folders if any(folder.glob("*.md"))), None)

    def targets(self, scope: Scope, where: ClientPaths, wire: ConnectionDetails, hooks: bool) -> list[ConfigTarget]:
        config = self._config(scope, where)
        identity = EntryIdentity(self.name, wire.vault)
        server = ServerEntry("toml", ("mcp_servers",), wire.name, wire.entry, identity, wire.chosen)
        folder = where.project if scope == "project" and where.project else config.parent
        instructions = ConfigTarget(folder / "AGENTS.md", (InstructionBlock(wire.instructions),))
        own = () if scope == "project" else (OwnMemory("toml", ("features", "memories"), default=False),)
        if not hooks:
            return [ConfigTarget(config, (server, *own)), instructions]
        file, ours = config.parent / "hooks.json", self.hook_entries(wire.hooks, wire.vault, wire.name)
        return [
            ConfigTarget(config, (server, HookTrust(_trust_keys(file, ours)), *own)),
            ConfigTarget(file, (ours,)),
            instructions,
        ]


def _trust_keys(file: Path, hooks: HookEntries) -> tuple[str, ...]:
    """Return Codex's keys for our handlers in that file. A key has the file, the event in snake case, and two
    numbers."""
    with suppress(McpMemoryError):  # reported when the hooks are planned
        return tuple(
            f"{file}:{re.sub(r'(?<!^)(?=[A-Z])', '_', event).lower()}:{group}:{number}"
            for event, group, number in hooks.places(text_file.read_text(file))
        )
    return ()
