"""opencode: `~/.config/opencode/opencode.json`, or `.jsonc` if that file exists (as version 1.18.33 reads it)."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from mcp_memory.integrations import commands, jsonc
from mcp_memory.integrations.clients.client import Client, ClientPaths, ConnectionDetails, Scope
from mcp_memory.integrations.config_entries import ConfigEntry
from mcp_memory.text.parsed_values import list_at, value_at

_LIST = "plugin"


@dataclass(frozen=True)
class OpenCodePlugin:
    """A config entry: the plugin that runs our hooks. `command` has the placeholder EVENT."""

    file: str
    command: str
    vault: str | None
    what = "the plugin with the hooks"

    def insert(self, text: str) -> str:
        entry, place = [self.file, {"command": self.command}], self._place(text)
        if place is None:
            return jsonc.append(text, (_LIST,), entry)
        is_same = list_at(jsonc.value_of(text), _LIST)[place] == entry
        return text if is_same else jsonc.set_value(text, (_LIST, place), entry)

    def remove(self, text: str, before: str | None) -> str:
        place = self._place(text)
        return text if place is None else jsonc.remove(text, (_LIST, place), before)

    def is_in(self, text: str) -> bool:
        return self._place(text) is not None

    def _place(self, text: str) -> int | None:
        """Return the number of our plugin in the list; None if it isn't there. Its file may belong to any
        installation."""
        for number, entry in enumerate(list_at(jsonc.value_of(text), _LIST)):
            parts = cast("list[Any]", entry) if isinstance(entry, list) else []
            read = commands.read(value_at(parts[-1], "command")) if parts else None
            if read and (read.verb, read.client, read.vault) == ("hook EVENT", "opencode", self.vault):
                return number
        return None


class OpenCode(Client):
    """opencode, which lets an agent call MCP tools without asking, unless you configured otherwise."""

    name = "opencode"
    title = "opencode"
    program = "opencode"
    path = ("mcp",)
    file = "opencode.json"
    project_file = "opencode.json"
    rules = "AGENTS.md"

    def folder(self, where: ClientPaths) -> Path:
        return where.folder("XDG_CONFIG_HOME", ".config") / "opencode"

    def config_file(self, scope: Scope, where: ClientPaths) -> Path:
        file = super().config_file(scope, where)
        other = file.with_suffix(".jsonc")
        return other if os.access(other, os.F_OK) else file

    def rules_file(self, scope: Scope, where: ClientPaths) -> Path | None:
        """Return the file for the instructions. None if opencode has no `AGENTS.md` and reads Claude Code's file, which
        our file would replace."""
        file = super().rules_file(scope, where)
        claude = where.home / ".claude" / "CLAUDE.md"
        is_shared = scope == "user" and os.access(claude, os.F_OK)
        return None if file and is_shared and not os.access(file, os.F_OK) else file

    def further_entries(self, wire: ConnectionDetails) -> Iterator[tuple[Path, ConfigEntry]]:
        """Yield the plugin. A repository's file gets none, because the plugin's path exists only on this machine."""
        if wire.plugin and wire.scope == "user":
            folder, command = wire.plugin
            yield self.config_file("user", wire.where), OpenCodePlugin(f"{folder}/opencode.js", command, wire.vault)

    def shape(self, command: str, arguments: list[str]) -> dict[str, Any]:
        return {"type": "local", "command": [command, *arguments], "enabled": True}
