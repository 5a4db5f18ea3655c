"""OpenClaw: our plugin, which brings hooks, tools and instructions, in place of OpenClaw's own memory."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcp_memory.errors import Refused
from mcp_memory.integrations import commands, jsonc
from mcp_memory.integrations.clients.client import Client, ClientPaths, ConnectionDetails, Scope
from mcp_memory.integrations.config_plan import ConfigTarget
from mcp_memory.integrations.server_entry import read_table
from mcp_memory.text.parsed_values import list_at, value_at

ID = "mcp-memory"
OWN_MEMORY = "memory-core"
"""OpenClaw's own plugin, which has the slot by default."""

_TOOLS = ("memory_search", "memory_get")
"""Tools that `memory-core` offers even if another plugin has its slot (2026.9.6), unless it is off. Our tools have the
same names, so `tools.deny` affects them, too."""

_TOOLS_ALONE = "for the tools alone: mcp-memory install generic"

_DENIED = ("tools", "deny")
_OWN_IS_ON = ("plugins", "entries", OWN_MEMORY, "enabled")
_PATHS, _SLOT, _ALLOWED = ("plugins", "load", "paths"), ("plugins", "slots", "memory"), ("plugins", "allow")
_ENTRY = ("plugins", "entries", ID)
_ACCESS, _COMMAND = (*_ENTRY, "hooks", "allowConversationAccess"), (*_ENTRY, "config", "command")


@dataclass(frozen=True)
class OpenClawPlugin:
    """A config entry. Only one plugin can be OpenClaw's memory, and ours serves one vault. `command` has the
    placeholder EVENT."""

    folder: str
    command: str
    vault: str | None
    what = "the plugin with the hooks"

    def insert(self, text: str) -> str:
        config: Any = jsonc.value_of(text)
        if value_at(config, *_ENTRY) is not None and not self._owns(config):
            hint = "uninstall openclaw for that vault first"
            raise Refused("the plugin there serves another vault", hint=hint)
        if (slot := value_at(config, *_SLOT)) not in {None, OWN_MEMORY, ID}:
            hint = f"take that out of the file first; {_TOOLS_ALONE}"
            raise Refused(f"plugins.slots.memory is {slot!r}", hint=hint)
        if ID in list_at(config, "plugins", "deny") or value_at(config, "plugins", "enabled") is False:
            raise Refused(
                "plugins.deny or plugins.enabled forbids our plugin",
                hint=f"change those; {_TOOLS_ALONE}",
            )
        for path, value in self._listed():
            if value not in list_at(config, *path) and (path != _ALLOWED or value_at(config, *path) is not None):
                text = jsonc.append(text, path, value)
        switches: dict[tuple[str, ...], Any] = {_SLOT: ID, _OWN_IS_ON: False}
        wanted: dict[tuple[str, ...], Any] = {(*_ENTRY, "enabled"): True, _ACCESS: True, _COMMAND: self.command}
        if value_at(config, *_ENTRY) is None:
            entry = {"enabled": True, "hooks": {_ACCESS[-1]: True}, "config": {_COMMAND[-1]: self.command}}
            wanted = {_ENTRY: entry}
        for path, value in {**wanted, **switches}.items():
            if value_at(config, *path) != value:
                text = jsonc.set_value(text, path, value)
        return text

    def remove(self, text: str, before: str | None) -> str:
        was: Any = jsonc.value_of(before) if before is not None else None
        if not self.is_in(text):
            return text
        for path, ours in ((_ENTRY, None), (_SLOT, ID), (_OWN_IS_ON, False)):
            old, now = value_at(was, *path), value_at(jsonc.value_of(text), *path)
            if now != old and (ours is None or now == ours):
                text = jsonc.remove(text, path, before) if old is None else jsonc.set_value(text, path, old)
        for path, value in self._listed():
            there = list_at(jsonc.value_of(text), *path)
            if value in there and value not in list_at(was, *path):
                text = jsonc.remove(text, (*path, there.index(value)), before)
        return text

    def _listed(self) -> list[tuple[tuple[str, ...], str]]:
        """Return the lists to extend, each with the value to add. `insert` extends the list of allowed plugins only if
        it exists."""
        return [(_PATHS, self.folder), (_ALLOWED, ID)]

    def is_in(self, text: str) -> bool:
        config: Any = jsonc.value_of(text)
        return value_at(config, *_ENTRY) is not None and self._owns(config)

    def is_on(self, text: str) -> bool:
        """Return whether OpenClaw loads the plugin."""
        config: Any = jsonc.value_of(text)
        on = value_at(config, "plugins", "enabled") is not False and value_at(config, *_ENTRY, "enabled") is not False
        return on and value_at(config, *_SLOT) == ID and ID not in list_at(config, "plugins", "deny")

    def may_see(self, text: str) -> bool:
        """Return whether OpenClaw passes the prompts to the plugin."""
        return value_at(jsonc.value_of(text), *_ACCESS) is True

    def is_shadowed(self, text: str) -> bool:
        """Return whether OpenClaw offers its own memory tools in place of ours, or denies one of their names."""
        config: Any = jsonc.value_of(text)
        own_is_on = value_at(config, *_OWN_IS_ON) is not False
        return self.is_in(text) and (own_is_on or not {*_TOOLS}.isdisjoint(list_at(config, *_DENIED)))

    def _owns(self, config: object) -> bool:
        """Return whether the configured plugin serves this vault. A plugin without a command serves the default
        vault."""
        line = value_at(config, *_COMMAND)
        if line is None:
            return self.vault is None
        read = commands.read(line)
        return read is not None and (read.client, read.vault) == ("openclaw", self.vault)


