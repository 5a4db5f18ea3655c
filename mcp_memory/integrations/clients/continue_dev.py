"""Continue: `~/.continue/config.yaml`, which its extensions and its command line read (version 1.5.47)."""

from typing import ClassVar

from mcp_memory.integrations.clients.stdio_client import StdioClient


class ContinueDev(StdioClient):
    """`cn` doesn't look into `mcpServers/`. Without `config.yaml` it loads a configuration from its maker, which one of
    ours would replace."""

    name: ClassVar = "continue"
    title: ClassVar = "Continue"
    program: ClassVar = "cn"
    home: ClassVar = ".continue"
    home_variable: ClassVar = "CONTINUE_GLOBAL_DIR"
    format: ClassVar = "yaml-list"
    file: ClassVar = "config.yaml"
    only_existing: ClassVar = True
    rules: ClassVar = "rules/mcp-memory.md"
