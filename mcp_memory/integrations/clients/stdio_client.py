"""A client whose entry starts `mcp-memory stdio`, so no file of the client contains a token."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from mcp_memory.integrations.clients.client import Client, ClientPaths, ConnectionDetails, Scope
from mcp_memory.integrations.config_entries import ConfigEntry
from mcp_memory.integrations.config_plan import ConfigTarget
from mcp_memory.integrations.marked_block import InstructionBlock
from mcp_memory.integrations.server_entry import EntryIdentity, ServerEntry


class StdioClient(Client):
    """A client that starts our server. `home` is its folder, which contains `file`; `project_file` is in the
    repository. Both have our entry, with `more` in it, under `path`. `rules`, in the folder, and `project_rules` are
    the files with instructions for the agent. A new file `rules` begins with `rules_head`. All may be empty."""

    home: ClassVar[str]
    mac_home: ClassVar[str] = ""
    path: ClassVar[tuple[str, ...]] = ("mcpServers",)
    file: ClassVar[str]
    project_file: ClassVar[str] = ""
    more: ClassVar[Mapping[str, Any]] = {}
    rules: ClassVar[str] = ""
    rules_head: ClassVar[str] = ""
    project_rules: ClassVar[str] = "AGENTS.md"

    def folder(self, where: ClientPaths) -> Path:
        home = (where.is_mac and self.mac_home) or self.home
        below_config = home.removeprefix(".config/")
        is_below_config = below_config != home
        return where.folder("XDG_CONFIG_HOME", ".config") / below_config if is_below_config else where.home / home

    def config_file(self, scope: Scope, where: ClientPaths) -> Path | None:
        if scope == "project":
            return where.project / self.project_file if where.project and self.project_file else None
        return self.folder(where) / self.file

    def rules_file(self, scope: Scope, where: ClientPaths) -> Path | None:
        """Return the file with instructions for the agent; None if the client has none."""
        if scope == "project":
            return where.project / self.project_rules if where.project else None
        return self.folder(where) / self.rules if self.rules else None

    def shape(self, command: str, arguments: list[str]) -> dict[str, Any]:
        """Return the entry that starts our program, in the client's spelling."""
        return {"command": command, "args": arguments, **self.more}

    def server(self, name: str, entry: Mapping[str, Any], vault: str | None, *, chosen: bool = False) -> ServerEntry:
        """Return our server's entry. `chosen`: you asked for that name."""
        identity = EntryIdentity(self.name, vault, verb="stdio")
        return ServerEntry("json", self.path, name, entry, identity, chosen)

    def more_entries(self) -> tuple[ConfigEntry, ...]:
        """Return the other entries for the file of the server's entry."""
        return ()

    def targets(self, scope: Scope, where: ClientPaths, wire: ConnectionDetails, hooks: bool) -> list[ConfigTarget]:
        server = self.server(wire.name, wire.entry, wire.vault, chosen=wire.chosen)
        entries: tuple[ConfigEntry, ...] = (server, *self.more_entries())
        if hooks and self.hooks:
            entries = (*entries, self.hook_entries(wire.hooks, wire.vault, wire.name))
        found = [ConfigTarget(self._config(scope, where), entries)]
        if rules := self.rules_file(scope, where):
            found.append(ConfigTarget(rules, (InstructionBlock(wire.instructions, self.rules_head),)))
        return found

    def server_off(self, name: str, entry: Mapping[str, Any], where: ClientPaths) -> str | None:  # noqa: ARG002 -- most need neither
        """Return the reason why the client doesn't connect to the server, as far as its files show; None if it does."""
        is_off = entry.get("enabled") is False or entry.get("disabled") is True
        return f"its entry {name!r} is switched off" if is_off else None

    def hooks_off(self, where: ClientPaths) -> str | None:  # noqa: ARG002 -- most have none
        """Return the setting that switches all hooks off, as far as the files show; None if they run."""
        return None
