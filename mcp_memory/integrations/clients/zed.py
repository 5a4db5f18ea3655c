"""Zed: `~/.config/zed/settings.json` (as its documentation describes it)."""

from dataclasses import dataclass
from typing import ClassVar

from mcp_memory.integrations import jsonc
from mcp_memory.integrations.clients.client import TOOLS
from mcp_memory.integrations.clients.stdio_client import StdioClient
from mcp_memory.integrations.config_entries import ConfigEntry
from mcp_memory.integrations.server_entry import ServerEntry
from mcp_memory.text.parsed_values import table_at, value_at

_RULES = ("agent", "tool_permissions", "tools")
_ALLOWED = {"default": "allow"}


@dataclass(frozen=True, slots=True)
class ToolPermissions:
    """A config entry: lets the agent call the tools of `server`, which is in the same file, without asking. A tool for
    which you have set something keeps it."""

    server: ServerEntry
    what = "the permission to call the memory tools"

    def insert(self, text: str) -> str:
        for rule, value in table_at(jsonc.value_of(text), *_RULES).items():  # of a name that our server had before
            _, name, tool = [*rule.split(":"), "", ""][:3]
            if value == _ALLOWED and tool in TOOLS and name not in self.server.all_names(text):
                text = jsonc.remove(text, (*_RULES, rule))
        for place in self._places(text):
            if value_at(jsonc.value_of(text), *place) is None:
                text = jsonc.set_value(text, place, _ALLOWED)
        return text

    def remove(self, text: str, before: str | None) -> str:
        """The server's entry must still be there: its name is in the rules."""
        for place in reversed(self._places(text)):
            if value_at(jsonc.value_of(text), *place) == _ALLOWED:
                text = jsonc.remove(text, place, before)
        return text

    def is_in(self, text: str) -> bool:
        return any(value_at(jsonc.value_of(text), *place) == _ALLOWED for place in self._places(text))

    def _places(self, text: str) -> list[tuple[str, ...]]:
        name = "" if self.server.is_taken(text) else self.server.name_in(text)
        return [(*_RULES, f"mcp:{name}:{tool}") for tool in TOOLS if name]


class Zed(StdioClient):
    """Its settings hold the server and the permission to call its tools."""

    name: ClassVar = "zed"
    title: ClassVar = "Zed"
    program: ClassVar = "zed"
    home: ClassVar = ".config/zed"
    path: ClassVar = ("context_servers",)
    file: ClassVar = "settings.json"
    permission: ClassVar = "agent.tool_permissions in its settings"
    rules: ClassVar = "AGENTS.md"

    def more_entries(self, server: ServerEntry) -> tuple[ConfigEntry, ...]:
        return (ToolPermissions(server),)