class OpenClaw(Client):
    """OpenClaw, configured in `openclaw.json` in `~/.openclaw`, or in a profile's folder."""

    name = "openclaw"
    title = "OpenClaw"
    program = "openclaw"
    scopes = ("user",)
    remarks = (
        "a running gateway reads this when it starts: openclaw gateway restart",
        "OpenClaw's own memory (memory-core, with its dreaming and standing intents) is off until you uninstall; its "
        "files in the workspace stay, and agents go on reading them",
    )

    def folder(self, where: ClientPaths) -> Path:
        profile = where.environ.get("OPENCLAW_PROFILE", "")
        name = f".openclaw-{profile}" if profile and profile != "default" else ".openclaw"
        return where.folder("OPENCLAW_STATE_DIR", str(where.folder("OPENCLAW_HOME", "") / name))

    def config_file(self, scope: Scope, where: ClientPaths) -> Path:
        file = where.folder("OPENCLAW_CONFIG_PATH", str(self.folder(where) / "openclaw.json"))
        return file if scope == "user" else super().config_file(scope, where)

    def workspace(self, where: ClientPaths) -> Path:
        """Return the folder whose files the agent reads at each start."""
        config = read_table(self.config_file("user", where))
        found = value_at(config, "agents", "defaults", "workspace")
        if isinstance(found, str) and found:
            return where.home / found[2:] if found.startswith("~/") else Path(found)
        return where.folder("OPENCLAW_WORKSPACE_DIR", str(self.folder(where) / "workspace"))

    def memory_folder(self, where: ClientPaths) -> Path | None:
        """Return the workspace, if the agent keeps notes there."""
        folder = self.workspace(where)
        return folder if any(os.access(folder / name, os.F_OK) for name in ("MEMORY.md", "memory")) else None

    def targets(self, wire: ConnectionDetails) -> list[ConfigTarget]:
        config = self.config_file(wire.scope, wire.where)
        if wire.plugin is None:
            raise Refused("OpenClaw has the tools from the plugin with the hooks", hint=_TOOLS_ALONE)
        return [ConfigTarget(config, (OpenClawPlugin(*wire.plugin, wire.vault),))]
