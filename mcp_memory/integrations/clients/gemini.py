"""Gemini CLI: `~/.gemini/settings.json` contains the server, trusted, and the hooks (as version 0.61.0 reads it)."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from mcp_memory.integrations import config_files
from mcp_memory.integrations.clients.client import HOOK_TIMEOUT_S, ClientPaths
from mcp_memory.integrations.clients.stdio_client import StdioClient
from mcp_memory.integrations.config_entries import ConfigEntry, HookEvent
from mcp_memory.integrations.own_memory import OwnMemory
from mcp_memory.text.parsed_values import list_at, value_at

_MANAGED = "/Library/Application Support/GeminiCli" if sys.platform == "darwin" else "/etc/gemini-cli"


class GeminiCli(StdioClient):
    """Gemini CLI. Its hooks have Claude Code's form under other names, with timeouts in milliseconds. Where it can't
    ask, a server without trust has no tools."""

    name: ClassVar = "gemini"
    title: ClassVar = "Gemini CLI"
    program: ClassVar = "gemini"
    scopes: ClassVar = ("user", "project")
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
    hook_timeout: ClassVar = 1000 * HOOK_TIMEOUT_S
    tolerates: ClassVar = "comments"
    home: ClassVar = ".gemini"
    file: ClassVar = "settings.json"
    project_file: ClassVar = ".gemini/settings.json"
    more: ClassVar = {"trust": True}
    rules: ClassVar = "GEMINI.md"
    project_rules: ClassVar = "GEMINI.md"

    def folder(self, where: ClientPaths) -> Path:
        return where.folder("GEMINI_CLI_HOME", "") / self.home

    def memory_folder(self, where: ClientPaths) -> Path | None:
        folder = self.folder(where)
        return folder if os.access(folder / "GEMINI.md", os.F_OK) or any(folder.glob("tmp/*/memory/*.md")) else None

    def more_entries(self) -> tuple[ConfigEntry, ...]:
        return (OwnMemory("json", ("experimental", "autoMemory"), default=False),)

    def server_off(self, name: str, entry: Mapping[str, Any], where: ClientPaths) -> str | None:
        for file, settings in self._layers(where):
            allowed = value_at(settings, "mcp", "allowed")
            if name in list_at(settings, "mcp", "excluded") or (isinstance(allowed, list) and name not in allowed):
                return f"mcp.allowed or mcp.excluded in {file}"
        return super().server_off(name, entry, where)

    def hooks_off(self, where: ClientPaths) -> str | None:
        for file, settings in self._layers(where):
            if value_at(settings, "hooksConfig", "enabled") is False:
                return f"hooksConfig.enabled = false in {file}"
        return None

    def _layers(self, where: ClientPaths) -> list[tuple[Path, dict[str, Any]]]:
        """Return the settings files with their content, the strongest first: an organization's, the project's,
        yours."""
        managed = where.folder("GEMINI_CLI_SYSTEM_SETTINGS_PATH", f"{_MANAGED}/settings.json")
        files = [managed, self.config_file("project", where), self.config_file("user", where)]
        return [(file, config_files.read_table(file)) for file in files if file]
