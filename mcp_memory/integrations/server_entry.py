"""Our entry among a client's MCP servers: adds it, recognizes it in any client's spelling, and removes it."""

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mcp_memory.errors import Refused
from mcp_memory.integrations import commands, jsonc, toml
from mcp_memory.integrations.commands import OurCommand
from mcp_memory.text.parsed_values import list_at, table_at, value_at


def helper_of(entry: object) -> object:
    """Return the command line that prints a client's headers; None for an entry without such a command."""
    return value_at(entry, "headersHelper") or value_at(entry, "http_headers_helper")


def command_of(entry: object) -> list[str]:
    """Return the command that an entry starts as its server, and its arguments, in any client's spelling."""
    command = value_at(entry, "command")
    return list(map(str, [*(list_at(entry, "command") or [command]), *list_at(entry, "args")])) if command else []


@dataclass(frozen=True, slots=True)
class EntryIdentity:
    """The mark of our own entry: it runs `verb` (`headers` or `stdio`) for this client and vault, or sends
    `variable`."""

    client: str
    vault: str | None
    variable: str | None = None
    verb: str = "headers"

    def owns(self, entry: object) -> bool:
        if self.variable:
            return value_at(entry, "headers", "Authorization") == f"Bearer ${{{self.variable}}}"
        return self._read(entry) == OurCommand(self.verb, self.client, self.vault)

    def is_of_another_vault(self, entry: object) -> bool:
        """Return whether we added the entry for another vault, whose folder may have the same name."""
        if self.owns(entry):
            return False
        command = self._read(entry)
        sent = str(value_at(entry, "headers", "Authorization"))
        named = command is not None and (command.verb, command.client) == (self.verb, self.client)
        return named or bool(self.variable and re.fullmatch(r"Bearer \$\{MCP_MEMORY_TOKEN\w*\}", sent))

    def _read(self, entry: object) -> OurCommand | None:
        return commands.read(shlex.join(command_of(entry)) if self.verb == "stdio" else helper_of(entry))


YOURS = ("tool_timeout_sec", "startup_timeout_sec", "timeout", "trust", "enabled", "disabled")
"""Values of our entry that you may change: `install` keeps them."""


@dataclass(frozen=True, slots=True)
class ServerEntry:
    """Our entry among a client's MCP servers. `format`: json or toml. `chosen`: you asked for that name."""

    format: str
    path: tuple[str, ...]
    name: str
    entry: Mapping[str, Any]
    identity: EntryIdentity
    chosen: bool = False
    what = "the memory server"

    def insert(self, text: str) -> str:
        name = self.name_in(text)
        for other in self.names(text):
            if other != name:
                text = self._without(text, other, text)
        taken = self._servers(text).get(name)
        if taken is not None and not self.identity.owns(taken):
            raise Refused(
                f"another server is called {name!r} there",
                hint=f"choose another name: --name {name}-notes; or remove that entry first",
            )
        entry = {key: value for key, value in self.entry.items() if key not in YOURS or key not in (taken or {})}
        if self.format == "toml":
            return toml.set_table(text, (*self.path, name), entry)
        if taken is None:
            return jsonc.set_value(text, (*self.path, name), entry)
        for key, value in entry.items():
            if taken.get(key) != value:
                text = jsonc.set_value(text, (*self.path, name, key), value)
        return text

    def remove(self, text: str, before: str | None) -> str:
        for name in self.names(text):
            text = self._without(text, name, before)
        return text

    def is_in(self, text: str) -> bool:
        return bool(self.names(text))

    def name_in(self, text: str) -> str:
        """Return the name for our entry: your chosen name, else the existing name, else our default. The default gets a
        number if another vault's folder has the same name."""
        if self.chosen:
            return self.name
        if names := self.names(text):
            return names[0]
        servers = self._servers(text)
        tried = (self.name, *(f"{self.name}-{number}" for number in range(2, 1000)))
        return next(name for name in tried if not self.identity.is_of_another_vault(servers.get(name)))

    def is_taken(self, text: str) -> bool:
        """Return whether another server has that name."""
        return self.name_in(text) in {*self._servers(text)} - {*self.names(text)}

    def names(self, text: str) -> list[str]:
        """Return the names of our entry; several if it was added twice."""
        return [name for name, entry in self._servers(text).items() if self.identity.owns(entry)]

    def entry_in(self, text: str) -> Mapping[str, Any] | None:
        """Return our entry, None if it isn't there."""
        return next((entry for entry in self._servers(text).values() if self.identity.owns(entry)), None)

    def is_of_another_vault(self, text: str) -> bool:
        """Return whether the file connects another vault of ours."""
        return any(map(self.identity.is_of_another_vault, self._servers(text).values()))

    def stdio_entries(self, text: str) -> list[tuple[OurCommand, Mapping[str, Any]]]:
        """Return the entries that start `mcp-memory stdio` for this vault instead, under any client's name."""
        found: list[tuple[OurCommand, Mapping[str, Any]]] = []
        for entry in self._servers(text).values():
            command = None if self.identity.owns(entry) else commands.read(shlex.join(command_of(entry)))
            if command and (command.verb, command.vault) == ("stdio", self.identity.vault):
                found.append((command, entry))
        return found

    def _servers(self, text: str) -> dict[str, Any]:
        return table_at(toml.value_of(text) if self.format == "toml" else jsonc.value_of(text), *self.path)

    def _without(self, text: str, name: str, before: str | None) -> str:
        path = (*self.path, name)
        return toml.remove(text, path) if self.format == "toml" else jsonc.remove(text, path, before)
