"""goose: `~/.config/goose/config.yaml` (as its documentation describes it)."""

from typing import Any, ClassVar

from mcp_memory.integrations.clients.stdio_client import StdioClient


class Goose(StdioClient):
    """It runs tools without asking by default. An extension of its own is called `memory`, so ours is `mcp-memory`.
    It takes a missing file for a first start, and asks for a model."""

    name: ClassVar = "goose"
    title: ClassVar = "goose"
    program: ClassVar = "goose"
    home: ClassVar = ".config/goose"
    format: ClassVar = "yaml"
    path: ClassVar = ("extensions",)
    prefix: ClassVar = "mcp-"
    file: ClassVar = "config.yaml"
    only_existing: ClassVar = True
    rules: ClassVar = ".goosehints"

    def shape(self, command: str, arguments: list[str]) -> dict[str, Any]:
        common = {"type": "stdio", "name": "mcp-memory", "description": "Long-term memory of all agents"}
        return {"enabled": True, **common, "cmd": command, "args": arguments, "timeout": 300}
