"""OpenClaw: our plugin, which brings hooks, tools and instructions. Without the plugin: HTTP, with a token in its
environment file and instructions in the workspace's `AGENTS.md`."""

import os
from pathlib import Path
from typing import ClassVar

from mcp_memory.integrations import config_files
from mcp_memory.integrations.clients.client import Client, ClientPaths, ConnectionDetails, Scope
from mcp_memory.integrations.config_plan import ConfigTarget
from mcp_memory.integrations.envfile import EnvVariable
from mcp_memory.integrations.marked_block import InstructionBlock
from mcp_memory.integrations.openclaw_plugin import OpenClawPlugin
from mcp_memory.integrations.server_entry import EntryIdentity, ServerEntry
from mcp_memory.text.parsed_values import value_at


class OpenClaw(Client):
    """OpenClaw, configured in `openclaw.json` and `.env` in `~/.openclaw`, or in a profile's folder."""

    name: ClassVar = "openclaw"
    title: ClassVar = "OpenClaw"
    program: ClassVar = "openclaw"

    def config_file(self, scope: Scope, where: ClientPaths) -> Path | None:
        if scope == "project":
            return None
        return where.folder("OPENCLAW_CONFIG_PATH", str(self.folder(where) / "openclaw.json"))

    def folder(self, where: ClientPaths) -> Path:
        profile = where.environ.get("OPENCLAW_PROFILE", "")
        name = f".openclaw-{profile}" if profile and profile != "default" else ".openclaw"
        return where.folder("OPENCLAW_STATE_DIR", str(where.folder("OPENCLAW_HOME", "") / name))

    def memory_folder(self, where: ClientPaths) -> Path | None:
        folder = self._workspace(where)
        return folder if any(os.access(folder / name, os.F_OK) for name in ("MEMORY.md", "memory")) else None

    def targets(self, scope: Scope, where: ClientPaths, wire: ConnectionDetails, hooks: bool) -> list[ConfigTarget]:
        config = self._config(scope, where)
        identity = EntryIdentity(self.name, wire.vault, wire.variable)
        server = ServerEntry("json", ("mcp", "servers"), wire.name, wire.entry, identity, wire.chosen)
        token = EnvVariable(wire.variable, wire.token)
        instructions = InstructionBlock(wire.instructions)
        plugin = OpenClawPlugin(*wire.plugin, wire.vault)
        env, agents = self.folder(where) / ".env", self._workspace(where) / "AGENTS.md"
        if hooks:
            return [
                ConfigTarget(env, (), private=True, replaced=(token,)),
                ConfigTarget(config, (plugin,), replaced=(server,)),
                ConfigTarget(agents, (), only_existing=True, replaced=(instructions,)),
            ]
        return [
            ConfigTarget(env, (token,), private=True),
            ConfigTarget(config, (server,), replaced=(plugin,)),
            ConfigTarget(agents, (instructions,), only_existing=True),
        ]

    def _workspace(self, where: ClientPaths) -> Path:
        """Return the folder of the agent's own files, as configured."""
        config = config_files.read_table(self._config("user", where))
        found = value_at(config, "agents", "defaults", "workspace")
        if isinstance(found, str) and found:
            return where.home / found[2:] if found.startswith("~/") else Path(found)
        return where.folder("OPENCLAW_WORKSPACE_DIR", str(self.folder(where) / "workspace"))
