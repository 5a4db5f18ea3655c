"""Gemini CLI: `~/.gemini/settings.json` contains the server, trusted, and the hooks (as version 0.61.0 reads it)."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from mcp_memory.integrations.clients.client import HOOK_TIMEOUT_S, Client, ClientPaths
from mcp_memory.integrations.config_entries import HookEvent
from mcp_memory.text.parsed_values import list_at, value_at


class GeminiCli(Client):
    """Gemini CLI. Its hooks have Claude Code's form under other names, with timeouts in milliseconds. Where it can't
    ask, a server without trust has no tools."""

    name = "gemini"
    title = "Gemini CLI"
    program = "gemini"
    hooks: ClassVar = {
        "SessionStart": HookEvent("session-start"),
        "BeforeAgent": HookEvent("prompt"),
        # Not for our own tools: the server's headers name the project, and each call that a hook completes adds a line.
        "BeforeTool": HookEvent("before-tool", "^(replace|run_shell_command|write_file)$"),
        "AfterTool": HookEvent("after-tool", "^run_shell_command$"),
        "PreCompress": HookEvent("pre-compact", "manual"),  # "auto" would fire at each request to the model
        "AfterAgent": HookEvent("stop"),
        "SessionEnd": HookEvent("session-end"),
    }
    hook_timeout = 1000 * HOOK_TIMEOUT_S
    remarks = (
        'Gemini CLI may call the memory tools without asking: "trust" in its entry, which you may change',
        "Gemini CLI starts servers and hooks only in folders that you trust; it asks you in a terminal",
    )
    hooks_switch = ("hooksConfig", "enabled")
    own_memory = "experimental.autoMemory"
    tolerates = "comments"
    home = ".gemini"
    file = "settings.json"
    project_file = ".gemini/settings.json"
    more: ClassVar = {"trust": True}
    rules = "GEMINI.md"
    project_rules = "GEMINI.md"

    def folder(self, where: ClientPaths) -> Path:
        return where.folder("GEMINI_CLI_HOME", "") / self.home

    def memory_folder(self, where: ClientPaths) -> Path | None:
        folder = self.folder(where)
        return folder if os.access(folder / "GEMINI.md", os.F_OK) or any(folder.glob("tmp/*/memory/*.md")) else None

    def why_server_off(self, name: str, entry: Mapping[str, Any], where: ClientPaths) -> str | None:
        for file, settings in self.layers(where):
            allowed = value_at(settings, "mcp", "allowed")
            if name in list_at(settings, "mcp", "excluded") or (isinstance(allowed, list) and name not in allowed):
                return f"mcp.allowed or mcp.excluded in {file}"
        return super().why_server_off(name, entry, where)
