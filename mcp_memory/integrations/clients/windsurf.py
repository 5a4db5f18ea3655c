"""Windsurf: `~/.codeium/windsurf/mcp_config.json` (as its documentation describes it)."""

from typing import ClassVar

from mcp_memory.integrations.clients.stdio_client import StdioClient


class Windsurf(StdioClient):
    """It gives permission in its dialogs."""

    name: ClassVar = "windsurf"
    title: ClassVar = "Windsurf"
    program: ClassVar = "windsurf"
    tolerates: ClassVar = ""
    home: ClassVar = ".codeium/windsurf"
    file: ClassVar = "mcp_config.json"
    rules: ClassVar = "memories/global_rules.md"
